//! Work that changes nothing: the plan, how it grows, what the program itself weighs.

use std::{collections::BTreeSet, fmt::Write as _, time::Duration};

use anyhow::Result;
use serde_json::json;

use crate::{
    contest::count_requests,
    figures::{Figures, Goal, Work, median},
    ground::{Ground, PURGE, manifests},
    link::Link,
    watcher::CONFIG_MAPS,
};

/// The namespaced kinds that can be listed, as `kubectl get` takes them.
fn kinds(ground: &Ground) -> Result<String> {
    let list = ground.plane.kubectl(&["api-resources", "--verbs=list", "--namespaced", "-o", "name"]).ok()?;
    Ok(list.lines().collect::<BTreeSet<_>>().into_iter().collect::<Vec<_>>().join(","))
}

fn definitions(count: usize) -> String {
    let mut text = String::new();
    for number in 0..count {
        let _ = write!(
            text,
            "---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {{ name: widgets{number}.bench.example }}
spec:
  group: bench.example
  scope: Namespaced
  names: {{ plural: widgets{number}, singular: widget{number}, kind: Widget{number}, listKind: Widget{number}List }}
  versions:
  - name: v1
    served: true
    storage: true
    schema: {{ openAPIV3Schema: {{ type: object, x-kubernetes-preserve-unknown-fields: true }} }}
"
        );
    }
    text
}

/// Plan and peer in turn over one link.
fn contest(ground: &Ground, namespace: &str, link: &Link, repeats: usize) -> Result<[Figures; 2]> {
    let kinds = kinds(ground)?;
    let (mut ours, mut theirs) = (Figures::of("kubectl purge --dry-run"), Figures::of("kubectl get, all kinds"));
    for _ in 0..=repeats {
        let plan = ["app", "demo", "-n", namespace, "--dry-run"];
        ours.look(ground, ground.command("purge", "purge", link, &plan)?, link)?;
        let get = ["get", &kinds, "-n", namespace, "--ignore-not-found"];
        theirs.look(ground, ground.command("kubectl", "kubectl", link, &get)?, link)?;
    }
    ours.forget_first();
    theirs.forget_first();
    let mut rows = [ours, theirs];
    count_requests(ground, &mut rows)?;
    Ok(rows)
}

pub fn plan(repeats: usize) -> Result<Vec<Work>> {
    let ground = Ground::new(3)?;
    let namespace = ground.namespace()?;
    ground.application(&namespace, 3)?;
    let far = ground.link(Duration::from_millis(50))?;
    let mut works = Vec::new();
    for crds in [0, 60] {
        if crds > 0 {
            ground.plane.apply(&definitions(crds))?;
            ground.plane.kubectl(&["wait", "crd", "--all", "--for=condition=Established", "--timeout=60s"]).ok()?;
            // Discovery follows the definitions a moment later.
            std::thread::sleep(Duration::from_secs(5));
        }
        let count = kinds(&ground)?.split(',').count();
        let mut without_latency = f64::NAN;
        for (link, round_trip) in [(&ground.link, 0), (&far, 50)] {
            let title = format!("B1 plan: 3 pods, {count} kinds, round trip {round_trip} ms");
            let rows = Vec::from(contest(&ground, &namespace, link, repeats)?);
            let mut work = Work { title, rows, ..Work::default() };
            let ours = median(&work.rows[0].done);
            if round_trip == 0 {
                without_latency = ours;
                let ratio = work.ratio("kubectl purge --dry-run", "kubectl get, all kinds");
                work.goals.push(Goal::new("of kubectl's time", 1.0 / 8.0, ratio, ""));
            } else {
                work.goals.push(Goal::new("round trips", 5.0, ((ours - without_latency) / 0.05).round(), ""));
                work.goals.push(Goal::new("whole time", 0.25, ours, " s"));
                work.notes
                    .push(format!("whole time {ours:.3} s, of which {without_latency:.3} s also pass without latency"));
            }
            works.push(work);
        }
    }
    Ok(works)
}

pub fn growth(repeats: usize) -> Result<Vec<Work>> {
    let ground = Ground::new(3)?;
    let mut works = Vec::new();
    let mut alone = f64::NAN;
    for unrelated in [0_u32, 2_000, 10_000] {
        let namespace = ground.namespace()?;
        ground.application(&namespace, 3)?;
        let others = (0..unrelated).map(|number| {
            let (name, app) = (format!("other-{number}"), format!("app-{}", number % 100));
            json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": name, "labels": { "app": app } }, "data": { "key": "v".repeat(100) } })
        });
        ground.watcher.create(&namespace, CONFIG_MAPS, others)?;
        let rows = Vec::from(contest(&ground, &namespace, &ground.link, repeats)?);
        let mut work =
            Work { title: format!("B4 growth: beside {unrelated} unrelated objects"), rows, ..Work::default() };
        let ours = median(&work.rows[0].done);
        if unrelated == 0 {
            alone = ours;
        } else {
            let each = (ours - alone) * 1e6 / f64::from(unrelated);
            work.goals.push(Goal::new("for each unrelated object", 15.0, each, " µs"));
        }
        if unrelated == 10_000 {
            let ratio = work.ratio("kubectl purge --dry-run", "kubectl get, all kinds");
            work.goals.push(Goal::new("of kubectl's time", 1.0 / 18.0, ratio, ""));
            let memory = median(&work.rows[0].memory) * 1024.0 / 1e6;
            work.goals.push(Goal::new("peak memory", 30.0, memory, " MB"));
        }
        ground.drop(&namespace);
        works.push(work);
    }
    Ok(works)
}

pub fn footprint(repeats: usize) -> Result<Vec<Work>> {
    let ground = Ground::new(3)?;
    let link = &ground.link;
    // It takes so little that many runs are needed to tell.
    let runs = repeats * 10;
    let (mut ours, mut theirs) = (Figures::of("kubectl purge --version"), Figures::of("kubectl version --client"));
    for _ in 0..=runs {
        ours.look(&ground, ground.command("purge", "purge", link, &["--version"])?, link)?;
        theirs.look(&ground, ground.command("kubectl", "kubectl", link, &["version", "--client"])?, link)?;
    }
    ours.forget_first();
    theirs.forget_first();
    let time = median(&ours.done) * 1e3;
    let version = Work {
        title: "B6 footprint: the version".to_owned(),
        rows: vec![ours, theirs],
        goals: vec![Goal::new("time of --version", 3.0, time, " ms")],
        notes: Vec::new(),
    };
    let namespace = ground.namespace()?;
    ground.plane.apply_in(&namespace, &manifests("demo", 3))?;
    ground.until_running(&namespace, 3)?;
    let rows = Vec::from(contest(&ground, &namespace, link, repeats)?);
    let size = |path: &std::path::Path| std::fs::metadata(path).map(|data| data.len());
    let (binary, peer) = (
        size(std::path::Path::new(PURGE))? as f64 / 1e6,
        size(&ground.plane.binary(control_plane::Tool::Kubectl)?)? as f64 / 1e6,
    );
    let memory = median(&rows[0].memory) * 1024.0 / 1e6;
    let plan = Work {
        title: "B6 footprint: a plan of 3 pods, and the program".to_owned(),
        rows,
        goals: vec![Goal::new("memory of a plan", 12.0, memory, " MB"), Goal::new("program", 9.0, binary, " MB")],
        notes: vec![format!("kubectl's program: {peer:.0} MB")],
    };
    Ok(vec![version, plan])
}
