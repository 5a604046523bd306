//! Memory and file handles: by the number of objects and not more, and no more after an hour than after a minute.

use std::{
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use serde_json::json;

use crate::{
    harness::{PROGRAM, World},
    hostile::{
        server::{Answer, Asked, Server},
        setup::{Folder, command},
        world::NAMESPACE,
    },
    memory::{self, Taken},
    series::{Series, is_long},
};

/// What one more object may cost, with all that is known and shown of it.
const EACH: u64 = 24 << 10;
/// What a process may take that looks at a namespace of nothing much.
const FEW: u64 = 120 << 20;
/// What memory may differ by between two moments of one long wait: an allocator gives back when it likes.
const DRIFT: u64 = 4 << 20;

/// A namespace of so many pods of a Deployment's kind of application.
fn crowd(asked: &Asked, list: &[u8]) -> Answer {
    let discovery = |resources: serde_json::Value| {
        Answer::json(
            json!({ "kind": "APIGroupDiscoveryList", "items": [{ "metadata": { "name": "" }, "versions": [{ "version": "v1", "resources": resources }] }] }),
        )
    };
    match asked.path.split('?').next().unwrap() {
        "/api" => discovery(
            json!([{ "resource": "pods", "responseKind": { "kind": "Pod" }, "scope": "Namespaced", "verbs": ["list", "delete"] }]),
        ),
        "/apis" => discovery(json!([])),
        path if path == format!("/api/v1/namespaces/{NAMESPACE}") => {
            Answer::json(json!({ "kind": "Namespace", "status": { "phase": "Active" } }))
        }
        path if path.ends_with("/pods") => Answer::of(200, list.to_vec()),
        _ => Answer::of(404, br#"{"kind":"Status","reason":"NotFound","message":"not found","code":404}"#.to_vec()),
    }
}

fn pods(count: usize) -> Vec<u8> {
    let pod = |number: usize| {
        json!({
            "metadata": { "name": format!("web-54c9846b78-{number:05}"), "namespace": NAMESPACE, "uid": format!("00000000-0000-0000-0000-{number:012}"),
                          "resourceVersion": "1", "labels": { "app": "demo", "pod-template-hash": "54c9846b78" },
                          "ownerReferences": [{ "apiVersion": "apps/v1", "kind": "ReplicaSet", "name": format!("web-{}", number % 50), "uid": format!("set-{}", number % 50), "controller": true }],
                          "managedFields": [{ "fieldsV1": { "f:metadata": { "f:labels": { "f:app": {} } } } }] },
            "spec": { "nodeName": "node", "containers": [{ "name": "main", "image": "demo", "resources": { "requests": { "cpu": "1", "memory": "1Gi" } } }] },
            "status": { "phase": "Running" },
        })
    };
    let items: Vec<_> = (0..count).map(pod).collect();
    json!({ "kind": "PodList", "metadata": { "resourceVersion": "1" }, "items": items }).to_string().into_bytes()
}

#[test]
#[cfg(target_os = "linux")]
fn memory_goes_by_the_number_of_objects() {
    let series = Series::new("memory by objects", 1, 1);
    let counts: &[usize] = if is_long() { &[10, 1000, 10_000, 50_000, 100_000] } else { &[10, 4000] };
    let mut peaks = Vec::new();
    for &count in counts {
        let list = pods(count);
        let server = Server::plain(move |asked| crowd(asked, &list));
        let folder = Folder::new();
        let kubeconfig = folder.kubeconfig(&json!({ "server": server.url }), &json!({}));
        let (run, peak) = memory::peak(command(&kubeconfig, &["app", "demo", "--dry-run", "-o", "wide"]));
        assert!(run.stdout.contains(&format!("delete {count}")), "{}", run.stderr);
        peaks.push((count, peak));
    }
    let (few, least) = peaks[0];
    assert!(least < FEW, "{} MiB for {few} objects", least >> 20);
    for (count, peak) in &peaks[1..] {
        let each = peak.saturating_sub(least) / (count - few) as u64;
        assert!(each < EACH, "{each} bytes for each of {count} objects: {peaks:?}");
    }
    let figures: Vec<_> =
        peaks.iter().map(|(count, peak)| format!("{count}: {:.1} MiB", *peak as f64 / 1_048_576.0)).collect();
    series.report(figures.join(", "));
}

/// How long the wait is watched: ten seconds or so, or as long as asked for.
fn watched() -> Duration {
    let minutes = std::env::var("PURGE_TRUST_MINUTES").ok().and_then(|minutes| minutes.parse::<u64>().ok());
    let seconds = minutes.map(|minutes| minutes * 60).or_else(|| is_long().then_some(600));
    Duration::from_secs(seconds.unwrap_or(9))
}

/// One run that waits for what does not go, while around it other pods come and go.
#[test]
#[cfg(target_os = "linux")]
fn a_long_wait_takes_no_more_at_its_end_than_at_its_beginning() {
    let series = Series::new("a long wait", 1, 1);
    let world = World::new("wait");
    world.apply(
        "
apiVersion: v1
kind: Pod
metadata: { name: held, labels: { app: demo }, finalizers: [ example.com/hold ] }
spec: { terminationGracePeriodSeconds: 1, containers: [ { name: main, image: demo } ] }
",
    );
    let time = watched();
    let timeout = format!("--timeout={}s", time.as_secs() + 600);
    let mut command = Command::new(PROGRAM);
    command
        .args(["app", "demo", "--yes", &timeout, "-n", &world.namespace])
        .env("KUBECONFIG", world.plane.kubeconfig());
    command.env_remove("KUBERNETES_SERVICE_HOST").env("HOME", world.plane.dir());
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let others: String = (0..15)
        .map(|number| {
            format!("---\napiVersion: v1\nkind: Pod\nmetadata: {{ name: other-{number}, labels: {{ app: other }} }}\nspec: {{ containers: [ {{ name: main, image: demo }} ] }}\n")
        })
        .collect();
    let begun = Instant::now();
    let mut rounds = 0;
    let mut samples = Vec::new();
    thread::scope(|scope| {
        let watching = scope.spawn(|| sampled(&child, begun, time));
        while begun.elapsed() < time {
            world.apply(&others);
            world.kubectl(&["delete", "pods", "-l", "app=other", "--force", "--grace-period=0", "--wait=false"]);
            rounds += 1;
        }
        samples = watching.join().unwrap();
    });
    assert!(child.try_wait().unwrap().is_none(), "it has ended by itself");
    child.kill().unwrap();
    child.wait().unwrap();
    world.kubectl(&["patch", "pod", "held", "--type=merge", "-p", r#"{"metadata":{"finalizers":null}}"#]);

    assert!(samples.len() >= 9, "{} samples", samples.len());
    // What it takes once it waits: the first third is the beginning.
    let third = samples.len() / 3;
    let most = |samples: &[Taken], of: fn(&Taken) -> u64| samples.iter().map(of).max().unwrap();
    let (first, last) = (&samples[..third], &samples[2 * third..]);
    let (before, after) = (most(first, |taken| taken.memory), most(last, |taken| taken.memory));
    let files = |samples: &[Taken]| most(samples, |taken| taken.files as u64);
    let threads = |samples: &[Taken]| most(samples, |taken| taken.threads as u64);
    series.report(format!(
        "{} pods came and went in {:.0?}; memory {:.1} then {:.1} MiB, files {} then {}, threads {} then {}",
        rounds * 15,
        begun.elapsed(),
        before as f64 / 1_048_576.0,
        after as f64 / 1_048_576.0,
        files(first),
        files(last),
        threads(first),
        threads(last),
    ));
    assert!(after <= before + DRIFT, "{before} and then {after} bytes");
    assert!(files(last) <= files(first), "file handles: {} and then {}", files(first), files(last));
    assert!(threads(last) <= threads(first) + 1, "threads: {} and then {}", threads(first), threads(last));
}

/// What a process takes, a few times a second, once it has had time to begin to wait.
fn sampled(child: &Child, begun: Instant, time: Duration) -> Vec<Taken> {
    thread::sleep((time / 4).min(Duration::from_secs(20)));
    let mut samples = Vec::new();
    while begun.elapsed() < time {
        samples.extend(Taken::of(child));
        thread::sleep((time / 400).clamp(Duration::from_millis(100), Duration::from_secs(5)));
    }
    samples
}

/// Purge after purge of random applications in one namespace: each ends, and takes no more than those before it.
#[test]
fn purge_after_purge_takes_no_more_and_leaves_nothing() {
    let series = Series::new("random purges", 2, 200);
    let world = World::new("purges");
    world.apply(&crate::harness::deployment("bystander", "other", 1));
    world.until_running("app=other", 1);
    let bystanders = world.stored("deployments,pods");
    let (mut runs, mut objects, mut peaks) = (0_usize, 0, Vec::new());
    for case in series.cases() {
        let mut random = series.random(case);
        let mut replicas = 0;
        for number in 0..random.usize(1..4) {
            let count = random.u32(..5);
            replicas += count as usize;
            world.deployment(&format!("web-{number}"), "demo", count);
            objects += 2;
        }
        for number in 0..random.usize(..4) {
            world.apply(&format!(
                "apiVersion: v1\nkind: ConfigMap\nmetadata: {{ name: settings-{number}, labels: {{ app: demo }} }}\n"
            ));
            objects += 1;
        }
        objects += replicas;
        world.until_running("app=demo", replicas);
        let mut command = Command::new(PROGRAM);
        command.args(["app", "demo", "--yes", "-n", &world.namespace]).env("KUBECONFIG", world.plane.kubeconfig());
        command.env_remove("KUBERNETES_SERVICE_HOST").env("HOME", world.plane.dir());
        let (run, peak) = memory::peak(command);
        run.exits(0).says("Purged");
        assert_eq!(
            world.kubectl(&[
                "get",
                "deployments,pods,configmaps",
                "-l",
                "app=demo",
                "-o",
                "name",
                "--ignore-not-found"
            ]),
            ""
        );
        peaks.push(peak);
        runs += 1;
    }
    let uids =
        |objects: &std::collections::BTreeMap<String, serde_json::Value>| objects.keys().cloned().collect::<Vec<_>>();
    assert_eq!(
        uids(&world.stored("deployments,pods")),
        uids(&bystanders),
        "what is not the application's is there as before"
    );
    let third = peaks.len().div_ceil(3);
    let most = |peaks: &[u64]| peaks.iter().max().copied().unwrap_or(0);
    let (first, last) = (most(&peaks[..third]), most(&peaks[peaks.len() - third..]));
    series.report(format!(
        "{runs} purges of {objects} objects; at most {:.1} MiB in the first third, {:.1} MiB in the last",
        first as f64 / 1_048_576.0,
        last as f64 / 1_048_576.0
    ));
    assert!(last <= first + 2 * DRIFT, "{first} and then {last} bytes");
}
