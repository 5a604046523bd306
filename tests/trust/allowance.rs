//! What a run may take, by its flags and by what befell it: nothing waits longer than it says.
//!
//! Before the time of `--timeout` begins the plan is made, after it comes the second look, and each request of both is
//! bounded: until its answer begins by `--request-timeout`, or 4 s in the plan, and what remains of the time but no less
//! than 5 s later; within the answer the same silence is borne. Trouble in the plan is met by further tries for 1.5 s;
//! when the time is over, by none.

use std::{
    collections::HashSet,
    time::{Duration, Instant},
};

use crate::proxy::log::{Entry, Log};

/// What a run takes of itself on a busy machine besides its waits, all requests answered at once.
const WORK: Duration = Duration::from_secs(6);
/// Before the second look, and again for what was born to planned owners meanwhile.
const SETTLE: Duration = Duration::from_secs(2);
/// Further tries in the plan begin within it.
const PLAN_TRIES: Duration = Duration::from_millis(1500);
const PLAN_ANSWER: Duration = Duration::from_secs(4);
const LAST_ANSWER: Duration = Duration::from_secs(5);
/// One after the other in the plan: the documents of discovery, those of each group, lists, those at another version,
/// labels in the cluster, the autoscaler's manifest before and after the trials, the trials.
const PLAN_STEPS: u32 = 8;
/// One after the other when the time is over: deletes of the autoscaler, the Deployment, its ReplicaSets, the pods, the
/// Service, its Endpoints, the ConfigMap, lists, those at another version, and a sweep with its lists.
const LATE_STEPS: u32 = 12;
/// Further pages of the longest list, where each holds one object.
const MORE_PAGES: u32 = 4;

/// The flags of a run that bound it.
#[derive(Clone, Copy, Debug)]
pub struct Allowance {
    pub timeout: Duration,
    pub request_timeout: Option<Duration>,
    pub pages: bool,
}

impl Allowance {
    /// They as the program takes them.
    pub fn flags(&self) -> Vec<String> {
        let seconds = |name: &str, limit: Duration| format!("--{name}={}s", limit.as_secs());
        let requests = self.request_timeout.map(|limit| seconds("request-timeout", limit));
        std::iter::once(seconds("timeout", self.timeout)).chain(requests).collect()
    }

    /// What a step of the plan may take that all goes wrong for.
    fn plan_step(&self) -> Duration {
        PLAN_TRIES + 2 * self.request_timeout.unwrap_or(PLAN_ANSWER)
    }

    /// And a step when the time is over.
    fn late_step(&self) -> Duration {
        2 * self.request_timeout.unwrap_or(LAST_ANSWER).min(LAST_ANSWER)
    }

    /// What no run may take, whatever happens.
    pub fn most(&self) -> Duration {
        let pages = if self.pages { MORE_PAGES } else { 0 };
        WORK + (PLAN_STEPS + pages) * self.plan_step()
            + self.timeout
            + 2 * SETTLE
            + (LATE_STEPS + pages) * self.late_step()
    }

    /// What this one may have taken: a request holds it up only where something befell it, and those that are under way
    /// at one time hold it up together.
    pub fn of(&self, begun: Instant, log: &Log) -> Duration {
        let first_write = log.0.iter().position(|entry| entry.call.is_write());
        let (plan, rest) = log.0.split_at(first_write.unwrap_or(log.0.len()));
        // The time for everything had not begun before the run had.
        let late = rest.iter().filter(|entry| entry.at > begun + self.timeout);
        let first = if first_write.is_some() { self.late_step() } else { Duration::ZERO };
        let held_up = held_up(plan.iter(), self.plan_step()) + first + held_up(late, self.late_step());
        (WORK + self.timeout + 2 * SETTLE + held_up).min(self.most())
    }
}

/// How long requests were under way that something had befallen, if each was for so long with all its further tries.
/// Watches hold nothing up but the waits, which have an end of their own.
fn held_up<'a>(entries: impl Iterator<Item = &'a Entry>, each: Duration) -> Duration {
    let mut known = HashSet::new();
    let struck = entries.filter(|entry| entry.fault.is_some() && !entry.call.is_watch());
    let struck = struck.filter(|entry| {
        let title = entry.call.title();
        title.starts_with("page ") || known.insert(title)
    });
    let (mut total, mut end) = (Duration::ZERO, None);
    for at in struck.map(|entry| entry.at) {
        let from = end.map_or(at, |end: Instant| end.max(at));
        total += (at + each).saturating_duration_since(from);
        end = Some(from.max(at + each));
    }
    total
}
