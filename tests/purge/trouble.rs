//! What can't work says so in one clear line, soon, and changes nothing.

use std::{process::Command, time::Duration};

use control_plane::{ControlPlane, Rule};

use crate::harness::{PROGRAM, Run, World};

#[track_caller]
fn fails_in_one_line(run: Run, text: &str) {
    let run = run.exits(1);
    assert!(run.took < Duration::from_secs(5), "{:?}", run.took);
    assert_eq!(run.stdout, "");
    assert_eq!(run.stderr.lines().count(), 1, "{}", run.stderr);
    assert!(run.stderr.starts_with("error: "), "{}", run.stderr);
    run.complains(text);
}

#[test]
fn an_unknown_namespace_is_an_error_and_not_an_empty_one() {
    let world = World::new("unknown");
    let mut command = Command::new(PROGRAM);
    command.args(["app", "demo", "--yes", "-n", "no-such-namespace"]).env("KUBECONFIG", world.plane.kubeconfig());
    fails_in_one_line(Run::of(command), "namespace \"no-such-namespace\" not found");
}

#[test]
fn an_unknown_context_is_named() {
    let world = World::new("context");
    fails_in_one_line(world.purge(&["app", "demo", "--yes", "--context", "nowhere"]), "\"nowhere\"");
}

#[test]
fn a_server_that_cannot_be_reached_is_said_soon() {
    let world = World::new("unreachable");
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let server = format!("https://127.0.0.1:{port}");
    fails_in_one_line(world.purge(&["app", "demo", "--yes", "--server", &server]), &server);
}

#[test]
fn a_server_that_never_answers_is_said_soon() {
    let world = World::new("silent");
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let server = format!("https://{}", listener.local_addr().unwrap());
    fails_in_one_line(world.purge(&["app", "demo", "--yes", "--server", &server]), &server);
}

#[test]
fn a_user_who_may_do_nothing_is_told_so() {
    let world = World::new("forbidden");
    let rule = Rule::new(&[""], &["bindings"], &["create"]);
    let kubeconfig = ControlPlane::shared().user_with_role("nobody-much", &world.namespace, &[rule]).unwrap();
    fails_in_one_line(world.purge_as(&kubeconfig, &["app", "demo", "--yes"]), "may be listed");
}

#[test]
fn kinds_that_may_not_be_listed_are_shown_and_never_taken_for_empty() {
    let world = World::new("poor");
    world.deployment("web", "demo", 1);
    world.until_running("app=demo", 1);
    let rules = [
        Rule::new(&["apps"], &["deployments", "replicasets"], &["get", "list", "watch", "delete", "patch"]),
        Rule::new(&["apps"], &["deployments/scale"], &["get", "patch", "update"]),
        Rule::new(&[""], &["pods"], &["get", "list", "watch", "delete"]),
    ];
    let kubeconfig = ControlPlane::shared().user_with_role("poor", &world.namespace, &rules).unwrap();
    let run = world.purge_as(&kubeconfig, &["app", "demo", "--yes"]).exits(0);
    let run = run.says("not checked (forbidden):").says("secrets");
    assert!(!run.stdout.contains("nothing is left"), "{}", run.stdout);
    assert_eq!(world.names("deployments,replicasets,pods"), [""; 0]);
}
