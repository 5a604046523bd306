//! Answers without an end, without a bottom, and with names that lead elsewhere.

use std::time::Duration;

use serde_json::{Value, json};

use super::{
    check::harmless,
    server::{Answer, Asked, Body, Server},
    setup::{Folder, command, purge},
    world::NAMESPACE,
};
use crate::{harness::Run, memory};

/// What the program may take, whatever is sent to it: the bounds of `src/cluster/bound.rs` and room for itself. An
/// answer is copied once while it grows.
const MEMORY: u64 = 1200 << 20;

/// A small honest cluster, with `pods` as the hostile part of it.
pub fn cluster(asked: &Asked, pods: impl Fn() -> Answer) -> Answer {
    let path = asked.path.trim_start_matches("http://hostile.example").split('?').next().unwrap_or_default();
    let resource = |plural: &str, kind: &str| json!({ "resource": plural, "responseKind": { "kind": kind }, "scope": "Namespaced", "verbs": ["list", "delete", "watch"] });
    let group = |name: &str, resources: Value| json!({ "metadata": { "name": name }, "versions": [{ "version": "v1", "resources": resources }] });
    let discovery = |group: Value| Answer::json(json!({ "kind": "APIGroupDiscoveryList", "items": [group] }));
    match path {
        "/api" => discovery(group("", json!([resource("pods", "Pod"), resource("configmaps", "ConfigMap")]))),
        "/apis" => discovery(group("apps", json!([]))),
        _ if path == format!("/api/v1/namespaces/{NAMESPACE}") => {
            Answer::json(json!({ "kind": "Namespace", "status": { "phase": "Active" } }))
        }
        _ if path.ends_with("/pods") => pods(),
        _ if path.ends_with("/configmaps") => {
            Answer::json(json!({ "kind": "ConfigMapList", "metadata": { "resourceVersion": "1" },
            "items": [object("configuration")] }))
        }
        _ => Answer::of(
            404,
            json!({ "kind": "Status", "reason": "NotFound", "message": "not found", "code": 404 })
                .to_string()
                .into_bytes(),
        ),
    }
}

pub fn object(name: &str) -> Value {
    json!({ "metadata": { "name": name, "namespace": NAMESPACE, "uid": format!("uid of {name}"), "resourceVersion": "1", "labels": { "app": "demo" } } })
}

fn plan(server: &Server) -> Run {
    let folder = Folder::new();
    let (run, peak) = memory::peak(command(
        &folder.kubeconfig(&json!({ "server": server.url }), &json!({})),
        &["app", "demo", "--dry-run"],
    ));
    assert!(peak < MEMORY, "{} MiB", peak >> 20);
    harmless(&run, false);
    run
}

/// Whatever is wrong with the pods, they are unseen, never taken for none, everything else is planned, and nothing would
/// be begun.
#[track_caller]
fn are_unseen(run: Run, why: &str) {
    run.exits(3).says("ConfigMap  configuration").says(&format!("not checked (unavailable): pods: {why}"));
}

#[test]
fn an_answer_without_an_end_is_given_up_and_its_kind_is_unseen() {
    let endless = || Answer {
        body: Body::Repeated {
            begin: br#"{"kind":"PodList","items":["#.to_vec(),
            part: vec![b' '; 1 << 20],
            times: 400,
        },
        ..Answer::of(200, Vec::new())
    };
    let run = plan(&Server::plain(move |asked| cluster(asked, endless)));
    are_unseen(run, "the answer was not read to its end: it is larger than 256 MiB");
}

/// Behind a proxy, since near servers are not asked to compress.
#[test]
fn a_small_answer_that_unfolds_into_a_large_one_is_no_way_around_that() {
    let packed = blanks(300 << 20);
    assert!(packed.len() < 4 << 20);
    let server = Server::plain(move |asked| {
        cluster(asked, || Answer::of(200, packed.clone()).header("Content-Encoding", "gzip"))
    });
    let folder = Folder::new();
    let through = json!({ "server": "http://hostile.example", "proxy-url": server.url });
    let (run, peak) = memory::peak(command(&folder.kubeconfig(&through, &json!({})), &["app", "demo", "--dry-run"]));
    assert!(peak < MEMORY, "{} MiB", peak >> 20);
    let asked = server.asked();
    let list = asked.iter().find(|asked| asked.path.contains("/pods")).unwrap();
    assert_eq!(list.header("accept-encoding"), Some("gzip"));
    are_unseen(run, "the answer was not read to its end: it is larger than 256 MiB");
}

/// So many blanks as gzip has them: one block of fixed codes, each a repetition of 258 (RFC 1951, section 3.2.6).
fn blanks(count: usize) -> Vec<u8> {
    let mut packed = vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff];
    let (mut bits, mut held): (u64, u32) = (0, 0);
    let mut put = |value: u64, length: u32| {
        bits |= value << held;
        held += length;
        while held >= 8 {
            packed.push((bits & 0xff) as u8);
            bits >>= 8;
            held -= 8;
        }
    };
    let code =
        |code: u64, length: u32| (0..length).fold(0, |turned, bit| turned | ((code >> bit & 1) << (length - 1 - bit)));
    put(0b011, 3);
    put(code(0x30 + u64::from(b' '), 8), 8);
    for _ in 0..count / 258 {
        put(code(0b1100_0101, 8), 8);
        put(0, 5);
    }
    packed
}

#[test]
fn an_answer_without_a_bottom_is_no_answer() {
    for deep in [
        "[".repeat(4 << 20),
        r#"{"a":"#.repeat(1 << 20),
        format!(r#"{{"kind":"PodList","items":[{}"#, r#"{"metadata":"#.repeat(1 << 20)),
    ] {
        let body = deep.clone();
        let run = plan(&Server::plain(move |asked| cluster(asked, || Answer::of(200, body.clone().into_bytes()))));
        run.exits(3).says("not checked (unavailable): pods: the answer is not from a Kubernetes API server: ");
        let run = plan(&Server::plain(move |_| Answer::of(200, deep.clone().into_bytes())));
        run.exits(1).complains("error: ").never_says("panicked");
    }
}

#[test]
fn a_list_whose_pages_have_no_end_is_given_up() {
    let circle = || Answer::json(json!({ "kind": "PodList", "metadata": { "continue": "again" }, "items": [] }));
    are_unseen(
        plan(&Server::plain(move |asked| cluster(asked, circle))),
        "the answer is not from a Kubernetes API server: pods: its list has no end",
    );
    let count = std::sync::atomic::AtomicUsize::new(0);
    let server = Server::plain(move |asked| {
        cluster(asked, || {
            let next = count.fetch_add(1, std::sync::atomic::Ordering::Relaxed).to_string();
            Answer::json(json!({ "kind": "PodList", "metadata": { "continue": next }, "items": [] }))
        })
    });
    are_unseen(plan(&server), "the answer is not from a Kubernetes API server: pods: its list has no end");
}

/// `DELETE …/pods/` would be all pods, `…/pods/../configmaps/x` another kind's.
#[test]
fn a_name_that_leads_elsewhere_makes_its_kind_unseen_and_is_in_no_request() {
    for name in ["", ".", "..", "../configmaps/configuration", "a/b", "%2e%2e"] {
        let list = json!({ "kind": "PodList", "metadata": {}, "items": [object("honest"), object(name)] }).to_string();
        let server = Server::plain(move |asked| cluster(asked, || Answer::of(200, list.clone().into_bytes())));
        let folder = Folder::new();
        let kubeconfig = folder.kubeconfig(&json!({ "server": server.url }), &json!({}));
        let flags = ["--yes", "--ignore-unavailable", "--timeout=1s", "--request-timeout=2s", "--max=10"];
        let run = purge(&kubeconfig, &[&["app", "demo"], &flags[..]].concat());
        assert!(matches!(run.code, 1 | 4 | 5), "{name:?}: {run:?}");
        for asked in server.asked() {
            let is_honest = asked
                .path
                .split('?')
                .next()
                .unwrap()
                .split('/')
                .skip(1)
                .all(|part| !matches!(part, "" | "." | ".." | "%2e%2e"));
            assert!(is_honest, "{name:?}: {} {}", asked.method, asked.path);
            assert!(
                asked.method == "GET" || !asked.path.contains("/pods"),
                "{name:?}: {} {}",
                asked.method,
                asked.path
            );
        }
    }
}

/// A watch goes on for ever; a single event of it may not.
#[test]
fn an_event_of_a_watch_without_an_end_breaks_the_watch_and_not_the_program() {
    let list =
        || Answer::json(json!({ "kind": "PodList", "metadata": { "resourceVersion": "1" }, "items": [object("web")] }));
    let server = Server::plain(move |asked| {
        if asked.path.contains("watch=1") {
            let begin = br#"{"type":"ADDED","object":{"metadata":{"name":""#.to_vec();
            return Answer {
                body: Body::Repeated { begin, part: vec![b'x'; 1 << 20], times: 200 },
                ..Answer::of(200, Vec::new())
            };
        }
        if asked.method == "DELETE" {
            // It has begun, and goes on: there is something to wait for.
            let mut web = object("web");
            web["kind"] = "Pod".into();
            web["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z".into();
            return Answer::json(web);
        }
        cluster(asked, list)
    });
    let folder = Folder::new();
    let kubeconfig = folder.kubeconfig(&json!({ "server": server.url }), &json!({}));
    let (run, peak) = memory::peak(command(&kubeconfig, &["app", "demo", "--yes", "--timeout=3s"]));
    assert!(server.asked().iter().filter(|asked| asked.path.contains("watch=1")).count() > 1, "{run:?}");
    assert!(peak < 400 << 20, "{} MiB", peak >> 20);
    assert!(run.took < Duration::from_secs(40), "{:?}", run.took);
    run.exits(4).says("Incomplete:");
}

/// Who sends a blank now and then is never silent: that must not outlast the time that the whole run has.
#[test]
fn an_answer_that_trickles_holds_no_run_beyond_its_time() {
    let begun = std::sync::atomic::AtomicBool::new(false);
    let list =
        || Answer::json(json!({ "kind": "PodList", "metadata": { "resourceVersion": "1" }, "items": [object("web")] }));
    let server = Server::plain(move |asked| {
        let is_trial = String::from_utf8_lossy(&asked.body).contains("dryRun") || asked.path.contains("dryRun");
        if asked.method == "DELETE" {
            begun.fetch_or(!is_trial, std::sync::atomic::Ordering::Relaxed);
            return Answer::json(json!({ "kind": "Status", "status": "Success" }));
        }
        if begun.load(std::sync::atomic::Ordering::Relaxed) {
            return Answer { body: Body::Trickle, ..Answer::of(200, Vec::new()) };
        }
        cluster(asked, list)
    });
    let folder = Folder::new();
    let kubeconfig = folder.kubeconfig(&json!({ "server": server.url }), &json!({}));
    let run = purge(&kubeconfig, &["app", "demo", "--yes", "--timeout=2s"]);
    assert!(run.took < Duration::from_secs(45), "{:?}", run.took);
    assert!(matches!(run.code, 4 | 5), "{run:?}");
    run.never_says("Purged");
}
