//! The irreversible half: wave by wave, owner before owned, every delete with its uid.

use std::{
    collections::HashSet,
    time::{Duration, Instant},
};

use futures_util::{StreamExt as _, stream};

use super::{
    Event, Phase, Stop,
    runner::{Bound, Runner, Waited},
    tracker::State,
};
use crate::{
    cluster::{Change, Cluster, Deleted, Deletion, Failure, Trial, WRITES_AT_ONCE},
    plan::{Action, Held, PlanObject, Reason, Wave, rows},
};

/// Owners whose controllers must clean up are given half of what time is left, but no less than this.
const SHORTEST_WAIT: Duration = Duration::from_secs(1);
/// Without any movement for this long, a wave makes way for the next.
pub(super) const STALL: Duration = Duration::from_secs(30);
/// What the cluster removes by itself is given this long before it is deleted by its own request.
const PATIENCE_WITH_CONTROLLERS: Duration = Duration::from_secs(5);
/// Attempts at an object that changes under our hands.
pub(super) const ATTEMPTS: usize = 5;

/// After the wish to stop, deletes that are under way are given this long to be answered.
const LAST_WORDS: Duration = Duration::from_millis(150);

/// What is said of an object whose uid is gone while its name is not.
pub(super) const REPLACED: &str = "there is another object of this name now; it was left alone";

/// What came of deleting one object.
enum Attempt {
    Gone,
    /// Another object of that name stands there now; the planned one is gone.
    Replaced,
    Begun(Change),
    /// There was a wish to stop before its turn came.
    Unsent,
    /// This user may not, but it goes with its owner: the garbage collector may.
    LeftToCollector(String),
    Refused(String),
}

impl Runner<'_> {
    /// One wave. Objects whose owners stay behind are tried all the same: an owner that is stuck must not hold them.
    pub(super) async fn wave(&mut self, wave: Wave) -> Waited {
        let phase = Phase::Wave(wave);
        self.catch_up(phase);
        let plan = self.plan;
        let objects: Vec<&PlanObject> = plan.going().filter(|object| object.wave == wave).collect();
        let objects: Vec<&PlanObject> =
            objects.into_iter().filter(|object| !self.tracker.is_gone(&object.uid)).collect();
        if objects.is_empty() {
            return Waited::Gone;
        }
        let begun = self.begin(phase, objects.iter().map(|object| object.uid.clone()).collect());
        // What the cluster removes by itself comes last, and has a moment for that.
        let (own, by_controllers): (Vec<&PlanObject>, Vec<&PlanObject>) =
            objects.into_iter().partition(|object| self.is_held(&object.uid) || !is_removed_by_its_controller(object));
        let mut waited = Waited::Gone;
        for row in rows(&own) {
            waited = self.delete_and_wait(phase, &row, self.wave_bound(wave)).await;
            if waited == Waited::Stopped {
                break;
            }
        }
        if !by_controllers.is_empty() && waited != Waited::Stopped {
            let uids: Vec<String> = by_controllers.iter().map(|object| object.uid.clone()).collect();
            let until = Some(self.within(PATIENCE_WITH_CONTROLLERS));
            waited = self.wait(phase, &uids, Bound { until, stall: None }).await;
            if waited != Waited::Gone && waited != Waited::Stopped {
                waited = self.delete_and_wait(phase, &by_controllers, self.wave_bound(wave)).await;
            }
        }
        self.end(phase, begun);
        // A wish to stop that came with the last answer left nothing to wait for.
        if self.stop.is_asked() { Waited::Stopped } else { waited }
    }

    pub(super) async fn delete_and_wait(&mut self, phase: Phase, objects: &[&PlanObject], bound: Bound) -> Waited {
        if self.stop.is_asked() {
            return Waited::Stopped;
        }
        let due: Vec<&PlanObject> = objects.iter().filter(|object| self.is_due(object)).copied().collect();
        self.delete_all(phase, &due).await;
        let uids = self.waitable(objects);
        self.wait(phase, &uids, bound).await
    }

    /// Whether a delete has to be sent. What is being deleted already is not asked again, and what a living pod of
    /// the application still uses is left to it.
    fn is_due(&mut self, object: &PlanObject) -> bool {
        if self.tracker.is_going(&object.uid) {
            return self.is_to_be_quicker(object);
        }
        if let Some(why) = self.held.get(&object.uid).cloned() {
            // Told once, for what stands above it.
            let troubles = self.troubles.entry(object.uid.clone()).or_default();
            if troubles.is_empty() {
                troubles.push(why);
            }
            return false;
        }
        if let Some(why) = self.why_put_off(object) {
            self.put_off.insert(object.uid.clone());
            self.trouble(object, why);
            return false;
        }
        true
    }

    /// Why an object has to wait for others that are still there.
    pub(super) fn why_put_off(&self, object: &PlanObject) -> Option<String> {
        self.user(object, |_| true).map_or_else(
            || self.holder(object),
            |pod| Some(format!("left alone: {}, which is still there, uses it", pod.title())),
        )
    }

    /// A pod of the plan that uses an object and is there, and of which this holds.
    fn user(&self, object: &PlanObject, holds: impl Fn(&PlanObject) -> bool) -> Option<&'_ PlanObject> {
        let users = self.users.get(object.uid.as_str()).into_iter().flatten().copied();
        users.filter(|pod| !self.tracker.is_gone(&pod.uid)).find(|pod| holds(pod))
    }

    /// What an object has to stay for: gone, it would leave the next run without a trace of what is still there.
    fn holder(&self, object: &PlanObject) -> Option<String> {
        let (is_gone, is_going) = (|uid: &str| self.tracker.is_gone(uid), |uid: &str| self.tracker.is_going(uid));
        // A pod that is not on its way goes only with what makes it, and what it uses after it.
        let binds = |known: &PlanObject| self.user(known, |pod| !self.tracker.is_going(&pod.uid)).is_none();
        Some(match self.order.holder(object, &is_gone, &is_going, &binds)? {
            Held::For(known) => format!(
                "left alone: without it, nothing shows that {}, which is still there, is the application's",
                known.title()
            ),
            Held::Below(owner) => format!("left alone: it belongs to {}, which stays", owner.title()),
        })
    }

    /// Whether a pod that is on its way out has been given more time than the flags give it; each is told once.
    pub(super) fn is_to_be_quicker(&mut self, object: &PlanObject) -> bool {
        let (Some(grace), Some(seen)) = (self.grace_period, self.tracker.get(&object.uid)) else { return false };
        let longer = seen.state == State::Deleting && seen.grace.is_none_or(|given| given > grace);
        object.kind.is("", "Pod") && longer && self.hurried.insert(object.uid.clone())
    }

    /// What of these there is any sense in waiting for: not what was refused or left alone.
    fn waitable(&self, objects: &[&PlanObject]) -> Vec<String> {
        let due = |object: &&&PlanObject| self.tracker.is_going(&object.uid) || self.collected.contains(&object.uid);
        objects.iter().filter(due).map(|object| object.uid.clone()).collect()
    }

    pub(super) fn stall(&self) -> Duration {
        self.timeout.map_or(STALL, |timeout| STALL.min(timeout / 4))
    }

    fn wave_bound(&self, wave: Wave) -> Bound {
        match wave {
            // Their controllers need what comes later, and may be slow without any sign of life.
            Wave::Owners | Wave::Routes => {
                let half = self.remaining().map_or(STALL * 4, |left| (left / 2).max(SHORTEST_WAIT));
                Bound { until: Some(self.within(half)), stall: None }
            }
            _ => Bound { until: self.deadline, stall: Some(self.stall()) },
        }
    }

    /// Deletes these at once, each by its uid, up to a bounded number in flight. Stops sending when asked to stop.
    pub(super) async fn delete_all(&mut self, phase: Phase, objects: &[&PlanObject]) {
        let known = &self.known_owners();
        let stop = self.stop.clone();
        let (cluster, grace) = (self.cluster, self.grace_period);
        let stop = &stop;
        let attempts = objects
            .iter()
            .take_while(|_| !stop.is_asked())
            .map(|&object| async move { (object, attempt(cluster, object, grace, known, stop).await) });
        let mut attempts = stream::iter(attempts).buffer_unordered(WRITES_AT_ONCE);
        let stop = self.stop.clone();
        let mut stopped = std::pin::pin!(async {
            stop.asked().await;
            tokio::time::sleep(LAST_WORDS).await;
        });
        loop {
            let next = tokio::select! {
                biased;
                next = attempts.next() => next,
                // Answers that are still out are not waited for, and nothing is tried again.
                () = &mut stopped => None,
            };
            let Some((object, attempt)) = next else { break };
            match attempt {
                Attempt::Gone => {
                    self.tell(Event::Deleted { title: object.title() });
                    self.mark_gone(phase, &object.uid);
                }
                Attempt::Replaced => {
                    self.mark_gone(phase, &object.uid);
                    self.tell(Event::Trouble { title: object.title(), message: REPLACED.to_owned() });
                }
                Attempt::Begun(change) => {
                    self.tell(Event::Deleted { title: object.title() });
                    self.tracker.see(&object.kind, change, Instant::now());
                }
                Attempt::LeftToCollector(message) => {
                    // Worth telling only where it stays.
                    self.troubles.entry(object.uid.clone()).or_default().push(message);
                    self.collected.insert(object.uid.clone());
                }
                Attempt::Refused(message) => self.trouble(object, message),
                Attempt::Unsent => {}
            }
        }
    }
}

/// Controllers make these and take them away again; deleting them by hand would only race with that.
fn is_removed_by_its_controller(object: &PlanObject) -> bool {
    object.wave == Wave::Services && object.action == Action::Cascade
        || object.reasons.iter().any(|reason| matches!(reason, Reason::Endpoints { .. }))
            && object.kind.is("", "Endpoints")
}

/// Deletes one object. A conflict is looked into: the same uid that nothing new owns is tried again.
async fn attempt(
    cluster: &Cluster,
    object: &PlanObject,
    grace: Option<i64>,
    known: &HashSet<String>,
    stop: &Stop,
) -> Attempt {
    let mut version = object.is_orphan().then(|| object.resource_version.clone());
    let mut last = String::new();
    for _ in 0..ATTEMPTS {
        let deletion =
            Deletion { uid: &object.uid, resource_version: version.as_deref(), grace_period: grace, trial: Trial::No };
        let turn = cluster.turn().await;
        if stop.is_asked() {
            return Attempt::Unsent;
        }
        match cluster.delete(turn, &object.kind, &object.name, &deletion).await {
            Ok(Deleted::Gone | Deleted::Absent) => return Attempt::Gone,
            Ok(Deleted::Begun(seen)) if seen.uid == object.uid => return Attempt::Begun(Change::Upsert(seen)),
            Ok(Deleted::Begun(_)) => return Attempt::Replaced,
            Err(failure) if failure.is_conflict() => last = failure.to_string(),
            Err(failure) if failure.is_forbidden() && object.action == Action::Cascade => {
                return Attempt::LeftToCollector(refusal(&failure));
            }
            Err(failure) => return Attempt::Refused(refusal(&failure)),
        }
        match cluster.get(&object.kind, &object.name).await {
            Ok(None) => return Attempt::Gone,
            Ok(Some(now)) if now.uid != object.uid => return Attempt::Replaced,
            Ok(Some(now)) => {
                let adopter = now.controller().filter(|owner| !known.contains(&owner.uid));
                if let Some(adopter) = adopter.filter(|_| object.is_orphan()) {
                    let message =
                        format!("left alone: {}/{} has adopted it since the plan", adopter.kind, adopter.name);
                    return Attempt::Refused(message);
                }
                version = version.map(|_| now.resource_version);
            }
            Err(failure) => return Attempt::Refused(refusal(&failure)),
        }
    }
    Attempt::Refused(format!("it keeps changing: {last}"))
}

fn refusal(failure: &Failure) -> String {
    match failure {
        Failure::Api { .. } => format!("the server refused: {failure}"),
        _ => failure.to_string(),
    }
}
