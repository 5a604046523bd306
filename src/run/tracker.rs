//! What is known of each planned object while the run goes on. Pure: the caller says what it saw and when.

use std::{
    collections::{HashMap, HashSet},
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use crate::{
    cluster::Change,
    inventory::{Kind, Object},
    plan::{Plan, PlanObject},
};

/// Where a planned object stands. Its uid never comes back, so `Gone` is final.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum State {
    Present,
    /// Its deletion has begun.
    Deleting,
    Gone,
}

/// A planned object as last seen.
#[derive(Clone, Debug)]
pub(super) struct Tracked {
    pub(super) state: State,
    pub(super) finalizers: Vec<String>,
    /// Since when it is seen as being deleted. Our own clock: the server's may differ.
    pub(super) deleting_since: Option<Instant>,
    /// Seconds that its deletion gives it.
    pub(super) grace: Option<i64>,
    /// When it last changed.
    changed: Instant,
    kind: Arc<Kind>,
}

impl Tracked {
    /// How long nothing about it has changed.
    pub(super) fn quiet_for(&self, now: Instant) -> Duration {
        now.duration_since(self.changed)
    }

    /// What is left of its grace period; none once that is over, or where there is none.
    pub(super) fn grace_left(&self, now: Instant) -> Option<Duration> {
        let grace = Duration::from_secs(u64::try_from(self.grace?).ok()?);
        // A grace period may be longer than time is: then all of it is left.
        let Some(end) = self.deleting_since?.checked_add(grace) else { return Some(grace) };
        end.checked_duration_since(now).filter(|left| !left.is_zero())
    }
}

/// All planned objects by uid.
#[derive(Debug, Default)]
pub(super) struct Tracker {
    objects: HashMap<String, Tracked>,
    departed: Departed,
    makers: HashMap<String, Maker>,
}

/// A controller of pods whose spec is expected to be changed by its own owner.
#[derive(Debug)]
struct Maker {
    generation: i64,
    /// When it was seen to have changed.
    told: Option<Instant>,
}

/// Uids of what is on its way out or gone, for tasks that run beside the tracker.
#[derive(Clone, Debug, Default)]
pub(super) struct Departed(Arc<Mutex<HashSet<String>>>);

impl Departed {
    pub(super) fn has(&self, uid: &str) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).contains(uid)
    }

    fn add(&self, uid: &str) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(uid.to_owned());
    }
}

impl Tracker {
    pub(super) fn new(plan: &Plan, now: Instant) -> Self {
        let mut this = Self::default();
        for object in plan.going() {
            this.follow(object, now);
        }
        this
    }

    fn follow(&mut self, object: &PlanObject, now: Instant) {
        let tracked = Tracked {
            state: if object.terminating { State::Deleting } else { State::Present },
            finalizers: object.finalizers.clone(),
            deleting_since: object.terminating.then_some(now),
            grace: None,
            changed: now,
            kind: object.kind.clone(),
        };
        self.objects.insert(object.uid.clone(), tracked);
    }

    pub(super) fn departed(&self) -> Departed {
        self.departed.clone()
    }

    /// Notes the generation that a controller of pods had before anything was scaled.
    pub(super) fn expect(&mut self, uid: &str, generation: i64) {
        self.makers.insert(uid.to_owned(), Maker { generation, told: None });
    }

    /// Since when the spec of this controller is seen to be another than was expected.
    pub(super) fn told(&self, uid: &str) -> Option<Instant> {
        self.makers.get(uid)?.told
    }

    pub(super) fn get(&self, uid: &str) -> Option<&Tracked> {
        self.objects.get(uid)
    }

    /// Whether the object of this uid has been seen to be gone.
    pub(super) fn is_gone(&self, uid: &str) -> bool {
        self.objects.get(uid).is_some_and(|tracked| tracked.state == State::Gone)
    }

    /// Whether it is on its way out, or out.
    pub(super) fn is_going(&self, uid: &str) -> bool {
        self.objects.get(uid).is_some_and(|tracked| tracked.state != State::Present)
    }

    /// When any of these last changed.
    pub(super) fn last_change<'a>(&self, uids: impl IntoIterator<Item = &'a String>) -> Option<Instant> {
        uids.into_iter().filter_map(|uid| self.objects.get(uid)).map(|tracked| tracked.changed).max()
    }

    /// Takes in what a watch saw of a kind. Says which planned objects are gone by it.
    pub(super) fn see(&mut self, kind: &Kind, change: Change, now: Instant) -> Vec<String> {
        match change {
            Change::Snapshot(objects) => {
                let mut absent: HashSet<String> = self
                    .objects
                    .iter()
                    .filter(|(_, tracked)| *tracked.kind == *kind && tracked.state != State::Gone)
                    .map(|(uid, _)| uid.clone())
                    .collect();
                for object in objects {
                    absent.remove(&object.uid);
                    self.upsert(object, now);
                }
                absent.into_iter().filter(|uid| self.gone(uid, now)).collect()
            }
            Change::Upsert(object) => {
                self.upsert(*object, now);
                Vec::new()
            }
            Change::Gone(uid) => {
                if self.gone(&uid, now) {
                    vec![uid]
                } else {
                    Vec::new()
                }
            }
            Change::Blind(_) => Vec::new(),
        }
    }

    /// Marks an object as gone. False where that was known, or it is not planned.
    pub(super) fn gone(&mut self, uid: &str, now: Instant) -> bool {
        let Some(tracked) = self.objects.get_mut(uid).filter(|tracked| tracked.state != State::Gone) else {
            return false;
        };
        tracked.state = State::Gone;
        tracked.changed = now;
        self.departed.add(uid);
        true
    }

    fn upsert(&mut self, object: Object, now: Instant) {
        if let Some(maker) = self.makers.get_mut(&object.uid).filter(|maker| object.generation > maker.generation) {
            maker.told.get_or_insert(now);
        }
        let Some(tracked) = self.objects.get_mut(&object.uid).filter(|tracked| tracked.state != State::Gone) else {
            return;
        };
        let deleting = object.deletion.is_some();
        if (tracked.state == State::Deleting) != deleting || tracked.finalizers != object.finalizers {
            tracked.changed = now;
        }
        if deleting {
            if tracked.state == State::Present {
                self.departed.add(&object.uid);
            }
            tracked.state = State::Deleting;
            tracked.deleting_since.get_or_insert(now);
        }
        tracked.finalizers = object.finalizers;
        tracked.grace = object.deletion_grace;
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::{
        inventory::Detail,
        plan::{Action, Place, Reason, Wave},
    };

    fn pod_kind() -> Arc<Kind> {
        Arc::new(Kind {
            group: String::new(),
            version: "v1".into(),
            kind: "Pod".into(),
            plural: "pods".into(),
            watchable: true,
            scalable: false,
        })
    }

    fn planned(uid: &str) -> PlanObject {
        PlanObject {
            kind: pod_kind(),
            name: uid.into(),
            uid: uid.into(),
            resource_version: String::new(),
            action: Action::Delete,
            scale: None,
            wave: Wave::Workloads,
            reasons: vec![Reason::Selects],
            notes: Vec::new(),
            now: String::new(),
            owners: Vec::new(),
            known_by: Vec::new(),
            finalizers: Vec::new(),
            terminating: false,
            uses: Vec::new(),
            finished: false,
            node: None,
            precaution: None,
            restore: None,
            pods_to_note: std::collections::BTreeSet::new(),
            refusal: None,
        }
    }

    fn seen(uid: &str, deletion: Option<&str>) -> Object {
        Object {
            kind: pod_kind(),
            name: uid.into(),
            namespace: "shop".into(),
            uid: uid.into(),
            resource_version: "1".into(),
            labels: Arc::default(),
            annotations: BTreeMap::new(),
            owners: Vec::new(),
            finalizers: Vec::new(),
            deletion: deletion.map(Into::into),
            generated: false,
            generation: 1,
            deletion_grace: Some(30),
            overdue: false,
            detail: Detail::None,
        }
    }

    fn tracker(uids: &[&str]) -> Tracker {
        let plan = Plan {
            app: "demo".into(),
            instance: None,
            orphans: false,
            related: Vec::new(),
            suspected: Vec::new(),
            cluster_scoped: Vec::new(),
            place: Place::default(),
            objects: uids.iter().map(|uid| planned(uid)).collect(),
            unseen: Vec::new(),
            frees: Vec::new(),
            warnings: Vec::new(),
        };
        Tracker::new(&plan, Instant::now())
    }

    #[test]
    fn what_a_snapshot_of_its_kind_lacks_is_gone() {
        let mut tracker = tracker(&["a", "b"]);
        let gone = tracker.see(&pod_kind(), Change::Snapshot(vec![seen("a", None)]), Instant::now());
        assert_eq!(gone, ["b"]);
        assert!(tracker.is_gone("b") && !tracker.is_gone("a"));
    }

    #[test]
    fn a_uid_that_is_gone_stays_gone() {
        let mut tracker = tracker(&["a"]);
        let now = Instant::now();
        assert_eq!(tracker.see(&pod_kind(), Change::Gone("a".into()), now), ["a"]);
        tracker.see(&pod_kind(), Change::Snapshot(vec![seen("a", None)]), now);
        assert!(tracker.is_gone("a"));
        assert!(tracker.see(&pod_kind(), Change::Gone("a".into()), now).is_empty());
    }

    #[test]
    fn a_controller_is_told_when_its_spec_has_changed() {
        let mut tracker = tracker(&["set", "pod"]);
        let now = Instant::now();
        tracker.expect("set", 3);
        let at = |generation| Change::Upsert(Box::new(Object { generation, ..seen("set", None) }));
        tracker.see(&pod_kind(), at(3), now);
        assert_eq!(tracker.told("set"), None);
        tracker.see(&pod_kind(), at(4), now + Duration::from_secs(1));
        tracker.see(&pod_kind(), at(5), now + Duration::from_secs(2));
        assert_eq!(tracker.told("set"), Some(now + Duration::from_secs(1)));
        assert_eq!(tracker.told("pod"), None);
    }

    #[test]
    fn the_grace_period_runs_from_when_deletion_was_seen() {
        let mut tracker = tracker(&["a"]);
        let now = Instant::now();
        tracker.see(&pod_kind(), Change::Upsert(Box::new(seen("a", Some("2026-01-01T00:00:00Z")))), now);
        let tracked = tracker.get("a").unwrap();
        assert_eq!(tracked.grace_left(now + Duration::from_secs(10)), Some(Duration::from_secs(20)));
        assert_eq!(tracked.grace_left(now + Duration::from_secs(31)), None);
    }
}
