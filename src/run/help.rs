//! The wait for the pods of what was scaled down, and the help that the controllers get with many of them.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap, HashSet},
    sync::Arc,
    time::{Duration, Instant},
};

use futures_util::{StreamExt as _, stream};

use super::{
    Phase,
    runner::{Bound, Runner, Waited},
};
use crate::{
    cluster::{Change, Deleted, Deletion, Trial, WRITES_AT_ONCE},
    inventory::Kind,
    plan::PlanObject,
};

/// The controllers delete some 20 pods a second; with more pods than this it is worth helping them.
const HELP_FROM: usize = 40;
/// Between two looks at who has begun, however much happens.
const LOOK_EVERY: Duration = Duration::from_millis(20);
/// A controller that works hears of a change by watch, as we do; this much later it has heard of it.
const HEARD_AFTER: Duration = Duration::from_secs(1);

/// The pods below one workload.
#[derive(Debug, Default)]
pub(super) struct Group {
    /// Their uids.
    pub(super) pods: Vec<String>,
    /// Uids of what controls them: a Deployment's ReplicaSets, or the workload itself.
    makers: BTreeSet<String>,
}

/// As much of a pod as its deletion needs: there may be many thousands.
struct Pod {
    kind: Arc<Kind>,
    name: String,
    uid: String,
}

impl Runner<'_> {
    /// Planned pods below each target that runs still, by the target's uid.
    pub(super) fn pods_below(&self, targets: &[&PlanObject]) -> BTreeMap<String, Group> {
        let mut groups: BTreeMap<String, Group> =
            targets.iter().map(|target| (target.uid.clone(), Group::default())).collect();
        for pod in self.plan.going().filter(|object| object.kind.is("", "Pod") && !object.finished) {
            let mut seen = BTreeSet::new();
            let mut above = pod.owners.clone();
            while let Some(owner) = above.pop() {
                if let Some(group) = groups.get_mut(&owner) {
                    group.pods.push(pod.uid.clone());
                    for maker in &pod.owners {
                        if !group.makers.contains(maker) {
                            group.makers.insert(maker.clone());
                        }
                    }
                    break;
                }
                if seen.insert(owner.clone()) {
                    above.extend(self.object(&owner).map(|object| object.owners.clone()).unwrap_or_default());
                }
            }
        }
        groups
    }

    /// Whether there are more pods of one workload than its controller is left to delete alone.
    fn is_large(&self, group: &Group) -> bool {
        // A grace period of the user's own has to be told to each pod.
        group.pods.len() > if self.grace_period.is_some() { 0 } else { HELP_FROM }
    }

    /// Watches what tells of the drain of these, before anything is scaled: nothing that happens then is missed.
    pub(super) fn watch_drain(&mut self, groups: &BTreeMap<String, Group>, pods: &[String]) {
        self.watch_for(pods);
        let large = groups.values().filter(|group| self.is_large(group));
        let makers: Vec<String> = large.flat_map(|group| &group.makers).cloned().collect();
        self.watch_for(&makers);
    }

    /// Waits until these pods are gone. `scaled` says when which workload was set to 0, by its uid.
    pub(super) async fn wait_drained(
        &mut self,
        groups: &BTreeMap<String, Group>,
        pods: &[String],
        scaled: &HashMap<String, Instant>,
    ) -> Waited {
        let stall = self.stall();
        let mut large: Vec<&Group> = groups.values().filter(|group| self.is_large(group)).collect();
        let begun = Instant::now();
        // Kinds whose controllers are seen to be at work: that one works says nothing of another.
        let mut at_work: HashSet<Arc<Kind>> = HashSet::new();
        while !large.is_empty() && begun.elapsed() < stall {
            for group in large.iter().filter(|group| self.has_begun(group)) {
                at_work.extend(self.kinds_of_makers(group).cloned());
            }
            let (ready, waiting) = large.into_iter().partition(|group| {
                let works = self.kinds_of_makers(group).all(|kind| at_work.contains(kind));
                self.has_begun(group) || works && self.has_been_told(group, scaled)
            });
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

    /// A controller that has begun to delete has understood: what we delete from now on it will not replace. A pod that
    /// was on its way out before says nothing of that.
    fn has_begun(&self, group: &Group) -> bool {
        let begun = |pod: &String| self.tracker.is_going(pod) && self.object(pod).is_some_and(|pod| !pod.terminating);
        group.pods.iter().any(begun)
    }

    fn kinds_of_makers(&self, group: &Group) -> impl Iterator<Item = &Arc<Kind>> {
        group.makers.iter().filter_map(|maker| self.object(maker)).map(|maker| &maker.kind)
    }

    /// The ReplicaSet controller works on five ReplicaSets at a time, each to its end, and would let all others wait. It
    /// hears of their new specs all the same, and in the order of their changes.
    fn has_been_told(&self, group: &Group, scaled: &HashMap<String, Instant>) -> bool {
        let told = |maker: &String| scaled.get(maker).copied().or_else(|| self.tracker.told(maker));
        group.makers.iter().all(|maker| told(maker).is_some_and(|told| told.elapsed() >= HEARD_AFTER))
    }

    /// Deletes the rest of these pods in the background, each by its uid and with its own grace period.
    fn help(&mut self, groups: &[&Group]) {
        let all: Vec<&PlanObject> =
            groups.iter().flat_map(|group| group.pods.iter()).filter_map(|pod| self.object(pod)).collect();
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
