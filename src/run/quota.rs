//! Whether the quotas have given back what the application was charged.

use std::{
    collections::BTreeMap,
    sync::Arc,
    time::{Duration, Instant},
};

use super::{
    Blocker, Event, Phase,
    runner::{Runner, Waited},
};
use crate::{
    cluster::{Change, Patience},
    inventory::{Detail, Inventory, Object, Quantity, Quota},
    plan::{Wave, charged},
    report::{PhaseTime, QuotaChange},
};

/// The quota controller acts on pods that go; when it has not after this long, it does not.
const LONGEST_WAIT: Duration = Duration::from_secs(60);
/// Before the first count of what the namespace's pods are charged now, and between two.
const RECOUNT_FIRST: Duration = Duration::from_millis(300);
const RECOUNT_EVERY: Duration = Duration::from_secs(2);

/// What one quota charged the application for one resource, and where that stands.
#[derive(Clone, Debug)]
pub(super) struct Debt {
    quota: String,
    uid: String,
    resource: String,
    charged: Quantity,
    /// The limit as the server wrote it: amounts are told in its manner.
    hard: String,
    before: String,
    after: String,
    released: bool,
    seconds: f64,
    /// Whether it is owed for pods and what makes them, which go first.
    early: bool,
}

/// All that the plan is to give back.
#[derive(Clone, Debug, Default)]
pub(super) struct Ledger {
    debts: Vec<Debt>,
}

impl Ledger {
    /// What the going objects are charged, by the inventory that the plan was made from.
    pub(super) fn open(runner: &Runner<'_>, inventory: &Inventory) -> Self {
        let of = |early: bool| -> Vec<&Object> {
            let going = runner.plan.going().filter(|object| !early || object.wave <= Wave::Workloads);
            going.filter_map(|object| Some(&inventory.objects()[inventory.find(&object.uid)?])).collect()
        };
        let (all, early) = (of(false), of(true));
        let mut debts = Vec::new();
        for (object, quota) in quotas(inventory.objects()) {
            let early = charged(quota, early.iter().copied());
            for (resource, amount) in charged(quota, all.iter().copied()) {
                let before = quota.used.get(&resource).cloned().unwrap_or_else(|| "0".to_owned());
                debts.push(Debt {
                    quota: object.name.clone(),
                    uid: object.uid.clone(),
                    charged: amount,
                    hard: quota.hard.get(&resource).cloned().unwrap_or_default(),
                    after: before.clone(),
                    before,
                    released: false,
                    seconds: 0.0,
                    early: early.get(&resource) == Some(&amount),
                    resource,
                });
            }
        }
        Self { debts }
    }

    /// Compares with what a quota says now. `living` is what it would be charged for everything that lives, where
    /// that is known: others may have taken what was released before anybody saw it free.
    fn update(&mut self, uid: &str, quota: &Quota, living: Option<&BTreeMap<String, Quantity>>, since: Instant) {
        for debt in self.debts.iter_mut().filter(|debt| debt.uid == uid) {
            let Some(used) = quota.used.get(&debt.resource) else { continue };
            debt.after.clone_from(used);
            if debt.released {
                continue;
            }
            let (Some(before), Some(used)) = (Quantity::parse(&debt.before), Quantity::parse(used)) else { continue };
            let fell = used <= before.saturating_sub(debt.charged);
            let is_others =
                living.is_some_and(|living| used <= living.get(&debt.resource).copied().unwrap_or(Quantity::ZERO));
            if fell || is_others {
                debt.released = true;
                debt.seconds = since.elapsed().as_secs_f64();
            }
        }
    }

    fn open_debts(&self, early: bool) -> impl Iterator<Item = &Debt> {
        self.debts.iter().filter(move |debt| !debt.released && (debt.early || !early))
    }

    /// Compares with a whole inventory.
    pub(super) fn settle(&mut self, inventory: &Inventory, since: Instant) {
        for (object, quota) in quotas(inventory.objects()) {
            let living = charged(quota, inventory.objects());
            self.update(&object.uid, quota, Some(&living), since);
        }
        // A quota that has been deleted meanwhile holds nothing any more.
        for debt in self.debts.iter_mut().filter(|debt| inventory.find(&debt.uid).is_none()) {
            debt.released = true;
        }
    }

    /// Whether anything is still owed.
    pub(super) fn is_open(&self) -> bool {
        self.open_debts(false).next().is_some()
    }

    pub(super) fn into_changes(self) -> Vec<QuotaChange> {
        self.debts
            .into_iter()
            .map(|debt| QuotaChange {
                charged: debt.charged.display_like(&debt.hard),
                quota: debt.quota,
                resource: debt.resource,
                before: debt.before,
                after: debt.after,
                released: debt.released,
                seconds: debt.seconds,
            })
            .collect()
    }
}

fn quotas<'a>(objects: impl IntoIterator<Item = &'a Object>) -> impl Iterator<Item = (&'a Object, &'a Quota)> {
    objects.into_iter().filter_map(|object| match &object.detail {
        Detail::Quota(quota) => Some((object, quota)),
        _ => None,
    })
}

impl Runner<'_> {
    /// Waits, by watch and for a bounded time, until the quotas show what the pods gave back. Where a workload has to
    /// stay, it is charged to them still: then the second look sees what came free.
    pub(super) async fn await_quota(&mut self, ledger: &mut Ledger, inventory: &Inventory) -> Waited {
        let total = ledger.open_debts(true).count();
        let pods_gone = self.plan.going().all(|object| !object.kind.is("", "Pod") || self.tracker.is_gone(&object.uid));
        let kind = inventory.objects().iter().find(|object| object.kind.is("", "ResourceQuota"));
        let (Some(quota), true) = (kind, total > 0 && pods_gone && self.put_off.is_empty()) else {
            return Waited::Gone;
        };
        let pod = inventory.objects().iter().find(|object| object.kind.is("", "Pod")).map(|pod| pod.kind.clone());
        self.tell(Event::Started { phase: Phase::Quota, total });
        let begun = Instant::now();
        let until = self.within(LONGEST_WAIT);
        let (sender, mut changes) = tokio::sync::mpsc::unbounded_channel();
        let watch = self.cluster.watch(&quota.kind, inventory.version(&quota.kind), sender);
        let mut latest: BTreeMap<String, Object> =
            quotas(inventory.objects()).map(|(object, _)| (object.uid.clone(), object.clone())).collect();
        let (mut told, mut recount_at) = (begun, begun + RECOUNT_FIRST);
        let waited = loop {
            let now = Instant::now();
            if ledger.open_debts(true).next().is_none() {
                break Waited::Gone;
            }
            if now >= until {
                break Waited::TimedOut;
            }
            if now.duration_since(told) >= Duration::from_secs(10) {
                told = now;
                self.tell_debts(ledger, now.duration_since(begun));
            }
            tokio::select! {
                () = self.stop.asked() => break Waited::Stopped,
                Some((_, change)) = changes.recv() => match change {
                    Change::Snapshot(objects) => latest.extend(objects.into_iter().map(|seen| (seen.uid.clone(), seen))),
                    Change::Upsert(object) => { latest.insert(object.uid.clone(), *object); }
                    Change::Gone(_) | Change::Blind(_) => {}
                },
                () = tokio::time::sleep(until.min(recount_at).saturating_duration_since(now).min(Duration::from_secs(1))) => {}
            }
            for (object, quota) in quotas(latest.values()) {
                ledger.update(&object.uid, quota, None, begun);
            }
            if let Some(pod) = pod.as_ref().filter(|_| Instant::now() >= recount_at) {
                recount_at = Instant::now() + RECOUNT_EVERY;
                self.recount(ledger, &latest, pod, begun).await;
            }
        };
        drop(watch);
        self.tell(Event::Remaining { phase: Phase::Quota, remaining: ledger.open_debts(true).count(), total });
        let took = begun.elapsed();
        self.phases.push(PhaseTime { name: Phase::Quota.name(), took });
        self.tell(Event::Finished { phase: Phase::Quota, took });
        waited
    }

    async fn recount(
        &self,
        ledger: &mut Ledger,
        latest: &BTreeMap<String, Object>,
        pod: &Arc<crate::inventory::Kind>,
        since: Instant,
    ) {
        let Ok(pods) = self.cluster.list(pod, Patience::PLAN).await else { return };
        for (object, quota) in quotas(latest.values()) {
            let living = charged(quota, &pods.objects);
            ledger.update(&object.uid, quota, Some(&living), since);
        }
    }

    fn tell_debts(&self, ledger: &Ledger, waited: Duration) {
        let blockers: Vec<Blocker> = ledger
            .open_debts(true)
            .map(|debt| Blocker {
                title: format!("ResourceQuota/{}", debt.quota),
                deleting_for: None,
                finalizers: Vec::new(),
                cause: format!(
                    "{} is {}, to fall by {}",
                    debt.resource,
                    debt.after,
                    debt.charged.display_like(&debt.hard)
                ),
            })
            .collect();
        let remaining = blockers.len();
        self.tell(Event::Waiting { phase: Phase::Quota, waited, remaining, blockers });
    }
}
