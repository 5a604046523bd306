//! The run: drain, delete, wait, verify. Emits events and prints nothing.

mod delete;
mod diagnose;
mod drain;
mod event;
mod force;
mod help;
mod pause;
mod preflight;
mod quota;
mod recheck;
mod remains;
mod restore;
mod runner;
mod stop;
mod surroundings;
mod tracker;
mod verify;

use std::time::{Duration, Instant};

pub use event::{Blocker, Event, Phase};
pub use force::cautions;
pub use preflight::{Findings, all_refused, find_wakers, preflight};
pub use restore::restore;
pub use runner::Events;
pub use stop::Stop;

use quota::Ledger;
use runner::{Runner, Waited};

use crate::{
    cluster::{Catalog, Cluster},
    exit::Exit,
    inventory::Inventory,
    plan::{Blindness, Plan, Question, Wave},
    report::{Outcome, Report},
};

/// What the user allows the run.
#[derive(Clone, Debug, Default)]
pub struct Limits {
    /// For everything together; none: as long as it takes.
    pub timeout: Option<Duration>,
    /// Seconds given to each object; none leaves it to the object.
    pub grace_period: Option<i64>,
    /// Pods that their kubelet does not confirm are taken out of the API all the same.
    pub force: bool,
    /// Finalizers that the plan names are taken away from what is stuck.
    pub remove_finalizers: bool,
    /// A kind that could not be read is accepted as it is.
    pub ignore_unavailable: bool,
    /// A kind that may not be listed counts as one that could not be read.
    pub strict: bool,
}

/// All that a run needs besides the plan.
pub struct Mission<'a> {
    pub cluster: &'a Cluster,
    pub catalog: &'a Catalog,
    pub question: &'a Question,
    /// What the plan was made from.
    pub inventory: &'a Inventory,
    /// Whether it may have aged since: then the plan is checked once more before the first change.
    pub look_again: bool,
    pub limits: &'a Limits,
    pub events: Events,
    pub stop: Stop,
}

/// Executes the plan. Whatever happens, a report says what became of each object.
pub async fn run(mission: Mission<'_>, plan: Plan) -> Report {
    let begun = Instant::now();
    let Mission { cluster, catalog, question, inventory, look_again, limits, events, stop } = mission;
    let cluster = &cluster.until(limits.timeout.and_then(|timeout| begun.checked_add(timeout)));
    let mut runner = Runner::new(cluster, &plan, events, stop, limits);
    runner.go_on_from(inventory);
    let mut ledger = Ledger::open(&runner, inventory);

    if look_again && !runner.recheck(inventory, question).await {
        // Nothing is given back, so no quota is waited for.
        return finish(runner, begun, Ledger::default(), catalog, question, limits).await;
    }
    let mut waited = runner.pause(catalog).await;
    if waited != Waited::Stopped {
        waited = runner.drain().await;
    }
    if waited == Waited::Stopped {
        let put_back = runner.restore().await;
        return Report { put_back: Some(put_back), ..interrupted(runner, begun, ledger) };
    }
    if runner.is_stale() {
        let put_back = runner.restore().await;
        runner.hold_all();
        let report = finish(runner, begun, Ledger::default(), catalog, question, limits).await;
        return Report { put_back: Some(put_back), ..report };
    }
    runner.tell(Event::Irreversible);
    for wave in Wave::ALL {
        if runner.wave(wave).await == Waited::Stopped {
            return interrupted(runner, begun, ledger);
        }
        if wave == Wave::Workloads && runner.await_quota(&mut ledger, inventory).await == Waited::Stopped {
            return interrupted(runner, begun, ledger);
        }
    }
    if runner.remains().await == Waited::Stopped {
        return interrupted(runner, begun, ledger);
    }
    finish(runner, begun, ledger, catalog, question, limits).await
}

/// The second look, and what it comes to.
async fn finish(
    mut runner: Runner<'_>,
    begun: Instant,
    mut ledger: Ledger,
    catalog: &Catalog,
    question: &Question,
    limits: &Limits,
) -> Report {
    let found = runner.verify(catalog, question, &mut ledger).await;

    let Runner { phases, plan, .. } = runner;
    let mut plan = plan.clone();
    for unseen in found.unseen {
        if !plan.unseen.iter().any(|known| known.resource == unseen.resource) {
            plan.unseen.push(unseen);
        }
    }
    let mut report = Report {
        outcomes: found.outcomes,
        newcomers: found.newcomers,
        quota: ledger.into_changes(),
        phases,
        verified: found.error.is_none(),
        verify_error: found.error,
        put_back: None,
        took: begun.elapsed(),
        exit: Exit::Done,
        plan,
    };
    report.exit = verdict(&report, limits);
    report
}

fn interrupted(mut runner: Runner<'_>, begun: Instant, ledger: Ledger) -> Report {
    runner.tell_warnings();
    runner.catch_up(Phase::Remains);
    Report {
        outcomes: runner.plan.objects.iter().map(|object| runner.outcome_by_watch(object)).collect(),
        newcomers: Vec::new(),
        quota: ledger.into_changes(),
        phases: std::mem::take(&mut runner.phases),
        verified: false,
        verify_error: None,
        put_back: None,
        took: begun.elapsed(),
        exit: Exit::Interrupted,
        plan: runner.plan.clone(),
    }
}

/// The exit code that the outcome deserves.
fn verdict(report: &Report, limits: &Limits) -> Exit {
    let undone = report
        .outcomes
        .iter()
        .any(|outcome| matches!(outcome, Outcome::Left { .. } | Outcome::Lost | Outcome::Recreated { .. }));
    let unreleased = report.verified && report.quota.iter().any(|quota| !quota.released);
    if undone || !report.newcomers.is_empty() || unreleased {
        Exit::Incomplete
    } else if !report.verified || is_unproven(&report.plan, limits) {
        Exit::Unproven
    } else {
        Exit::Done
    }
}

/// Whether something that could not be read leaves room for doubt.
#[must_use]
pub fn is_unproven(plan: &Plan, limits: &Limits) -> bool {
    plan.unseen.iter().any(|unseen| match unseen.why {
        Blindness::Unavailable => !limits.ignore_unavailable,
        Blindness::Forbidden => limits.strict,
    })
}
