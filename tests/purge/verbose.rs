//! `-v`: what is told, and what never is.

use std::process::Command;

use crate::harness::{PROGRAM, Run, World};

const CANARY: &str = "canary-5e1d0c";

#[test]
fn requests_are_told_from_level_six_on() {
    let world = World::new("verbose");
    world.deployment("web", "demo", 1);
    world.until_running("app=demo", 1);
    let quiet = world.purge(&["app", "demo", "--dry-run"]).exits(0);
    assert_eq!(quiet.stderr, "");
    let told = world.purge(&["app", "demo", "--dry-run", "-v", "6"]).exits(0);
    assert_eq!(told.stdout.lines().count(), quiet.stdout.lines().count(), "the plan is the same");
    let line = format!(
        "GET {}/apis/apps/v1/namespaces/{}/deployments?limit=500 200 OK in ",
        world.plane.server(),
        world.namespace
    );
    let told = told.complains(&line);
    assert!(!told.stderr.contains("accept:"), "{}", told.stderr);
    world.purge(&["app", "demo", "--dry-run", "-v=7"]).exits(0).complains("\n    accept: application/json");
    world.purge(&["app", "demo", "--dry-run", "--v=8"]).exits(0).complains("\n    content-type: application/json");
}

/// No token, no Secret's data, nothing that a credential plugin hands out, at the highest level there is.
#[test]
fn nothing_secret_is_told_at_any_level() {
    let world = World::new("canary");
    world.deployment("web", "demo", 1);
    world.until_running("app=demo", 1);
    world.apply(&format!(
        "
apiVersion: v1
kind: Secret
metadata: {{ name: secret, labels: {{ app: demo }} }}
stringData: {{ password: {CANARY} }}
---
apiVersion: v1
kind: ConfigMap
metadata: {{ name: configuration, labels: {{ app: demo }} }}
data: {{ password: {CANARY} }}
"
    ));
    // A plugin that hands out the admin's own token.
    let token = world.plane.token(control_plane::ADMIN).unwrap();
    let credential = format!(
        "{{\"apiVersion\":\"client.authentication.k8s.io/v1\",\"kind\":\"ExecCredential\",\"status\":{{\"token\":\"{token}\"}}}}"
    );
    let answer = world.plane.dir().join("verbose-credential.json");
    std::fs::write(&answer, credential).unwrap();
    let with_plugin = world.plane.dir().join("verbose-kubeconfig");
    std::fs::write(&with_plugin, plugin_kubeconfig(&world, &answer.display().to_string())).unwrap();

    let of_plugin = world.purge_as(&with_plugin, &["app", "demo", "--dry-run", "-v", "10", "-o", "json"]).exits(0);
    let with_flag = {
        let mut command = Command::new(PROGRAM);
        command.args(["app", "demo", "--yes", "-v", "10", "--token", token, "-n", &world.namespace]);
        command.env("KUBECONFIG", world.plane.kubeconfig());
        Run::of(command).exits(0)
    };
    for run in [of_plugin, with_flag] {
        assert!(run.stderr.contains("authorization: <masked>"), "{}", run.stderr);
        let run = run.never_says(token).never_says(CANARY);
        // Base64, as a Secret's data is on the wire.
        run.never_says("Y2FuYXJ5LTVlMWQwYw");
    }
}

fn plugin_kubeconfig(world: &World, answer: &str) -> String {
    let authority = world.plane.dir().join("verbose-ca.crt");
    std::fs::write(&authority, world.plane.ca_pem()).unwrap();
    format!(
        "
apiVersion: v1
kind: Config
current-context: c
contexts: [ {{ name: c, context: {{ cluster: c, user: u }} }} ]
clusters: [ {{ name: c, cluster: {{ server: '{}', certificate-authority: '{}' }} }} ]
users:
- name: u
  user:
    exec: {{ apiVersion: client.authentication.k8s.io/v1, interactiveMode: Never, command: cat, args: [ '{answer}' ] }}
",
        world.plane.server(),
        authority.display()
    )
}
