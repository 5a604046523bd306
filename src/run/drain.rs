//! The reversible half: every workload to 0, until its pods are gone; or everything back as it was.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap, HashSet},
    time::Instant,
};

use futures_util::{StreamExt as _, stream};
use serde_json::json;

use super::{
    Event, Phase,
    delete::{ATTEMPTS, REPLACED},
    help::Group,
    pause::note,
    runner::{Runner, Waited},
};
use crate::{
    cluster::{Cluster, Failure, Precondition, Trial, WRITES_AT_ONCE},
    plan::{PlanObject, Restore, Scale},
};

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
        let pods = |groups: &BTreeMap<String, Group>| -> Vec<String> {
            groups.values().flat_map(|group| &group.pods).cloned().collect::<BTreeSet<_>>().into_iter().collect()
        };
        let all = pods(&groups);
        let begun = self.begin(Phase::Drain, all.clone());
        self.watch_drain(&groups, &all);
        let Scaled { done, refused } = self.scale_all(&targets).await;
        if self.stale {
            self.end(Phase::Drain, begun);
            return Waited::Gone;
        }
        // What was not scaled down is deleted as it stands: its pods are not waited for here.
        groups.retain(|root, _| !refused.contains(root));
        let waited = match self.wait_drained(&groups, &pods(&groups), &done).await {
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

    /// Scales all at once, each with a note of what it was.
    async fn scale_all(&mut self, targets: &[(&'a PlanObject, Scale)]) -> Scaled {
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
        let (mut done, mut refused) = (HashMap::new(), BTreeSet::new());
        while let Some((object, scale, before, answer)) = answers.next().await {
            match answer {
                Ok(()) => {
                    self.undo.insert(object.uid.clone(), before);
                    done.insert(object.uid.clone(), Instant::now());
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
        Scaled { done, refused }
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
}

/// What came of scaling.
struct Scaled {
    /// When which was set to 0, by its uid.
    done: HashMap<String, Instant>,
    /// Uids of what could not be scaled.
    refused: BTreeSet<String>,
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
