//! The first step: whatever would act against the run is told to keep still. All of it can be put back.

use std::{
    collections::BTreeSet,
    sync::Arc,
    time::{Duration, Instant},
};

use futures_util::{StreamExt as _, stream};
use serde_json::{Value, json};

use super::{
    Event, Phase,
    runner::{Runner, Waited},
};
use crate::{
    cluster::{Catalog, Deleted, Deletion, Failure, Patience, Trial, WRITES_AT_ONCE},
    inventory::{ClaimPolicy, Kind, Object},
    manifest,
    plan::{PlanObject, Precaution, Restore},
    report::PhaseTime,
};

/// The StatefulSet controller takes its set off the claims by itself; after this long it is done for it.
const CLAIMS_PATIENCE: Duration = Duration::from_secs(3);
/// After this long without success the StatefulSet is left alone.
const CLAIMS_LIMIT: Duration = Duration::from_secs(15);

impl<'a> Runner<'a> {
    /// Takes every precaution of the plan.
    pub(super) async fn pause(&mut self, catalog: &Catalog) -> Waited {
        let plan = self.plan;
        let targets: Vec<(&PlanObject, &Precaution)> = plan
            .going()
            .filter(|object| !self.is_held(&object.uid))
            .filter_map(|object| Some((object, object.precaution.as_ref()?)))
            .collect();
        if targets.is_empty() {
            return Waited::Gone;
        }
        let total = targets.len();
        self.tell(Event::Started { phase: Phase::Pause, total });
        let begun = Instant::now();
        let mut done = self.still(&targets).await;
        for (object, precaution) in targets {
            if self.stop.is_asked() {
                break;
            }
            done += usize::from(match precaution {
                Precaution::RetainClaims(policy) => self.retain_claims(object, policy, catalog).await,
                Precaution::DeleteFirst => self.delete_autoscaler(object).await,
                Precaution::Suspend | Precaution::Pause { .. } => continue,
            });
        }
        self.tell(Event::Remaining { phase: Phase::Pause, remaining: total - done, total });
        let took = begun.elapsed();
        self.phases.push(PhaseTime { name: Phase::Pause.name(), took });
        self.tell_warnings();
        self.tell(Event::Finished { phase: Phase::Pause, took });
        if self.stop.is_asked() { Waited::Stopped } else { Waited::Gone }
    }

    /// What there is to go back to for an object, as far as is known.
    pub(super) fn noted(&self, object: &PlanObject) -> Restore {
        let mut noted = self.undo.get(&object.uid).or(object.restore.as_ref()).cloned().unwrap_or_default();
        noted.pods.extend(object.pods_to_note.iter().cloned());
        noted
    }

    /// Suspends and pauses, all at once. Says how many it did.
    async fn still(&mut self, targets: &[(&'a PlanObject, &Precaution)]) -> usize {
        let cluster = self.cluster;
        let stop = self.stop.clone();
        let due: Vec<(&PlanObject, &'static str, Restore, Value)> = targets
            .iter()
            .filter_map(|&(object, precaution)| {
                let before = Restore { paused: true, ..self.noted(object) };
                let mut patch = note(&before);
                let how = match precaution {
                    Precaution::Suspend => {
                        patch["spec"] = json!({ "suspend": true });
                        "suspended"
                    }
                    Precaution::Pause { key, value } => {
                        patch["metadata"]["annotations"][*key] = (*value).into();
                        "paused"
                    }
                    Precaution::RetainClaims(_) | Precaution::DeleteFirst => return None,
                };
                Some((object, how, before, patch))
            })
            .collect();
        let requests =
            due.into_iter().take_while(|_| !stop.is_asked()).map(|(object, how, before, patch)| async move {
                let answer = cluster.merge(&object.kind, &object.name, &object.uid, patch, Trial::No).await;
                (object, how, before, answer)
            });
        let mut answers = stream::iter(requests).buffer_unordered(WRITES_AT_ONCE);
        let mut done = 0;
        while let Some((object, how, before, answer)) = answers.next().await {
            match answer {
                Ok(_) => {
                    done += 1;
                    self.undo.insert(object.uid.clone(), before);
                    self.tell(Event::Paused { title: object.title(), how });
                }
                Err(failure) if failure.is_not_found() => self.mark_gone(Phase::Pause, &object.uid),
                // Nothing is lost by it: it goes before what it would act on, or what it makes is swept.
                Err(failure) => {
                    // Without an answer it may have been done all the same.
                    if failure.code().is_none() {
                        self.undo.insert(object.uid.clone(), before);
                    }
                    self.tell(Event::Trouble { title: object.title(), message: format!("not {how}: {failure}") });
                }
            }
        }
        done
    }

    /// Disarms the policy by which a StatefulSet would take its claims along. One that can't be disarmed is left alone.
    async fn retain_claims(&mut self, object: &'a PlanObject, policy: &ClaimPolicy, catalog: &Catalog) -> bool {
        let before = Restore { claims: Some(policy.clone()), ..self.noted(object) };
        let mut patch = note(&before);
        patch["spec"] = json!({
            "persistentVolumeClaimRetentionPolicy": { "whenDeleted": "Retain", "whenScaled": "Retain" }
        });
        let answer = self.cluster.merge(&object.kind, &object.name, &object.uid, patch, Trial::No).await;
        if answer.as_ref().err().and_then(Failure::code).is_none() {
            self.undo.insert(object.uid.clone(), before);
        }
        let freed = match answer {
            Ok(_) => self.free_claims(object, catalog).await,
            Err(failure) if failure.is_not_found() => {
                self.mark_gone(Phase::Pause, &object.uid);
                return true;
            }
            Err(failure) => Err(format!("its policy cannot be changed: {failure}")),
        };
        match freed {
            Ok(()) => {
                self.tell(Event::Paused { title: object.title(), how: "told to retain its claims" });
                true
            }
            Err(why) => {
                self.hold(object, format!("left alone, for its claims would be destroyed with it: {why}"));
                false
            }
        }
    }

    /// Waits until no claim is owned by the set or one of its pods, and takes what is left of that away.
    async fn free_claims(&self, set: &PlanObject, catalog: &Catalog) -> Result<(), String> {
        let kind = catalog.kinds.iter().map(|served| &served.kind).find(|kind| kind.is("", "PersistentVolumeClaim"));
        let Some(kind) = kind else { return Ok(()) };
        let mut owners: BTreeSet<&str> = BTreeSet::from([set.uid.as_str()]);
        owners.extend(
            self.plan
                .objects
                .iter()
                .filter(|object| object.kind.is("", "Pod") && object.owners.contains(&set.uid))
                .map(|pod| pod.uid.as_str()),
        );
        let begun = Instant::now();
        loop {
            let listing = self.cluster.list(kind, Patience::RUN).await;
            let claims = listing.map_err(|failure| format!("its claims cannot be seen: {failure}"))?.objects;
            let owned: Vec<&Object> = claims
                .iter()
                .filter(|claim| claim.owners.iter().any(|owner| owners.contains(owner.uid.as_str())))
                .collect();
            let Some(first) = owned.first() else { return Ok(()) };
            if self.stop.is_asked() {
                return Ok(());
            }
            if begun.elapsed() > CLAIMS_LIMIT {
                return Err(format!("{} is still owned by it", first.title()));
            }
            if begun.elapsed() > CLAIMS_PATIENCE {
                for claim in owned {
                    if let Err(failure) = self.disown(kind, claim, &owners).await {
                        // Somebody else may be at it; the next look tells.
                        if !failure.is_conflict() {
                            return Err(format!("{} cannot be taken from it: {failure}", claim.title()));
                        }
                    }
                }
            }
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    }

    async fn disown(&self, kind: &Arc<Kind>, claim: &Object, owners: &BTreeSet<&str>) -> Result<(), Failure> {
        let Some(manifest) = self.cluster.manifest(kind, &claim.name).await? else { return Ok(()) };
        let is_owner = |reference: &&Value| reference["uid"].as_str().is_some_and(|uid| owners.contains(uid));
        let references = manifest["metadata"]["ownerReferences"].as_array().map_or(&[][..], Vec::as_slice);
        let rest: Vec<&Value> = references.iter().filter(|reference| !is_owner(reference)).collect();
        let version = &manifest["metadata"]["resourceVersion"];
        let patch = json!({ "metadata": { "resourceVersion": version, "ownerReferences": rest } });
        self.cluster.merge(kind, &claim.name, &claim.uid, patch, Trial::No).await.map(drop)
    }

    /// An autoscaler that could wake its workload from 0 goes, its manifest noted on the workload.
    async fn delete_autoscaler(&mut self, object: &'a PlanObject) -> bool {
        let stored = match self.cluster.manifest(&object.kind, &object.name).await {
            Ok(Some(stored)) if stored["metadata"]["uid"] == object.uid.as_str() => stored,
            Ok(_) => {
                self.mark_gone(Phase::Pause, &object.uid);
                return true;
            }
            Err(failure) => {
                self.tell(Event::Trouble { title: object.title(), message: format!("cannot be read: {failure}") });
                return false;
            }
        };
        let reference = &stored["spec"]["scaleTargetRef"];
        let is_target = |target: &&PlanObject| {
            reference["kind"] == target.kind.kind.as_str() && reference["name"] == target.name.as_str()
        };
        let plan = self.plan;
        let Some(target) = plan.going().filter(|target| !self.is_held(&target.uid)).find(is_target) else {
            // It scales nothing that goes down now.
            return true;
        };
        let mut before = self.noted(target);
        before.autoscalers.push(manifest::bare(stored));
        self.note(target, &before).await;
        self.undo.insert(target.uid.clone(), before);
        let deletion = Deletion { uid: &object.uid, resource_version: None, grace_period: None, trial: Trial::No };
        let turn = self.cluster.turn().await;
        match self.cluster.delete(turn, &object.kind, &object.name, &deletion).await {
            Ok(Deleted::Gone | Deleted::Absent) => self.mark_gone(Phase::Pause, &object.uid),
            Ok(Deleted::Begun(seen)) => {
                self.tracker.see(&object.kind, crate::cluster::Change::Upsert(seen), Instant::now());
            }
            Err(failure) => {
                self.tell(Event::Trouble { title: object.title(), message: format!("not deleted first: {failure}") });
                return false;
            }
        }
        self.tell(Event::Paused { title: object.title(), how: "deleted: it could scale up from 0" });
        true
    }

    /// Notes on an object what to go back to. Where that is not allowed it is known to this run alone.
    pub(super) async fn note(&self, object: &PlanObject, before: &Restore) {
        let answer = self.cluster.merge(&object.kind, &object.name, &object.uid, note(before), Trial::No).await;
        if let Err(failure) = answer
            && !failure.is_not_found()
        {
            tracing::info!(object = %object.title(), %failure, "what it was before cannot be noted on it");
        }
    }
}

/// The patch that notes what to go back to.
pub(super) fn note(before: &Restore) -> Value {
    json!({ "metadata": { "annotations": { (Restore::ANNOTATION): before.to_annotation() } } })
}
