//! Objects that lie elsewhere, or point elsewhere: no request follows them out of the namespace.

use serde_json::{Value, json};

use super::{
    bounds::{cluster, object},
    check::harmless,
    server::{Answer, Asked, Server},
    setup::{Folder, purge},
    world::NAMESPACE,
};

/// An honest cluster with these pods in it. What is deleted is gone.
fn with_pods(pods: Vec<Value>) -> Server {
    let deleted = std::sync::Mutex::new(Vec::new());
    Server::plain(move |asked| {
        let body = String::from_utf8_lossy(&asked.body).into_owned();
        if asked.method == "DELETE" {
            if !body.contains("dryRun") && !asked.path.contains("dryRun") {
                deleted.lock().unwrap().push(body);
            }
            return Answer::json(json!({ "kind": "Status", "status": "Success" }));
        }
        if asked.path.ends_with("selfsubjectreviews") {
            return Answer::json(
                json!({ "kind": "SelfSubjectReview", "status": { "userInfo": { "username": "jane" } } }),
            );
        }
        let deleted = deleted.lock().unwrap();
        let is_there = |pod: &&Value| !deleted.iter().any(|body| body.contains(&pod["metadata"]["uid"].to_string()));
        let left: Vec<&Value> = pods.iter().filter(is_there).collect();
        let list = json!({ "kind": "PodList", "metadata": { "resourceVersion": "1" }, "items": left });
        if asked.path.contains("/configmaps") {
            return Answer::json(
                json!({ "kind": "ConfigMapList", "metadata": { "resourceVersion": "1" }, "items": [] }),
            );
        }
        cluster(asked, || Answer::json(&list))
    })
}

fn is_write(asked: &Asked) -> bool {
    asked.method != "GET" && !asked.path.starts_with("/apis/authentication.k8s.io/v1/selfsubjectreviews")
}

#[test]
fn an_object_of_another_namespace_in_a_list_stops_the_program_before_any_write() {
    for namespace in ["kube-system", "shop2", ""] {
        let mut stray = object("stray");
        stray["metadata"]["namespace"] = namespace.into();
        let server = with_pods(vec![object("web"), stray]);
        let folder = Folder::new();
        let kubeconfig = folder.kubeconfig(&json!({ "server": server.url }), &json!({}));
        let run = purge(&kubeconfig, &["app", "demo", "--yes", "--timeout=2s"]).exits(1);
        harmless(&run, false);
        run.complains(&format!(
            "the server listed Pod/stray of namespace {namespace:?} where namespace \"shop\" was asked for"
        ));
        assert_eq!(server.asked().iter().filter(|asked| is_write(asked)).count(), 0);
    }
}

#[test]
fn owners_that_lie_elsewhere_are_in_no_request() {
    let owners = [
        json!({ "apiVersion": "v1", "kind": "Node", "name": "node", "uid": "uid of a node", "controller": true }),
        json!({ "apiVersion": "v1", "kind": "Namespace", "name": "shop", "uid": "uid of the namespace" }),
        json!({ "apiVersion": "v1", "kind": "Pod", "name": "../../kube-system/pods/dns", "uid": "uid of dns" }),
        json!({ "apiVersion": "../../v1", "kind": "../nodes", "name": "..", "uid": ".." }),
    ];
    let mut writes = 0;
    for owner in owners {
        let mut pod = object("web");
        pod["metadata"]["ownerReferences"] = json!([owner]);
        let server = with_pods(vec![pod]);
        let folder = Folder::new();
        let kubeconfig = folder.kubeconfig(&json!({ "server": server.url }), &json!({}));
        let run = purge(&kubeconfig, &["app", "demo", "--yes", "--timeout=5s", "--allow-managed"]);
        harmless(&run, false);
        assert!(matches!(run.code, 0 | 1 | 4), "{run:?}");
        let inside = format!("/api/v1/namespaces/{NAMESPACE}/");
        for asked in server.asked() {
            assert!(!is_write(&asked) || asked.path.starts_with(&inside), "{owner}: {} {}", asked.method, asked.path);
            writes += usize::from(is_write(&asked));
            assert!(!asked.path.contains("..") && !asked.path.contains("kube-system"), "{owner}: {}", asked.path);
        }
    }
    assert!(writes > 0, "nothing was deleted by any of these runs");
}

#[test]
fn the_plan_says_which_cluster_it_is_and_as_whom() {
    let server = with_pods(vec![object("web")]);
    let folder = Folder::new();
    let kubeconfig = folder.named("somewhere", &json!({ "server": server.url }), &json!({}));
    let run = purge(&kubeconfig, &["app", "demo", "--dry-run"]).exits(0);
    let place = run.stdout.lines().find(|line| line.contains("somewhere")).unwrap_or_default();
    assert!(place.contains(&server.url) && place.contains("jane") && run.stdout.contains(NAMESPACE), "{}", run.stdout);
}
