//! On a real terminal: the plan, the question, the progress and the end, at 80 and at 200 columns.

use std::{
    io::{Read as _, Write as _},
    num::NonZero,
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use portable_pty::{CommandBuilder, PtySize, native_pty_system};

use crate::harness::{PROGRAM, World};

/// The program on a terminal of its own.
pub struct Screen {
    parser: Arc<Mutex<vt100::Parser>>,
    raw: Arc<Mutex<Vec<u8>>>,
    writer: Box<dyn std::io::Write + Send>,
    child: Box<dyn portable_pty::Child + Send + Sync>,
    master: Box<dyn portable_pty::MasterPty + Send>,
}

impl Screen {
    pub fn run(world: &World, columns: u16, arguments: &[&str]) -> Self {
        let size = PtySize { rows: 60, cols: columns, pixel_width: 0, pixel_height: 0 };
        let pair = native_pty_system().openpty(size).unwrap();
        let mut command = CommandBuilder::new(PROGRAM);
        command.args(arguments);
        command.args(["-n", &world.namespace]);
        command.env("KUBECONFIG", world.plane.kubeconfig());
        command.env("TERM", "xterm-256color");
        command.env("LC_ALL", "C.UTF-8");
        let child = pair.slave.spawn_command(command).unwrap();
        drop(pair.slave);
        let parser =
            Arc::new(Mutex::new(vt100::Parser::new(NonZero::new(60).unwrap(), NonZero::new(columns).unwrap(), 1000)));
        let raw = Arc::new(Mutex::new(Vec::new()));
        let mut reader = pair.master.try_clone_reader().unwrap();
        let writer = pair.master.take_writer().unwrap();
        let (screen, bytes) = (parser.clone(), raw.clone());
        std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(count @ 1..) = reader.read(&mut buffer) {
                screen.lock().unwrap().process(&buffer[..count]);
                bytes.lock().unwrap().extend_from_slice(&buffer[..count]);
            }
        });
        Self { parser, raw, writer, child, master: pair.master }
    }

    pub fn process_id(&self) -> u32 {
        self.child.process_id().unwrap()
    }

    /// Whether the terminal shows what is typed, as it does before and after a question.
    pub fn echoes(&self) -> bool {
        let terminal = self.master.get_termios().unwrap();
        format!("{:?}", terminal.local_flags).contains("ECHO")
    }

    pub fn text(&self) -> String {
        self.parser.lock().unwrap().screen().contents()
    }

    pub fn cursor_is_hidden(&self) -> bool {
        self.parser.lock().unwrap().screen().hide_cursor()
    }

    #[track_caller]
    pub fn until(&self, text: &str) -> String {
        let begun = Instant::now();
        while begun.elapsed() < Duration::from_secs(30) {
            let screen = self.text();
            if screen.contains(text) {
                return screen;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        panic!("no {text:?} on the screen:\n{}", self.text());
    }

    pub fn types(&mut self, keys: &str) {
        self.writer.write_all(keys.as_bytes()).unwrap();
    }

    pub fn ends(&mut self) -> u32 {
        let begun = Instant::now();
        while begun.elapsed() < Duration::from_secs(60) {
            if let Some(status) = self.child.try_wait().unwrap() {
                std::thread::sleep(Duration::from_millis(100));
                return status.exit_code();
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        panic!("it does not end:\n{}", self.text());
    }
}

fn small_application(story: &str) -> World {
    let world = World::new(story);
    world.quota(&[("requests.cpu", "3"), ("requests.memory", "3Gi")]);
    world.deployment("deployment-demo", "demo", 2);
    world.until_running("app=demo", 2);
    world
}

pub const QUESTION: &str = "Nothing deleted can be brought back. [y/N]";

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
        assert!(String::from_utf8_lossy(&screen.raw.lock().unwrap()).contains("\u{1b}[31m"));
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
    assert!(screen.child.try_wait().unwrap().is_none(), "{}", screen.text());
    screen.types("\r");
    assert_eq!(screen.ends(), 3, "{}", screen.text());
    assert_eq!(world.get("deployment/deployment-demo")["spec"]["replicas"], 2);
}
