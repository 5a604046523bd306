//! The state of a run, and its one way of waiting.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap, HashSet},
    sync::Arc,
    time::{Duration, Instant},
};

use tokio::{
    sync::mpsc,
    time::{Instant as Due, sleep_until},
};

use super::{Blocker, Event, Limits, Phase, Stop, diagnose::blocker, tracker::Tracker};
use crate::{
    cluster::{Change, Changes, Cluster, NodeState, Watch},
    inventory::{Inventory, Kind},
    plan::{Order, Plan, PlanObject, Restore},
    report::PhaseTime,
};

/// Where the run tells what happens.
pub type Events = mpsc::UnboundedSender<Event>;

/// Between two tellings of what is waited for.
const TELL_EVERY: Duration = Duration::from_secs(10);
/// Stands for a wait without end.
const LONGEST: Duration = Duration::from_secs(100 * 365 * 24 * 60 * 60);
/// So many objects are counted at every change; more of them not more often than this, and in no more than this part of
/// the time.
const COUNTED_AT_ONCE: usize = 100;
const COUNT_EVERY: Duration = Duration::from_millis(20);
const COUNT_SHARE: u32 = 20;
/// Blockers told at once; the rest are counted.
const BLOCKERS_TOLD: usize = 5;

/// How long to wait for something.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bound {
    /// Until this moment; none: as long as it takes.
    pub(super) until: Option<Instant>,
    /// Or until nothing has moved for this long and no grace period runs.
    pub(super) stall: Option<Duration>,
}

/// How a wait ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Waited {
    Gone,
    TimedOut,
    Stalled,
    Stopped,
}

pub(super) struct Runner<'a> {
    pub(super) cluster: &'a Cluster,
    pub(super) plan: &'a Plan,
    pub(super) tracker: Tracker,
    pub(super) events: Events,
    pub(super) stop: Stop,
    /// When the time limit ends; none without one.
    pub(super) deadline: Option<Instant>,
    pub(super) timeout: Option<Duration>,
    pub(super) grace_period: Option<i64>,
    pub(super) force: bool,
    pub(super) remove_finalizers: bool,
    /// Uids of pods that were taken out by force.
    pub(super) forced: HashSet<String>,
    /// Uids of what only the garbage collector may delete.
    pub(super) collected: HashSet<String>,
    /// Uids of pods on their way out that were told to be quicker.
    pub(super) hurried: HashSet<String>,
    /// Uids of objects whose finalizers were taken away.
    pub(super) stripped: HashSet<String>,
    /// What nodes were found to be, and when.
    pub(super) nodes: HashMap<String, (Instant, NodeState)>,
    /// Titles of the pods that mount a claim, by its name.
    pub(super) claim_users: HashMap<String, Vec<String>>,
    /// By uid, what went wrong with an object, in sentences.
    pub(super) troubles: BTreeMap<String, Vec<String>>,
    pub(super) phases: Vec<PhaseTime>,
    /// By uid, what to go back to as long as that is possible.
    pub(super) undo: BTreeMap<String, Restore>,
    /// By uid, what is left alone from the start, and why.
    pub(super) held: BTreeMap<String, String>,
    /// Uids of what of the present phase was last told to be there, and how many it began with.
    scope: Vec<String>,
    total: usize,
    by_uid: HashMap<&'a str, &'a PlanObject>,
    /// What uses an object while it lives, by the object's uid.
    pub(super) users: HashMap<&'a str, Vec<&'a PlanObject>>,
    pub(super) order: Order<'a>,
    /// Uids of what was not deleted in its turn because something else was still there.
    pub(super) put_off: BTreeSet<String>,
    watches: HashMap<Arc<Kind>, Watch>,
    /// Whether the plan is found not to hold any more while everything can still be put back.
    pub(super) stale: bool,
    /// Uids of what controlled planned objects when the plan was made, living or not.
    controllers: HashSet<String>,
    /// From where a kind's watch goes on: what it held then is known.
    pub(super) since: HashMap<Arc<Kind>, String>,
    changes: mpsc::UnboundedReceiver<(Arc<Kind>, Change)>,
    sender: Changes,
}

impl<'a> Runner<'a> {
    pub(super) fn new(cluster: &'a Cluster, plan: &'a Plan, events: Events, stop: Stop, limits: &Limits) -> Self {
        let timeout = limits.timeout;
        let now = Instant::now();
        let (sender, changes) = mpsc::unbounded_channel();
        let mut users: HashMap<&str, Vec<&PlanObject>> = HashMap::new();
        for user in plan.going() {
            for used in &user.uses {
                users.entry(used).or_default().push(user);
            }
        }
        let undo = plan.going().filter_map(|object| Some((object.uid.clone(), object.restore.clone()?))).collect();
        Self {
            cluster,
            plan,
            tracker: Tracker::new(plan, now),
            events,
            stop,
            // A limit beyond the end of time is none.
            deadline: timeout.and_then(|timeout| now.checked_add(timeout)),
            timeout,
            grace_period: limits.grace_period,
            force: limits.force,
            remove_finalizers: limits.remove_finalizers,
            forced: HashSet::new(),
            collected: HashSet::new(),
            hurried: HashSet::new(),
            stripped: HashSet::new(),
            nodes: HashMap::new(),
            claim_users: HashMap::new(),
            troubles: BTreeMap::new(),
            phases: Vec::new(),
            scope: Vec::new(),
            total: 0,
            by_uid: plan.objects.iter().map(|object| (object.uid.as_str(), object)).collect(),
            users,
            order: Order::of(plan),
            put_off: BTreeSet::new(),
            watches: HashMap::new(),
            controllers: HashSet::new(),
            stale: false,
            since: HashMap::new(),
            changes,
            sender,
            undo,
            held: BTreeMap::new(),
        }
    }

    /// Begins every watch where the lists of this inventory ended, and remembers who controlled what.
    pub(super) fn go_on_from(&mut self, inventory: &Inventory) {
        let planned = self.plan.going().filter_map(|object| inventory.find(&object.uid));
        let controllers = planned.filter_map(|index| inventory.objects()[index].controller());
        self.controllers = controllers.map(|owner| owner.uid.clone()).collect();
        let kinds = self.plan.going().map(|object| &object.kind);
        let versions = kinds.filter_map(|kind| Some((kind.clone(), inventory.version(kind)?.to_owned())));
        self.since = versions.collect();
        for pod in self.plan.going().filter(|object| object.kind.is("", "Pod")) {
            for maker in &pod.owners {
                if self.tracker.told(maker).is_none()
                    && let Some(index) = inventory.find(maker)
                {
                    self.tracker.expect(maker, inventory.objects()[index].generation);
                }
            }
        }
    }

    /// Leaves an object alone, and all that it owns: deleted, it would only be made anew.
    pub(super) fn hold(&mut self, object: &PlanObject, why: String) {
        self.trouble(object, why.clone());
        self.held.insert(object.uid.clone(), why);
        let title = object.title();
        let mut above = vec![object.uid.clone()];
        while let Some(owner) = above.pop() {
            for owned in self.plan.going().filter(|owned| owned.owners.contains(&owner)) {
                if !self.held.contains_key(&owned.uid) {
                    self.held.insert(owned.uid.clone(), format!("left alone: it belongs to {title}, which stays"));
                    above.push(owned.uid.clone());
                }
            }
        }
    }

    /// Uids of owners that are no news: what goes, and what was known as a controller when the plan was made.
    pub(super) fn known_owners(&self) -> HashSet<String> {
        let planned = self.plan.going().map(|object| object.uid.clone());
        planned.chain(self.controllers.iter().cloned()).collect()
    }

    pub(super) fn is_held(&self, uid: &str) -> bool {
        self.held.contains_key(uid)
    }

    pub(super) fn tell(&self, event: Event) {
        // Nobody listening is no reason to stop half-way.
        let _ = self.events.send(event);
    }

    pub(super) fn object(&self, uid: &str) -> Option<&'a PlanObject> {
        self.by_uid.get(uid).copied()
    }

    /// Notes what went wrong with an object, once, and tells it.
    pub(super) fn trouble(&mut self, object: &PlanObject, message: String) {
        let troubles = self.troubles.entry(object.uid.clone()).or_default();
        if !troubles.contains(&message) {
            troubles.push(message.clone());
            self.tell(Event::Trouble { title: object.title(), message });
        }
    }

    pub(super) fn tell_warnings(&self) {
        for message in self.cluster.warnings().take() {
            self.tell(Event::Warning { message });
        }
    }

    /// Begins a phase that is over when these objects are gone.
    pub(super) fn begin(&mut self, phase: Phase, scope: Vec<String>) -> Instant {
        self.tell(Event::Started { phase, total: scope.len() });
        self.total = scope.len();
        self.scope = scope;
        Instant::now()
    }

    pub(super) fn end(&mut self, phase: Phase, begun: Instant) {
        self.count(phase);
        let took = begun.elapsed();
        self.phases.push(PhaseTime { name: phase.name(), took });
        self.tell_warnings();
        self.tell(Event::Finished { phase, took });
    }

    /// Tells how many of the phase's objects are still there, where that has changed.
    fn count(&mut self, phase: Phase) {
        let before = self.scope.len();
        let tracker = &self.tracker;
        self.scope.retain(|uid| !tracker.is_gone(uid));
        if self.scope.len() != before {
            self.tell(Event::Remaining { phase, remaining: self.scope.len(), total: self.total });
        }
    }

    /// What is left of the time limit.
    pub(super) fn remaining(&self) -> Option<Duration> {
        self.deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()))
    }

    /// This long from now, or the end of the time limit if that is sooner.
    pub(super) fn within(&self, long: Duration) -> Instant {
        let now = Instant::now();
        let end = now.checked_add(long).unwrap_or(now + LONGEST);
        self.deadline.map_or(end, |deadline| deadline.min(end))
    }

    /// Notes that an object is gone, and tells it.
    pub(super) fn mark_gone(&mut self, phase: Phase, uid: &str) {
        if self.tracker.gone(uid, Instant::now()) {
            self.tell_gone(phase, uid);
        }
    }

    fn tell_gone(&self, phase: Phase, uid: &str) {
        if let Some(object) = self.object(uid) {
            self.tell(Event::Gone { phase, title: object.title() });
        }
    }

    /// Where tasks can report what they saw.
    pub(super) fn sender(&self) -> Changes {
        self.sender.clone()
    }

    /// Begins to watch the kinds of these objects, where that has not begun.
    pub(super) fn watch_for(&mut self, uids: &[String]) {
        for object in uids.iter().filter_map(|uid| self.by_uid.get(uid.as_str()).copied()) {
            if !self.watches.contains_key(&object.kind) {
                let since = self.since.get(&object.kind).map(String::as_str);
                let watch = self.cluster.watch(&object.kind, since, self.sender.clone());
                self.watches.insert(object.kind.clone(), watch);
            }
        }
    }

    /// Takes in everything that the watches have seen up to now.
    pub(super) fn catch_up(&mut self, phase: Phase) {
        while let Ok((kind, change)) = self.changes.try_recv() {
            self.take_in(phase, &kind, change);
        }
    }

    fn take_in(&mut self, phase: Phase, kind: &Kind, change: Change) {
        if let Change::Blind(failure) = &change {
            tracing::info!(kind = %kind.resource(), %failure, "cannot look just now");
        }
        for uid in self.tracker.see(kind, change, Instant::now()) {
            self.tell_gone(phase, &uid);
        }
    }

    /// The next change, or nothing at `tick`. False when the run has been asked to stop.
    pub(super) async fn next_change(&mut self, phase: Phase, tick: Instant) -> bool {
        tokio::select! {
            biased;
            () = self.stop.asked() => return false,
            change = self.changes.recv() => {
                if let Some((kind, change)) = change {
                    self.take_in(phase, &kind, change);
                    self.catch_up(phase);
                }
            }
            () = sleep_until(Due::from_std(tick)) => {}
        }
        true
    }

    /// Waits until these objects are gone, by watch, and tells every 10 seconds what for.
    pub(super) async fn wait(&mut self, phase: Phase, uids: &[String], bound: Bound) -> Waited {
        self.catch_up(phase);
        let begun = Instant::now();
        let (mut told, mut heard) = (begun, begun);
        let mut left: Vec<&String> = uids.iter().collect();
        let mut again = None;
        loop {
            let now = Instant::now();
            // Each of many thousands of changes would otherwise be an occasion to go through many thousands of objects.
            let next = again.filter(|_| left.len() > COUNTED_AT_ONCE);
            let next = next.map(|next: Instant| bound.until.map_or(next, |until| until.min(next)));
            if let Some(next) = next.filter(|next| now < *next) {
                if !self.next_change(phase, next).await {
                    return Waited::Stopped;
                }
                continue;
            }
            self.count(phase);
            left.retain(|uid| !self.tracker.is_gone(uid));
            again = Some(now + COUNT_EVERY.max(now.elapsed() * COUNT_SHARE));
            if left.is_empty() {
                return Waited::Gone;
            }
            if bound.until.is_some_and(|until| now >= until) {
                return Waited::TimedOut;
            }
            if let Some(stall) = bound.stall.filter(|stall| self.has_stalled(&left, begun.max(heard), *stall, now)) {
                // Silence may also mean that nothing could be heard.
                if self.is_heard(&left).await {
                    let message =
                        format!("nothing has moved for {}s, so the run goes on without waiting", stall.as_secs());
                    self.tell(Event::Trouble { title: String::new(), message });
                    return Waited::Stalled;
                }
                heard = Instant::now();
            }
            if self.force || self.remove_finalizers {
                self.force_on(phase, &left).await;
                if left.iter().all(|uid| self.tracker.is_gone(uid)) {
                    continue;
                }
            }
            if now.duration_since(told) >= TELL_EVERY {
                told = now;
                let remaining = left.len();
                let shown: Vec<String> = left.iter().take(BLOCKERS_TOLD).map(ToString::to_string).collect();
                self.look_around(&shown).await;
                let blockers = self.blockers(shown.iter().map(String::as_str), now);
                self.tell(Event::Waiting { phase, waited: now.duration_since(begun), remaining, blockers });
            }
            self.watch_for(uids);
            let tick = [Some(now + Duration::from_secs(1)), bound.until].into_iter().flatten().min();
            if !self.next_change(phase, tick.unwrap_or(now)).await {
                return Waited::Stopped;
            }
        }
    }

    /// Whether the server answers, asked about one of these.
    async fn is_heard(&self, left: &[&String]) -> bool {
        let Some(object) = left.first().and_then(|uid| self.object(uid)) else { return true };
        let asked = self.cluster.get(&object.kind, &object.name);
        match tokio::time::timeout(TELL_EVERY / 2, asked).await {
            Ok(Err(failure)) => !failure.is_passing(),
            Ok(Ok(_)) => true,
            Err(_) => false,
        }
    }

    fn has_stalled(&self, left: &[&String], begun: Instant, stall: Duration, now: Instant) -> bool {
        let last = self.tracker.last_change(left.iter().copied()).unwrap_or(begun).max(begun);
        let in_grace = left.iter().any(|uid| self.tracker.get(uid).is_some_and(|seen| seen.grace_left(now).is_some()));
        !in_grace && now.duration_since(last) >= stall
    }

    /// Why these are still there: a few of them.
    pub(super) fn blockers<'b>(&self, uids: impl IntoIterator<Item = &'b str>, now: Instant) -> Vec<Blocker> {
        uids.into_iter()
            .filter_map(|uid| {
                let troubles = self.troubles.get(uid).map_or(&[][..], Vec::as_slice);
                let object = self.object(uid)?;
                Some(blocker(object, self.tracker.get(uid)?, troubles, &self.around(object), now))
            })
            .take(BLOCKERS_TOLD)
            .collect()
    }
}
