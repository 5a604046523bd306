//! The built kubectl, pointed at the control plane and at nothing else.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::thread;

use serde_json::Value;

use crate::error::{Doing as _, Error};

/// Runs kubectl with one kubeconfig.
#[derive(Debug, Clone)]
pub(crate) struct Kubectl {
    pub(crate) program: PathBuf,
    pub(crate) kubeconfig: PathBuf,
    /// Takes the place of the caller's home: kubectl reads settings and keeps caches there.
    pub(crate) home: PathBuf,
    /// An existing cluster's credentials may come from a program that needs the caller's variables.
    pub(crate) keep_environment: bool,
}

impl Kubectl {
    /// A command with the environment set and no arguments.
    pub(crate) fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        if self.keep_environment {
            command.env("KUBECACHEDIR", self.home.join(".kube/cache")).env("KUBERC", "off");
        } else {
            command.env_clear().envs(std::env::var_os("PATH").map(|path| ("PATH", path)));
            command.env("HOME", &self.home);
        }
        command.env("KUBECONFIG", &self.kubeconfig).stdin(Stdio::null());
        command
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> KubectlOutput {
        KubectlOutput::of(arguments, self.command().args(arguments).output().doing(|| self.starting()))
    }

    pub(crate) fn run_with_input(&self, arguments: &[&str], input: &str) -> KubectlOutput {
        KubectlOutput::of(arguments, self.output_with_input(arguments, input))
    }

    fn output_with_input(&self, arguments: &[&str], input: &str) -> Result<Output, Error> {
        let mut command = self.command();
        command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().doing(|| self.starting())?;
        let mut stdin = child.stdin.take().expect("stdin is piped");
        thread::scope(|scope| {
            // Beside the reading: more than a pipe holds may go either way. A kubectl that gives up
            // early closes its end, and says why itself.
            scope.spawn(move || stdin.write_all(input.as_bytes()));
            child.wait_with_output().doing(|| "read kubectl's output".to_owned())
        })
    }

    fn starting(&self) -> String {
        format!("run {}", self.program.display())
    }

    pub(crate) fn with_kubeconfig(&self, kubeconfig: &Path) -> Self {
        Self { kubeconfig: kubeconfig.to_owned(), ..self.clone() }
    }
}

/// What a kubectl did.
#[derive(Debug, Clone)]
#[must_use = "a kubectl that failed says so only here"]
pub struct KubectlOutput {
    /// The command line after `kubectl`.
    pub arguments: String,
    /// Its exit status; `None` when a signal ended it or it could not be started.
    pub code: Option<i32>,
    /// What it printed on stdout.
    pub stdout: String,
    /// What it printed on stderr, or why it could not be started.
    pub stderr: String,
}

impl KubectlOutput {
    fn of(arguments: &[&str], output: Result<Output, Error>) -> Self {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let (code, stdout, stderr) = match output {
            Ok(output) => (output.status.code(), text(&output.stdout), text(&output.stderr)),
            Err(error) => (None, String::new(), error.to_string()),
        };
        Self { arguments: arguments.join(" "), code, stdout, stderr }
    }

    /// Whether it exited with status 0.
    #[must_use]
    pub fn success(&self) -> bool {
        self.code == Some(0)
    }

    /// Its stdout.
    ///
    /// # Errors
    /// [`Error::Kubectl`] with its stderr, unless it succeeded.
    pub fn ok(self) -> Result<String, Error> {
        if self.success() {
            return Ok(self.stdout);
        }
        let stderr = self.stderr.trim_end().to_owned();
        Err(Error::Kubectl { arguments: self.arguments, code: self.code, stderr })
    }

    /// Its stdout as JSON; give it `-o json`.
    ///
    /// # Errors
    /// Those of [`ok`](Self::ok), and [`Error::Json`].
    pub fn json(self) -> Result<Value, Error> {
        let what = format!("the output of kubectl {}", self.arguments);
        serde_json::from_str(&self.ok()?).map_err(|source| Error::Json { what, source })
    }
}
