//! The second look: everything listed again with the same question. Nothing is called gone that was not looked for.

use std::{
    collections::{BTreeMap, BTreeSet, HashSet},
    time::{Duration, Instant},
};

use super::{
    Event, Phase,
    quota::Ledger,
    runner::{Bound, Runner},
};
use crate::{
    cluster::{Catalog, Failure, LONGEST_OUTAGE, Patience},
    inventory::{Inventory, Object},
    plan::{Action, Choices, Place, Plan, PlanObject, Question, Reason, Selection, Unseen},
    report::{Newcomer, Outcome},
};

/// For controllers to act on what they have just seen go.
const SETTLE: Duration = Duration::from_secs(2);
/// Children of deleted owners are swept this many times, each after a longer pause, and no more: a controller that has
/// lost its watch makes them for some seconds, and what keeps coming back after that has another maker.
const SWEEPS: u32 = 4;
/// Objects whose surroundings and makers are looked for; more would be a long wait for little.
const LOOKED_AROUND: usize = 20;
/// For a quota's status to follow the last deletes.
const QUOTA_SETTLES: Duration = Duration::from_secs(10);

/// What the second look found.
#[derive(Debug, Default)]
pub(super) struct Verification {
    /// The outcome of each planned object, in the plan's order.
    pub(super) outcomes: Vec<Outcome>,
    pub(super) newcomers: Vec<Newcomer>,
    pub(super) unseen: Vec<Unseen>,
    /// Why the look could not be made.
    pub(super) error: Option<String>,
}

impl Runner<'_> {
    /// Looks again, deletes children that were born to planned owners meanwhile, and looks once more.
    pub(super) async fn verify(&mut self, catalog: &Catalog, question: &Question, ledger: &mut Ledger) -> Verification {
        let begun = self.begin(Phase::Verify, Vec::new());
        let (mut swept, mut again): (u32, bool) = (0, false);
        let found = loop {
            self.settle(SETTLE * 2_u32.pow(swept.saturating_sub(1))).await;
            let look = self.cluster.inventory(catalog, Patience::RUN, &self.plan.unseen).await;
            let (inventory, unseen) = match look {
                Ok(look) => look,
                Err(failure) => break self.blind(&failure),
            };
            // What is listed while the server comes back, its controllers have not seen.
            let is_early = self.unsettled().is_some_and(|until| until > Instant::now());
            if is_early && !again && !self.stop.is_asked() {
                again = true;
                continue;
            }
            let born = self.born(&inventory, question);
            if born.is_empty() || swept == SWEEPS || self.stop.is_asked() {
                let there = self.plan.going().filter(|object| inventory.find(&object.uid).is_some());
                let there: Vec<String> = there.take(LOOKED_AROUND).map(|object| object.uid.clone()).collect();
                self.look_around(&there).await;
                let mut found = self.compare(&inventory, question, unseen);
                self.name_makers(&mut found).await;
                break found;
            }
            swept += 1;
            self.sweep(&born).await;
        };
        if found.error.is_none() {
            self.settle_quota(ledger, catalog, begun).await;
        }
        self.end(Phase::Verify, begun);
        found
    }

    /// Waits this long; and where the server was out of reach, until its controllers have looked again too, if there is
    /// time for that. Until then they act on what they saw last, and may make anew what has gone.
    async fn settle(&self, long: Duration) {
        let begun = Instant::now();
        let (least, most) = (begun + long, begun + long + LONGEST_OUTAGE);
        let mut told = false;
        loop {
            let now = Instant::now();
            let until = self.unsettled().map_or(least, |settled| settled.min(most).max(least));
            if now >= until || self.stop.is_asked() {
                return;
            }
            if until > least && !told {
                told = true;
                let seconds = until.duration_since(now).as_secs_f64().ceil();
                let message = format!(
                    "the server was out of reach: controllers act on what they saw before it, so the second look waits {seconds}s for them"
                );
                self.tell(Event::Trouble { title: String::new(), message });
            }
            // The watches may find meanwhile that it is gone again.
            tokio::select! {
                () = tokio::time::sleep_until(until.into()) => {}
                () = self.stop.asked() => {}
            }
        }
    }

    /// When controllers have looked again after an outage, or the time limit ends; none where there was none, or that is
    /// over.
    fn unsettled(&self) -> Option<Instant> {
        let now = Instant::now();
        let settled = self.cluster.outages().settled(now)?;
        Some(self.within(settled.saturating_duration_since(now)))
    }

    /// Who made what came back.
    async fn name_makers(&self, found: &mut Verification) {
        let came_back =
            self.plan.objects.iter().zip(&mut found.outcomes).filter_map(|(object, outcome)| match outcome {
                Outcome::Recreated { by, .. } => Some((object, by)),
                _ => None,
            });
        for (object, by) in came_back.take(LOOKED_AROUND) {
            *by = self.cluster.maker(&object.kind, &object.name).await;
        }
        for newcomer in found.newcomers.iter_mut().take(LOOKED_AROUND) {
            newcomer.by = self.cluster.maker(&newcomer.kind, &newcomer.name).await;
        }
    }

    /// What is there only because a planned object, now gone, made it: a ReplicaSet born while its Deployment went.
    fn born(&self, inventory: &Inventory, question: &Question) -> Vec<PlanObject> {
        let planned: HashSet<&str> = self.plan.going().map(|object| object.uid.as_str()).collect();
        // An owner that lives on makes what it needs.
        let gone = |uid: &str| planned.contains(uid) && inventory.find(uid).is_none();
        let mut selection = Selection::default();
        for (index, object) in inventory.objects().iter().enumerate() {
            let by_planned = object.owners.iter().find(|owner| gone(&owner.uid));
            let all_planned = object.owners.iter().all(|owner| gone(&owner.uid));
            if let Some(owner) = by_planned.filter(|_| all_planned && !planned.contains(object.uid.as_str())) {
                let reason = Reason::Owned { owner: format!("{}/{}", owner.kind, owner.name) };
                selection.members.insert(index, vec![reason]);
            }
        }
        let choices = Choices { no_scale_down: true, ..Choices::default() };
        let plan = Plan::draft(inventory, &selection, question, &choices, Place::default(), Vec::new());
        let kept_in_plan: BTreeSet<&str> = self.kept().collect();
        plan.objects
            .into_iter()
            .filter(|object| object.action != Action::Keep && !object.terminating)
            .filter(|object| object.reasons.iter().any(|reason| matches!(reason, Reason::Owned { .. })))
            .filter(|object| !kept_in_plan.contains(object.uid.as_str()))
            .collect()
    }

    fn kept(&self) -> impl Iterator<Item = &str> {
        self.plan.objects.iter().filter(|object| !object.goes()).map(|object| object.uid.as_str())
    }

    async fn sweep(&mut self, born: &[PlanObject]) {
        let objects: Vec<&PlanObject> = born.iter().collect();
        for object in &objects {
            tracing::info!(object = %object.title(), uid = %object.uid, "born after the plan to a planned owner");
        }
        self.delete_all(Phase::Verify, &objects).await;
        let uids: Vec<String> = self.plan.going().map(|object| object.uid.clone()).collect();
        let until = Some(self.within(SETTLE));
        self.wait(Phase::Verify, &uids, Bound { until, stall: None }).await;
    }

    fn blind(&self, failure: &Failure) -> Verification {
        let outcomes = self.plan.objects.iter().map(|object| self.outcome_by_watch(object)).collect();
        Verification { outcomes, error: Some(failure.to_string()), ..Verification::default() }
    }

    /// What the watches and the answers to the deletes say, where no second look could be had.
    pub(super) fn outcome_by_watch(&self, object: &PlanObject) -> Outcome {
        if !object.goes() {
            kept(object)
        } else if self.tracker.is_gone(&object.uid) {
            Outcome::Gone
        } else {
            self.left(object, None)
        }
    }

    fn left(&self, object: &PlanObject, seen: Option<&Object>) -> Outcome {
        let troubles = self.troubles.get(&object.uid).map_or(&[][..], Vec::as_slice);
        let mut finalizers = seen.map(|seen| seen.finalizers.clone()).unwrap_or_default();
        let mut blocked_by = troubles.to_vec();
        if let Some(tracked) = self.tracker.get(&object.uid) {
            blocked_by = super::diagnose::causes(object, tracked, troubles, &self.around(object), Instant::now());
            if seen.is_none() {
                finalizers.clone_from(&tracked.finalizers);
            }
        }
        if let Some(before) = self.undo.get(&object.uid).filter(|before| !before.is_empty()) {
            blocked_by.push(format!("the purge {} (--restore puts it back)", before.did()));
        }
        Outcome::Left { finalizers, blocked_by }
    }

    fn compare(&self, inventory: &Inventory, question: &Question, unseen: Vec<Unseen>) -> Verification {
        let planned: HashSet<&str> = self.plan.objects.iter().map(|object| object.uid.as_str()).collect();
        let going: HashSet<&str> = self.plan.going().map(|object| object.uid.as_str()).collect();
        let selection = Selection::of(inventory, question);
        // Whatever answers the question again, or hangs on something of the plan.
        let mut news: BTreeMap<usize, String> = selection
            .members
            .iter()
            .map(|(&index, reasons)| (index, reasons.first().map(ToString::to_string).unwrap_or_default()))
            .collect();
        for (index, object) in inventory.objects().iter().enumerate() {
            if let Some(owner) = object.owners.iter().find(|owner| going.contains(owner.uid.as_str())) {
                news.entry(index).or_insert_with(|| format!("owned by {}/{}", owner.kind, owner.name));
            }
        }
        news.retain(|&index, _| !planned.contains(inventory.objects()[index].uid.as_str()));
        let draft = Plan::draft(
            inventory,
            &selection,
            question,
            &Choices { delete_data: true, no_scale_down: true, ..Choices::default() },
            Place::default(),
            Vec::new(),
        );
        let stays: HashSet<&str> =
            draft.objects.iter().filter(|object| !object.goes()).map(|object| object.uid.as_str()).collect();
        news.retain(|&index, _| !stays.contains(inventory.objects()[index].uid.as_str()));
        let by_name: BTreeMap<(String, &str), usize> = news
            .keys()
            .map(|&index| &inventory.objects()[index])
            .zip(news.keys().copied())
            .map(|(object, index)| ((object.kind.resource(), object.name.as_str()), index))
            .collect();
        let mut named = BTreeSet::new();
        let outcomes = self
            .plan
            .objects
            .iter()
            .map(|object| {
                let is_seen = unseen.iter().all(|unseen| unseen.resource != object.kind.resource());
                if !object.goes() {
                    let is_lost = is_seen && inventory.find(&object.uid).is_none();
                    return if is_lost { Outcome::Lost } else { kept(object) };
                }
                if let Some(index) = inventory.find(&object.uid) {
                    return self.left(object, Some(&inventory.objects()[index]));
                }
                // Not found: but was its kind looked through at all?
                if !is_seen {
                    return self.outcome_by_watch(object);
                }
                match by_name.get(&(object.kind.resource(), object.name.as_str())) {
                    Some(&index) => {
                        named.insert(index);
                        Outcome::Recreated { uid: inventory.objects()[index].uid.clone(), by: None }
                    }
                    None => Outcome::Gone,
                }
            })
            .collect();
        let newcomers = news
            .into_iter()
            .filter(|(index, _)| !named.contains(index))
            .map(|(index, why)| {
                let object = &inventory.objects()[index];
                Newcomer {
                    kind: object.kind.clone(),
                    name: object.name.clone(),
                    uid: object.uid.clone(),
                    why,
                    by: None,
                }
            })
            .collect();
        Verification { outcomes, newcomers, unseen, error: None }
    }

    /// A quota's status follows the last deletes a moment later.
    async fn settle_quota(&mut self, ledger: &mut Ledger, catalog: &Catalog, since: Instant) {
        let until = self.within(QUOTA_SETTLES);
        while ledger.is_open() {
            match self.cluster.inventory(catalog, Patience::PLAN, &[]).await {
                Ok((inventory, _)) => ledger.settle(&inventory, since),
                Err(failure) => tracing::info!(%failure, "the quotas cannot be read"),
            }
            if !ledger.is_open() || Instant::now() >= until || self.stop.is_asked() {
                return;
            }
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
    }
}

/// What was to stay; or what was to go and was known beforehand not to.
fn kept(object: &PlanObject) -> Outcome {
    object.refusal.clone().map_or(Outcome::Kept, |refusal| Outcome::Left {
        finalizers: object.finalizers.clone(),
        blocked_by: vec![refusal],
    })
}
