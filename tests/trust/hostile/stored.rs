//! What the real API server lets people store and say, however hostile: it forbids much, and not all.

use super::check::{aligned, harmless, silent_about};
use crate::harness::World;

const CANARY: &str = "canary-stored-44a1";

/// Names of Roles may be anything but a path; annotations, messages and reasons may be anything at all.
#[test]
fn what_a_real_server_stores_is_shown_harmless() {
    let world = World::new("hostile");
    world.apply(&format!(
        r#"
apiVersion: v1
kind: List
items:
- apiVersion: rbac.authorization.k8s.io/v1
  kind: Role
  metadata: {{ name: "role\e[31m\u202etxt\u200b\a", labels: {{ app: demo }} }}
- apiVersion: rbac.authorization.k8s.io/v1
  kind: Role
  metadata: {{ name: "日本語 two  spaces\t\r\n", labels: {{ app: demo }} }}
- apiVersion: v1
  kind: ConfigMap
  metadata:
    name: configuration
    labels: {{ app: demo }}
    finalizers: [ example.com/hold ]
    annotations: {{ kubectl-purge/keep: "\e]52;c;eA==\a", "argocd.argoproj.io/tracking-id": "\e[2J:x/y:z/w" }}
- apiVersion: v1
  kind: Secret
  metadata:
    name: secret
    labels: {{ app: demo }}
    annotations: {{ kubectl.kubernetes.io/last-applied-configuration: "{CANARY}" }}
  stringData: {{ password: {CANARY} }}
- apiVersion: v1
  kind: Service
  metadata: {{ name: held, labels: {{ app: demo }} }}
  spec: {{ ports: [ {{ port: 80 }} ] }}
"#
    ));
    let policy = format!("hostile-{}", world.namespace);
    world.plane.apply_in(&world.namespace, &refusing(&policy, &world.namespace)).unwrap();
    // The policy is in force once a try of a delete meets it.
    let refused = world.until("the policy to be in force", || {
        let run = world.purge(&["app", "demo", "--dry-run=server", "--allow-managed"]);
        run.stdout.contains("not in my words").then_some(run)
    });
    let mut runs = vec![refused];
    for flags in
        [&["-o", "wide"][..], &["-o", "json"], &["-o", "yaml"], &["-o", "name"], &["-v", "10"], &["--color=always"]]
    {
        runs.push(world.purge(&[&["app", "demo", "--dry-run", "--allow-managed"], flags].concat()));
    }
    runs.push(world.purge(&["app", "demo", "--dry-run"]));
    runs.push(world.purge(&["list"]));
    runs.push(world.purge(&["app", "demo", "--yes", "--allow-managed", "--timeout=2s"]).exits(4));
    world.kubectl(&["delete", "validatingadmissionpolicybinding,validatingadmissionpolicy", &policy]);
    let mut rows = 0;
    for run in &runs {
        harmless(run, run.stdout.contains("\u{1b}[31m"));
        silent_about(run, &[CANARY, "Y2FuYXJ5LXN0b3JlZC00NGEx"]);
        rows += aligned(&run.stdout);
    }
    assert!(rows >= 20, "{rows} rows");
    assert!(runs[0].stdout.contains("role\\u{1b}[31m\\u{202e}txt\\u{200b}\\u{7}"), "{}", runs[0].stdout);
    let left = world.names("roles");
    assert_eq!(left.len(), 0, "odd names are deleted like any other: {left:?}");
}

/// A policy that lets no Service be deleted, and warns of every other delete, in hostile words.
fn refusing(name: &str, namespace: &str) -> String {
    format!(
        r#"
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {{ name: {name} }}
spec:
  failurePolicy: Fail
  matchConstraints:
    namespaceSelector: {{ matchLabels: {{ kubernetes.io/metadata.name: {namespace} }} }}
    resourceRules: [ {{ apiGroups: [ "" ], apiVersions: [ v1 ], operations: [ DELETE ], resources: [ services ] }} ]
  validations:
  - expression: "false"
    message: "not in my words \e[31m\u202e\a\u200b"
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {{ name: {name} }}
spec: {{ policyName: {name}, validationActions: [ Deny ] }}
"#
    )
}
