//! A plan of whatever texts there are, each where the cluster's own stand.

use std::sync::Arc;

use crate::{
    inventory::Kind,
    plan::{Action, Aside, Blindness, Frees, Place, Plan, PlanObject, Reason, Scale, Unseen, Wave},
};

/// Objects of the plan: enough that rows fold.
const OBJECTS: usize = 6;

/// Takes the texts in turn; where they end, they begin again.
pub(super) fn plan<'a>(texts: impl Iterator<Item = &'a str> + Clone) -> Plan {
    let mut texts = texts.cycle();
    let mut next = || texts.next().unwrap_or_default().to_owned();
    let kinds: Vec<Arc<Kind>> = (0..2)
        .map(|_| {
            let (group, kind, plural) = (next(), next(), next());
            Arc::new(Kind { group, version: "v1".into(), kind, plural, watchable: true, scalable: true })
        })
        .collect();
    let objects = (0..OBJECTS)
        .map(|number| PlanObject {
            kind: Arc::clone(&kinds[number % 2]),
            name: next(),
            uid: format!("uid-{number}"),
            resource_version: next(),
            action: [Action::Delete, Action::Cascade, Action::Cascade, Action::Keep][number % 4],
            scale: (number == 0).then_some(Scale { from: 3, to: 0 }),
            wave: Wave::Workloads,
            reasons: vec![Reason::Label { key: next(), value: next() }, Reason::Owned { owner: next() }],
            notes: vec![next()],
            now: next(),
            owners: Vec::new(),
            finalizers: vec![next()],
            terminating: number % 2 == 1,
            uses: Vec::new(),
            finished: false,
            node: Some(next()),
            precaution: None,
            restore: None,
            refusal: None,
        })
        .collect();
    let aside = |name: String, why: String| {
        vec![Aside { kind: Arc::clone(&kinds[0]), name, uid: "uid".into(), why }]
    };
    Plan {
        app: next(),
        instance: Some(next()),
        orphans: false,
        place: Place { namespace: next(), context: next(), server: next(), user: next() },
        objects,
        related: aside(next(), next()),
        suspected: aside(next(), next()),
        cluster_scoped: aside(next(), next()),
        unseen: vec![
            Unseen { resource: next(), why: Blindness::Forbidden, message: next() },
            Unseen { resource: next(), why: Blindness::Unavailable, message: next() },
        ],
        frees: vec![Frees { quota: next(), resource: next(), amount: next(), used: next(), hard: next() }],
        warnings: vec![next()],
    }
}
