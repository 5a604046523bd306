//! What a plan does, as one short word: two plans with the same digest do the same to the same objects.

use std::fmt::Write as _;

use sha2::{Digest as _, Sha256};

use super::{Plan, PlanObject};

/// `sha256:` and hex digits, over the application, the namespace, and each object's uid and what happens to it. The
/// order of the objects, their names, reasons, and every other text for people count for nothing.
#[must_use]
pub fn digest(plan: &Plan) -> String {
    let mut lines: Vec<String> = plan.objects.iter().map(line).collect();
    lines.sort_unstable();
    let mut hash = Sha256::new();
    // Each text goes in behind its length, so that none can pass for the end of one and the beginning of another.
    for text in [&plan.app, &plan.place.namespace].into_iter().chain(&lines) {
        hash.update((text.len() as u64).to_be_bytes());
        hash.update(text);
    }
    let mut digest = String::from("sha256:");
    for byte in hash.finalize() {
        // Writing to a String cannot fail.
        let _ = write!(digest, "{byte:02x}");
    }
    digest
}

/// Replicas asked for before the run are not what the plan does: an autoscaler may change them at any moment.
fn line(object: &PlanObject) -> String {
    let action = object.action.name();
    match object.scale {
        Some(scale) => format!("{} {action} scale to {}", object.uid, scale.to),
        None => format!("{} {action}", object.uid),
    }
}

#[cfg(test)]
mod tests {
    use super::digest;
    use crate::{
        output::sample,
        plan::{Action, Plan},
    };

    fn changed(change: impl FnOnce(&mut Plan)) -> bool {
        let mut plan = sample::plan();
        change(&mut plan);
        digest(&plan) != digest(&sample::plan())
    }

    #[test]
    fn a_digest_is_a_sha256_in_hex() {
        let digest = digest(&sample::plan());
        let hex = digest.strip_prefix("sha256:").unwrap_or_default();
        assert_eq!(hex.len(), 64);
        assert!(hex.chars().all(|digit| matches!(digit, '0'..='9' | 'a'..='f')));
    }

    #[test]
    fn the_digest_never_changes_between_versions() {
        assert_eq!(digest(&sample::plan()), "sha256:05efaef4e70fc6afc91ad894b53e123cf51c59f142a15f3a1de0d6da0769d46e");
    }

    #[test]
    fn order_and_texts_change_nothing() {
        assert!(!changed(|plan| plan.objects.reverse()));
        assert!(!changed(|plan| plan.objects[0].name = "other".into()));
        assert!(!changed(|plan| plan.objects[0].reasons.clear()));
        assert!(!changed(|plan| plan.objects[0].notes.push("note".into())));
        assert!(!changed(|plan| plan.warnings.push("warning".into())));
        assert!(!changed(|plan| plan.objects[1].scale = Some(crate::plan::Scale { from: 7, to: 0 })));
        assert!(!changed(|plan| plan.place.context = "other".into()));
    }

    #[test]
    fn what_happens_to_which_object_changes_it() {
        assert!(changed(|plan| plan.objects[0].uid = "other".into()));
        assert!(changed(|plan| plan.objects[0].action = Action::Keep));
        assert!(changed(|plan| plan.objects[1].scale = None));
        assert!(changed(|plan| {
            plan.objects.pop();
        }));
        assert!(changed(|plan| plan.place.namespace = "other".into()));
        assert!(changed(|plan| plan.app = "other".into()));
        assert!(changed(|plan| {
            plan.app = "demox".into();
            plan.place.namespace = "xx".into();
        }));
    }
}
