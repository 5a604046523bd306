//! What is typed, before any cluster is asked: help, flags in every order, and what is wrong.

use std::process::Command;

use crate::harness::{PROGRAM, Run, World};

/// The program with no cluster to be found.
fn run(arguments: &[&str]) -> Run {
    let mut command = Command::new(PROGRAM);
    command.args(arguments).env_clear().env("HOME", "/nonexistent");
    Run::of(command)
}

#[test]
fn without_a_command_there_is_help_and_a_usage_error() {
    let help = run(&[]).exits(2).complains("Usage:\n  kubectl purge COMMAND [flags]");
    assert_eq!(help.stdout, "");
    let asked = run(&["--help"]).exits(0);
    assert!(asked.stdout.starts_with("Delete an application from a namespace"), "{}", asked.stdout);
    assert!(asked.stderr.is_empty());
}

#[test]
fn help_stands_in_kubectls_order() {
    let help = run(&["app", "--help"]).exits(0).stdout;
    let parts = [
        "Delete an application\n",
        "\nExamples:\n",
        "\nWhat to purge:\n",
        "\nHow to run:\n",
        "\nConnection flags (kubectl's own):\n",
        "\nUsage:\n  kubectl purge app (NAME | TYPE/NAME | -l SELECTOR) [flags]",
    ];
    let places: Vec<usize> =
        parts.iter().map(|part| help.find(part).unwrap_or_else(|| panic!("{part:?}\n{help}"))).collect();
    assert!(places.is_sorted(), "{places:?}\n{help}");
    for command in ["orphans", "list", "completion"] {
        run(&[command, "--help"]).exits(0).says("\nExamples:\n").says("\nUsage:\n");
    }
}

#[test]
fn the_manual_tells_what_the_help_tells() {
    run(&["man"])
        .exits(0)
        .says(".TH kubectl-purge 1")
        .says("KUBECTL PURGE APP")
        .says("EXIT STATUS")
        .says("\\-\\-kubeconfig");
}

#[test]
fn what_is_wrong_is_said_with_what_was_meant() {
    run(&["app", "demo", "--timout", "5m"]).exits(2).complains("'--timeout'");
    run(&["ap", "demo"]).exits(2).complains("'app'");
    run(&["app"]).exits(2).complains("required");
    run(&["app", "demo", "other"]).exits(2);
    run(&["app", "demo", "-v"]).exits(2);
    for all in ["-A", "--all-namespaces"] {
        run(&["app", "demo", all]).exits(2).complains("error: -A is not for this program").complains("-n NAMESPACE");
        run(&["list", all]).exits(2).complains("-n NAMESPACE");
    }
}

/// C55.
#[test]
fn flags_may_stand_before_and_after_the_command() {
    let world = World::new("orders");
    let (namespace, equals) = (world.namespace.as_str(), format!("--namespace={}", world.namespace));
    for arguments in [
        &["-n", namespace, "app", "demo", "--dry-run"][..],
        &["app", "-n", namespace, "demo", "--dry-run"],
        &["app", "demo", "--dry-run", "-n", namespace],
        &[&equals, "app", "--dry-run", "demo"],
        &["-v=0", "app", "--dry-run=client", "-n", namespace, "--", "demo"],
    ] {
        let mut command = world.plane.kubectl_command();
        let folder = std::path::Path::new(PROGRAM).parent().unwrap();
        command.env("PATH", folder).arg("purge").args(arguments);
        Run::of(command).exits(0).says(&format!("\"{namespace}\""));
    }
    let mut before_the_plugin = world.plane.kubectl_command();
    before_the_plugin.args(["-n", namespace, "purge", "app", "demo"]);
    let run = Run::of(before_the_plugin);
    assert_ne!(run.code, 0, "kubectl takes no flags before a plugin's name: {run:?}");
}
