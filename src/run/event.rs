//! What a run tells while it goes on. The run prints nothing: whoever listens does.

use std::time::Duration;

use crate::plan::Wave;

/// A part of the run, in the order of the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Phase {
    /// Telling what would act against the run to keep still. Reversible.
    Pause,
    /// Scaling to 0 and waiting for the pods. Reversible.
    Drain,
    /// A wave of deletes. Irreversible.
    Wave(Wave),
    /// Waiting until the quota shows what was released.
    Quota,
    /// Waiting for what is still on its way out, when all waves are through.
    Remains,
    /// Looking again for everything.
    Verify,
}

impl Phase {
    /// The name in the report and the progress display.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Pause => "pause",
            Self::Drain => "drain",
            Self::Wave(wave) => wave.name(),
            Self::Quota => "quota",
            Self::Remains => "remains",
            Self::Verify => "verify",
        }
    }
}

/// One thing that is being waited for, and why it is still there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Blocker {
    /// `Pod/demo-0`, or `ResourceQuota/quota`.
    pub title: String,
    /// How long ago its deletion began; none while it has not.
    pub deleting_for: Option<Duration>,
    pub finalizers: Vec<String>,
    /// The likely cause in a few words: `finalizer example.com/hold`, `grace period, 25s left`, ….
    pub cause: String,
}

/// Something that happened, in the order it happened.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// A phase begins; `total` things are to be done or waited for in it.
    Started { phase: Phase, total: usize },
    /// An object was told to keep still: `suspended`, `paused`, ….
    Paused { title: String, how: &'static str },
    /// An object is as it was before the run.
    Restored { title: String, how: String },
    /// A workload was asked to go to 0.
    Scaled { title: String, from: i64 },
    /// A delete was accepted for this object.
    Deleted { title: String },
    /// An object of the plan has gone, seen by its uid.
    Gone { phase: Phase, title: String },
    /// How many of the phase's things are still there, whenever that changes.
    Remaining { phase: Phase, remaining: usize, total: usize },
    /// Every 10 seconds of waiting: what for. `blockers` are a few of `remaining`.
    Waiting { phase: Phase, waited: Duration, remaining: usize, blockers: Vec<Blocker> },
    /// Something did not go as planned; the run goes on.
    Trouble { title: String, message: String },
    /// Something was done that only its own flag allows.
    Forced { title: String, what: String },
    /// The run was asked to stop.
    Stopping,
    /// The server sent a warning; each is told once.
    Warning { message: String },
    /// From here on nothing can be put back.
    Irreversible,
    /// A phase has ended.
    Finished { phase: Phase, took: Duration },
}
