//! What comes back, or tries to: told with its maker, and never chased without end.

use std::{
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

use crate::harness::World;

/// Does something every 200 ms while the program runs.
fn meanwhile<T>(act: impl Fn() + Sync, run: impl FnOnce() -> T) -> T {
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                act();
                std::thread::sleep(Duration::from_millis(200));
            }
        });
        let result = run();
        over.store(true, Ordering::Relaxed);
        result
    })
}

#[test]
fn what_somebody_makes_anew_is_reported_with_its_maker() {
    let world = World::new("anew");
    let manifest = "{apiVersion: v1, kind: ConfigMap, metadata: {name: settings, labels: {app: demo}}}";
    let other = "{apiVersion: v1, kind: ConfigMap, metadata: {name: fresh, labels: {app: demo}}}";
    world.apply(manifest);
    let command = |yaml: &str| {
        let arguments = ["apply", "-n", &world.namespace, "--server-side", "--field-manager=gitops", "-f", "-"];
        let _ = world.plane.kubectl_with_input(&arguments, yaml);
    };
    let before = world.get("configmap/settings")["metadata"]["uid"].clone();
    let gone = || !world.kubectl(&["get", "configmap", "settings", "--ignore-not-found", "-o", "name"]).is_empty();
    let run = meanwhile(
        || {
            if !gone() {
                command(manifest);
                command(other);
            }
        },
        || world.purge(&["app", "demo", "--yes", "-o", "json"]),
    )
    .exits(4);
    let report = run.json();
    let object = &report["objects"][0];
    assert_eq!((object["result"].as_str(), object["recreatedBy"].as_str()), (Some("recreated"), Some("gitops")));
    assert_ne!(object["recreatedUid"], before);
    assert_eq!(
        (report["newcomers"][0]["title"].as_str(), report["newcomers"][0]["by"].as_str()),
        (Some("ConfigMap/fresh"), Some("gitops"))
    );
    // What came back has not been touched.
    assert_eq!(world.get("configmap/settings")["metadata"]["uid"], object["recreatedUid"]);
}

#[test]
fn who_scales_up_again_is_named_and_the_run_goes_on() {
    let world = World::new("rescaled");
    world.deployment("web", "demo", 2);
    world.until_running("app=demo", 2);
    for pod in world.names("pods") {
        world.kubectl(&["patch", &pod, "-p", r#"{"metadata":{"finalizers":["demo.example/hold"]}}"#]);
    }
    // Another hand scales up as soon as we have scaled down, while the pods take their time.
    let run = meanwhile(
        || {
            let deployment = world.kubectl(&["get", "deployment", "web", "--ignore-not-found", "-o", "json"]);
            let deployment: serde_json::Value = serde_json::from_str(&deployment).unwrap_or_default();
            if deployment["spec"]["replicas"] == 0 {
                let patch = r#"{"spec":{"replicas":2}}"#;
                let _ = world.plane.kubectl(&[
                    "patch",
                    "deployment",
                    "web",
                    "-n",
                    &world.namespace,
                    "--type=merge",
                    "--field-manager=waker",
                    "-p",
                    patch,
                ]);
                for pod in world.names("pods") {
                    let patch = r#"{"metadata":{"finalizers":null}}"#;
                    let arguments = ["patch", &pod, "-n", &world.namespace, "--type=merge", "-p", patch];
                    let _ = world.plane.kubectl(&arguments);
                }
            }
        },
        || world.purge(&["app", "demo", "--yes"]),
    )
    .exits(0);
    run.complains("trouble: Deployment/web: scaled up to 2 again by waker; set to 0 once more");
    assert_eq!(world.names("deployments,replicasets,pods"), [""; 0]);
}

const KEDA: &str = "
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: { name: scaledobjects.keda.sh }
spec:
  group: keda.sh
  scope: Namespaced
  names: { kind: ScaledObject, plural: scaledobjects, singular: scaledobject }
  versions:
  - name: v1alpha1
    served: true
    storage: true
    schema: { openAPIV3Schema: { type: object, x-kubernetes-preserve-unknown-fields: true } }
";

#[test]
fn keda_is_paused_and_its_object_goes_while_the_workload_still_stands() {
    let world = World::new("keda");
    world.plane.apply(KEDA).unwrap();
    world.until("the kind", || world.plane.kubectl(&["get", "scaledobjects.keda.sh", "-A"]).success().then_some(()));
    world.deployment("web", "demo", 2);
    world.apply(
        "
apiVersion: keda.sh/v1alpha1
kind: ScaledObject
metadata: { name: web, labels: { app: demo }, finalizers: [finalizer.keda.sh] }
spec: { scaleTargetRef: { name: web }, minReplicaCount: 2 }
",
    );
    world.until_running("app=demo", 2);
    // The operator: keeps the replicas up unless paused, and clears its finalizer only while the workload exists.
    let operator = || {
        let list = world.get("scaledobjects.keda.sh");
        let metadata = &list["items"][0]["metadata"];
        let stands = !world.names("deployments").is_empty();
        if metadata["deletionTimestamp"].is_string() {
            if stands {
                let patch = r#"{"metadata":{"finalizers":null}}"#;
                let arguments = ["patch", "scaledobject", "web", "-n", &world.namespace, "--type=merge", "-p", patch];
                let _ = world.plane.kubectl(&arguments);
            }
        } else if metadata.is_object() && metadata["annotations"]["autoscaling.keda.sh/paused-replicas"].is_null() {
            let _ = world.plane.kubectl(&["scale", "deployment", "web", "--replicas=2", "-n", &world.namespace]);
        }
    };
    let run = meanwhile(operator, || world.purge(&["app", "demo", "--yes"])).exits(0);
    run.says("paused first").complains("ScaledObject/web paused").never_says("scaled up to");
    assert_eq!(world.names("deployments,replicasets,pods,scaledobjects.keda.sh"), [""; 0]);
}

#[test]
fn a_custom_workload_is_scaled_through_its_subresource_and_goes_before_what_it_would_make_anew() {
    let world = World::new("rollout");
    world
        .plane
        .apply(
            "
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: { name: rollouts.demo.example }
spec:
  group: demo.example
  scope: Namespaced
  names: { kind: Rollout, plural: rollouts, singular: rollout }
  versions:
  - name: v1
    served: true
    storage: true
    schema: { openAPIV3Schema: { type: object, x-kubernetes-preserve-unknown-fields: true } }
    subresources: { scale: { specReplicasPath: .spec.replicas, statusReplicasPath: .status.replicas } }
",
        )
        .unwrap();
    world.until("the kind", || world.plane.kubectl(&["get", "rollouts.demo.example", "-A"]).success().then_some(()));
    world.apply(
        "{apiVersion: demo.example/v1, kind: Rollout, metadata: {name: web, labels: {app: demo}}, spec: {replicas: 2}}",
    );
    let uid = world.get("rollout/web")["metadata"]["uid"].as_str().unwrap().to_owned();
    let set = |replicas: i64| {
        format!(
            "
apiVersion: apps/v1
kind: ReplicaSet
metadata:
  name: web
  labels: {{ app: demo }}
  ownerReferences: [ {{ apiVersion: demo.example/v1, kind: Rollout, name: web, uid: {uid}, controller: true }} ]
spec:
  replicas: {replicas}
  selector: {{ matchLabels: {{ app: demo }} }}
  template: {}
",
            crate::harness::template("demo")
        )
    };
    world.apply(&set(2));
    world.until_running("app=demo", 2);
    // Its controller: the ReplicaSet is there as long as the Rollout is, with the replicas of the Rollout.
    let controller = || {
        let list = world.get("rollouts.demo.example");
        let rollout = &list["items"][0];
        if let (Some(replicas), true) =
            (rollout["spec"]["replicas"].as_i64(), rollout["metadata"]["deletionTimestamp"].is_null())
        {
            let _ = world.plane.kubectl_with_input(&["apply", "-n", &world.namespace, "-f", "-"], &set(replicas));
        }
    };
    let run = meanwhile(controller, || world.purge(&["app", "demo", "--yes"])).exits(0);
    run.complains("scaled Rollout/web from 2 to 0");
    std::thread::sleep(Duration::from_secs(1));
    assert_eq!(world.names("rollouts.demo.example,replicasets,pods"), [""; 0]);
}
