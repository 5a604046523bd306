//! Where output goes: colour by flag and environment, pipes that close, a narrow terminal, wide characters.

use std::{
    io::{BufRead as _, BufReader},
    process::{Command, Stdio},
};

use unicode_width::UnicodeWidthStr as _;

use crate::{
    harness::{PROGRAM, Run, World},
    screen::Screen,
};

fn application(story: &str) -> World {
    let world = World::new(story);
    world.deployment("deployment-with-rather-a-long-name-for-a-terminal", "demo", 0);
    world
}

fn plan(world: &World, flags: &[&str], variables: &[(&str, &str)]) -> Run {
    let mut command = Command::new(PROGRAM);
    command.args(["app", "demo", "--dry-run", "-n", &world.namespace]).args(flags);
    command.env("KUBECONFIG", world.plane.kubeconfig()).env("LC_ALL", "C.UTF-8").env("TERM", "xterm-256color");
    for name in ["NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "COLUMNS"] {
        command.env_remove(name);
    }
    command.envs(variables.iter().copied());
    Run::of(command).exits(0)
}

#[test]
fn a_pipe_is_plain_unless_colour_is_forced() {
    let world = application("colour");
    let is_coloured =
        |flags: &[&str], variables: &[(&str, &str)]| plan(&world, flags, variables).stdout.contains('\u{1b}');
    assert!(!is_coloured(&[], &[]));
    assert!(is_coloured(&["--color=always"], &[]));
    assert!(is_coloured(&["--color", "always"], &[("NO_COLOR", "1")]), "the flag wins");
    assert!(is_coloured(&[], &[("CLICOLOR_FORCE", "1")]));
    assert!(!is_coloured(&[], &[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")]));
    assert!(!is_coloured(&["--color=never"], &[("CLICOLOR_FORCE", "1")]));
    assert!(!is_coloured(&["-o", "json"], &[("CLICOLOR_FORCE", "1")]), "a document is for programs");
}

#[test]
fn names_are_never_cut_in_a_pipe() {
    let world = application("pipe");
    let shown = plan(&world, &[], &[("COLUMNS", "40")]).stdout;
    assert!(shown.contains("deployment-with-rather-a-long-name-for-a-terminal"), "{shown}");
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let world = application("head");
    for flags in [&["--dry-run"][..], &["--dry-run", "-o", "json"], &["--help"]] {
        let mut command = Command::new(PROGRAM);
        command.args(["app", "demo", "-n", &world.namespace]).args(flags).env("KUBECONFIG", world.plane.kubeconfig());
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        // Closed before the first word is written.
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{flags:?} {}", String::from_utf8_lossy(&output.stderr));
        assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{flags:?}");
    }
}

#[test]
fn head_gets_its_line_and_nobody_complains() {
    let world = application("head-one");
    let mut command = Command::new(PROGRAM);
    command.args(["app", "demo", "-n", &world.namespace, "--dry-run"]).env("KUBECONFIG", world.plane.kubeconfig());
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(line.starts_with("Purge application \"demo\""), "{line}");
    assert_eq!((output.status.code(), output.stderr.len()), (Some(0), 0));
}

/// A confirmed run goes on whether or not anybody hears of it.
#[test]
fn a_run_that_nobody_hears_still_ends_well() {
    let world = application("deaf");
    let script = format!("exec '{PROGRAM}' app demo --yes -n {} >&- 2>&-", world.namespace);
    let mut command = Command::new("sh");
    command.args(["-c", &script]).env("KUBECONFIG", world.plane.kubeconfig());
    Run::of(command).exits(0);
    assert_eq!(world.names("deployments,replicasets,pods"), Vec::<String>::new());

    world.deployment("again", "demo", 1);
    world.until_running("app=demo", 1);
    let mut command = Command::new(PROGRAM);
    command.args(["app", "demo", "--yes", "-n", &world.namespace]).env("KUBECONFIG", world.plane.kubeconfig());
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop((child.stdout.take(), child.stderr.take()));
    assert_eq!(child.wait().unwrap().code(), Some(0));
    assert_eq!(world.names("deployments,replicasets,pods"), Vec::<String>::new());
}

/// Lines are broken by us, between words and by the columns that characters take, never by the terminal.
#[test]
fn forty_columns_and_wide_characters_are_no_trouble() {
    let world = World::new("narrow");
    world.deployment("web", "demo", 1);
    world.until_running("app=demo", 1);
    let kubeconfig = std::fs::read_to_string(world.plane.kubeconfig()).unwrap();
    let renamed = world.plane.dir().join("wide-kubeconfig");
    std::fs::write(&renamed, kubeconfig.replace("throwaway", "本番環境の大きなクラスタ")).unwrap();
    let mut screen = Screen::run(&world, 40, &["app", "demo", "--kubeconfig", renamed.to_str().unwrap()]);
    screen.until("[y/N]");
    screen.types("n\r");
    assert_eq!(screen.ends(), 3, "{}", screen.text());
    let shown = screen.plain();
    assert!(shown.contains("本番環境の大きなクラスタ"), "{shown}");
    for line in shown.lines().filter(|line| !line.contains("[y/N]")) {
        assert!(line.width() <= 40, "{} columns: {line}\n{shown}", line.width());
    }
}
