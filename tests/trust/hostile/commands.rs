//! Commands that are suggested, with names in them that a shell would carry out. Annotations may hold any.

use std::{
    fs,
    process::{Command, Stdio},
};

use super::check::harmless;
use crate::harness::{Run, World};

/// Whoever copies a command that holds one of these makes the file, or says another command than it seems.
const NAMES: [&str; 6] =
    ["x; touch made #", "$(touch made)", "x && touch made", "x\ntouch made\n", "--made", "x | touch made"];

/// What stands between backquotes, and on the lines under a heading that says what to type.
fn commands(run: &Run) -> Vec<String> {
    let text = format!("{}\n{}", run.stdout, run.stderr);
    let quoted =
        text.lines().flat_map(|line| line.split('`').skip(1).step_by(2).map(str::to_owned).collect::<Vec<_>>());
    let listed = text.lines().filter_map(|line| line.strip_prefix("  kubectl ")).map(|line| format!("kubectl {line}"));
    let suggested = text.lines().filter_map(|line| line.strip_prefix("Did you mean: ")).map(str::to_owned);
    quoted.chain(listed).chain(suggested).collect()
}

#[test]
#[cfg(unix)]
fn whatever_things_are_called_a_suggested_command_carries_nothing_else_out() {
    let world = World::new("commands");
    let mut documents = Vec::new();
    for (number, name) in NAMES.iter().enumerate() {
        let tracking = format!("{name}:/ConfigMap:{}/tracked-{number}", world.namespace);
        let object = |name: String, annotations: serde_json::Value, app: String| {
            serde_json::json!({ "apiVersion": "v1", "kind": "ConfigMap",
                                "metadata": { "name": name, "labels": { "app": app }, "annotations": annotations } })
        };
        let tracked = serde_json::json!({ "argocd.argoproj.io/tracking-id": tracking });
        documents.push(object(format!("tracked-{number}"), tracked, format!("tracked-{number}")));
        let released = serde_json::json!({ "meta.helm.sh/release-name": name });
        documents.push(object(format!("released-{number}"), released, format!("released-{number}")));
        documents.push(serde_json::json!({ "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role",
            "metadata": { "name": name, "labels": { "app": "roles" }, "finalizers": ["example.com/hold"] } }));
    }
    world.apply(&serde_json::json!({ "apiVersion": "v1", "kind": "List", "items": documents }).to_string());
    let mut runs = Vec::new();
    for number in 0..NAMES.len() {
        runs.push(
            world.purge(&["app", &format!("tracked-{number}"), "--yes"]).exits(3).complains("Argo CD application"),
        );
        let run = world.purge(&["app", &format!("released-{number}"), "--dry-run"]).exits(0);
        assert!(format!("{}{}", run.stdout, run.stderr).contains("part of Helm release"), "{run:?}");
        runs.push(run);
    }
    runs.push(world.purge(&["app", "roles", "--yes", "--timeout=1s"]).exits(4).says("To go on"));
    runs.push(world.purge(&["app", "role"]));

    let folder = super::setup::Folder::new();
    for program in ["kubectl", "argocd", "helm"] {
        folder.script(program, ":");
    }
    let path = format!("{}:/usr/bin:/bin", folder.0.display());
    let mut tried = 0;
    for run in &runs {
        harmless(run, false);
        for command in commands(run) {
            // A real shell says what it would do.
            let mut shell = Command::new("sh");
            shell.args(["-c", &command]).current_dir(&folder.0).env("PATH", &path).stdin(Stdio::null());
            shell.stdout(Stdio::null()).stderr(Stdio::null()).status().unwrap();
            assert!(!folder.0.join("made").exists(), "{command}");
            assert!(!command.contains("delete --made") && !command.contains("uninstall --made"), "{command}");
            tried += 1;
        }
    }
    assert!(tried > NAMES.len(), "{tried} commands");
    assert_eq!(fs::read_dir(&folder.0).unwrap().count(), 3);
}
