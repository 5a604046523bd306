//! The selection against a slow, obvious oracle, over random worlds. `PURGE_MODEL_CASES` and `PURGE_MODEL_SEED` make
//! it longer, or repeat a failure; a million need an optimised build (`--profile model`).

mod interrupted;
mod oracle;
mod world;

use std::{
    collections::{BTreeMap, BTreeSet},
    io::Write as _,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use fastrand::Rng;

use super::{Action, Choices, Place, Plan, PlanObject, Question, Reason, Selection, sample};
use crate::inventory::{Detail, Inventory, Object, OwnerRef};

fn plan(objects: &[Object], question: &Question) -> (BTreeMap<String, Vec<String>>, Plan) {
    let inventory = Inventory::new("ns", objects.to_vec(), world::listed()).unwrap();
    let selection = Selection::of(&inventory, question);
    let plan = Plan::draft(&inventory, &selection, question, &Choices::default(), Place::default(), Vec::new());
    let why = selection
        .members
        .iter()
        .map(|(&index, reasons)| {
            (inventory.objects()[index].uid.clone(), reasons.iter().map(ToString::to_string).collect())
        })
        .collect();
    (why, plan)
}

fn described(plan: &Plan) -> Vec<String> {
    let line = |object: &PlanObject| {
        format!("{} {} {:?} {:?} {:?}", object.uid, object.action.name(), object.wave, object.scale, object.notes)
    };
    let mut lines: Vec<String> = plan.objects.iter().map(line).collect();
    lines.sort();
    lines
}

/// What says keep stays, and nothing that is not planned loses all its owners to the plan: the garbage collector would
/// take it.
fn assert_bystanders_live(objects: &[Object], plan: &Plan) {
    let going: BTreeSet<&str> = plan.going().map(|object| object.uid.as_str()).collect();
    for object in objects.iter().filter(|object| going.contains(object.uid.as_str())) {
        let keep = object.annotations.get("kubectl-purge/keep").or(object.annotations.get("helm.sh/resource-policy"));
        assert!(keep.is_none(), "{} goes, and says keep", object.uid);
    }
    for object in objects.iter().filter(|object| plan.objects.iter().all(|planned| planned.uid != object.uid)) {
        let lives = |uid: &str| objects.iter().any(|other| other.uid == uid);
        let mut owners = object.owners.iter().filter(|owner| owner.uid != object.uid && lives(&owner.uid)).peekable();
        let survives = owners.peek().is_none() || owners.any(|owner| !going.contains(owner.uid.as_str()));
        assert!(survives, "{} is not planned, and all its owners go", object.uid);
    }
}

/// Keeping is worth something only if what is kept does not lose its owner, nor its children.
fn assert_keeping_holds(objects: &[Object], plan: &Plan) {
    let going: BTreeSet<&str> = plan.going().map(|object| object.uid.as_str()).collect();
    for kept in plan.objects.iter().filter(|object| object.action == Action::Keep) {
        let object = objects.iter().find(|object| object.uid == kept.uid).unwrap();
        let living = |owner: &&OwnerRef| owner.uid != object.uid && objects.iter().any(|other| other.uid == owner.uid);
        let owners: Vec<&OwnerRef> = object.owners.iter().filter(living).collect();
        let by_set = |owner: &OwnerRef| {
            let owner = objects.iter().find(|other| other.uid == owner.uid).unwrap();
            let set = owner.controller().and_then(|above| objects.iter().find(|other| other.uid == above.uid));
            owner.kind.kind == "StatefulSet"
                || owner.kind.kind == "Pod" && set.is_some_and(|set| set.kind.kind == "StatefulSet")
        };
        let disarmed = object.kind.kind == "PersistentVolumeClaim" && owners.iter().all(|owner| by_set(owner));
        let survives = owners.is_empty() || disarmed || owners.iter().any(|owner| !going.contains(owner.uid.as_str()));
        assert!(survives, "{} is kept and all its owners go", kept.uid);
        for child in objects.iter().filter(|child| child.owners.iter().any(|owner| owner.uid == kept.uid)) {
            assert!(
                child.uid == kept.uid || !going.contains(child.uid.as_str()),
                "{} goes, child of kept {}",
                child.uid,
                kept.uid
            );
        }
    }
}

fn number(variable: &str, default: u64) -> u64 {
    std::env::var(variable).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

/// What speaks for the members of one world, by its kind, after everything about the world has been found right.
fn examine(seed: u64) -> Vec<&'static str> {
    let mut rng = Rng::with_seed(seed);
    let objects = world::world(&mut rng);
    let question = world::question(&mut rng);
    let (why, plan) = plan(&objects, &question);
    let members: BTreeSet<String> = why.keys().cloned().collect();
    let context = || format!("PURGE_MODEL_SEED={seed} PURGE_MODEL_CASES=1 {question:?}");
    assert_eq!(members, oracle::members(&objects, &question), "{} {objects:#?}", context());
    assert!(why.values().all(|reasons| !reasons.is_empty()), "{}", context());
    let checked = std::panic::catch_unwind(|| {
        assert_keeping_holds(&objects, &plan);
        assert_bystanders_live(&objects, &plan);
        oracle::assert_records(&objects, &plan, &members);
    });
    assert!(checked.is_ok(), "{} {objects:#?}", context());
    let mut shuffled = objects.clone();
    rng.shuffle(&mut shuffled);
    let (why_shuffled, plan_shuffled) = self::plan(&shuffled, &question);
    assert_eq!(why, why_shuffled, "{}", context());
    assert_eq!(described(&plan), described(&plan_shuffled), "{}", context());
    let kept = plan.objects.iter().filter(|object| !object.goes()).map(|_| "kept");
    plan.objects.iter().flat_map(|object| object.reasons.iter().map(evidence)).chain(kept).collect()
}

/// Everything that [`evidence`] can say, and what stays.
const EVIDENCE: [&str; 18] = [
    "named",
    "matches",
    "label",
    "template",
    "had",
    "owned",
    "controls",
    "orphan, by label",
    "orphan, by selector",
    "orphan",
    "endpoints",
    "selects",
    "targets",
    "routes",
    "claims",
    "record",
    "used",
    "kept",
];

fn evidence(reason: &Reason) -> &'static str {
    match reason {
        Reason::Named => "named",
        Reason::Matches => "matches",
        Reason::Label { .. } => "label",
        Reason::Template { .. } => "template",
        Reason::Had { .. } => "had",
        Reason::Owned { .. } => "owned",
        Reason::Controls { .. } => "controls",
        Reason::OrphanLabel { .. } => "orphan, by label",
        Reason::OrphanSelector { .. } => "orphan, by selector",
        Reason::Orphan { .. } => "orphan",
        Reason::Endpoints { .. } => "endpoints",
        Reason::Selects => "selects",
        Reason::Targets { .. } => "targets",
        Reason::Routes { .. } => "routes",
        Reason::Claims { .. } => "claims",
        Reason::Record { .. } => "record",
        Reason::Used { .. } => "used",
    }
}

/// Examines so many worlds, and counts what comes of them.
fn over_seeds(first: u64, cases: u64, examine: fn(u64) -> Vec<&'static str>) -> BTreeMap<&'static str, u64> {
    let next = AtomicU64::new(first);
    let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let mut all: BTreeMap<&str, u64> = BTreeMap::new();
    std::thread::scope(|scope| {
        let work = || {
            let mut found: BTreeMap<&str, u64> = BTreeMap::new();
            loop {
                let seed = next.fetch_add(1, Ordering::Relaxed);
                if seed >= first + cases {
                    return found;
                }
                for what in examine(seed) {
                    *found.entry(what).or_default() += 1;
                }
            }
        };
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        for worker in workers {
            for (what, count) in worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)) {
                *all.entry(what).or_default() += count;
            }
        }
    });
    all
}

#[test]
fn the_selection_agrees_with_the_oracle_on_random_worlds() {
    let first = number("PURGE_MODEL_SEED", 1);
    let cases = number("PURGE_MODEL_CASES", 3_000);
    let evidence = over_seeds(first, cases, examine);
    // What never comes about is not tested by any number of worlds.
    for what in EVIDENCE {
        assert!(evidence.contains_key(what) || cases < 1_000, "no world has anything by {what}");
    }
    let figures = format!("model: {cases} worlds from seed {first} agree with the oracle in any order: {evidence:?}\n");
    std::io::stderr().write_all(figures.as_bytes()).unwrap();
}

/// One namespace of a hundred thousand objects, among them the application's thousand pods.
#[test]
fn a_hundred_thousand_objects_are_planned() {
    let mut objects: Vec<Object> = (0..99_000)
        .map(|number| {
            let mut object = sample::object("", "ConfigMap", &format!("c-{number}"));
            Arc::make_mut(&mut object.labels).insert("app".into(), format!("app-{}", number % 500));
            object
        })
        .collect();
    let mut set = sample::object("apps", "ReplicaSet", "web");
    Arc::make_mut(&mut set.labels).insert("app".into(), "demo".into());
    let owner = OwnerRef {
        uid: set.uid.clone(),
        group: "apps".into(),
        kind: "ReplicaSet".into(),
        name: "web".into(),
        controller: true,
    };
    objects.push(set);
    for number in 0..999 {
        let mut pod = sample::object("", "Pod", &format!("web-{number}"));
        pod.kind = Arc::new(world::plural(&pod.kind, "pods"));
        pod.owners.push(owner.clone());
        pod.detail = Detail::Pod(Box::default());
        objects.push(pod);
    }
    let begun = std::time::Instant::now();
    let (why, plan) = plan(&objects, &Question::named("demo"));
    assert_eq!((why.len(), plan.going().count()), (1000, 1000));
    // Not a measurement: only that nothing in it is quadratic, which would take minutes.
    assert!(begun.elapsed().as_secs() < 20, "{:?}", begun.elapsed());
}
