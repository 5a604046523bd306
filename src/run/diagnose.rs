//! Why an object is still there, as far as it shows. Pure.

use std::time::Instant;

use super::{
    Blocker,
    tracker::{State, Tracked},
};
use crate::plan::PlanObject;

/// What holds an object of the plan.
pub(super) fn blocker(object: &PlanObject, seen: &Tracked, troubles: &[String], now: Instant) -> Blocker {
    Blocker {
        title: object.title(),
        deleting_for: seen.deleting_since.map(|since| now.duration_since(since)),
        finalizers: seen.finalizers.clone(),
        cause: causes(object, seen, troubles, now).join("; "),
    }
}

/// In sentences: what went wrong with it, and what it waits for.
pub(super) fn causes(object: &PlanObject, seen: &Tracked, troubles: &[String], now: Instant) -> Vec<String> {
    let mut causes = troubles.to_vec();
    let is_pod = object.kind.is("", "Pod");
    if !seen.finalizers.is_empty() && seen.state == State::Deleting {
        causes.push(match seen.finalizers.as_slice() {
            [one] => format!("finalizer {one}: its controller has not finished"),
            several => format!("finalizers {}: their controllers have not finished", several.join(", ")),
        });
    }
    if let Some(left) = seen.grace_left(now) {
        causes.push(format!("grace period, {}s left", left.as_secs().max(1)));
    } else if is_pod && seen.state == State::Deleting && seen.finalizers.is_empty() {
        causes.push(match &object.node {
            Some(node) => format!("the kubelet of node {node} has not confirmed that it stopped"),
            None => "being deleted".to_owned(),
        });
    } else if seen.state == State::Present && causes.is_empty() {
        causes.push("its deletion has not begun".to_owned());
    }
    causes
}
