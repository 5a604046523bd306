//! On a real terminal: the plan, the question, the progress and the end, at 80 and at 200 columns.

use std::time::Duration;

use crate::{
    harness::World,
    screen::{QUESTION, Screen},
};

fn small_application(story: &str) -> World {
    let world = World::new(story);
    world.quota(&[("requests.cpu", "3"), ("requests.memory", "3Gi")]);
    world.deployment("deployment-demo", "demo", 2);
    world.until_running("app=demo", 2);
    world
}

#[test]
fn the_plan_the_question_and_the_end_fit_the_terminal() {
    for columns in [80, 200] {
        let world = small_application("terminal");
        let mut screen = Screen::run(&world, columns, &["app", "demo"]);
        let shown = screen.until(QUESTION);
        let header = shown.lines().find(|line| line.contains("ACTION")).unwrap();
        for word in ["ACTION", "KIND", "NAME", "WHY", "NOW"] {
            assert!(header.contains(word), "{shown}");
        }
        assert!(shown.contains("scale to 0") && shown.contains("deployment-demo"), "{shown}");
        assert!(shown.contains("Frees: requests.cpu 2 of 2, requests.memory 2Gi of 2Gi"), "{shown}");
        for line in shown.lines() {
            assert!(line.chars().count() <= usize::from(columns), "{line}");
        }
        screen.types("y\r");
        assert_eq!(screen.ends(), 0, "{}", screen.text());
        let shown = screen.text();
        assert!(shown.contains("Purged application \"demo\""), "{shown}");
        assert!(shown.contains("ACTION"), "the plan is still there:\n{shown}");
        assert!(!screen.cursor_is_hidden());
        // Colour where there is a terminal.
        assert!(screen.raw().contains("\u{1b}[31m"));
    }
}

#[test]
fn everything_but_yes_is_no() {
    let world = small_application("no");
    let before = world.names("deployments,replicasets,pods");
    // Enter alone, n, another word, Escape, the end of the input, Ctrl-C.
    for (keys, code) in [("\r", 3), ("n\r", 3), ("yup\r", 3), ("\u{1b}", 3), ("\u{4}", 3), ("\u{3}", 130)] {
        let mut screen = Screen::run(&world, 100, &["app", "demo"]);
        screen.until(QUESTION);
        screen.types(keys);
        assert_eq!(screen.ends(), code, "{keys:?}\n{}", screen.text());
        assert!(screen.text().contains("Nothing was changed."), "{keys:?}\n{}", screen.text());
        assert!(!screen.cursor_is_hidden());
    }
    assert_eq!(world.names("deployments,replicasets,pods"), before);
    assert_eq!(world.get("deployment/deployment-demo")["spec"]["replicas"], 2);
}

/// On a terminal the question is asked that a script is refused for.
#[test]
fn on_a_terminal_it_asks_which_instance_is_meant() {
    let world = World::new("which");
    for instance in ["demo-a", "demo-b"] {
        world.apply(&format!(
            "{{ apiVersion: v1, kind: ConfigMap, metadata: {{ name: {instance}, labels: {{ app: demo, app.kubernetes.io/instance: {instance} }} }} }}"
        ));
    }
    for (keys, code) in [("\r", 3), ("demo-c\r", 3), ("\u{3}", 130)] {
        let mut screen = Screen::run(&world, 100, &["app", "demo"]);
        let shown = screen.until("Which one?");
        assert!(shown.contains("\"demo\" means 2 instances:") && shown.contains("demo-a  1 object"), "{shown}");
        screen.types(keys);
        assert_eq!(screen.ends(), code, "{keys:?}\n{}", screen.text());
    }
    let mut screen = Screen::run(&world, 100, &["app", "demo"]);
    screen.until("Which one?");
    screen.types("demo-a\r");
    screen.until(QUESTION);
    screen.types("y\r");
    assert_eq!(screen.ends(), 0, "{}", screen.text());
    assert_eq!(world.names("configmaps"), ["configmap/demo-b", "configmap/kube-root-ca.crt"]);
}

/// A key that was pressed before the question stood there is no answer to it.
#[test]
fn what_was_typed_before_the_question_does_not_answer_it() {
    let world = small_application("ahead");
    let mut screen = Screen::run(&world, 100, &["app", "demo"]);
    screen.types("y\r");
    screen.until(QUESTION);
    std::thread::sleep(Duration::from_millis(500));
    assert!(screen.is_running(), "{}", screen.text());
    screen.types("\r");
    assert_eq!(screen.ends(), 3, "{}", screen.text());
    assert_eq!(world.get("deployment/deployment-demo")["spec"]["replicas"], 2);
}
