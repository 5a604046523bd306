//! What does not belong to the application is neither planned nor changed.

use crate::harness::{World, planned};

const KINDS: &str = "deployments,replicasets,pods,services,configmaps";

/// Stored objects are compared without what a controller counts in them.
fn settled(world: &World) -> std::collections::BTreeMap<String, serde_json::Value> {
    world.until("stored objects that stand still", || {
        let before = world.stored(KINDS);
        std::thread::sleep(std::time::Duration::from_millis(500));
        (world.stored(KINDS) == before).then_some(before)
    })
}

#[test]
fn another_application_and_another_namespace_are_left_byte_for_byte() {
    let here = World::new("here");
    let elsewhere = World::new("elsewhere");
    here.deployment("demo", "demo", 1);
    here.deployment("demo-b", "demo-b", 1);
    elsewhere.deployment("demo", "demo", 1);
    for (world, selector) in [(&here, "app=demo"), (&here, "app=demo-b"), (&elsewhere, "app=demo")] {
        world.until_running(selector, 1);
    }
    let others_here = || -> Vec<serde_json::Value> {
        let all = settled(&here).into_values();
        all.filter(|object| object["metadata"]["labels"]["app"] == "demo-b").collect()
    };
    let (before_here, before_elsewhere) = (others_here(), settled(&elsewhere));

    let report = here.purge(&["app", "demo", "--yes", "-o", "json"]).exits(0).json();

    assert!(planned(&report).iter().all(|line| !line.contains("demo-b")), "{:?}", planned(&report));
    assert_eq!(others_here(), before_here);
    assert_eq!(before_here.len(), 3);
    assert_eq!(settled(&elsewhere), before_elsewhere);
}

#[test]
fn a_service_of_two_applications_is_left_alone() {
    let world = World::new("shared-service");
    world.apply(
        "
apiVersion: v1
kind: Service
metadata: { name: both }
spec: { selector: { tier: front }, ports: [ { port: 80 } ] }
---
apiVersion: v1
kind: Pod
metadata: { name: one, labels: { app: demo, tier: front } }
spec: { terminationGracePeriodSeconds: 0, containers: [ { name: main, image: demo } ] }
---
apiVersion: v1
kind: Pod
metadata: { name: two, labels: { app: other, tier: front } }
spec: { containers: [ { name: main, image: demo } ] }
",
    );
    world.until_running("tier=front", 2);
    let report = world.purge(&["app", "demo", "--yes", "-o", "json"]).exits(0).json();
    assert_eq!(planned(&report), ["delete Pod/one"]);
    assert_eq!(world.names("services,pods"), ["pod/two", "service/both"]);
}

#[test]
fn claims_and_what_says_keep_and_what_others_use_are_kept() {
    let world = World::new("kept");
    world.apply(
        "
apiVersion: v1
kind: PersistentVolumeClaim
metadata: { name: data, labels: { app: demo } }
spec: { accessModes: [ReadWriteOnce], resources: { requests: { storage: 1Gi } } }
---
apiVersion: v1
kind: ConfigMap
metadata: { name: kept, labels: { app: demo }, annotations: { kubectl-purge/keep: 'true' } }
---
apiVersion: v1
kind: ConfigMap
metadata: { name: shared, labels: { app: demo } }
---
apiVersion: v1
kind: ConfigMap
metadata: { name: own, labels: { app: demo } }
---
apiVersion: v1
kind: Pod
metadata: { name: other, labels: { app: other } }
spec: { containers: [ { name: main, image: demo, envFrom: [ { configMapRef: { name: shared } } ] } ] }
",
    );
    let run = world.purge(&["app", "demo", "--yes"]).exits(0);
    run.says("holds data (--delete-data)").says("also used by Pod/other").says("annotation kubectl-purge/keep: true");
    assert_eq!(
        world.names("configmaps,persistentvolumeclaims,pods"),
        ["configmap/kept", "configmap/kube-root-ca.crt", "configmap/shared", "persistentvolumeclaim/data", "pod/other"]
    );
}
