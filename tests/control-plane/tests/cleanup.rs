//! Nothing is left, however a process that has control planes ends.
#![cfg(target_os = "linux")] // processes are looked for in /proc

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use control_plane::{Component, ControlPlane, FOLDER_PREFIX};

type Outcome = Result<(), Box<dyn std::error::Error>>;

/// Tells the test below, run in a process of its own, how to end.
const ENDING: &str = "CONTROL_PLANE_TEST_ENDING";

const STARTED: &str = "started";

#[test]
#[ignore = "run by the other tests, in a process of its own"]
fn child() {
    let ending = std::env::var(ENDING).unwrap_or_default();
    match ending.as_str() {
        // Never dropped: the process just ends.
        "static" => assert!(ControlPlane::shared().is_own()),
        "panic" => {
            let _control_plane = ControlPlane::builder().nodes(1).start().unwrap_or_else(|error| panic!("{error}"));
            panic!("a test that fails");
        }
        "bad start" => {
            let flag = "--no-such-flag=1";
            assert!(ControlPlane::builder().flag(Component::ControllerManager, flag).start().is_err());
        }
        _ => {
            let _control_plane = ControlPlane::builder().nodes(1).start().unwrap_or_else(|error| panic!("{error}"));
            println!("{STARTED}");
            sleep(Duration::from_mins(2));
        }
    }
}

/// A process with control planes, and the folder that all of theirs are made in.
struct Family {
    child: Child,
    folder: PathBuf,
}

impl Family {
    fn found(ending: &str) -> Result<Self, Box<dyn std::error::Error>> {
        let name = ending.replace(' ', "-");
        let folder = std::env::temp_dir().join(format!("cleanup-{}-{name}", std::process::id()));
        fs::create_dir(&folder)?;
        let mut command = Command::new(std::env::current_exe()?);
        command.args(["--exact", "child", "--ignored", "--nocapture"]);
        command.env(ENDING, ending).env("TMPDIR", &folder).process_group(0);
        let child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
        Ok(Self { child, folder })
    }

    /// Returns once the control plane runs.
    fn wait_until_started(&mut self) -> Outcome {
        let output = BufReader::new(self.child.stdout.take().ok_or("stdout is piped")?);
        output.lines().map_while(Result::ok).find(|line| line.contains(STARTED)).ok_or("the child did not start")?;
        Ok(())
    }

    /// Returns once the API server is being started.
    fn wait_until_starting(&self) {
        let began = Instant::now();
        while !self.members().iter().any(|process| process.command.contains("kube-apiserver")) {
            assert!(began.elapsed() < Duration::from_mins(1), "the child did not start");
            sleep(Duration::from_millis(20));
        }
    }

    /// Every process that has to do with the folder, and those of their process groups, without the child's.
    fn members(&self) -> Vec<Process> {
        let all = Process::all();
        let folder = self.folder.to_string_lossy();
        let related = |process: &&Process| process.command.contains(&*folder) && process.group != self.child.id();
        let groups: BTreeSet<_> = all.iter().filter(related).map(|process| process.group).collect();
        all.into_iter().filter(|process| groups.contains(&process.group)).collect()
    }

    fn signal(&self, signal: &str) -> Outcome {
        assert!(Command::new("kill").args(["-s", signal, &self.child.id().to_string()]).status()?.success());
        Ok(())
    }

    /// Waits for the child to end, and until nothing of its control planes is there.
    fn assert_nothing_is_left(
        mut self,
        running: &[Process],
        ended_as: impl FnOnce(std::process::ExitStatus) -> bool,
    ) -> Outcome {
        let status = self.child.wait()?;
        assert!(ended_as(status), "{status}");
        let began = Instant::now();
        loop {
            let folders = folders(&self.folder)?;
            let alive = Process::all();
            let mut left = self.members();
            left.extend(alive.into_iter().filter(|process| running.contains(process)));
            if folders.is_empty() && left.is_empty() {
                break;
            }
            assert!(began.elapsed() < Duration::from_secs(10), "left are {folders:?} and {left:?}");
            sleep(Duration::from_millis(20));
        }
        fs::remove_dir_all(&self.folder)?;
        Ok(())
    }
}

fn folders(parent: &Path) -> std::io::Result<Vec<PathBuf>> {
    fs::read_dir(parent)?.map(|entry| entry.map(|entry| entry.path())).collect()
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Process {
    id: u32,
    group: u32,
    command: String,
}

impl Process {
    /// All that live; a zombie has ended.
    fn all() -> Vec<Self> {
        let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
        entries.filter_map(|entry| Self::read(entry.file_name().to_str()?.parse().ok()?)).collect()
    }

    fn read(id: u32) -> Option<Self> {
        let command = String::from_utf8_lossy(&fs::read(format!("/proc/{id}/cmdline")).ok()?).replace('\0', " ");
        let status = fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
        // The name, in parentheses, may hold anything; state, parent and group follow it.
        let mut fields = status.rsplit(')').next()?.split_whitespace();
        let state = fields.next()?;
        let group = fields.nth(1)?.parse().ok()?;
        (state != "Z" && state != "X").then_some(Self { id, group, command })
    }
}

/// The components, the guardian, and the anchor of their process group.
fn assert_complete(members: &[Process]) {
    for component in Component::ALL {
        assert!(members.iter().any(|process| process.command.contains(component.name())), "{component} in {members:?}");
    }
    assert_eq!(members.len(), Component::ALL.len() + 2, "{members:?}");
}

#[test]
fn nothing_is_left_after_ctrl_c() -> Outcome {
    let mut family = Family::found("interrupted")?;
    family.wait_until_started()?;
    let members = family.members();
    assert_complete(&members);
    let folder = &folders(&family.folder)?[0];
    assert!(folder.file_name().is_some_and(|name| name.to_string_lossy().starts_with(FOLDER_PREFIX)));
    // A terminal signals the whole foreground group; the components must not be in it.
    assert!(members.iter().all(|process| process.group != family.child.id()));
    family.signal("INT")?;
    family.assert_nothing_is_left(&members, |status| status.signal() == Some(2))
}

#[test]
fn nothing_is_left_after_sigkill_during_the_start() -> Outcome {
    let family = Family::found("killed")?;
    family.wait_until_starting();
    let members = family.members();
    family.signal("KILL")?;
    family.assert_nothing_is_left(&members, |status| status.signal() == Some(9))
}

#[test]
fn nothing_is_left_after_a_panic() -> Outcome {
    let family = Family::found("panic")?;
    family.wait_until_starting();
    let members = family.members();
    family.assert_nothing_is_left(&members, |status| status.code() == Some(101))
}

#[test]
fn nothing_is_left_of_a_static_after_exit() -> Outcome {
    let family = Family::found("static")?;
    family.wait_until_starting();
    let members = family.members();
    family.assert_nothing_is_left(&members, |status| status.code() == Some(0))
}

#[test]
fn nothing_is_left_of_a_start_that_failed() -> Outcome {
    let family = Family::found("bad start")?;
    family.wait_until_starting();
    let members = family.members();
    family.assert_nothing_is_left(&members, |status| status.code() == Some(0))
}
