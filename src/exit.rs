//! The exit codes: a contract with scripts, so one place names them all.

/// How a run ended, as the process says it to its caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// Purged and verified; or nothing to purge; or a dry run with nothing in the way.
    Done,
    /// Could not connect, forbidden, bad kubeconfig: nothing was changed.
    Error,
    /// The command line could not be understood: no request was sent.
    Usage,
    /// Refused or declined: the answer was no, there was nobody to ask, or a guard stood in the way.
    Refused,
    /// Something of the plan is still there, came back, or a quota did not go down.
    Incomplete,
    /// Done, but an API could not be read, so absence is not proven.
    Unproven,
    /// A signal ended the run.
    Interrupted,
}

impl Exit {
    /// The number the shell sees.
    #[must_use]
    pub const fn code(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::Error => 1,
            Self::Usage => 2,
            Self::Refused => 3,
            Self::Incomplete => 4,
            Self::Unproven => 5,
            Self::Interrupted => 130,
        }
    }
}

impl From<Exit> for std::process::ExitCode {
    fn from(exit: Exit) -> Self {
        exit.code().into()
    }
}
