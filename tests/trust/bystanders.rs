//! One application of a random world is purged: everything that was not planned to go is what it was, byte for byte.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    io::Write as _,
    process::Command,
    sync::Mutex,
};

use control_plane::AuditEvent;
use fastrand::Rng;
use serde_json::Value;

use crate::{
    harness::{PROGRAM, Run},
    quiet::{KINDS, Quiet},
    series::Series,
    worlds::{Application, Populace},
};

/// Worlds at once. Each run waits for seconds before it looks again.
const AT_ONCE: usize = 6;

/// What came of a series.
#[derive(Default)]
struct Figures {
    worlds: usize,
    objects: usize,
    gone: usize,
    kept: usize,
    bystanders: usize,
    refused: usize,
    nothing: usize,
    incomplete: usize,
    codes: BTreeMap<i32, usize>,
}

impl fmt::Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { worlds, objects, gone, kept, bystanders, refused, nothing, incomplete, codes } = self;
        write!(
            f,
            "{worlds} worlds of {objects} objects: {gone} purged, {kept} kept, {bystanders} outside of the plans, all \
             of these as they were; {refused} runs refused, {nothing} found nothing, {incomplete} incomplete; exit \
             codes {codes:?}"
        )
    }
}

/// What one run planned to delete, by uid, and in which namespace.
struct Judged {
    namespace: String,
    going: BTreeMap<String, (String, String)>,
}

fn purge(quiet: &Quiet, namespace: &str, arguments: &[String]) -> Run {
    let mut command = Command::new(PROGRAM);
    command.args(arguments).args(["-n", namespace, "--kubeconfig"]).arg(quiet.kubeconfig());
    command.env_remove("KUBERNETES_SERVICE_HOST").env("HOME", quiet.plane.dir()).env("LC_ALL", "C.UTF-8");
    Run::of(command)
}

/// What is asked for, in words: by name, by an object, by a selector, or what is nobody's.
fn question(rng: &mut Rng, application: &Application, here: &[String]) -> Vec<String> {
    let Application { key, name, .. } = application;
    let text = |words: &[&str]| words.iter().map(ToString::to_string).collect::<Vec<_>>();
    match rng.u8(..10) {
        5 | 6 if !here.is_empty() => text(&["app", &here[rng.usize(..here.len())]]),
        7 => text(&["app", "-l", &format!("{key}={name}")]),
        8 => text(&["app", "-l", ["tier=front", "app in (demo, web)", "app.kubernetes.io/part-of"][rng.usize(..3)]]),
        9 => text(&["orphans"]),
        _ => text(&["app", name]),
    }
}

/// Flags that narrow or widen the plan, at random.
fn flags(rng: &mut Rng, question: &[String], here: &[String]) -> Vec<String> {
    let mut flags: Vec<String> = Vec::new();
    let is_named = question[0] == "app" && question.get(1).is_some_and(|word| word != "-l" && !word.contains('/'));
    for (flag, of) in
        [("--delete-data", 2), ("--allow-managed", 3), ("--grace-period=0", 8), ("--now", 8), ("--strict", 8)]
    {
        let clash = flag == "--now" && flags.iter().any(|flag| flag.starts_with("--grace"));
        let is_known = question[0] == "app" || flag != "--allow-managed";
        if rng.u8(..of) == 0 && is_known && !clash {
            flags.push(flag.to_owned());
        }
    }
    if rng.u8(..4) == 0 && !here.is_empty() {
        flags.push(format!("--exclude={}", here[rng.usize(..here.len())]));
    }
    if question[0] == "app" && rng.u8(..3) == 0 {
        flags.push("--include-related".to_owned());
    }
    if is_named && rng.u8(..4) == 0 {
        flags.push("--all-instances".to_owned());
    }
    // Nobody scales down here: with the drain every wait for pods is spent in full.
    if rng.u8(..6) == 0 {
        flags.push("--timeout=48s".to_owned());
    } else {
        flags.push("--no-scale-down".to_owned());
    }
    flags
}

fn going(document: &Value) -> BTreeMap<String, (String, String)> {
    let text = |object: &Value, key: &str| object[key].as_str().unwrap().to_owned();
    let objects = document["objects"].as_array().map_or(&[][..], Vec::as_slice);
    let goes = objects.iter().filter(|object| object["action"] != "keep");
    goes.map(|object| (text(object, "uid"), (text(object, "kind"), text(object, "name")))).collect()
}

fn world(quiet: &Quiet, series: &Series, case: usize, figures: &Mutex<Figures>) -> Judged {
    let rng = &mut series.random(case);
    let populace = Populace::random(rng);
    let applications = populace.applications.clone();
    let namespaces: Vec<String> = ["a", "b", "c"].iter().map(|end| format!("w{case}-{end}")).collect();
    for namespace in &namespaces {
        quiet.create_namespace(namespace);
    }
    let made = populace.make(quiet, &namespaces);
    // The first is the one that has twins.
    let application = &applications[rng.usize(..=applications.len()) % applications.len()];
    let namespace = &namespaces[application.namespace];
    let here = made.iter().filter(|(place, _, _)| *place == application.namespace);
    let here: Vec<String> = here.map(|(_, kind, name)| format!("{}/{name}", kind.to_lowercase())).collect();
    let question = question(rng, application, &here);
    let flags = flags(rng, &question, &here);
    let words = [&question[..], &flags[..]].concat();
    let with = |more: &[&str]| words.iter().cloned().chain(more.iter().map(ToString::to_string)).collect::<Vec<_>>();
    let told = || format!("case {case}, seed {}: {words:?} in {namespace}", series.seed);

    let before = quiet.stored(&namespaces);
    let planned = rng.bool().then(|| purge(quiet, namespace, &with(&["--dry-run", "-o", "json"])));
    let run = purge(quiet, namespace, &with(&["--yes", "-o", "json"]));
    let after = quiet.stored(&namespaces);

    let document: Value = serde_json::from_str(&run.stdout).unwrap_or_default();
    let is_report = document["kind"] == "Report";
    // Only a run that was made may change anything, and what was refused planned nothing to go.
    let going = if is_report { going(&document) } else { BTreeMap::new() };
    assert!([0, 3, 4, 5].contains(&run.code) || run.code == 1 && !is_report, "{}\n{run:#?}", told());
    if let Some(planned) = planned.filter(|_| is_report) {
        assert_eq!(planned.json()["digest"], document["digest"], "{}", told());
        assert_eq!(self::going(&planned.json()), going, "{}", told());
    }
    let mut bystanders = 0;
    for (uid, (resource, object)) in &before {
        if going.contains_key(uid) {
            assert_eq!(object["metadata"]["namespace"], **namespace, "{}", told());
            continue;
        }
        bystanders += 1;
        let now = after.get(uid).map(|(_, object)| object);
        assert!(now == Some(object), "{}\n{resource}: {object}\nis now {now:?}\n{}", told(), run.stderr);
    }
    for uid in after.keys() {
        assert!(before.contains_key(uid), "{}: {:#} is new", told(), after[uid].1);
    }
    let excluded = flags.iter().find_map(|flag| flag.strip_prefix("--exclude="));
    for (_, object) in going.keys().map(|uid| &before[uid]) {
        assert!(!says_keep(object), "{}: {object:#} says keep", told());
        let title = format!("{}/{}", object["kind"].as_str().unwrap_or_default(), object["metadata"]["name"]);
        let title = title.replace('"', "").to_lowercase();
        assert!(excluded.is_none_or(|excluded| excluded != title), "{}: {title} is excluded", told());
    }
    let mut gone = 0;
    for object in document["objects"].as_array().into_iter().flatten().filter(|_| is_report) {
        let uid = object["uid"].as_str().unwrap();
        match object["result"].as_str().unwrap() {
            "gone" => {
                gone += 1;
                assert!(!after.contains_key(uid), "{}: {object} is there", told());
            }
            _ => assert!(after.contains_key(uid), "{}: {object} is not there", told()),
        }
    }
    if is_report && run.code == 0 {
        let again = purge(quiet, namespace, &with(&["--dry-run", "-o", "json"]));
        // On a machine that is busy enough a list may take too long: that is said, and is not nothing.
        let is_around = question.get(1).is_some_and(|word| word.contains('/'));
        assert!([0, 3, 5].contains(&again.code) || again.code == 1 && is_around, "{}\n{again:#?}", told());
        let again: Value = serde_json::from_str(&again.stdout).unwrap_or_default();
        assert_eq!(self::going(&again), BTreeMap::new(), "{}", told());
    }
    if std::env::var_os("PURGE_TRUST_TELL").is_some() {
        let line = format!("{}: exit {}, {gone} of {} gone\n{}", told(), run.code, before.len(), run.stderr);
        std::io::stderr().write_all(line.as_bytes()).unwrap();
    }
    let mut figures = figures.lock().unwrap();
    figures.worlds += 1;
    figures.objects += before.len();
    figures.gone += gone;
    figures.kept += document["objects"].as_array().map_or(0, Vec::len).saturating_sub(going.len());
    figures.bystanders += bystanders;
    figures.refused += usize::from(run.code == 3);
    figures.nothing += usize::from(run.code != 3 && going.is_empty());
    figures.incomplete += usize::from(run.code == 4);
    *figures.codes.entry(run.code).or_default() += 1;
    Judged { namespace: namespace.clone(), going }
}

/// Whether an annotation of those that worlds hold says so.
fn says_keep(object: &Value) -> bool {
    let annotations = &object["metadata"]["annotations"];
    let is = |key: &str, value: &str| annotations[key] == value;
    is("kubectl-purge/keep", "true")
        || is("helm.sh/resource-policy", "keep")
        || is("argocd.argoproj.io/sync-options", "Prune=false")
}

/// What the API server itself has written down: no delete without a uid, none of a collection, no write to anything
/// that was not planned to go.
fn assert_audited(quiet: &Quiet, judged: &[Judged]) -> usize {
    let by_namespace: BTreeMap<&str, &Judged> = judged.iter().map(|judged| (&*judged.namespace, judged)).collect();
    let events = quiet.plane.audit_events().unwrap();
    let ours = |event: &&AuditEvent| event.user_agent().starts_with("kubectl-purge/");
    let mut writes = 0;
    for event in events.iter().filter(ours) {
        if event.resource() == "selfsubjectreviews" || event.resource() == "selfsubjectaccessreviews" {
            continue;
        }
        writes += 1;
        let judged = by_namespace.get(event.namespace()).unwrap_or_else(|| panic!("{}", event.json()));
        let kind = KINDS.iter().find(|(_, plural, _)| *plural == event.resource()).map(|(_, _, kind)| *kind);
        let target = (kind.unwrap().to_owned(), event.name().to_owned());
        match event.verb() {
            "delete" => {
                let uid = event.uid_precondition().unwrap_or_else(|| panic!("no uid: {}", event.json()));
                assert_eq!(judged.going.get(uid), Some(&target), "{}", event.json());
            }
            "patch" => {
                let planned: BTreeSet<_> = judged.going.values().collect();
                assert!(planned.contains(&target), "{}", event.json());
            }
            verb => panic!("{verb}: {}", event.json()),
        }
    }
    writes
}

#[test]
fn what_is_not_in_the_plan_is_byte_for_byte_what_it_was() {
    let series = Series::new("bystanders", 8, 500);
    let quiet = Quiet::shared();
    let figures = Mutex::new(Figures::default());
    let judged = Mutex::new(Vec::new());
    let cases = Mutex::new(series.cases());
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                loop {
                    let Some(case) = cases.lock().unwrap().next() else { break };
                    let world = world(quiet, &series, case, &figures);
                    judged.lock().unwrap().push(world);
                }
            });
        }
    });
    let judged = judged.into_inner().unwrap();
    let writes = assert_audited(quiet, &judged);
    let figures = figures.into_inner().unwrap();
    assert!(figures.gone > 0 && writes >= figures.gone, "{figures}; {writes} writes");
    series.report(format!("{figures}; {writes} writes, each with the uid of something planned"));
}
