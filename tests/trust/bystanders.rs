//! Whatever is not in the plan is byte for byte what it was.

use std::{
    collections::{BTreeMap, BTreeSet},
    process::Command,
    sync::{Mutex, OnceLock},
    thread,
    time::Duration,
};

use control_plane::{Component, ControlPlane};
use fastrand::Rng;
use serde_json::Value;

use crate::{
    api::{Administrator, Stored, WIDGETS},
    harness::{PROGRAM, Run},
    series::Series,
    worlds,
};

/// Worlds being purged at once.
const AT_ONCE: usize = 4;

/// Nothing in it moves by itself but what a namespace is born with: every difference is the program's doing.
fn plane() -> &'static ControlPlane {
    static PLANE: OnceLock<ControlPlane> = OnceLock::new();
    PLANE.get_or_init(|| {
        let few = "--controllers=serviceaccount-controller,root-ca-certificate-publisher-controller,\
                   persistentvolumeclaim-protection-controller";
        let builder = ControlPlane::builder().nodes(0).flag(Component::ControllerManager, few).audit_log();
        let plane = builder.start().unwrap();
        // It would note on each pod that it finds no node for it.
        plane.stop(Component::Scheduler).unwrap();
        plane.apply(WIDGETS).unwrap();
        plane.kubectl(&["wait", "crd", "--all", "--for=condition=Established"]).ok().unwrap();
        plane
    })
}

/// What came of all worlds.
#[derive(Default)]
struct Tally {
    worlds: usize,
    objects: usize,
    gone: usize,
    untouched: usize,
    refused: usize,
    incomplete: usize,
    /// Namespace and name of everything that a plan meant to go.
    planned: BTreeSet<(String, String)>,
    uids: BTreeSet<String>,
}

#[test]
fn what_is_not_in_the_plan_stays_byte_for_byte_as_it_was() {
    let series = Series::new("bystanders", 8, 500);
    let tally = Mutex::new(Tally::default());
    let cases = Mutex::new(series.cases());
    thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                let admin = Administrator::of(plane());
                loop {
                    let Some(case) = cases.lock().unwrap().next() else { break };
                    one(&admin, &series, case, &tally);
                }
            });
        }
    });
    let tally = tally.into_inner().unwrap();
    let writes = audited(&tally);
    let Tally { worlds, objects, gone, untouched, refused, incomplete, .. } = tally;
    assert!(worlds > 0 && gone > worlds && untouched > gone, "{worlds} {gone} {untouched}");
    series.report(format!(
        "{worlds} worlds of {objects} objects: {gone} gone as planned, {untouched} others unchanged; {refused} runs \
         refused, {incomplete} incomplete; {writes} writes in the audit log, every delete with a planned uid"
    ));
}

/// The question and the flags of one run.
fn arguments(random: &mut Rng, apps: &[&str]) -> Vec<String> {
    let app = apps[random.usize(..apps.len())];
    let mut arguments: Vec<String> = match random.u8(..8) {
        0 => vec!["app".into(), format!("deploy/{app}")],
        1 => vec!["app".into(), "-l".into(), format!("app={app}")],
        2 => vec!["orphans".into()],
        _ => vec!["app".into(), app.into()],
    };
    // No controller is there to answer a scale.
    if random.u8(..4) > 0 {
        arguments.push("--no-scale-down".into());
    }
    for (flag, odds) in [("--delete-data", 2), ("--include-related", 3), ("--all-instances", 2), ("--allow-managed", 2)]
    {
        let is_known = arguments[0] == "app" || flag == "--delete-data";
        if random.u8(..odds) == 0 && is_known {
            arguments.push(flag.into());
        }
    }
    arguments
}

fn one(admin: &Administrator, series: &Series, case: usize, tally: &Mutex<Tally>) {
    let mut random = series.random(case);
    let namespaces: Vec<String> = ["a", "b", "c"].iter().map(|end| format!("w{case}-{end}")).collect();
    let mut apps = Vec::new();
    let mut objects = 0;
    for (number, namespace) in namespaces.iter().enumerate() {
        plane().create_namespace(namespace).unwrap();
        let how_many = if number == 0 { random.usize(2..6) } else { 2 };
        let (names, count) = worlds::fill(admin, &mut random, namespace, how_many);
        objects += count;
        if number == 0 {
            apps = names;
        }
    }
    // What every namespace is born with has to be there, or it would look like news.
    let born = |found: &Stored, namespace: &String, name: &str| {
        found
            .values()
            .any(|object| object["metadata"]["namespace"] == namespace.as_str() && object["metadata"]["name"] == name)
    };
    let all_born = || {
        let found = admin.stored(&namespaces);
        let both = |namespace| born(&found, namespace, "default") && born(&found, namespace, "kube-root-ca.crt");
        namespaces.iter().all(both).then_some(())
    };
    plane().wait_for("what a namespace is born with", Duration::from_secs(60), all_born).unwrap();
    let arguments = arguments(&mut random, &apps);
    let before = admin.stored(&namespaces);
    let run = purge(&namespaces[0], &arguments);
    let after = admin.stored(&namespaces);
    let context = format!(
        "PURGE_TRUST_SEED={} case {case}: {arguments:?} ended with {}\n{}\n{}",
        series.seed, run.code, run.stdout, run.stderr
    );
    // On a busy machine the server may not answer in time: then nothing is changed, or it is said what was not seen.
    let nothing_done = [1, 3].contains(&run.code);
    assert!(nothing_done || [0, 4, 5].contains(&run.code), "{context}");
    let report: Value = if nothing_done {
        Value::Null
    } else {
        serde_json::from_str(&run.stdout).unwrap_or_else(|error| panic!("{error}: {context}"))
    };
    let mut tally = tally.lock().unwrap();
    let going = going(&report);
    for (uid, object) in &before {
        match (going.get(uid.as_str()), after.get(uid)) {
            (None, Some(now)) if now == object => tally.untouched += 1,
            (None, now) => panic!("{} was not planned and is now {now:?}, was {object}\n{context}", title(object)),
            (Some(&"gone"), None) => tally.gone += 1,
            (Some(&"gone"), Some(now)) => panic!("{} is not gone: {now}\n{context}", title(object)),
            (Some(_), _) => assert!([4, 5].contains(&run.code), "{} is left\n{context}", title(object)),
        }
    }
    if let Some(new) = after.keys().find(|uid| !before.contains_key(*uid)) {
        panic!("{} is new\n{context}", title(&after[new]));
    }
    tally.worlds += 1;
    tally.objects += objects;
    tally.refused += usize::from(nothing_done);
    tally.incomplete += usize::from([4, 5].contains(&run.code));
    for (uid, object) in before.iter().filter(|(uid, _)| going.contains_key(uid.as_str())) {
        tally.planned.insert((namespaces[0].clone(), object["metadata"]["name"].as_str().unwrap().to_owned()));
        tally.uids.insert(uid.clone());
    }
    drop(tally);
    if run.code == 0 {
        again(&namespaces[0], &arguments, &after, &context);
    }
}

/// A second look at the same question finds nothing that should go.
fn again(namespace: &str, arguments: &[String], after: &Stored, context: &str) {
    let mut arguments = arguments.to_vec();
    arguments.push("--dry-run".into());
    let run = purge(namespace, &arguments);
    // The Deployment that the question named is gone: then there is nothing to ask about.
    if run.code == 0 {
        let plan: Value = serde_json::from_str(&run.stdout).unwrap_or_default();
        let left = going(&plan);
        assert!(left.is_empty(), "{:?}\n{context}", left.keys().map(|uid| title(&after[*uid])).collect::<Vec<_>>());
    }
}

/// By uid, what became of everything that the plan meant to go.
fn going(document: &Value) -> BTreeMap<&str, &str> {
    let objects = document["objects"].as_array().map(Vec::as_slice).unwrap_or_default();
    let goes = objects.iter().filter(|object| object["action"] != "keep");
    goes.map(|object| (object["uid"].as_str().unwrap(), object["result"].as_str().unwrap_or("planned"))).collect()
}

fn title(object: &Value) -> String {
    format!("{}/{}", object["kind"].as_str().unwrap_or("?"), object["metadata"]["name"].as_str().unwrap_or("?"))
}

fn purge(namespace: &str, arguments: &[String]) -> Run {
    let mut command = Command::new(PROGRAM);
    command.args(arguments).args(["-n", namespace, "--yes", "-o", "json", "--timeout", "8s", "--max", "1000"]);
    command.env_remove("KUBERNETES_SERVICE_HOST").env("HOME", plane().dir()).env("KUBECONFIG", plane().kubeconfig());
    Run::of(command)
}

/// The API server's own record of what the program wrote. Gives how many writes there were.
fn audited(tally: &Tally) -> usize {
    let mut writes = 0;
    for event in plane().audit_events().unwrap() {
        let is_ours = event.user_agent().starts_with("kubectl-purge/") && event.stage() == "ResponseComplete";
        if !is_ours || ["get", "list", "watch"].contains(&event.verb()) || event.resource() == "selfsubjectreviews" {
            continue;
        }
        writes += 1;
        let what = (event.namespace().to_owned(), event.name().to_owned());
        assert!(["delete", "patch"].contains(&event.verb()), "{}", event.json());
        if event.is_dry_run() {
            continue;
        }
        assert!(tally.planned.contains(&what), "{}", event.json());
        if event.verb() == "delete" {
            assert!(event.uid_precondition().is_some_and(|uid| tally.uids.contains(uid)), "{}", event.json());
        }
    }
    writes
}
