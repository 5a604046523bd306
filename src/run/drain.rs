//! The reversible half: every workload to 0, until its pods are gone; or everything back as it was.

use std::{
    collections::{BTreeMap, BTreeSet, HashSet},
    sync::Arc,
    time::{Duration, Instant},
};

use futures_util::{StreamExt as _, stream};
use serde_json::json;

use super::{
    Event, Phase,
    delete::{ATTEMPTS, REPLACED},
    pause::note,
    runner::{Bound, Runner, Waited},
};
use crate::{
    cluster::{Change, Cluster, Deleted, Deletion, Failure, Precondition, Trial, WRITES_AT_ONCE},
    inventory::Kind,
    plan::{PlanObject, Restore, Scale},
};

/// The controllers delete some 20 pods a second; with more pods than this it is worth helping them.
const HELP_FROM: usize = 40;
/// Between two looks at who has begun, however much happens.
const LOOK_EVERY: Duration = Duration::from_millis(20);
/// Without any movement for this long, the drain stops waiting for the controllers.
const STALL: Duration = Duration::from_secs(30);

impl<'a> Runner<'a> {
    /// Scales to 0 and waits for the pods of what was scaled, and of suspended Jobs.
    pub(super) async fn drain(&mut self) -> Waited {
        let plan = self.plan;
        let due = |object: &&PlanObject| !self.held.contains_key(&object.uid) && !self.tracker.is_gone(&object.uid);
        let targets: Vec<(&PlanObject, Scale)> =
            plan.going().filter(due).filter_map(|object| Some((object, object.scale?))).collect();
        let jobs: Vec<&PlanObject> = plan
            .going()
            .filter(due)
            .filter(|object| object.kind.is("batch", "Job") && self.undo.contains_key(&object.uid))
            .collect();
        let roots: Vec<&PlanObject> = targets.iter().map(|(object, _)| *object).chain(jobs).collect();
        if roots.is_empty() {
            return Waited::Gone;
        }
        let mut groups = self.pods_below(&roots);
        let pods = |groups: &BTreeMap<String, Vec<String>>| -> Vec<String> {
            groups.values().flatten().cloned().collect::<BTreeSet<_>>().into_iter().collect()
        };
        let all = pods(&groups);
        let begun = self.begin(Phase::Drain, all.clone());
        // Watch before scaling: nothing that happens then is missed.
        self.watch_for(&all);
        let refused = self.scale_all(&targets).await;
        if self.stale {
            self.end(Phase::Drain, begun);
            return Waited::Gone;
        }
        // What was not scaled down is deleted as it stands: its pods are not waited for here.
        groups.retain(|root, _| !refused.contains(root));
        let waited = match self.wait_drained(&groups, &pods(&groups)).await {
            Waited::Stopped => Waited::Stopped,
            waited => {
                let stop = self.stop.clone();
                tokio::select! {
                    () = self.keep_down(&targets, &refused) => {}
                    () = stop.asked() => {}
                }
                waited
            }
        };
        self.end(Phase::Drain, begun);
        // A wish to stop that found nothing to wait for.
        if self.stop.is_asked() { Waited::Stopped } else { waited }
    }

    /// Scales all at once, each with a note of what it was. Gives the uids of what could not be scaled.
    async fn scale_all(&mut self, targets: &[(&'a PlanObject, Scale)]) -> BTreeSet<String> {
        let cluster = self.cluster;
        let stop = self.stop.clone();
        let known = &self.known_owners();
        let due: Vec<(&PlanObject, Scale, Restore)> = targets
            .iter()
            .map(|&(object, scale)| (object, scale, Restore { replicas: Some(scale.from), ..self.noted(object) }))
            .collect();
        let requests = due.into_iter().take_while(|_| !stop.is_asked()).map(|(object, scale, before)| async move {
            let answer = scale_one(cluster, object, scale, &before, known).await;
            (object, scale, before, answer)
        });
        let mut answers = stream::iter(requests).buffer_unordered(WRITES_AT_ONCE);
        let mut refused = BTreeSet::new();
        while let Some((object, scale, before, answer)) = answers.next().await {
            match answer {
                Ok(()) => {
                    self.undo.insert(object.uid.clone(), before);
                    self.tell(Event::Scaled { title: object.title(), from: scale.from });
                }
                Err(Unscaled::Failed(failure)) if failure.is_not_found() => {
                    self.mark_gone(Phase::Drain, &object.uid);
                }
                Err(Unscaled::Adopted(by)) => {
                    refused.insert(object.uid.clone());
                    self.hold(object, format!("left alone: {by} has adopted it since the plan"));
                    self.stale = true;
                }
                // Another object has its name now, and needs the rest of the application.
                Err(Unscaled::Replaced) => {
                    refused.insert(object.uid.clone());
                    self.mark_gone(Phase::Drain, &object.uid);
                    self.tell(Event::Trouble { title: object.title(), message: REPLACED.to_owned() });
                    self.stale = true;
                }
                // It is no fault of the object's: it is deleted without draining.
                Err(Unscaled::Failed(failure)) => {
                    // Without an answer it may have been scaled all the same; the note may stand on it in any case.
                    let before = if failure.code().is_none() { before } else { self.noted(object) };
                    self.undo.insert(object.uid.clone(), before);
                    refused.insert(object.uid.clone());
                    let message = format!("not scaled down: {failure}");
                    self.tell(Event::Trouble { title: object.title(), message });
                }
            }
        }
        refused
    }

    /// What somebody has scaled up again meanwhile is told by whom, and set to 0 once more; not more often than that.
    async fn keep_down(&mut self, targets: &[(&'a PlanObject, Scale)], refused: &BTreeSet<String>) {
        for &(object, scale) in targets {
            if refused.contains(&object.uid) || self.tracker.is_gone(&object.uid) || self.stop.is_asked() {
                continue;
            }
            let Ok(replicas @ 1..) = self.cluster.scale(&object.kind, &object.name).await else { continue };
            let by = self.cluster.writer_of_replicas(&object.kind, &object.name).await;
            let by = by.map(|manager| format!(" by {manager}")).unwrap_or_default();
            let message = format!("scaled up to {replicas} again{by}; set to 0 once more");
            self.tell(Event::Trouble { title: object.title(), message });
            if let Err(failure) = set_replicas(self.cluster, object, (&object.uid).into(), scale.to).await {
                let message = format!("not scaled down once more: {failure}");
                self.tell(Event::Trouble { title: object.title(), message });
            }
        }
    }

    /// Planned pods below each target that runs still, by the target's uid.
    fn pods_below(&self, targets: &[&PlanObject]) -> BTreeMap<String, Vec<String>> {
        let mut groups = BTreeMap::new();
        for target in targets {
            groups.insert(target.uid.clone(), Vec::new());
        }
        for pod in self.plan.going().filter(|object| object.kind.is("", "Pod") && !object.finished) {
            let mut seen = BTreeSet::new();
            let mut above = pod.owners.clone();
            while let Some(owner) = above.pop() {
                if let Some(group) = groups.get_mut(&owner) {
                    group.push(pod.uid.clone());
                    break;
                }
                if seen.insert(owner.clone()) {
                    above.extend(self.object(&owner).map(|object| object.owners.clone()).unwrap_or_default());
                }
            }
        }
        groups
    }

    async fn wait_drained(&mut self, groups: &BTreeMap<String, Vec<String>>, pods: &[String]) -> Waited {
        let stall = self.timeout.map_or(STALL, |timeout| STALL.min(timeout / 4));
        // A grace period of the user's own has to be told to each pod.
        let from = if self.grace_period.is_some() { 0 } else { HELP_FROM };
        let mut large: Vec<&Vec<String>> = groups.values().filter(|pods| pods.len() > from).collect();
        // A controller that has begun to delete has understood: what we delete from now on it will not replace.
        let begun = Instant::now();
        while !large.is_empty() && begun.elapsed() < stall {
            let (ready, waiting) =
                large.into_iter().partition(|pods| pods.iter().any(|pod| self.tracker.is_going(pod)));
            large = waiting;
            self.help(&ready);
            if large.is_empty() {
                break;
            }
            let again = Instant::now() + LOOK_EVERY;
            let mut tick = Instant::now() + Duration::from_secs(1);
            loop {
                if !self.next_change(Phase::Drain, tick).await {
                    return Waited::Stopped;
                }
                if Instant::now() >= again {
                    break;
                }
                tick = again;
            }
        }
        self.wait(Phase::Drain, pods, Bound { until: self.deadline, stall: Some(stall) }).await
    }

    /// Deletes the rest of these pods in the background, each by its uid and with its own grace period.
    fn help(&mut self, groups: &[&Vec<String>]) {
        let all: Vec<&PlanObject> =
            groups.iter().flat_map(|pods| pods.iter()).filter_map(|pod| self.object(pod)).collect();
        let due = |pod: &&&PlanObject| !self.tracker.is_going(&pod.uid) || self.is_to_be_quicker(pod);
        let due = all.iter().filter(due);
        let pods: Vec<Pod> =
            due.map(|pod| Pod { kind: pod.kind.clone(), name: pod.name.clone(), uid: pod.uid.clone() }).collect();
        if pods.is_empty() {
            return;
        }
        let (cluster, changes, grace, stop) =
            (self.cluster.clone(), self.sender(), self.grace_period, self.stop.clone());
        let (departed, hurried) = (self.tracker.departed(), self.hurried.clone());
        tokio::spawn(async move {
            let (cluster, departed, hurried, stop) = (&cluster, &departed, &hurried, &stop);
            let deletes = pods.into_iter().map(|pod| async move {
                let turn = cluster.turn().await;
                // The controller goes on meanwhile: what it has come to first needs no request of ours.
                let due = !stop.is_asked() && (hurried.contains(&pod.uid) || !departed.has(&pod.uid));
                if !due {
                    return None;
                }
                let deletion =
                    Deletion { uid: &pod.uid, resource_version: None, grace_period: grace, trial: Trial::No };
                let answer = cluster.delete(turn, &pod.kind, &pod.name, &deletion).await;
                Some((pod, answer))
            });
            let mut deletes = stream::iter(deletes).buffer_unordered(WRITES_AT_ONCE);
            while let Some(deleted) = deletes.next().await {
                if stop.is_asked() {
                    return;
                }
                let Some((pod, answer)) = deleted else { continue };
                let change = match answer {
                    Ok(Deleted::Gone | Deleted::Absent) => Change::Gone(pod.uid.clone()),
                    Ok(Deleted::Begun(object)) => Change::Upsert(object),
                    // The controller is at it anyway, and the wave after this one says what stays.
                    Err(failure) => {
                        tracing::info!(pod = %pod.name, %failure, "not deleted while draining");
                        continue;
                    }
                };
                if changes.send((pod.kind.clone(), change)).is_err() {
                    return;
                }
            }
        });
    }
}

/// As much of a pod as its deletion needs: there may be many thousands.
struct Pod {
    kind: Arc<Kind>,
    name: String,
    uid: String,
}

/// Why something was not scaled.
enum Unscaled {
    Failed(Failure),
    /// By this controller, which the plan does not know.
    Adopted(String),
    /// There is another object of its name.
    Replaced,
}

/// Notes on an object what it was, and scales it. One that nothing owned when it was planned may have been adopted
/// since: it is scaled only as the note left it.
async fn scale_one(
    cluster: &Cluster,
    object: &PlanObject,
    scale: Scale,
    before: &Restore,
    known: &HashSet<String>,
) -> Result<(), Unscaled> {
    let PlanObject { kind, name, uid, .. } = object;
    let mut last = None;
    for _ in 0..ATTEMPTS {
        let noted = cluster.merge(kind, name, uid, note(before), Trial::No).await;
        let version = match noted {
            Ok(now) => {
                if let Some(owner) = now.controller().filter(|owner| !known.contains(&owner.uid))
                    && object.is_orphan()
                {
                    let by = format!("{}/{}", owner.kind, owner.name);
                    let forget = json!({ "metadata": { "annotations": { (Restore::ANNOTATION): null } } });
                    let _ = cluster.merge(kind, name, uid, forget, Trial::No).await;
                    return Err(Unscaled::Adopted(by));
                }
                now.resource_version
            }
            Err(failure) => {
                tracing::info!(object = %object.title(), %failure, "its replicas cannot be noted on it");
                object.resource_version.clone()
            }
        };
        let meant = Precondition { uid, resource_version: object.is_orphan().then_some(version.as_str()) };
        match set_replicas(cluster, object, meant, scale.to).await {
            Err(failure) if failure.is_conflict() && object.is_orphan() => last = Some(failure),
            Err(failure) if failure.is_conflict() => match cluster.get(kind, name).await {
                Ok(Some(now)) if now.uid != *uid => return Err(Unscaled::Replaced),
                _ => return Err(Unscaled::Failed(failure)),
            },
            answer => return answer.map_err(Unscaled::Failed),
        }
    }
    last.map_or(Ok(()), |failure| Err(Unscaled::Failed(failure)))
}

/// Through the subresource; in the object itself where only the subresource is forbidden.
pub(super) async fn set_replicas(
    cluster: &Cluster,
    object: &PlanObject,
    meant: Precondition<'_>,
    replicas: i64,
) -> Result<(), Failure> {
    let PlanObject { kind, name, .. } = object;
    match cluster.set_scale(kind, name, meant, replicas, Trial::No).await {
        Err(failure) if failure.is_forbidden() => {
            cluster.set_replicas(kind, name, meant, replicas, Trial::No).await.map_err(|_| failure)
        }
        answer => answer,
    }
}
