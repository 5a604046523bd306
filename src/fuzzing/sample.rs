//! A plan and a report of whatever texts there are, each where the cluster's own stand.

use std::{sync::Arc, time::Duration};

use crate::{
    exit::Exit,
    inventory::Kind,
    plan::{
        Action, Application, Aside, Blindness, Frees, Guard, Place, Plan, PlanObject, Question, Reason, Scale, Share,
        Target, Unseen, Wave,
    },
    report::{Newcomer, Outcome, PutBack, QuotaChange, Report},
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
            known_by: Vec::new(),
            finalizers: vec![next()],
            terminating: number % 2 == 1,
            uses: Vec::new(),
            finished: false,
            node: Some(next()),
            precaution: None,
            restore: None,
            pods_to_note: std::collections::BTreeSet::new(),
            refusal: None,
        })
        .collect();
    let aside = |name: String, why: String| vec![Aside { kind: Arc::clone(&kinds[0]), name, uid: "uid".into(), why }];
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

/// A run that went wrong in every way, and one that was interrupted.
pub(super) fn reports<'a>(plan: Plan, texts: impl Iterator<Item = &'a str> + Clone) -> [Report; 2] {
    let mut texts = texts.cycle();
    let mut next = || texts.next().unwrap_or_default().to_owned();
    let outcomes = (0..plan.objects.len())
        .map(|number| match number % 4 {
            0 => Outcome::Left { finalizers: vec![next()], blocked_by: vec![next(), next()] },
            1 => Outcome::Recreated { uid: next(), by: Some(next()) },
            2 => Outcome::Lost,
            _ => Outcome::Gone,
        })
        .collect();
    let kind = Arc::clone(&plan.objects[0].kind);
    let put_back = PutBack { title: next(), resource: next(), replicas: Some(3), error: Some(next()) };
    let wrong = Report {
        outcomes,
        newcomers: vec![Newcomer { kind, name: next(), uid: next(), why: next(), by: Some(next()) }],
        quota: vec![QuotaChange {
            quota: next(),
            resource: next(),
            charged: next(),
            before: next(),
            after: next(),
            released: false,
            seconds: 1.0,
        }],
        phases: Vec::new(),
        verified: false,
        verify_error: Some(next()),
        put_back: None,
        took: Duration::from_secs(1),
        exit: Exit::Incomplete,
        plan,
    };
    let interrupted = Report { put_back: Some(vec![put_back]), exit: Exit::Interrupted, ..wrong.clone() };
    [wrong, interrupted]
}

/// Everything that can stand in the way.
pub(super) fn guards<'a>(texts: impl Iterator<Item = &'a str> + Clone) -> [Guard; 5] {
    let mut texts = texts.cycle();
    let mut next = || texts.next().unwrap_or_default().to_owned();
    [
        Guard::Ambiguous { instances: vec![(next(), 1), (next(), 2)] },
        Guard::Managed { by: next(), command: Some(next()), objects: 2 },
        Guard::Unseen { owner: next(), objects: 1 },
        Guard::Unavailable { resources: vec![next(), next()] },
        Guard::SharedParent { parent: next(), others: vec![next(), next()] },
    ]
}

/// Questions that found nothing.
pub(super) fn questions<'a>(texts: impl Iterator<Item = &'a str> + Clone) -> [Question; 2] {
    let mut texts = texts.cycle();
    let mut next = || texts.next().unwrap_or_default().to_owned();
    [
        Question::about(&next(), Target::Named { value: next(), keys: vec![next(), next()] }),
        Question::about(&next(), Target::Around { group: next(), kind: next(), name: next() }),
    ]
}

/// A namespace's applications.
pub(super) fn applications<'a>(texts: impl Iterator<Item = &'a str> + Clone) -> Vec<Application> {
    let mut texts = texts.cycle();
    let mut next = || texts.next().unwrap_or_default().to_owned();
    let application = |_| Application {
        name: next(),
        key: next(),
        objects: 3,
        pods: 2,
        requests: [("cpu".to_owned(), next()), ("memory".to_owned(), next())].into(),
        quota: vec![Share { quota: next(), resource: next(), amount: "1".into(), hard: "3".into() }],
        orphans: 1,
        managed_by: vec![next()],
    };
    (0..3).map(application).collect()
}
