//! The whole at scale: how much memory, how many deletes at once, and whether others still get their answers.

use std::{
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::Duration,
};

use anyhow::{Context as _, Result};
use serde_json::json;

use crate::{
    contest::count_requests,
    figures::{Figures, Goal, Work, median},
    ground::{Ground, manifests},
    watcher::{APPLICATION, Kind},
};

const DEPLOYMENTS: usize = 50;
const PODS_EACH: usize = 200;
const NAMESPACES: usize = 1_000;
const NAMESPACE: Kind = ("", "v1", "Namespace", "namespaces");

/// One purge of 10,000 pods in 50 Deployments, in a cluster of 1,000 other namespaces.
pub fn scale(_repeats: usize) -> Result<Vec<Work>> {
    let ground = Ground::new(12)?;
    eprintln!("making {NAMESPACES} namespaces");
    let others = (0..NAMESPACES).map(
        |number| json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": format!("tenant-{number}") } }),
    );
    ground.watcher.create_in_cluster(NAMESPACE, others)?;
    eprintln!("making {} pods", DEPLOYMENTS * PODS_EACH);
    let namespace = ground.namespace()?;
    let names: Vec<String> = (0..DEPLOYMENTS).map(|number| format!("demo-{number}")).collect();
    for name in &names {
        // One application of many parts, each of which selects its own pods.
        let parts = manifests(name, 0).replace(
            &format!("metadata: {{ labels: {{ app: {name} }} }}"),
            &format!("metadata: {{ labels: {{ app: {name}, app.kubernetes.io/instance: demo }} }}"),
        );
        let parts = parts.replace(
            &format!("name: {name}, labels: {{ app: {name} }}"),
            &format!("name: {name}, labels: {{ app: {name}, app.kubernetes.io/instance: demo }}"),
        );
        ground.plane.apply_in(&namespace, &parts)?;
    }
    let deployments: Vec<(String, String)> = names.into_iter().map(|name| (namespace.clone(), name)).collect();
    ground.fill(&deployments, PODS_EACH)?;
    ground.until_running(&namespace, DEPLOYMENTS * PODS_EACH)?;
    let watch = ground.watcher.watch(&namespace, &APPLICATION, "app.kubernetes.io/instance=demo")?;

    let token = ground.plane.token("other")?;
    let quiet = during(&ground, token, || {
        thread::sleep(Duration::from_secs(10));
        Ok(())
    })?;
    let mut ours = Figures::of("kubectl purge --yes");
    let purge = ["app", "demo", "-n", &namespace, "--yes", "--max", "20000", "--timeout", "20m"];
    let busy = during(&ground, token, || {
        ours.purge(&ground, ground.command("purge", "purge", &ground.link, &purge)?, &ground.link, &watch)
    })?;
    let memory = median(&ours.memory) * 1024.0 / 1e6;
    let goals = vec![
        Goal::new("peak memory", 60.0, memory, " MB"),
        Goal::new("deletes in flight", 32.0, in_flight(&ground)?, ""),
        Goal::new("another user's p99, times that without", 2.0, percentile(&busy, 99) / percentile(&quiet, 99), ""),
    ];
    let notes = vec![
        format!("{} objects were watched until they were gone", watch.count),
        format!(
            "another user's answers: p50 {:.1} ms and p99 {:.1} ms without, p50 {:.1} ms and p99 {:.1} ms with the purge",
            percentile(&quiet, 50) * 1e3,
            percentile(&quiet, 99) * 1e3,
            percentile(&busy, 50) * 1e3,
            percentile(&busy, 99) * 1e3
        ),
    ];
    let title = "Scale: 10,000 pods in 50 Deployments, 1,000 other namespaces".to_owned();
    let mut rows = vec![ours];
    count_requests(&ground, &mut rows)?;
    Ok(vec![Work { title, rows, goals, notes }])
}

/// Seconds of each answer that another user got meanwhile.
fn during(ground: &Ground, token: &str, act: impl FnOnce() -> Result<()>) -> Result<Vec<f64>> {
    let going = AtomicBool::new(true);
    thread::scope(|scope| {
        let pings = scope.spawn(|| ground.watcher.ping(token, ground.plane.server(), &going));
        let acted = act();
        going.store(false, Ordering::Relaxed);
        let answers = pings.join().ok().context("the other user stopped asking")??;
        acted.map(|()| answers)
    })
}

fn percentile(values: &[f64], percent: usize) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get((sorted.len() * percent / 100).min(sorted.len().saturating_sub(1))).copied().unwrap_or(f64::NAN)
}

/// The most deletes that the server had in hand at once, by the times in its audit log.
fn in_flight(ground: &Ground) -> Result<f64> {
    let mut edges = Vec::new();
    for event in ground.plane.audit_events()? {
        if event.user() == "purge" && event.verb() == "delete" && event.stage() == "ResponseComplete" {
            for (pointer, change) in [("/requestReceivedTimestamp", 1), ("/stageTimestamp", -1)] {
                let at = event.json().pointer(pointer).and_then(|at| at.as_str()).unwrap_or_default();
                edges.push((at.to_owned(), change));
            }
        }
    }
    // Of two at one moment, the one that ends comes first.
    edges.sort();
    let (_, most) =
        edges.into_iter().fold((0, 0), |(now, most): (i32, i32), (_, change)| (now + change, most.max(now + change)));
    Ok(f64::from(most))
}
