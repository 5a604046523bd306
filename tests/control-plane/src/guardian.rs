//! What cleans up when this process cannot: after SIGKILL, Ctrl-C, an abort, or an exit that never
//! drops a `static`.

use std::io::{PipeWriter, pipe};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use crate::error::{Doing as _, Error};

/// Leads the components' process group. As long as it lives, the group's number cannot be given to
/// anyone else, so the guardian never kills a stranger. A signal that is ignored stays ignored
/// across `exec`.
const ANCHOR: &str = "trap '' HUP INT QUIT TERM; exec sleep 2147483647";

/// `$1` is the process group, `$2` the folder. Standard input ends when the last copy of the pipe's
/// write end is closed, however its owner came to close it. Killed rather than asked: there is
/// nothing in a throwaway control plane to save. Whether the killed are gone cannot be asked, since
/// the dead whom nobody has buried yet count; that the folder is gone and stays so is what matters.
const GUARDIAN: &str = r#"
trap '' HUP INT QUIT TERM
while read -r _; do :; done
kill -s KILL -- "-$1"
rm -rf -- "$2"
tries=0
while [ -e "$2" ] && [ "$tries" -lt 100 ]; do
    tries=$((tries + 1))
    sleep 0.1 || sleep 1
    rm -rf -- "$2"
done
"#;

/// A shell of its own process group that waits for this process to end, then kills the components
/// and removes the folder.
#[derive(Debug)]
pub(crate) struct Guardian {
    anchor: Child,
    shell: Child,
    /// Only this process holds the write end: `pipe` makes it close-on-exec, so no child inherits it.
    lifeline: Option<PipeWriter>,
}

impl Guardian {
    /// Watches over `folder`, which need not exist yet: asked before it is made, nothing can be left.
    pub(crate) fn over(folder: &Path) -> Result<Self, Error> {
        let (reader, lifeline) = pipe().doing(|| "make a pipe".to_owned())?;
        let mut anchor = shell(ANCHOR).spawn().doing(|| "start /bin/sh".to_owned())?;
        let guardian = shell(GUARDIAN).arg(anchor.id().to_string()).arg(folder).stdin(reader).spawn();
        match guardian.doing(|| "start /bin/sh".to_owned()) {
            Ok(shell) => Ok(Self { anchor, shell, lifeline: Some(lifeline) }),
            Err(error) => {
                let _ = anchor.kill();
                let _ = anchor.wait();
                Err(error)
            }
        }
    }

    /// The process group that every component has to join.
    pub(crate) fn group(&self) -> u32 {
        self.anchor.id()
    }
}

/// One way out, whoever takes it: the ordinary end lets the guardian do its work as well, and waits.
impl Drop for Guardian {
    fn drop(&mut self) {
        self.lifeline = None;
        let _ = self.shell.wait();
        // Dead by now, unless somebody has killed the guardian.
        let _ = self.anchor.kill();
        let _ = self.anchor.wait();
    }
}

/// `/bin/sh` in a process group of its own, out of reach of the terminal's Ctrl-C, and without our
/// stdout and stderr, which whoever reads them would otherwise wait on.
fn shell(script: &str) -> Command {
    let mut command = Command::new("/bin/sh");
    command.args(["-c", script, "kubectl-purge-control-plane"]);
    command.env_clear().envs(std::env::var_os("PATH").map(|path| ("PATH", path)));
    command.current_dir("/").process_group(0);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command
}
