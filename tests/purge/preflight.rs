//! What the server would refuse stands in the plan before anything is changed.

use control_plane::{ControlPlane, Rule};
use serde_json::Value;

use crate::harness::World;

/// A policy and a dead webhook that refuse deletes in this namespace: of what is labelled `protect`, and of Secrets.
struct Refusing<'a> {
    world: &'a World,
}

impl<'a> Refusing<'a> {
    fn deletes_in(world: &'a World) -> Self {
        let name = &world.namespace;
        world.apply(&format!(
            "
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {{ name: {name} }}
spec:
  failurePolicy: Fail
  matchConstraints:
    namespaceSelector: {{ matchLabels: {{ kubernetes.io/metadata.name: {name} }} }}
    objectSelector: {{ matchLabels: {{ protect: 'yes' }} }}
    resourceRules:
    - {{ apiGroups: ['', apps], apiVersions: ['*'], resources: ['configmaps', 'deployments'], operations: [DELETE] }}
  validations: [ {{ expression: 'false', message: 'ask the owners first' }} ]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {{ name: {name} }}
spec: {{ policyName: {name}, validationActions: [Deny] }}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {{ name: {name} }}
webhooks:
- name: dead.demo.example
  clientConfig: {{ url: 'https://127.0.0.1:1/' }}
  failurePolicy: Fail
  sideEffects: None
  admissionReviewVersions: [v1]
  namespaceSelector: {{ matchLabels: {{ kubernetes.io/metadata.name: {name} }} }}
  rules: [ {{ apiGroups: [''], apiVersions: ['*'], resources: [secrets], operations: [DELETE] }} ]
"
        ));
        world.apply("{apiVersion: v1, kind: ConfigMap, metadata: {name: probe, labels: {protect: 'yes'}}}");
        world.apply("{apiVersion: v1, kind: Secret, metadata: {name: probe}}");
        for object in ["configmap/probe", "secret/probe"] {
            world.until("the refusal to be in force", || {
                let arguments = ["delete", "-n", name, object, "--dry-run=server"];
                (!world.plane.kubectl(&arguments).success()).then_some(())
            });
        }
        Self { world }
    }
}

impl Drop for Refusing<'_> {
    fn drop(&mut self) {
        for kind in ["validatingadmissionpolicybinding", "validatingadmissionpolicy", "validatingwebhookconfiguration"]
        {
            let _ = self.world.plane.kubectl(&["delete", kind, &self.world.namespace]);
        }
    }
}

fn object<'a>(document: &'a Value, kind: &str, name: &str) -> &'a Value {
    let objects = document["objects"].as_array().unwrap();
    objects.iter().find(|object| object["kind"] == kind && object["name"] == name).unwrap()
}

#[test]
fn refusals_stand_in_the_plan_and_the_rest_is_purged() {
    let world = World::new("refusing");
    world.deployment("web", "demo", 1);
    world.deployment("guarded", "demo", 1);
    world.kubectl(&["label", "deployment", "guarded", "protect=yes"]);
    world.apply(
        "
apiVersion: v1
kind: ConfigMap
metadata: { name: guarded, labels: { app: demo, protect: 'yes' } }
---
apiVersion: v1
kind: Service
metadata: { name: front, labels: { app: demo } }
spec: { selector: { app: demo }, ports: [ { port: 80 } ] }
---
apiVersion: v1
kind: ConfigMap
metadata: { name: free, labels: { app: demo } }
---
apiVersion: v1
kind: Secret
metadata: { name: token, labels: { app: demo } }
",
    );
    world.until_running("app=demo", 2);
    let refusing = Refusing::deletes_in(&world);

    let client = world.purge(&["app", "demo", "--dry-run"]).exits(0);
    assert!(!client.stdout.contains("would refuse"), "{}", client.stdout);
    let before = world.stored("deployments,configmaps,secrets");
    let server = world.purge(&["app", "demo", "--dry-run=server"]).exits(4);
    server
        .says("warning: the server would refuse to delete 3 objects: they stay, with all that they need")
        .says("ask the owners first");
    assert_eq!(world.stored("deployments,configmaps,secrets"), before);
    let plan = world.purge(&["app", "demo", "--dry-run=server", "-o", "json"]).exits(4).json();
    for (kind, name, words) in [
        ("ConfigMap", "guarded", "ask the owners first"),
        ("Deployment", "guarded", "ask the owners first"),
        ("Secret", "token", "failed calling webhook"),
    ] {
        let note = object(&plan, kind, name)["notes"][0].as_str().unwrap();
        assert!(note.starts_with("the server would refuse: ") && note.contains(words), "{note}");
    }
    assert_eq!(object(&plan, "ConfigMap", "free")["notes"], serde_json::json!([]));

    let run = world.purge(&["app", "demo", "--yes"]).exits(4);
    run.says("Left:").says("Deployment/guarded").says("failed calling webhook").says("ask the owners first");
    // What is refused was not even scaled down, its pod lives, and so does the Service in front of it.
    assert_eq!(world.names("services"), ["service/front"]);
    assert_eq!(world.get("deployment/guarded")["spec"]["replicas"], 1);
    world.until_running("app=demo", 1);
    assert_eq!(
        world.names("deployments,configmaps,secrets"),
        [
            "configmap/guarded",
            "configmap/kube-root-ca.crt",
            "configmap/probe",
            "deployment.apps/guarded",
            "secret/probe",
            "secret/token",
        ]
    );

    drop(refusing);
    world.until("the refusals to end", || {
        let arguments = ["delete", "-n", &world.namespace, "configmap/guarded", "secret/token", "--dry-run=server"];
        world.plane.kubectl(&arguments).success().then_some(())
    });
    world.purge(&["app", "demo", "--yes"]).exits(0);
    assert_eq!(world.names("deployments,pods"), [""; 0]);
}

#[test]
fn a_user_who_may_delete_nothing_is_told_before_anything_is_scaled() {
    let world = World::new("reader");
    world.deployment("web", "demo", 1);
    world.until_running("app=demo", 1);
    let rules = [
        Rule::new(&["apps"], &["deployments/scale"], &["get", "patch"]),
        Rule::new(&["", "apps"], &["pods", "deployments", "replicasets"], &["get", "list", "watch", "patch"]),
    ];
    let kubeconfig = ControlPlane::shared().user_with_role("reader", &world.namespace, &rules).unwrap();
    let run = world.purge_as(&kubeconfig, &["app", "demo", "--yes"]).exits(1);
    run.complains("error: the server would refuse everything in this plan, and nothing was changed:")
        .complains("cannot delete resource")
        .says("ACTION");
    assert_eq!(world.get("deployment/web")["spec"]["replicas"], 1);
    world.purge_as(&kubeconfig, &["app", "demo", "--dry-run=server"]).exits(4).says("the server would refuse");
}

#[test]
fn what_may_not_be_scaled_is_deleted_as_it_stands() {
    let world = World::new("unscalable");
    world.deployment("web", "demo", 2);
    world.until_running("app=demo", 2);
    let rules = [
        Rule::new(&["apps"], &["deployments"], &["get", "list", "watch", "delete"]),
        Rule::new(&["apps"], &["replicasets"], &["get", "list", "watch"]),
        Rule::new(&[""], &["pods"], &["get", "list"]),
    ];
    let kubeconfig = ControlPlane::shared().user_with_role("unscaling", &world.namespace, &rules).unwrap();
    let run = world.purge_as(&kubeconfig, &["app", "demo", "--yes"]).exits(0);
    assert!(run.took.as_secs() < 20, "{:?}", run.took);
    run.says("deleted without scaling down, which the server would refuse:")
        .complains("trouble: Deployment/web: not scaled down: ")
        .complains("workloads: 4 objects gone in")
        .says("kinds that could not be read");
    assert_eq!(world.names("deployments,replicasets,pods"), [""; 0]);
}

#[test]
fn of_many_objects_of_a_kind_some_are_tried_and_that_is_said() {
    let world = World::new("many");
    let maps: Vec<String> = (0..60)
        .map(|number| {
            format!("{{apiVersion: v1, kind: ConfigMap, metadata: {{name: map-{number}, labels: {{app: demo}}}}}}\n")
        })
        .collect();
    world.apply(&maps.join("---\n"));
    let run = world.purge(&["app", "demo", "--dry-run=server"]).exits(0);
    run.says("warning: of 60 configmaps, the deletion of 50 was tried");
    world.purge(&["app", "demo", "--yes"]).exits(0).says("60 objects gone");
}

#[test]
fn without_watch_the_run_looks_again_and_again() {
    let world = World::new("unwatching");
    world.deployment("web", "demo", 2);
    world.apply("{apiVersion: v1, kind: ConfigMap, metadata: {name: settings, labels: {app: demo}}}");
    world.until_running("app=demo", 2);
    let kinds = ["pods", "configmaps", "deployments", "replicasets", "deployments/scale"];
    let rules = [Rule::new(&["", "apps"], &kinds, &["get", "list", "patch", "delete"])];
    let kubeconfig = ControlPlane::shared().user_with_role("unwatching", &world.namespace, &rules).unwrap();
    let run = world.purge_as(&kubeconfig, &["app", "demo", "--yes"]).exits(0);
    run.complains("drained 2 pods").says("kinds that could not be read").says("not checked (forbidden): ");
    assert_eq!(world.names("deployments,replicasets,pods,configmaps"), ["configmap/kube-root-ca.crt"]);
}
