//! What may have happened to a planned object between the plan and the answer, so that the plan does not hold any more.

use std::{collections::HashSet, hash::BuildHasher};

use super::{PlanObject, Question, Reason, Target, keep};
use crate::inventory::{Inventory, Object};

/// Why an object is left alone that was planned to go, and looks like this now. `known` are the uids of owners that are
/// no news. `None`: nothing about it speaks against the plan.
#[must_use]
pub fn changed<S: BuildHasher>(
    planned: &PlanObject,
    now: &Object,
    before: &Inventory,
    question: &Question,
    known: &HashSet<String, S>,
) -> Option<String> {
    adopted(now, before, known).or_else(|| kept(now)).or_else(|| relabelled(planned, now, question))
}

/// A controller outside the plan owns it now.
fn adopted<S: BuildHasher>(now: &Object, before: &Inventory, known: &HashSet<String, S>) -> Option<String> {
    let owner = now.controller()?;
    let then = before.find(&now.uid).and_then(|index| before.objects()[index].controller());
    let is_new = then.is_none_or(|then| then.uid != owner.uid);
    (is_new && !known.contains(&owner.uid))
        .then(|| format!("left alone: {}/{} has adopted it since the plan", owner.kind, owner.name))
}

/// It has been marked to be kept. What was planned had no such mark.
fn kept(now: &Object) -> Option<String> {
    keep::annotated(now).map(|why| format!("left alone: it has been marked to be kept since the plan ({why})"))
}

/// It does not say any more what made it a member.
fn relabelled(planned: &PlanObject, now: &Object, question: &Question) -> Option<String> {
    let lost = planned.reasons.iter().find_map(|reason| match reason {
        Reason::Label { key, value } | Reason::OrphanLabel { key, value } => {
            (now.labels.get(key) != Some(value)).then(|| format!("{key}={value}"))
        }
        Reason::Matches => match &question.target {
            Target::Matching(selector) if !selector.matches(&now.labels) => Some("what the selector picks".to_owned()),
            _ => None,
        },
        _ => None,
    })?;
    Some(format!("left alone: its labels do not say {lost} any more"))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::plan::sample;

    fn question() -> Question {
        let target = Target::Named { value: "demo".into(), keys: vec!["app".into()] };
        Question { app: "demo".into(), target, instance: None, include_related: false }
    }

    fn look(change: impl FnOnce(&mut Object)) -> Option<String> {
        let mut then = sample::object("", "ConfigMap", "conf");
        Arc::make_mut(&mut then.labels).insert("app".into(), "demo".into());
        let mut now = then.clone();
        change(&mut now);
        let listed = HashSet::from([(String::new(), "ConfigMap".to_owned())]);
        let before = Inventory::new("ns", [then.clone()], listed).unwrap();
        let question = question();
        let selection = crate::plan::Selection::of(&before, &question);
        let plan = crate::plan::Plan::draft(
            &before,
            &selection,
            &question,
            &crate::plan::Choices::default(),
            crate::plan::Place { namespace: "ns".into(), ..crate::plan::Place::default() },
            Vec::new(),
        );
        changed(&plan.objects[0], &now, &before, &question, &HashSet::new())
    }

    #[test]
    fn what_is_as_it_was_may_go() {
        assert_eq!(look(|_| {}), None);
        assert_eq!(look(|now| now.resource_version = "2".into()), None);
    }

    #[test]
    fn a_mark_and_another_label_since_the_plan_keep_it() {
        let marked = look(|now| drop(now.annotations.insert("kubectl-purge/keep".into(), "true".into())));
        assert!(marked.unwrap().contains("marked to be kept since the plan (annotation kubectl-purge/keep: true)"));
        let relabelled = look(|now| drop(Arc::make_mut(&mut now.labels).insert("app".into(), "other".into())));
        assert_eq!(relabelled.unwrap(), "left alone: its labels do not say app=demo any more");
    }
}
