//! The program while it runs: what it has said so far, signals, its end.

use std::{
    io::{BufRead as _, BufReader, Read as _},
    process::{Child, Command, Stdio},
    sync::{Arc, Mutex},
    thread::JoinHandle,
    time::{Duration, Instant},
};

use crate::harness::{PROGRAM, Run, World};

pub struct Running {
    child: Child,
    begun: Instant,
    stderr: Arc<Mutex<String>>,
    readers: (JoinHandle<String>, JoinHandle<()>),
}

impl Running {
    /// The program as the admin, without a terminal.
    pub fn start(world: &World, arguments: &[&str]) -> Self {
        let mut command = Command::new(PROGRAM);
        command.args(arguments).args(["-n", &world.namespace]);
        command.env("HOME", world.plane.dir()).env("KUBECONFIG", world.plane.kubeconfig()).env("LC_ALL", "C.UTF-8");
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let stderr = Arc::new(Mutex::new(String::new()));
        let mut out = child.stdout.take().unwrap();
        let err = BufReader::new(child.stderr.take().unwrap());
        let seen = stderr.clone();
        let readers = (
            std::thread::spawn(move || {
                let mut text = String::new();
                out.read_to_string(&mut text).unwrap();
                text
            }),
            std::thread::spawn(move || {
                for line in err.lines() {
                    let mut seen = seen.lock().unwrap();
                    seen.push_str(&line.unwrap());
                    seen.push('\n');
                }
            }),
        );
        Self { child, begun: Instant::now(), stderr, readers }
    }

    /// Waits until it has said this on stderr.
    #[track_caller]
    pub fn until_it_says(&mut self, text: &str) {
        let begun = Instant::now();
        while begun.elapsed() < Duration::from_secs(30) {
            if self.stderr.lock().unwrap().contains(text) {
                return;
            }
            if let Some(status) = self.child.try_wait().unwrap() {
                panic!("ended with {status} before it said {text:?}:\n{}", self.stderr.lock().unwrap());
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        panic!("no {text:?} in\n{}", self.stderr.lock().unwrap());
    }

    /// `INT`, `TERM`, `KILL`.
    pub fn signal(&self, signal: &str) {
        let status = Command::new("kill").args([&format!("-{signal}"), &self.child.id().to_string()]).status().unwrap();
        assert!(status.success());
    }

    /// Waits for the end; the code is 128 and the signal where one ended it.
    pub fn ends(mut self) -> Run {
        use std::os::unix::process::ExitStatusExt as _;
        let status = self.child.wait().unwrap();
        let took = self.begun.elapsed();
        let stdout = self.readers.0.join().unwrap();
        self.readers.1.join().unwrap();
        let stderr = self.stderr.lock().unwrap().clone();
        let code = status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or_default());
        Run { stdout, stderr, code, took }
    }
}
