//! The stories that the program exists for, from a full quota to a verified end.

use crate::harness::{World, deployment, planned, reasons, template};

const PODTEMPLATE_AND_SERVICE: &str = "
apiVersion: v1
kind: PodTemplate
metadata: { name: podtemplate-demo, labels: { app: demo } }
template: { metadata: { labels: { app: demo } }, spec: { containers: [ { name: main, image: demo } ] } }
---
apiVersion: v1
kind: Service
metadata: { name: service-demo }
spec: { selector: { app: demo }, ports: [ { port: 80 } ] }
---
apiVersion: v1
kind: ConfigMap
metadata: { name: bystander }
data: { a: b }
";

/// The namespace of the first story: its quota is full with three pods of the application.
fn full_quota(story: &str) -> World {
    let world = World::new(story);
    world.quota(&[("requests.cpu", "3"), ("requests.memory", "3Gi")]);
    world.deployment("deployment-demo", "demo", 3);
    world.apply(PODTEMPLATE_AND_SERVICE);
    world.until_running("app=demo", 3);
    world.until("a full quota", || (world.used("requests.cpu") == "3").then_some(()));
    world
}

/// Nothing of the application is there, the quota is empty, and a bystander lives.
fn assert_purged(world: &World) {
    assert_eq!(world.names("deployments,replicasets,pods,podtemplates,services,endpointslices"), [""; 0]);
    assert_eq!((world.used("requests.cpu"), world.used("requests.memory")), ("0".into(), "0".into()));
    assert!(world.names("configmaps").contains(&"configmap/bystander".to_owned()));
}

#[test]
fn a_full_quota_is_released_and_the_next_application_starts() {
    let world = full_quota("full");
    let bystanders = world.stored("configmaps,serviceaccounts");
    assert!(bystanders.len() >= 3, "{bystanders:#?}");
    world.deployment("other", "other", 2);
    world.until("the other application to be refused", || {
        let events = world.kubectl(&["get", "events", "-o", "jsonpath={.items[*].message}"]);
        events.contains("exceeded quota").then_some(())
    });

    let run = world.kubectl_purge(&["app", "demo", "--yes"]).exits(0);

    let run = run
        .says("Purge application \"demo\" in namespace")
        .says("scale to 0")
        .says("selects only this application's pods")
        .says("Frees: requests.cpu 3 of 3, requests.memory 3Gi of 3Gi (quota \"quota\").")
        .says("Purged application \"demo\"");
    assert!(run.stderr.contains("drain"), "{}", run.stderr);
    assert_eq!(world.names("podtemplates,services"), [""; 0]);
    assert_eq!(world.names("deployments"), ["deployment.apps/other"]);
    world.until_running("app=other", 2);
    let after = world.stored("configmaps,serviceaccounts");
    assert_eq!(after, bystanders);
}

#[test]
fn what_was_deleted_is_reported_as_one_document() {
    let world = full_quota("report");
    let run = world.purge(&["app", "demo", "--yes", "-o", "json"]).exits(0);
    let report = run.json();
    assert_eq!((report["apiVersion"].as_str(), report["kind"].as_str()), (Some("kubectl-purge/v1"), Some("Report")));
    assert_eq!(report["exit"], 0);
    assert_eq!(report["namespace"], world.namespace.as_str());
    for object in report["objects"].as_array().unwrap() {
        assert_eq!(object["result"], "gone", "{object:#}");
    }
    for quota in report["quota"].as_array().unwrap() {
        assert_eq!((quota["after"].as_str(), quota["released"].as_bool()), (Some("0"), Some(true)), "{quota:#}");
    }
    assert_purged(&world);
}

#[test]
fn orphaned_replicaset_and_its_pods_are_found_and_gone() {
    let world = full_quota("orphaned-rs");
    world.kubectl(&["delete", "deployment", "deployment-demo", "--cascade=orphan"]);
    let sets = world.names("replicasets");
    let set = sets[0].split('/').nth(1).unwrap();
    world.until("the owner to be gone from the ReplicaSet", || {
        world.get(&sets[0])["metadata"]["ownerReferences"].is_null().then_some(())
    });

    let plan = world.purge(&["app", "demo", "--dry-run", "-o", "json"]).exits(0).json();
    assert_eq!(reasons(&plan, "ReplicaSet", set), ["orphan, label app=demo"]);
    assert_eq!(plan["objects"].as_array().unwrap().iter().filter(|object| object["kind"] == "Pod").count(), 3);

    world.purge(&["app", "demo", "--yes"]).exits(0).says("orphan, label app=demo").says("Purged application");
    assert_purged(&world);
}

#[test]
fn pods_that_nothing_owns_are_found_with_no_deployment_anywhere() {
    let world = full_quota("orphaned-pods");
    world.kubectl(&["delete", "deployment", "deployment-demo", "--cascade=orphan"]);
    world.kubectl(&["delete", "replicasets", "--all", "--cascade=orphan"]);
    world.kubectl(&["delete", "podtemplate/podtemplate-demo", "service/service-demo"]);
    world.until("pods without owner", || {
        let owners = world.kubectl(&["get", "pods", "-o", "jsonpath={.items[*].metadata.ownerReferences}"]);
        owners.is_empty().then_some(())
    });
    assert_eq!(world.used("requests.cpu"), "3");

    let plan = world.purge(&["app", "demo", "--dry-run", "-o", "json"]).exits(0).json();
    assert_eq!(planned(&plan).len(), 3);
    for object in plan["objects"].as_array().unwrap() {
        assert_eq!((object["kind"].as_str(), object["action"].as_str()), (Some("Pod"), Some("delete")));
        assert_eq!(object["reasons"][0], "orphan, label app=demo");
    }

    world.purge(&["app", "demo", "--yes"]).exits(0);
    assert_purged(&world);
}

#[test]
fn every_kind_of_workload_goes_and_no_replicaset_is_made_anew() {
    let world = World::new("workloads");
    world.deployment("web", "demo", 2);
    world.until_running("app=demo", 2);
    // A rollout history: several ReplicaSets, all but one of them at 0.
    for revision in ["one", "two", "three"] {
        let patch =
            format!(r#"{{"spec":{{"template":{{"metadata":{{"annotations":{{"revision":"{revision}"}}}}}}}}}}"#);
        world.kubectl(&["patch", "deployment", "web", "-p", &patch]);
        world.kubectl(&["rollout", "status", "deployment", "web", "--timeout=60s"]);
    }
    assert_eq!(world.names("replicasets").len(), 4);
    let template = template("demo");
    world.apply(&format!(
        "
apiVersion: apps/v1
kind: StatefulSet
metadata: {{ name: db, labels: {{ app: demo }} }}
spec: {{ replicas: 2, serviceName: db, selector: {{ matchLabels: {{ app: demo, part: db }} }}, template: {db} }}
---
apiVersion: apps/v1
kind: DaemonSet
metadata: {{ name: agent, labels: {{ app: demo }} }}
spec: {{ selector: {{ matchLabels: {{ app: demo, part: agent }} }}, template: {agent} }}
---
apiVersion: batch/v1
kind: Job
metadata: {{ name: once, labels: {{ app: demo }} }}
spec: {{ template: {{ spec: {{ restartPolicy: Never, containers: [ {{ name: main, image: demo }} ] }} }} }}
---
apiVersion: batch/v1
kind: CronJob
metadata: {{ name: nightly, labels: {{ app: demo }} }}
spec: {{ schedule: '0 3 * * *', jobTemplate: {{ spec: {{ template: {{ spec: {{ restartPolicy: Never, containers: [ {{ name: main, image: demo }} ] }} }} }} }} }}
---
apiVersion: v1
kind: Pod
metadata: {{ name: bare, labels: {{ app: demo }} }}
spec: {{ containers: [ {{ name: main, image: demo }} ] }}
",
        db = template.replace("app: demo", "app: demo, part: db"),
        agent = template.replace("app: demo", "app: demo, part: agent"),
    ));
    world.kubectl(&["create", "job", "by-hand", "--from=cronjob/nightly"]);
    // Two of the Deployment, two of the StatefulSet, three of the DaemonSet, one by itself.
    world.until_running("app=demo", 8);
    world.until("the Jobs' pods", || (world.names("pods").len() == 10).then_some(()));

    let run = world.purge(&["app", "demo", "--yes", "-o", "json"]).exits(0);

    let report = run.json();
    assert_eq!(reasons(&report, "Pod", "bare"), ["orphan, label app=demo"]);
    assert_eq!(reasons(&report, "Job", "by-hand"), ["owned by CronJob/nightly"]);
    assert_eq!(planned(&report).iter().filter(|line| line.contains("ReplicaSet/")).count(), 4);
    let left = world.names("deployments,statefulsets,daemonsets,replicasets,jobs,cronjobs,pods,controllerrevisions");
    assert_eq!(left, [""; 0]);
}

#[test]
fn a_second_run_finds_nothing_and_says_what_it_looked_for() {
    let world = World::new("twice");
    world.apply(&deployment("web", "demo", 1));
    world.until_running("app=demo", 1);
    world.purge(&["app", "demo", "--yes"]).exits(0);
    let run = world.purge(&["app", "demo", "--yes"]).exits(0);
    let expected = format!("Nothing of application \"demo\" in namespace \"{}\".\n", world.namespace);
    assert!(run.stdout.starts_with(&expected), "{}", run.stdout);
    run.says("app.kubernetes.io/instance").says("k8s-app");
}
