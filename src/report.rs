//! The outcome of a run: what became of each object, and the exit code that follows from it.

use std::{sync::Arc, time::Duration};

use crate::{exit::Exit, inventory::Kind, plan::Plan};

/// What became of one planned object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Looked for by its uid, and not there.
    Gone,
    /// Was to be kept, and was not touched.
    Kept,
    /// Was to be kept, and is not there any more.
    Lost,
    /// Still there. `blocked_by` says in sentences what holds it: the server's words, a finalizer, a node.
    Left { finalizers: Vec<String>, blocked_by: Vec<String> },
    /// Gone, but something of the same kind and name is there under another uid.
    Recreated { uid: String, by: Option<String> },
}

/// A quota's resource before and after the run, as the server wrote them.
#[derive(Clone, Debug, PartialEq)]
pub struct QuotaChange {
    pub quota: String,
    pub resource: String,
    /// What the application was charged.
    pub charged: String,
    pub before: String,
    pub after: String,
    /// Whether what the application was charged has been given back.
    pub released: bool,
    /// From the end of the pods to the release, or to the end of the wait.
    pub seconds: f64,
}

/// How long a phase took.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PhaseTime {
    pub name: &'static str,
    pub took: Duration,
}

/// Something of the application that the plan did not hold and that is there at the end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Newcomer {
    pub kind: Arc<Kind>,
    pub name: String,
    pub uid: String,
    /// Why it belongs to the application, as in the plan.
    pub why: String,
    /// The field manager that made it, where that shows.
    pub by: Option<String>,
}

impl Newcomer {
    /// `Kind/name`.
    #[must_use]
    pub fn title(&self) -> String {
        format!("{}/{}", self.kind.kind, self.name)
    }
}

/// An object that was paused or scaled down, and is put back because the run was interrupted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PutBack {
    /// `Kind/name`.
    pub title: String,
    /// `deployments.apps/name`, as commands name it.
    pub resource: String,
    /// The replicas it had.
    pub replicas: Option<i64>,
    /// Why it could not be put back, where it could not.
    pub error: Option<String>,
}

impl Report {
    /// The report of a plan of which nothing was deleted, with every object as it was.
    #[must_use]
    pub fn untouched(plan: Plan, exit: Exit) -> Self {
        Self {
            outcomes: plan.objects.iter().map(|_| Outcome::Kept).collect(),
            newcomers: Vec::new(),
            quota: Vec::new(),
            phases: Vec::new(),
            verified: true,
            verify_error: None,
            put_back: None,
            took: Duration::ZERO,
            exit,
            plan,
        }
    }
}

/// The plan and what became of it.
#[derive(Clone, Debug)]
pub struct Report {
    pub plan: Plan,
    /// One outcome for each object of the plan, in its order.
    pub outcomes: Vec<Outcome>,
    /// What appeared after the plan and is there at the end.
    pub newcomers: Vec<Newcomer>,
    pub quota: Vec<QuotaChange>,
    pub phases: Vec<PhaseTime>,
    /// Whether the second look could be made; without it nothing is called gone that was not seen to go.
    pub verified: bool,
    /// Why the second look failed, where it did.
    pub verify_error: Option<String>,
    /// What was put back; none where something may have been deleted, or the run was not interrupted.
    pub put_back: Option<Vec<PutBack>>,
    pub took: Duration,
    pub exit: Exit,
}
