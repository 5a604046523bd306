//! The lines of the plan's table: one an action and object, what is alike folded into one.

use std::{
    collections::{HashMap, hash_map::Entry},
    hash::Hash,
};

use super::{escape, style::Tone, wrap};
use crate::plan::{Action, Plan, PlanObject, Reason};

/// One row, already fit to be shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Row {
    pub(super) tone: Tone,
    pub(super) action: String,
    pub(super) kind: String,
    pub(super) name: String,
    /// Whether `name` is a count (`3 pods`) and not a name.
    pub(super) folded: bool,
    pub(super) why: String,
    /// What to say where `why` is too long: a folded row's owner stands some rows above, and a label's prefix says
    /// little.
    pub(super) short_why: Option<String>,
    pub(super) now: String,
}

/// Scaling first, then what is deleted, then what goes with it, then what stays; each in the order of the plan.
/// With `wide` nothing is folded and every reason is shown.
pub(super) fn rows(plan: &Plan, wide: bool, ellipsis: &str) -> Vec<Row> {
    let with = |action| plan.objects.iter().filter(move |object| object.action == action);
    let scaled = plan.objects.iter().filter_map(|object| {
        let scale = object.scale?;
        let action = format!("scale to {}", scale.to);
        Some(row(Tone::Yellow, action, object, why(object, wide), object.now.clone()))
    });
    let deleted = with(Action::Delete).map(|object| full(Tone::Red, object, wide));
    let kept = with(Action::Keep).map(|object| full(Tone::Green, object, wide));
    let cascade: Vec<&PlanObject> = with(Action::Cascade).collect();
    let cascade: Vec<Row> = if wide {
        cascade.into_iter().map(|object| full(Tone::Dim, object, wide)).collect()
    } else {
        fold(&cascade, ellipsis)
    };
    let mut rows: Vec<Row> = scaled.chain(deleted).chain(cascade).chain(kept).collect();
    if !wide {
        for row in rows.iter_mut().filter(|row| row.short_why.is_none() && row.why.contains(COMMON_PREFIX)) {
            row.short_why = Some(row.why.replace(COMMON_PREFIX, &format!("{ellipsis}/")));
        }
    }
    rows
}

/// Columns of one cell, which all others in its column are made as wide as. Names and labels of honest objects are a
/// quarter of that at most; documents (`-o json`) have everything in full.
const LONGEST_CELL: usize = 1000;

/// Of Kubernetes' recommended labels.
const COMMON_PREFIX: &str = "app.kubernetes.io/";

fn row(tone: Tone, action: String, object: &PlanObject, why: String, now: String) -> Row {
    let shown = |text: String| wrap::cut(&escape::line(&text), LONGEST_CELL);
    Row {
        tone,
        action,
        kind: shown(object.kind.kind.clone()),
        name: shown(object.name.clone()),
        why: shown(why),
        folded: false,
        short_why: None,
        now: shown(now),
    }
}

/// The row of an object's own end, or of its staying.
fn full(tone: Tone, object: &PlanObject, wide: bool) -> Row {
    row(tone, object.action.name().into(), object, why_and_notes(object, wide), now(object))
}

/// The strongest reason, or the tie to its owner for what goes with the owner; all of them with `wide`.
fn why(object: &PlanObject, wide: bool) -> String {
    if wide {
        return object.reasons.iter().map(Reason::to_string).collect::<Vec<_>>().join(", ");
    }
    let tie = object.reasons.iter().find(|reason| matches!(reason, Reason::Owned { .. }));
    let reason = if object.action == Action::Cascade { tie.or(object.reasons.first()) } else { object.reasons.first() };
    reason.map(Reason::to_string).unwrap_or_default()
}

/// For what stays, what keeps it is the reason that counts.
fn why_and_notes(object: &PlanObject, wide: bool) -> String {
    let mut parts = Vec::new();
    if object.action != Action::Keep || object.notes.is_empty() || wide {
        parts.push(why(object, wide));
    }
    if object.action == Action::Keep {
        parts.splice(0..0, object.notes.iter().cloned());
    } else {
        parts.extend(object.notes.iter().cloned());
    }
    parts.retain(|part| !part.is_empty());
    parts.join("; ")
}

/// What it holds, unless the row that scales it has said so, and that it is on its way out, with what holds it up.
fn now(object: &PlanObject) -> String {
    let mut parts = Vec::new();
    if object.scale.is_none() && !object.now.is_empty() && !(object.terminating && object.now == TERMINATING) {
        parts.push(object.now.clone());
    }
    if object.terminating {
        parts.push(match object.finalizers.as_slice() {
            [] => TERMINATING.into(),
            [one] => format!("{TERMINATING} (finalizer {one})"),
            several => format!("{TERMINATING} (finalizers {})", several.join(", ")),
        });
    }
    parts.join(", ")
}

const TERMINATING: &str = "Terminating";

/// Objects that one row stands for.
struct Group<'plan> {
    first: &'plan PlanObject,
    count: usize,
    why: String,
    now: String,
}

impl Group<'_> {
    fn row(self, ellipsis: &str) -> Row {
        let short_why = owner_kind(&self).map(|kind| format!("owned by {kind}/{ellipsis}"));
        let mut row = row(Tone::Dim, self.first.action.name().into(), self.first, self.why, self.now);
        if self.count > 1 {
            row.name = escape::line(&format!("{} {}", self.count, self.first.kind.plural)).into_owned();
            row.folded = true;
            row.short_why = short_why.map(|why| escape::line(&why).into_owned());
        }
        row
    }
}

/// What has the same owner folds first; then, if many rows are left, what has owners of one kind.
fn fold(objects: &[&PlanObject], ellipsis: &str) -> Vec<Row> {
    let groups = objects.iter().map(|object| Group {
        first: object,
        count: 1,
        why: why_and_notes(object, false),
        now: now(object),
    });
    let same_owner = |group: &Group| {
        let kind = &group.first.kind;
        let tie = (group.first.owners.clone(), group.why.clone());
        Some(((kind.group.clone(), kind.kind.clone()), tie, group.now.clone()))
    };
    // Nobody knows pods by their names; other things are worth naming as long as they are few.
    let few = |group: &Group| if group.first.kind.is("", "Pod") { 1 } else { 3 };
    let groups = merge(groups.collect(), same_owner, few, |group| group);

    let same_owner_kind = |group: &Group| {
        let kind = &group.first.kind;
        Some(((kind.group.clone(), kind.kind.clone()), owner_kind(group)?.to_owned(), group.now.clone()))
    };
    let merged = merge(
        groups,
        same_owner_kind,
        |_| 3,
        |mut group| {
            if let Some(kind) = owner_kind(&group) {
                group.why = format!("owned by {kind}/{ellipsis}");
            }
            group
        },
    );
    merged.into_iter().map(|group| group.row(ellipsis)).collect()
}

/// The kind of the owner, where the tie to it is all that the row says.
fn owner_kind<'group>(group: &'group Group) -> Option<&'group str> {
    let owner = group.why.strip_prefix("owned by ")?;
    let tied = |reason: &Reason| matches!(reason, Reason::Owned { owner: tie } if tie == owner);
    group.first.reasons.iter().any(tied).then(|| owner.split_once('/').map(|(kind, _)| kind))?
}

/// Makes one group, where the first of them stood, of all groups that have the same key and are more than `few`.
fn merge<'plan, K: Eq + Hash>(
    groups: Vec<Group<'plan>>,
    key: impl Fn(&Group) -> Option<K>,
    few: impl Fn(&Group) -> usize,
    renamed: impl Fn(Group<'plan>) -> Group<'plan>,
) -> Vec<Group<'plan>> {
    let mut sizes: HashMap<K, usize> = HashMap::new();
    for key in groups.iter().filter_map(&key) {
        *sizes.entry(key).or_default() += 1;
    }
    let mut places: HashMap<K, usize> = HashMap::new();
    let mut merged: Vec<Group> = Vec::new();
    for group in groups {
        match key(&group).filter(|key| sizes.get(key).is_some_and(|size| *size > few(&group))) {
            None => merged.push(group),
            Some(key) => match places.entry(key) {
                Entry::Occupied(place) => merged[*place.get()].count += group.count,
                Entry::Vacant(place) => {
                    place.insert(merged.len());
                    merged.push(renamed(group));
                }
            },
        }
    }
    merged
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::sample;

    /// Action, kind, name, why and now of each row, columns apart by a bar.
    fn shown(plan: &Plan, wide: bool) -> Vec<String> {
        rows(plan, wide, "…")
            .into_iter()
            .map(|row| [row.action, row.kind, row.name, row.why, row.now].join("|").trim_end_matches('|').to_owned())
            .collect()
    }

    fn cascade(objects: Vec<PlanObject>, wide: bool) -> Vec<String> {
        shown(&Plan { objects, ..sample::plan() }, wide)
    }

    #[test]
    fn scaling_comes_first_and_what_stays_last() {
        assert_eq!(
            shown(&sample::plan(), false),
            [
                "scale to 0|Deployment|deployment-demo|label app=demo|3 pods",
                "delete|PodTemplate|podtemplate-demo|label app=demo",
                "delete|Deployment|deployment-demo|label app=demo",
                "delete|ReplicaSet|deployment-demo-3344900030|orphan, label app=demo|2 pods",
                "delete|Service|service-demo|selects only this application's pods",
                "cascade|ReplicaSet|deployment-demo-54c9846b78|owned by Deployment/deployment-demo",
                "cascade|Pod|3 pods|owned by ReplicaSet/deployment-demo-54c9846b78",
                "keep|PersistentVolumeClaim|data-demo-0|holds data (--delete-data)|10Gi",
            ]
        );
    }

    #[test]
    fn wide_folds_nothing_and_gives_every_reason() {
        let rows = shown(&sample::plan(), true);
        assert_eq!(rows.len(), 10);
        assert!(rows.contains(
            &"cascade|ReplicaSet|deployment-demo-54c9846b78|label app=demo, owned by Deployment/deployment-demo".into()
        ));
        assert!(rows.contains(
            &"keep|PersistentVolumeClaim|data-demo-0|holds data (--delete-data); label app=demo|10Gi".into()
        ));
    }

    #[test]
    fn a_single_pod_keeps_its_name() {
        assert_eq!(cascade(vec![sample::pod("web-a", "web")], false), ["cascade|Pod|web-a|owned by ReplicaSet/web"]);
    }

    #[test]
    fn few_of_other_kinds_keep_their_names_and_many_fold() {
        let kind = sample::kind("apps", "ReplicaSet", "replicasets");
        let set = |name: String| sample::object(&kind, &name, Action::Cascade, sample::owned("Deployment/web"));
        let three: Vec<_> = (0..3).map(|number| set(format!("web-{number}"))).collect();
        assert_eq!(cascade(three, false).len(), 3);
        let four: Vec<_> = (0..4).map(|number| set(format!("web-{number}"))).collect();
        assert_eq!(cascade(four, false), ["cascade|ReplicaSet|4 replicasets|owned by Deployment/web"]);
    }

    #[test]
    fn pods_of_many_owners_fold_to_the_kind_of_the_owners() {
        let pods = |owners: usize| {
            let pod = |owner: &str| [sample::pod("a", owner), sample::pod("b", owner)];
            (0..owners).flat_map(|number| pod(&format!("set-{number}"))).collect::<Vec<_>>()
        };
        assert_eq!(cascade(pods(3), false).len(), 3);
        assert_eq!(cascade(pods(4), false), ["cascade|Pod|8 pods|owned by ReplicaSet/…"]);
    }

    #[test]
    fn what_is_stuck_never_folds_with_what_is_not() {
        let mut stuck = sample::pod("web-b", "web");
        stuck.terminating = true;
        stuck.finalizers = vec!["example.com/hold".into()];
        let objects = vec![sample::pod("web-a", "web"), stuck, sample::pod("web-c", "web")];
        assert_eq!(
            cascade(objects, false),
            [
                "cascade|Pod|2 pods|owned by ReplicaSet/web",
                "cascade|Pod|web-b|owned by ReplicaSet/web|Terminating (finalizer example.com/hold)",
            ]
        );
    }

    #[test]
    fn notes_follow_the_reason_of_what_goes() {
        let mut pod = sample::pod("web-a", "web");
        pod.notes = vec!["finished".into()];
        pod.now = "Failed".into();
        assert_eq!(cascade(vec![pod], false), ["cascade|Pod|web-a|owned by ReplicaSet/web; finished|Failed"]);
    }

    #[test]
    fn one_endless_text_does_not_make_every_row_endless() {
        let mut pod = sample::pod("web-a", "web");
        pod.notes = vec!["x".repeat(256 << 10)];
        let rows = cascade(vec![pod], false);
        assert!(rows[0].chars().count() < 1100 && rows[0].ends_with("xx..."), "{}", rows[0].len());
    }

    #[test]
    fn names_from_the_cluster_are_escaped() {
        let pod = sample::pod("a\u{1b}[2Jb", "we\u{202e}b");
        assert_eq!(cascade(vec![pod], false), ["cascade|Pod|a\\u{1b}[2Jb|owned by ReplicaSet/we\\u{202e}b"]);
    }
}
