//! The reversible half: every workload to 0, until its pods are gone; or everything back as it was.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::{Duration, Instant},
};

use futures_util::{StreamExt as _, stream};

use super::{
    Event, Phase,
    delete::DELETES_AT_ONCE,
    runner::{Bound, Runner, Waited},
};
use crate::{
    cluster::{Change, Cluster, Deleted, Deletion, Failure, Trial},
    plan::{PlanObject, Scale},
};

/// The controllers delete some 20 pods a second; with more pods than this it is worth helping them.
const HELP_FROM: usize = 40;
/// Without any movement for this long, the drain stops waiting for the controllers.
const STALL: Duration = Duration::from_secs(30);

/// What a restore has to put back.
pub(super) type Scaled<'a> = Vec<(&'a PlanObject, Scale)>;

impl<'a> Runner<'a> {
    /// Scales to 0 and waits for the pods. Gives what was scaled, so that it can be put back.
    pub(super) async fn drain(&mut self) -> (Scaled<'a>, Waited) {
        let plan = self.plan;
        let targets: Vec<(&PlanObject, Scale)> =
            plan.going().filter_map(|object| Some((object, object.scale?))).collect();
        if targets.is_empty() {
            return (Vec::new(), Waited::Gone);
        }
        let groups = self.pods_below(&targets);
        let pods: Vec<String> = groups.values().flatten().cloned().collect::<BTreeSet<_>>().into_iter().collect();
        let begun = self.begin(Phase::Drain, pods.clone());
        // Watch before scaling: nothing that happens then is missed.
        self.watch_for(&pods);
        let scaled = self.scale_all(&targets).await;
        let waited = self.wait_drained(&groups, &pods).await;
        self.end(Phase::Drain, begun);
        (scaled, waited)
    }

    /// Puts the replica counts back.
    pub(super) async fn restore(&mut self, scaled: &Scaled<'_>) {
        for (object, scale) in scaled {
            let done = set_replicas(self.cluster, object, scale.from).await;
            let message = match done {
                Ok(()) => format!("scaled back to {}", scale.from),
                Err(failure) => format!("could not be scaled back to {}: {failure}", scale.from),
            };
            self.tell(Event::Trouble { title: object.title(), message });
        }
    }

    async fn scale_all(&mut self, targets: &[(&'a PlanObject, Scale)]) -> Scaled<'a> {
        let cluster = self.cluster;
        let stop = self.stop.clone();
        let requests = targets
            .iter()
            .take_while(|_| !stop.is_asked())
            .map(|&(object, scale)| async move { (object, scale, set_replicas(cluster, object, scale.to).await) });
        let mut answers = stream::iter(requests).buffer_unordered(DELETES_AT_ONCE);
        let mut scaled = Vec::new();
        while let Some((object, scale, answer)) = answers.next().await {
            match answer {
                Ok(()) => {
                    scaled.push((object, scale));
                    self.tell(Event::Scaled { title: object.title(), from: scale.from });
                }
                Err(failure) if failure.is_not_found() => self.mark_gone(Phase::Drain, &object.uid),
                // It is no fault of the object's: it is deleted without draining.
                Err(failure) => {
                    let message = format!("not scaled down: {failure}");
                    self.tell(Event::Trouble { title: object.title(), message });
                }
            }
        }
        scaled
    }

    /// Planned pods below each target that runs still, by the target's uid.
    fn pods_below(&self, targets: &[(&PlanObject, Scale)]) -> BTreeMap<String, Vec<String>> {
        let mut groups = BTreeMap::new();
        for (target, _) in targets {
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
        let mut large: Vec<&Vec<String>> = groups.values().filter(|pods| pods.len() > HELP_FROM).collect();
        // A controller that has begun to delete has understood: what we delete from now on it will not replace.
        let begun = Instant::now();
        while !large.is_empty() && begun.elapsed() < stall {
            let (ready, waiting) =
                large.into_iter().partition(|pods| pods.iter().any(|pod| self.tracker.is_going(pod)));
            large = waiting;
            self.help(&ready);
            if !large.is_empty() && !self.next_change(Phase::Drain, Instant::now() + Duration::from_secs(1)).await {
                return Waited::Stopped;
            }
        }
        self.wait(Phase::Drain, pods, Bound { until: self.deadline, stall: Some(stall) }).await
    }

    /// Deletes the rest of these pods in the background, each by its uid and with its own grace period.
    fn help(&self, groups: &[&Vec<String>]) {
        let pods: Vec<PlanObject> = groups
            .iter()
            .flat_map(|pods| pods.iter())
            .filter(|pod| !self.tracker.is_going(pod))
            .filter_map(|pod| self.object(pod).cloned())
            .collect();
        if pods.is_empty() {
            return;
        }
        let (cluster, changes, grace, stop) =
            (self.cluster.clone(), self.sender(), self.grace_period, self.stop.clone());
        tokio::spawn(async move {
            let deletes = stream::iter(pods).map(move |pod| delete_gracefully(cluster.clone(), pod, grace));
            let mut deletes = deletes.buffer_unordered(DELETES_AT_ONCE);
            while let Some((pod, answer)) = deletes.next().await {
                if stop.is_asked() {
                    return;
                }
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

async fn delete_gracefully(
    cluster: Cluster,
    pod: PlanObject,
    grace_period: Option<i64>,
) -> (PlanObject, Result<Deleted, Failure>) {
    let deletion = Deletion { uid: &pod.uid, resource_version: None, grace_period, trial: Trial::No };
    let answer = cluster.delete(&pod.kind, &pod.name, &deletion).await;
    (pod, answer)
}

/// Through the subresource; in the object itself where only the subresource is forbidden.
async fn set_replicas(cluster: &Cluster, object: &PlanObject, replicas: i64) -> Result<(), Failure> {
    let PlanObject { kind, name, uid, .. } = object;
    match cluster.set_scale(kind, name, uid, replicas, Trial::No).await {
        Err(failure) if failure.is_forbidden() => {
            cluster.set_replicas(kind, name, uid, replicas, Trial::No).await.map_err(|_| failure)
        }
        answer => answer,
    }
}
