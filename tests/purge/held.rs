//! Objects that do not go: the run ends in time, names them and why, and the next run finishes.

use std::time::Duration;

use crate::harness::World;

#[test]
fn a_pod_held_by_a_finalizer_is_named_and_the_next_run_finishes() {
    let world = World::new("held");
    world.deployment("web", "demo", 2);
    world.apply(
        "
apiVersion: v1
kind: ConfigMap
metadata: { name: settings, labels: { app: demo } }
",
    );
    world.until_running("app=demo", 2);
    let pod = world.names("pods")[0].clone();
    world.kubectl(&["patch", &pod, "-p", r#"{"metadata":{"finalizers":["demo.example/hold"]}}"#]);
    let title = pod.replace("pod/", "Pod/");

    let run = world.purge(&["app", "demo", "--yes", "--timeout", "6s"]).exits(4);

    assert!(run.took < Duration::from_secs(20), "{:?}", run.took);
    let run = run.says(&title).says("demo.example/hold").never_says("Purged application");
    // What does not depend on the pod has gone all the same.
    assert_eq!(
        world.names("deployments,replicasets,pods,configmaps"),
        ["configmap/kube-root-ca.crt", &pod],
        "{}",
        run.stdout
    );

    // It goes on from what the cluster holds, and says that the pod is on its way out already.
    let report = world.purge(&["app", "demo", "--yes", "--timeout", "2s", "-o", "json"]).exits(4).json();
    assert_eq!(report["objects"][0]["result"], "left");
    assert_eq!(report["objects"][0]["finalizers"][0], "demo.example/hold");

    world.kubectl(&["patch", &pod, "--type=merge", "-p", r#"{"metadata":{"finalizers":null}}"#]);
    world.purge(&["app", "demo", "--yes"]).exits(0);
    assert_eq!(world.names("pods"), [""; 0]);
}
