//! A terminal with the program on it.

use std::{
    io::{Read as _, Write as _},
    num::NonZero,
    path::Path,
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use portable_pty::{CommandBuilder, PtySize, native_pty_system};

use crate::harness::{PROGRAM, World};

/// The end of the question before a purge.
pub const QUESTION: &str = "Nothing deleted can be brought back. [y/N]";

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
        let arguments = [arguments, &["-n", &world.namespace]].concat();
        Self::of(world.plane.kubeconfig(), (60, columns), &arguments)
    }

    /// With any kubeconfig, on a terminal of so many rows and columns.
    pub fn of(kubeconfig: &Path, (rows, columns): (u16, u16), arguments: &[&str]) -> Self {
        let size = PtySize { rows, cols: columns, pixel_width: 0, pixel_height: 0 };
        let pair = native_pty_system().openpty(size).unwrap();
        let mut command = CommandBuilder::new(PROGRAM);
        command.args(arguments);
        command.env("KUBECONFIG", kubeconfig);
        command.env("TERM", "xterm-256color");
        command.env("LC_ALL", "C.UTF-8");
        let child = pair.slave.spawn_command(command).unwrap();
        drop(pair.slave);
        let parser =
            Arc::new(Mutex::new(vt100::Parser::new(NonZero::new(rows).unwrap(), NonZero::new(columns).unwrap(), 1000)));
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

    /// Everything that was written, without what only moves the cursor or colours.
    pub fn plain(&self) -> String {
        let raw = self.raw();
        let mut plain = String::new();
        let mut characters = raw.chars();
        while let Some(character) = characters.next() {
            match character {
                '\u{1b}' => drop(characters.by_ref().find(char::is_ascii_alphabetic)),
                '\r' => {}
                other => plain.push(other),
            }
        }
        plain
    }

    /// Everything that was written, as it was.
    pub fn raw(&self) -> String {
        String::from_utf8_lossy(&self.raw.lock().unwrap()).into_owned()
    }

    pub fn is_running(&mut self) -> bool {
        self.child.try_wait().unwrap().is_none()
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
