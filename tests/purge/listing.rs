//! `purge list` and `purge orphans`.

use crate::harness::{World, planned, reasons};

#[test]
fn each_application_is_a_line_with_what_it_holds() {
    let world = World::new("list");
    world.quota(&[("requests.cpu", "4"), ("requests.memory", "8Gi")]);
    world.deployment("web", "web", 2);
    world.deployment("old", "old", 1);
    world.until_running("app", 3);
    world.kubectl(&["delete", "deployment", "old", "--cascade=orphan"]);
    world.until("the orphan", || {
        let sets = world.get("replicasets");
        let free = |set: &&serde_json::Value| set["metadata"]["ownerReferences"].is_null();
        (sets["items"].as_array().unwrap().iter().filter(free).count() == 1).then_some(())
    });
    world.apply("{ apiVersion: v1, kind: ConfigMap, metadata: { name: lonely } }");

    let run = world.purge(&["list"]).exits(0);
    let lines: Vec<Vec<&str>> = run
        .stdout
        .lines()
        .map(|line| line.split("   ").map(str::trim).filter(|cell| !cell.is_empty()).collect())
        .collect();
    assert_eq!(lines[0], ["NAME", "LABEL", "OBJECTS", "PODS", "CPU", "MEMORY", "QUOTA", "ORPHANS", "MANAGED BY"]);
    assert_eq!(lines[1], ["web", "app", "4", "2", "2", "2Gi", "50% of requests.cpu"]);
    assert_eq!(lines[2], ["old", "app", "2", "1", "1", "1Gi", "25% of requests.cpu", "1"]);
    assert_eq!(lines[3][..3], ["(none)", "1", "0"]);

    let document = world.purge(&["list", "-o", "json"]).exits(0).json();
    assert_eq!(
        (document["kind"].as_str(), document["items"][0]["app"].as_str()),
        (Some("ApplicationList"), Some("web"))
    );
    assert_eq!(document["items"][0]["quota"][0]["amount"], "2");
    assert_eq!(world.purge(&["list", "-o", "name"]).exits(0).stdout, "web\nold\n");
}

#[test]
fn orphans_go_without_an_application_being_named_and_hand_made_pods_stay() {
    let world = World::new("orphans");
    world.deployment("web", "web", 1);
    world.deployment("old", "old", 1);
    world.apply("{ apiVersion: v1, kind: Pod, metadata: { name: debug, labels: { app: old } }, spec: { containers: [ { name: main, image: demo } ] } }");
    world.until_running("app", 3);
    world.kubectl(&["delete", "deployment", "old", "--cascade=orphan"]);
    let set = world.names("replicasets").into_iter().find(|name| name.contains("old")).unwrap();
    world.until("an orphan", || world.get(&set)["metadata"]["ownerReferences"].is_null().then_some(()));
    let set = set.split('/').nth(1).unwrap();

    let plan = world.purge(&["orphans", "--dry-run", "-o", "json"]).exits(0).json();
    assert_eq!(reasons(&plan, "ReplicaSet", set), ["orphan, probably of app=old"]);
    let lines = planned(&plan);
    assert!(lines.len() == 2 && lines.iter().all(|line| !line.contains("web") && !line.contains("debug")), "{lines:?}");

    world
        .purge(&["orphans", "--yes"])
        .exits(0)
        .says("Purge orphans in namespace")
        .says("Purged orphans from namespace");
    assert_eq!(world.names("deployments"), ["deployment.apps/web"]);
    assert!(world.names("pods").contains(&"pod/debug".to_owned()));
    world.purge(&["orphans", "--yes"]).exits(0).says("No orphans in namespace");
}

#[test]
fn jobs_pods_revisions_and_claims_that_nobody_owns_are_told_for_what_they_were() {
    let world = World::new("leftovers");
    world.apply(
        "
{ apiVersion: batch/v1, kind: Job, metadata: { name: once }, spec: { template: { spec: { restartPolicy: Never, containers: [ { name: main, image: demo } ] } } } }
---
{ apiVersion: apps/v1, kind: ControllerRevision, metadata: { name: db-7c9f8d, labels: { app: db } }, revision: 1, data: {} }
---
{ apiVersion: v1, kind: PersistentVolumeClaim, metadata: { name: data-db-0 }, spec: { accessModes: [ReadWriteOnce], resources: { requests: { storage: 1Gi } } } }
",
    );
    world.until("the Job's pod", || (world.names("pods").len() == 1).then_some(()));
    world.kubectl(&["delete", "job", "once", "--cascade=orphan"]);
    let pod = world.names("pods")[0].clone();
    world.until("a pod without owner", || world.get(&pod)["metadata"]["ownerReferences"].is_null().then_some(()));
    let plan = world.purge(&["orphans", "--dry-run", "-o", "json"]).exits(0).json();
    assert_eq!(reasons(&plan, "Pod", pod.trim_start_matches("pod/")), ["orphan, probably of Job/once"]);
    assert_eq!(reasons(&plan, "ControllerRevision", "db-7c9f8d"), ["orphan, probably of app=db"]);
    assert_eq!(plan["suspected"][0]["name"], "data-db-0");
    world.purge(&["orphans", "--yes"]).exits(0);
    assert_eq!(world.names("pods,controllerrevisions,persistentvolumeclaims"), ["persistentvolumeclaim/data-db-0"]);
}
