//! What somebody deploys, adopts or deletes while the question stands is his, and what the run did not do is said.

use crate::{
    harness::{World, deployment},
    running::Running,
    screen::{QUESTION, Screen},
};

fn uids(world: &World, types: &str) -> Vec<String> {
    world.stored(types).into_keys().collect()
}

/// The ReplicaSet's owner, once it has one of this name.
fn until_owned(world: &World) {
    world.until("a new owner", || {
        let sets = world.get("replicasets");
        let owned = |set: &serde_json::Value| set["metadata"]["ownerReferences"][0]["name"] == "web";
        sets["items"].as_array().unwrap().iter().all(owned).then_some(())
    });
}

#[test]
fn an_orphan_that_is_deployed_anew_before_the_answer_keeps_its_pods() {
    let world = World::new("adopted-pods");
    world.deployment("web", "demo", 2);
    world.until_running("app=demo", 2);
    world.kubectl(&["delete", "deployment", "web", "--cascade=orphan"]);
    world.until("the orphan", || {
        world.get("replicasets")["items"][0]["metadata"]["ownerReferences"].is_null().then_some(())
    });
    let pods = uids(&world, "pods");
    let mut screen = Screen::run(&world, 120, &["app", "demo"]);
    screen.until(QUESTION);
    world.apply(&deployment("web", "demo", 2));
    until_owned(&world);
    screen.types("y\r");
    assert_eq!(screen.ends(), 4, "{}", screen.text());
    assert!(screen.text().contains("Deployment/web has adopted it since the plan"), "{}", screen.text());
    assert_eq!(uids(&world, "pods"), pods, "{}", screen.text());
    assert_eq!(world.get("replicasets")["items"][0]["spec"]["replicas"], 2);
}

#[test]
fn a_deployment_that_is_made_anew_before_the_answer_keeps_its_pods() {
    let world = World::new("redeployed");
    world.apply("{ apiVersion: v1, kind: Service, metadata: { name: web, labels: { app: demo } }, spec: { selector: { app: demo }, ports: [ { port: 80 } ] } }");
    world.deployment("web", "demo", 2);
    world.until_running("app=demo", 2);
    let pods = uids(&world, "pods");
    let mut screen = Screen::run(&world, 120, &["app", "demo"]);
    screen.until(QUESTION);
    world.kubectl(&["delete", "deployment", "web", "--cascade=orphan"]);
    world.apply(&deployment("web", "demo", 2));
    until_owned(&world);
    screen.types("y\r");
    assert_eq!(screen.ends(), 4, "{}", screen.text());
    assert_eq!(uids(&world, "pods"), pods, "{}", screen.text());
    assert_eq!(world.get("deployment/web")["spec"]["replicas"], 2);
    // What was deployed anew needs the rest of the application.
    assert!(screen.text().contains("nothing is changed:"), "{}", screen.text());
    assert_eq!(world.names("services"), ["service/web"]);
}

/// Keeping is a promise: what is not there at the end is no "kept".
#[test]
fn what_was_to_stay_and_is_gone_is_said() {
    let world = World::new("lost");
    world.apply(
        "
{ apiVersion: v1, kind: ConfigMap, metadata: { name: kept, labels: { app: demo }, annotations: { kubectl-purge/keep: 'true' } } }
---
{ apiVersion: v1, kind: ConfigMap, metadata: { name: goes, labels: { app: demo } } }
",
    );
    let mut screen = Screen::run(&world, 120, &["app", "demo"]);
    screen.until(QUESTION);
    world.kubectl(&["delete", "configmap", "kept"]);
    screen.types("y\r");
    assert_eq!(screen.ends(), 4, "{}", screen.text());
    let text = screen.text();
    assert!(text.contains("Was to stay, and is gone:") && text.contains("ConfigMap/kept"), "{text}");
    assert!(!text.contains("Purged"), "{text}");
}

#[test]
fn a_grace_period_and_a_time_limit_beyond_all_time_are_no_trouble() {
    let world = World::new("endless");
    let endless = "terminationGracePeriodSeconds: 9223372036854775807";
    world.apply(&deployment("web", "demo", 1).replace("terminationGracePeriodSeconds: 1", endless));
    world.until_running("app=demo", 1);
    world.purge(&["app", "demo", "--yes", "--timeout", "5000000000000h"]).exits(0);
    assert_eq!(world.names("deployments,replicasets,pods"), [""; 0]);
}

/// The terminal is closed: what was scaled down is put back, as after Ctrl-C.
#[test]
fn a_hang_up_while_draining_puts_everything_back() {
    let world = World::new("hangup");
    world.deployment("web", "demo", 1);
    world.until_running("app=demo", 1);
    let pod = world.names("pods")[0].clone();
    world.kubectl(&["patch", &pod, "-p", r#"{"metadata":{"finalizers":["demo.example/hold"]}}"#]);
    let mut running = Running::start(&world, &["app", "demo", "--yes", "--timeout", "60s"]);
    running.until_it_says("scaled Deployment/web");
    running.signal("HUP");
    let run = running.ends().exits(130);
    run.complains("scaled back");
    assert_eq!(world.get("deployment/web")["spec"]["replicas"], 1);
    world.kubectl(&["patch", &pod, "--type=merge", "-p", r#"{"metadata":{"finalizers":null}}"#]);
}
