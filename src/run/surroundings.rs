//! Finding out what an object that does not go may be waiting for.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use super::{
    diagnose::Surroundings,
    runner::Runner,
    tracker::{State, Tracked},
};
use crate::{
    cluster::{NodeState, Patience},
    inventory::{Detail, Kind},
    plan::PlanObject,
};

/// What a node was found to be is believed for so long.
const FRESH: Duration = Duration::from_secs(10);

impl Runner<'_> {
    /// The state of a node, asked for once in a while.
    pub(super) async fn node_state(&mut self, name: &str) -> NodeState {
        if let Some((asked, state)) = self.nodes.get(name)
            && asked.elapsed() < FRESH
        {
            return *state;
        }
        let state = self.cluster.node(name).await;
        self.nodes.insert(name.to_owned(), (Instant::now(), state));
        state
    }

    /// Looks around these, so that [`Self::around`] can tell. What may not be looked at stays unknown.
    pub(super) async fn look_around(&mut self, uids: &[String]) {
        let now = Instant::now();
        let deleting = |seen: &Tracked| seen.state == State::Deleting;
        let stuck: Vec<&PlanObject> = uids
            .iter()
            .filter(|uid| self.tracker.get(uid).is_some_and(|seen| deleting(seen) && seen.grace_left(now).is_none()))
            .filter_map(|uid| self.object(uid))
            .collect();
        for node in stuck.iter().filter_map(|object| object.node.as_deref()) {
            self.node_state(node).await;
        }
        if stuck.iter().any(|object| object.kind.is("", "PersistentVolumeClaim")) {
            self.find_users().await;
        }
    }

    async fn find_users(&mut self) {
        let pods = Arc::new(Kind {
            group: String::new(),
            version: "v1".to_owned(),
            kind: "Pod".to_owned(),
            plural: "pods".to_owned(),
            watchable: true,
            scalable: false,
        });
        let Ok(listing) = self.cluster.list(&pods, Patience::PLAN).await else { return };
        self.claim_users.clear();
        for pod in listing.objects {
            if let Detail::Pod(detail) = &pod.detail {
                for claim in &detail.uses.claims {
                    self.claim_users.entry(claim.clone()).or_default().push(pod.title());
                }
            }
        }
    }

    /// What is known of an object's surroundings.
    pub(super) fn around(&self, object: &PlanObject) -> Surroundings {
        let users = match object.kind.kind.as_str() {
            "PersistentVolumeClaim" => self.claim_users.get(&object.name).cloned().unwrap_or_default(),
            _ => Vec::new(),
        };
        let children = self.plan.going().filter(|child| child.owners.contains(&object.uid));
        let children = children.filter(|child| !self.tracker.is_gone(&child.uid)).map(|child| {
            let finalizers = self.tracker.get(&child.uid).map_or(&[][..], |seen| seen.finalizers.as_slice());
            match finalizers {
                [] => child.title(),
                finalizers => format!("{} (finalizer {})", child.title(), finalizers.join(", ")),
            }
        });
        Surroundings {
            node: object.node.as_ref().and_then(|node| Some(self.nodes.get(node)?.1)),
            users,
            children: children.collect(),
        }
    }
}
