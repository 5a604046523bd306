//! Where nobody says yes, nothing happens.

use std::time::Duration;

use crate::harness::World;

#[test]
fn without_a_terminal_and_without_yes_it_refuses_at_once() {
    let world = World::new("refused");
    world.deployment("web", "demo", 1);
    world.until_running("app=demo", 1);
    let before = world.names("deployments,replicasets,pods");
    let run = world.purge(&["app", "demo"]).exits(3);
    assert!(run.took < Duration::from_secs(1), "{:?}", run.took);
    let run = run.says("Purge application \"demo\"").complains("error: ").complains("--yes");
    assert!(!run.stdout.contains("[y/N]"), "{}", run.stdout);
    assert_eq!(world.names("deployments,replicasets,pods"), before);
    assert_eq!(world.get("deployment/web")["spec"]["replicas"], 1);
}

#[test]
fn a_dry_run_shows_the_plan_and_changes_nothing() {
    let world = World::new("dry");
    world.deployment("web", "demo", 1);
    world.until_running("app=demo", 1);
    let version = || world.get("deployment/web")["metadata"]["resourceVersion"].clone();
    let before = version();
    world.purge(&["app", "demo", "--dry-run"]).exits(0).says("scale to 0").says("Plan: scale 1 to 0, delete 1");
    let plan = world.purge(&["app", "demo", "--dry-run=client", "--yes", "-o", "json"]).exits(0).json();
    assert_eq!(plan["kind"], "Plan");
    assert!(plan["digest"].as_str().unwrap().starts_with("sha256:"));
    assert_eq!(version(), before);
}

#[test]
fn names_that_are_no_label_value_are_refused_before_any_request() {
    let world = World::new("names");
    for name in ["", " ", "demo,tier", "a in (b)", &"x".repeat(64), "-a", "a=b"] {
        let run = world.purge(&["app", "--kubeconfig", "/does/not/exist", "--yes", "--", name]);
        let run = run.exits(2);
        assert!(run.stdout.is_empty() && run.stderr.starts_with("error: "), "{name:?}: {}", run.stderr);
    }
}
