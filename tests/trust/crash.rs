//! Ended from outside at one request after the other: what was begun can be put back, or gone on with, and what was
//! not changed stays as it was.

use std::{
    collections::BTreeMap,
    sync::{Mutex, mpsc},
    time::Duration,
};

use http::Method;
use serde_json::Value;

use crate::{
    crew::{Failures, clean_run, each},
    harness::Run,
    judge::Case,
    launch::Launched,
    proxy::{
        Proxy,
        log::{Entry, Log},
        script::{Bell, Moment, Script},
    },
    series::Series,
    site::{Objects, Site, title},
};

/// For a run of some three seconds that is ended on the way.
const LIMIT: Duration = Duration::from_secs(60);

/// A signal at a request.
#[derive(Clone, Debug)]
struct Blow {
    signal: &'static str,
    index: usize,
    moment: Moment,
    /// Put back what was changed, where nothing was deleted, instead of going on.
    restore: bool,
}

/// By signal and by how far the run had come, how often.
type Figures = BTreeMap<(&'static str, &'static str), usize>;

#[test]
fn a_signal_at_every_request() {
    let series = Series::new("crash, a signal at every request", 12, usize::MAX);
    let clean = clean_run();
    let requests = clean.0.len();
    let first_write = clean.0.iter().position(Entry::has_written).unwrap();
    let mut blows = Vec::new();
    for index in 0..requests {
        for (number, moment) in [Moment::Arrived, Moment::Answered].into_iter().enumerate() {
            for signal in ["KILL", "INT"] {
                blows.push(Blow { signal, index, moment, restore: (index + number) % 2 == 0 });
            }
        }
    }
    if blows.len() > series.cases {
        // Most of a run are lists, before and after; what happens at its writes tells more.
        series.random(0).shuffle(&mut blows);
        blows.sort_by_key(|blow| !(first_write..first_write + 24).contains(&blow.index));
        let others = blows.split_off(blows.len() - series.cases / 4);
        blows.truncate(series.cases - others.len());
        blows.extend(others);
    }
    let (figures, failures) = (Mutex::new(Figures::new()), Failures::default());
    each((&series, "crash"), &blows, &failures, |site, blow| {
        let (reached, faults) = strike(site, blow);
        *figures.lock().unwrap().entry((blow.signal, reached)).or_default() += 1;
        if !faults.is_empty() {
            failures.add(&format!("{blow:?}"), &faults);
        }
        faults.is_empty()
    });
    let figures: Vec<String> = figures
        .into_inner()
        .unwrap()
        .into_iter()
        .map(|((signal, reached), count)| format!("{signal} {reached} {count}"))
        .collect();
    series.report(format!("{} blows at {requests} requests; {}", blows.len(), figures.join(", ")));
    failures.none();
}

fn purge(site: &Site, kubeconfig: &std::path::Path, arguments: &[&str]) -> Run {
    let arguments = [&["app", "demo", "-o", "json"], arguments].concat();
    Launched::start(&site.world, kubeconfig, &arguments).ends_within(LIMIT).expect("it did not end")
}

/// One case: how far the run had come, and what went wrong.
fn strike(site: &Site, blow: &Blow) -> (&'static str, Vec<String>) {
    let before = site.deploy();
    let (ring, rung) = mpsc::channel();
    let bell = Bell { index: blow.index, moment: blow.moment, ring: Mutex::new(Some(ring)) };
    let proxy = Proxy::start(site.world.plane, Script { bell: Some(bell), ..Script::default() });
    let arguments = ["app", "demo", "--yes", "-o", "json"];
    let mut launched = Launched::start(&site.world, &proxy.kubeconfig, &arguments);
    let mut struck = false;
    // Not every run comes to so many requests; then it ends by itself.
    let called = loop {
        match rung.recv_timeout(Duration::from_millis(20)) {
            Err(_) if launched.runs() => {}
            called => break called,
        }
    };
    if let Ok(go_on) = called {
        launched.signal(blow.signal);
        struck = true;
        // A killed program asks for nothing more: whether this request is heard is another case.
        let _ = go_on.send(blow.signal == "INT" || blow.moment == Moment::Answered);
    }
    let Some(run) = launched.ends_within(LIMIT) else { return ("nowhere", vec!["it did not end".to_owned()]) };
    let log = proxy.log();
    drop(proxy);
    let after = site.objects();
    let mut faults = Case { site, before: &before, after: &after, run: &run, log: &log }.faults();
    let reached = reached(&log, struck);
    let expected: &[i32] = match (blow.signal, reached) {
        (_, "the end") => &[0],
        ("KILL", _) => &[128 + 9],
        // The last look at an application that has gone says so, and that it was asked to stop changes nothing.
        (_, "a delete") => &[130, 0],
        _ => &[130],
    };
    if !expected.contains(&run.code) {
        faults.push(format!("exit {} after {reached}", run.code));
    }
    if blow.signal == "INT" && reached != "the end" && !log.has_deleted() {
        faults.extend(differences(&before, &site.application(&after)));
    }
    if blow.signal == "KILL" && blow.restore && !log.has_deleted() && reached != "the end" {
        let restored = purge(site, site.world.plane.kubeconfig(), &["--restore", "--yes"]);
        if restored.code != 0 {
            faults.push(format!("--restore: {restored:?}"));
        }
        faults.extend(differences(&before, &site.application(&site.objects())));
    }
    let second = purge(site, site.world.plane.kubeconfig(), &["--yes"]);
    let after = site.objects();
    faults.extend(site.harm(&after));
    let left: Vec<String> = site.application(&after).values().map(title).collect();
    if second.code != 0 || !left.is_empty() {
        faults.push(format!("the second run exits {} and leaves {left:?}: {second:?}", second.code));
    }
    if !faults.is_empty() {
        faults.push(format!("{run:?}\n{}", log.text()));
    }
    (reached, faults)
}

/// How far a run had come when it was struck.
fn reached(log: &Log, struck: bool) -> &'static str {
    let writes: Vec<&Method> =
        log.0.iter().filter(|entry| entry.has_written()).map(|entry| &entry.call.method).collect();
    if !struck {
        "the end"
    } else if writes.contains(&&Method::DELETE) {
        "a delete"
    } else if writes.is_empty() {
        "no change"
    } else {
        "a change"
    }
}

/// What of the application is not as it was, as far as its owner wrote it: its pods are made anew.
fn differences(before: &Objects, after: &Objects) -> Vec<String> {
    let mut faults = Vec::new();
    for (uid, old) in before {
        let made = matches!(old["kind"].as_str(), Some("Pod" | "EndpointSlice" | "Endpoints"));
        if made {
            continue;
        }
        let Some(new) = after.get(uid) else {
            faults.push(format!("{} was not put back: it is gone", title(old)));
            continue;
        };
        for (name, one, other) in [
            ("spec", spec(old), spec(new)),
            ("annotations", annotations(old), annotations(new)),
            ("labels", old["metadata"]["labels"].clone(), new["metadata"]["labels"].clone()),
        ] {
            if one != other {
                faults.push(format!("{} was not put back: its {name} was {one}, is {other}", title(old)));
            }
        }
    }
    faults
}

/// Of a ReplicaSet that a Deployment owns, the Deployment writes the replicas, a little later.
fn spec(object: &Value) -> Value {
    let mut spec = object["spec"].clone();
    let is_owned = object["metadata"]["ownerReferences"].is_array();
    if let Some(spec) = spec.as_object_mut().filter(|_| is_owned) {
        spec.remove("replicas");
    }
    spec
}

/// Without those in which a Deployment says the same.
fn annotations(object: &Value) -> Value {
    let mut annotations = object["metadata"]["annotations"].clone();
    if let Some(annotations) = annotations.as_object_mut() {
        annotations.retain(|key, _| !key.starts_with("deployment.kubernetes.io/"));
    }
    annotations
}
