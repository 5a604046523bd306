//! The program as a process that may be signalled, and that is ended when it hangs.

use std::{
    io::{BufRead as _, BufReader, Read as _},
    process::{Child, Command, Stdio},
    sync::{Arc, Mutex},
    thread::JoinHandle,
    time::{Duration, Instant},
};

use crate::harness::{PROGRAM, Run, World};

pub struct Launched {
    child: Child,
    begun: Instant,
    stderr: Arc<Mutex<String>>,
    readers: (JoinHandle<String>, JoinHandle<()>),
}

impl Launched {
    /// Without a terminal; through the proxy whose kubeconfig it is given, or straight.
    pub fn start(world: &World, kubeconfig: &std::path::Path, arguments: &[&str]) -> Self {
        let mut command = Command::new(PROGRAM);
        command.args(arguments).args(["-n", &world.namespace]);
        command.env("HOME", world.plane.dir()).env("KUBECONFIG", kubeconfig).env("LC_ALL", "C.UTF-8");
        command.env("RUST_BACKTRACE", "1").env_remove("KUBERNETES_SERVICE_HOST");
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let begun = Instant::now();
        let mut child = command.spawn().unwrap();
        let (mut out, err) = (child.stdout.take().unwrap(), BufReader::new(child.stderr.take().unwrap()));
        let stderr = Arc::new(Mutex::new(String::new()));
        let heard = stderr.clone();
        let readers = (
            std::thread::spawn(move || {
                let mut text = String::new();
                out.read_to_string(&mut text).unwrap();
                text
            }),
            std::thread::spawn(move || {
                for line in err.lines() {
                    let mut heard = heard.lock().unwrap();
                    heard.push_str(&line.unwrap());
                    heard.push('\n');
                }
            }),
        );
        Self { child, begun, stderr, readers }
    }

    pub fn runs(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }

    /// Waits until it has said this on stderr. False where it ended without.
    pub fn says_while_it_runs(&mut self, text: &str) -> bool {
        loop {
            let runs = self.runs();
            if self.stderr.lock().unwrap().contains(text) {
                return true;
            }
            if !runs {
                return false;
            }
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    /// `INT`, `KILL`.
    pub fn signal(&self, signal: &str) {
        let status = Command::new("kill").args([&format!("-{signal}"), &self.child.id().to_string()]).status().unwrap();
        assert!(status.success());
    }

    /// Waits for the end; none where it had to be ended. The code is 128 and the signal where one ended it.
    pub fn ends_within(mut self, limit: Duration) -> Option<Run> {
        use std::os::unix::process::ExitStatusExt as _;
        let status = loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                break Some(status);
            }
            if self.begun.elapsed() > limit {
                let _ = self.child.kill();
                let _ = self.child.wait();
                break None;
            }
            std::thread::sleep(Duration::from_millis(5));
        };
        let took = self.begun.elapsed();
        let stdout = self.readers.0.join().unwrap();
        self.readers.1.join().unwrap();
        let stderr = self.stderr.lock().unwrap().clone();
        let status = status?;
        let code = status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or_default());
        Some(Run { stdout, stderr, code, took })
    }
}
