//! One component's process: started, stopped, paused, and what its log says.

use std::fs::{self, OpenOptions};
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::component::Component;
use crate::error::{Doing as _, Error};

/// How long a component that was asked to stop may take before it is killed. Most need 50 ms; the API
/// server and etcd stop listening at once, and then wait for others to hang up, which the controllers'
/// watches never do. What they have acknowledged is written by then.
const GRACE: Duration = Duration::from_secs(2);

/// How much of a log an error shows.
const TAIL: usize = 20;

/// A component with all it needs to be started, any number of times.
#[derive(Debug)]
pub(crate) struct Process {
    pub(crate) component: Component,
    pub(crate) program: PathBuf,
    pub(crate) arguments: Vec<String>,
    /// The control plane's folder: the process's working folder and home.
    pub(crate) folder: PathBuf,
    /// The process group of the guardian's anchor.
    pub(crate) group: u32,
    pub(crate) child: Mutex<Option<Child>>,
}

impl Process {
    /// Starts it unless it runs.
    pub(crate) fn start(&self) -> Result<(), Error> {
        let mut child = self.child();
        if let Some(running) = child.as_mut()
            && running.try_wait().doing(|| format!("look after {}", self.component))?.is_none()
        {
            return Ok(());
        }
        let log = self.log_path();
        let log =
            OpenOptions::new().create(true).append(true).open(&log).doing(|| format!("open {}", log.display()))?;
        let mut command = Command::new(&self.program);
        command.args(&self.arguments).current_dir(&self.folder);
        // A proxy, a KUBECONFIG or a GODEBUG of the caller's must not change what is tested.
        command.env_clear().env("PATH", "/usr/bin:/bin").env("HOME", &self.folder).env("TMPDIR", &self.folder);
        command.process_group(group_id(self.group));
        let errors = log.try_clone().doing(|| "share a log".to_owned())?;
        command.stdin(Stdio::null()).stdout(log).stderr(errors);
        *child = Some(command.spawn().doing(|| format!("start {}", self.program.display()))?);
        Ok(())
    }

    /// Asks it to end, and kills it if it has not within [`GRACE`].
    pub(crate) fn stop(&self) {
        let mut child = self.child();
        let Some(mut running) = child.take() else { return };
        send(&running, Signal::TERM);
        // A paused process would not see the request.
        send(&running, Signal::CONT);
        let deadline = Instant::now() + GRACE;
        while Instant::now() < deadline {
            if !matches!(running.try_wait(), Ok(None)) {
                return;
            }
            sleep(Duration::from_millis(10));
        }
        let _ = running.kill();
        let _ = running.wait();
    }

    /// Ends it at once, as a crash would.
    pub(crate) fn kill(&self) {
        if let Some(mut running) = self.child().take() {
            let _ = running.kill();
            let _ = running.wait();
        }
    }

    /// Sends a signal to it, if it runs.
    pub(crate) fn signal(&self, signal: Signal) {
        if let Some(running) = self.child().as_ref() {
            send(running, signal);
        }
    }

    /// How it ended, if it did so by itself.
    pub(crate) fn ended(&self) -> Option<ExitStatus> {
        self.child().as_mut()?.try_wait().ok().flatten()
    }

    /// An error when it ended by itself.
    pub(crate) fn check(&self) -> Result<(), Error> {
        match self.ended() {
            Some(status) => Err(Error::Died { component: self.component, status, log: self.log_tail() }),
            None => Ok(()),
        }
    }

    /// Its process id, while it runs.
    pub(crate) fn id(&self) -> Option<u32> {
        let mut child = self.child();
        let running = child.as_mut()?;
        matches!(running.try_wait(), Ok(None)).then(|| running.id())
    }

    pub(crate) fn log_path(&self) -> PathBuf {
        self.folder.join(self.component.name()).with_extension("log")
    }

    pub(crate) fn log_tail(&self) -> String {
        tail(&fs::read(self.log_path()).unwrap_or_default())
    }

    fn child(&self) -> MutexGuard<'_, Option<Child>> {
        // A test that panics while it holds the lock leaves the process as it was.
        self.child.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The last lines of a log.
pub(crate) fn tail(log: &[u8]) -> String {
    let log = String::from_utf8_lossy(log);
    let lines: Vec<_> = log.lines().collect();
    lines[lines.len().saturating_sub(TAIL)..].join("\n")
}

/// The child has not been reaped while its handle is there, so its id is nobody else's.
fn send(child: &Child, signal: Signal) {
    if let Some(id) = Pid::from_raw(group_id(child.id())) {
        let _ = kill_process(id, signal);
    }
}

fn group_id(id: u32) -> i32 {
    i32::try_from(id).expect("a process id fits the system's own type")
}
