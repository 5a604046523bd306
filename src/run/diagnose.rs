//! Why an object is still there, as far as it shows. Pure.

use std::time::Instant;

use super::{
    Blocker,
    tracker::{State, Tracked},
};
use crate::{
    cluster::NodeState,
    plan::{PlanObject, finalizer},
};

/// What was found out about an object's surroundings.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Surroundings {
    /// The state of a pod's node.
    pub(super) node: Option<NodeState>,
    /// Titles of the pods that mount a claim.
    pub(super) users: Vec<String>,
    /// Titles of what it owns and what is still there, with what holds that.
    pub(super) children: Vec<String>,
}

/// What holds an object of the plan.
pub(super) fn blocker(
    object: &PlanObject,
    seen: &Tracked,
    troubles: &[String],
    around: &Surroundings,
    now: Instant,
) -> Blocker {
    Blocker {
        title: object.title(),
        deleting_for: seen.deleting_since.map(|since| now.duration_since(since)),
        finalizers: seen.finalizers.clone(),
        cause: causes(object, seen, troubles, around, now).join("; "),
    }
}

/// In sentences: what went wrong with it, and what it waits for.
pub(super) fn causes(
    object: &PlanObject,
    seen: &Tracked,
    troubles: &[String],
    around: &Surroundings,
    now: Instant,
) -> Vec<String> {
    let mut causes = troubles.to_vec();
    if seen.state == State::Deleting {
        causes.extend(seen.finalizers.iter().map(|name| held_by(name, around)));
    }
    let is_pod = object.kind.is("", "Pod");
    if let Some(left) = seen.grace_left(now) {
        causes.push(format!("grace period, {}s left", left.as_secs().max(1)));
    } else if is_pod && seen.state == State::Deleting && seen.finalizers.is_empty() {
        causes.push(kubelet(object.node.as_deref(), around.node));
    } else if seen.state == State::Present && causes.is_empty() {
        causes.push("its deletion has not begun".to_owned());
    }
    causes
}

/// A finalizer and whoever is to clear it.
fn held_by(name: &str, around: &Surroundings) -> String {
    let listed = |titles: &[String]| {
        let more = titles.len().saturating_sub(2);
        let more = if more == 0 { String::new() } else { format!(" and {more} more") };
        format!("{}{more}", titles[..titles.len().min(2)].join(", "))
    };
    match name {
        "kubernetes.io/pvc-protection" if !around.users.is_empty() => {
            format!("finalizer {name}: {} mounts it", listed(&around.users))
        }
        "foregroundDeletion" if !around.children.is_empty() => {
            format!("finalizer {name}: waits for {}", listed(&around.children))
        }
        _ => format!("finalizer {name}: {} has not finished", finalizer::controller_of(name)),
    }
}

/// Nobody else confirms the end of a pod.
fn kubelet(node: Option<&str>, state: Option<NodeState>) -> String {
    match (node, state) {
        (None, _) => "being deleted".to_owned(),
        (Some(node), Some(NodeState::NotReady)) => {
            format!(
                "its node {node} is not ready, so nobody confirms that it stopped (--force takes it out all the same)"
            )
        }
        (Some(node), Some(NodeState::Absent)) => format!("its node {node} is gone (--force takes it out)"),
        (Some(node), _) => format!("the kubelet of node {node} has not confirmed that it stopped"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_finalizer_is_told_with_whoever_is_to_clear_it() {
        let mut around = Surroundings::default();
        assert_eq!(
            held_by("demo.example/hold", &around),
            "finalizer demo.example/hold: its controller has not finished"
        );
        assert_eq!(
            held_by("service.kubernetes.io/load-balancer-cleanup", &around),
            "finalizer service.kubernetes.io/load-balancer-cleanup: the cloud's service controller has not finished"
        );
        around.users = vec!["Pod/a".into()];
        assert_eq!(
            held_by("kubernetes.io/pvc-protection", &around),
            "finalizer kubernetes.io/pvc-protection: Pod/a mounts it"
        );
        around.children = ["Pod/a", "Pod/b", "Pod/c"].map(Into::into).into();
        assert_eq!(
            held_by("foregroundDeletion", &around),
            "finalizer foregroundDeletion: waits for Pod/a, Pod/b and 1 more"
        );
    }

    #[test]
    fn a_pod_waits_for_its_kubelet() {
        assert!(kubelet(Some("dead1"), Some(NodeState::NotReady)).starts_with("its node dead1 is not ready"));
        assert!(kubelet(Some("n"), Some(NodeState::Ready)).starts_with("the kubelet of node n"));
    }
}
