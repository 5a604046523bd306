//! What is done to what does not go by itself, each thing only where its own flag asks for it.

use std::{
    collections::BTreeMap,
    time::{Duration, Instant},
};

use serde_json::json;

use super::{Event, Limits, Phase, delete::STALL, runner::Runner, tracker::State};
use crate::{
    cluster::{Change, Deleted, Deletion, NodeState, Trial},
    plan::{Plan, PlanObject, finalizer},
};

/// A kubelet that answers confirms the end of a pod within this, once its grace period is over.
const CONFIRMATION: Duration = Duration::from_secs(2);
/// A controller that is at work shows some change within this.
const CONTROLLER: Duration = Duration::from_secs(10);

impl Runner<'_> {
    /// Looks after what is stuck among these.
    pub(super) async fn force_on(&mut self, phase: Phase, left: &[&String]) {
        if self.force {
            self.force_pods(phase, left).await;
        }
        // Nothing of it could be put back.
        if self.remove_finalizers && !matches!(phase, Phase::Pause | Phase::Drain) {
            self.strip(phase, left).await;
        }
    }

    /// Pods whose grace period is over, or whose node does not answer.
    async fn force_pods(&mut self, phase: Phase, left: &[&String]) {
        let pods: Vec<&PlanObject> = left
            .iter()
            .filter(|uid| !self.forced.contains(uid.as_str()))
            .filter_map(|uid| self.object(uid))
            .filter(|object| object.kind.is("", "Pod"))
            .collect();
        for pod in pods {
            let now = Instant::now();
            let Some(seen) = self.tracker.get(&pod.uid).filter(|seen| seen.state == State::Deleting) else { continue };
            let overdue = seen.grace_left(now).is_none()
                && seen.deleting_since.is_some_and(|since| now.duration_since(since) >= CONFIRMATION);
            let why = if overdue {
                "its grace period is over".to_owned()
            } else {
                let Some(node) = pod.node.clone() else { continue };
                match self.node_state(&node).await {
                    NodeState::NotReady => format!("its node {node} is not ready"),
                    NodeState::Absent => format!("its node {node} is gone"),
                    NodeState::Ready | NodeState::Unknown => continue,
                }
            };
            if self.stop.is_asked() {
                return;
            }
            self.forced.insert(pod.uid.clone());
            let deletion = Deletion { uid: &pod.uid, resource_version: None, grace_period: Some(0), trial: Trial::No };
            let turn = self.cluster.turn().await;
            match self.cluster.delete(turn, &pod.kind, &pod.name, &deletion).await {
                Ok(answer) => {
                    self.tell(Event::Forced { title: pod.title(), what: format!("taken out by force: {why}") });
                    match answer {
                        Deleted::Gone | Deleted::Absent => self.mark_gone(phase, &pod.uid),
                        Deleted::Begun(seen) => drop(self.tracker.see(&pod.kind, Change::Upsert(seen), now)),
                    }
                }
                Err(failure) if failure.is_conflict() => self.mark_gone(phase, &pod.uid),
                Err(failure) => self.trouble(pod, format!("not taken out by force: {failure}")),
            }
        }
    }

    /// Takes away the finalizers that the plan names, and only those, where nothing has moved for long.
    async fn strip(&mut self, phase: Phase, left: &[&String]) {
        let patience = self.timeout.map_or(CONTROLLER, |timeout| CONTROLLER.min(STALL.min(timeout / 4) / 2));
        let now = Instant::now();
        let stuck: Vec<&PlanObject> = left
            .iter()
            .filter(|uid| !self.stripped.contains(uid.as_str()))
            .filter_map(|uid| self.object(uid))
            .filter(|object| {
                self.tracker.get(&object.uid).is_some_and(|seen| {
                    seen.state == State::Deleting
                        && seen.grace_left(now).is_none()
                        && seen.quiet_for(now) >= patience
                        && seen.finalizers.iter().any(|name| is_named(object, name))
                })
            })
            .collect();
        for object in stuck {
            if self.stop.is_asked() {
                return;
            }
            self.take_finalizers(phase, object).await;
        }
    }

    async fn take_finalizers(&mut self, phase: Phase, object: &PlanObject) {
        let current = match self.cluster.get(&object.kind, &object.name).await {
            Ok(Some(current)) if current.uid == object.uid => current,
            Ok(_) => return self.mark_gone(phase, &object.uid),
            Err(failure) => return self.trouble(object, format!("its finalizers cannot be read: {failure}")),
        };
        let (taken, rest): (Vec<&String>, Vec<&String>) =
            current.finalizers.iter().partition(|name| is_named(object, name));
        if taken.is_empty() {
            return;
        }
        let patch = json!({ "metadata": { "resourceVersion": current.resource_version, "finalizers": rest } });
        match self.cluster.merge(&object.kind, &object.name, &object.uid, patch, Trial::No).await {
            Ok(_) => {
                self.stripped.insert(object.uid.clone());
                for name in taken {
                    let what = format!("finalizer {name} taken away; {}", finalizer::leak_of(name));
                    self.tell(Event::Forced { title: object.title(), what });
                }
            }
            Err(failure) if failure.is_not_found() => self.mark_gone(phase, &object.uid),
            // It has changed meanwhile: the next look sees how.
            Err(failure) if failure.is_conflict() => {}
            Err(failure) => {
                self.stripped.insert(object.uid.clone());
                self.trouble(object, format!("its finalizers cannot be taken away: {failure}"));
            }
        }
    }
}

/// Whether the plan that was agreed to names this finalizer of the object.
fn is_named(object: &PlanObject, name: &str) -> bool {
    finalizer::is_removable(name) && object.finalizers.iter().any(|planned| planned == name)
}

/// What the flags put at risk in this plan, to be said before the question.
#[must_use]
pub fn cautions(plan: &Plan, limits: &Limits) -> Vec<String> {
    let mut cautions = Vec::new();
    if limits.force {
        let sets = plan.going().filter(|object| object.kind.is("apps", "StatefulSet"));
        cautions.extend(sets.map(|set| {
            format!(
                "--force: if a pod of {} still runs on a node that does not answer, it and a later pod of its name may \
                 write to one volume at once",
                set.title()
            )
        }));
    }
    if limits.remove_finalizers {
        let mut named: BTreeMap<&str, Vec<String>> = BTreeMap::new();
        for object in plan.going() {
            for name in object.finalizers.iter().filter(|name| finalizer::is_removable(name)) {
                named.entry(name).or_default().push(object.title());
            }
        }
        cautions.extend(named.into_iter().map(|(name, titles)| {
            let first = titles.first().map(String::as_str).unwrap_or_default();
            let more = if titles.len() > 1 { format!(" and {} more", titles.len() - 1) } else { String::new() };
            format!("--remove-finalizers may take {name} off {first}{more}: {}", finalizer::leak_of(name))
        }));
    }
    cautions
}
