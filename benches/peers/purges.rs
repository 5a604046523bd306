//! Work that deletes: done when the witness has seen the last planned object go.

use std::{fs, path::Path};

use anyhow::Result;
use serde_json::json;

use crate::{
    contest::{count_requests, floor, requests_of},
    figures::{Figures, Goal, Work, median},
    ground::{Ground, helm, manifests},
    watcher::{APPLICATION, CONFIG_MAPS, PODS, SECRETS, Watch},
};

const OURS: &str = "kubectl purge --yes";
const BY_LABEL: &str = "kubectl delete -l";
const FOREGROUND: &str = "kubectl delete --cascade=foreground";
const HELM: &str = "helm uninstall --cascade foreground --wait";
const CONTROLLER: &str = "floor: the ReplicaSet controller";
const COLLECTION: &str = "floor: deletecollection";

/// A namespace with the application in it, being watched.
fn planted(ground: &Ground, pods: usize) -> Result<(String, Watch)> {
    let namespace = ground.namespace()?;
    ground.application(&namespace, pods)?;
    let watch = ground.watcher.watch(&namespace, &APPLICATION, "app=demo")?;
    Ok((namespace, watch))
}

fn ours(ground: &Ground, figures: &mut Figures, pods: usize) -> Result<()> {
    let (namespace, watch) = planted(ground, pods)?;
    let purge = ["app", "demo", "-n", &namespace, "--yes"];
    figures.purge(ground, ground.command("purge", "purge", &ground.link, &purge)?, &ground.link, &watch)?;
    ground.drop(&namespace);
    Ok(())
}

/// Everything that carries the label, pods and ReplicaSets too, as nobody else would find them.
fn by_label(ground: &Ground, figures: &mut Figures, pods: usize) -> Result<()> {
    let (namespace, watch) = planted(ground, pods)?;
    let kinds = "deployments,replicasets,pods,services,configmaps";
    let delete = ["delete", kinds, "-l", "app=demo", "-n", &namespace];
    figures.purge(ground, ground.command("kubectl", "kubectl", &ground.link, &delete)?, &ground.link, &watch)?;
    ground.drop(&namespace);
    Ok(())
}

fn foreground(ground: &Ground, figures: &mut Figures, pods: usize) -> Result<()> {
    let (namespace, watch) = planted(ground, pods)?;
    let objects = ["deployment/demo", "service/demo", "configmap/demo"];
    let delete = [&["delete"], &objects[..], &["-n", &namespace, "--cascade=foreground"]].concat();
    figures.purge(ground, ground.command("kubectl", "kubectl", &ground.link, &delete)?, &ground.link, &watch)?;
    ground.drop(&namespace);
    Ok(())
}

fn helm_uninstall(ground: &Ground, figures: &mut Figures, pods: usize) -> Result<()> {
    let program = helm()?;
    let namespace = ground.namespace()?;
    let chart = ground.folder.join("chart");
    write_chart(&chart, pods)?;
    let program = program.to_string_lossy();
    let chart = chart.to_string_lossy();
    let install = ["install", "demo", &chart, "-n", &namespace];
    let mut quiet = Figures::of("helm install");
    quiet.look(ground, ground.command("helm", &program, &ground.link, &install)?, &ground.link)?;
    ground.until_running(&namespace, pods)?;
    let watch = ground.watcher.watch(&namespace, &APPLICATION, "app=demo")?;
    let uninstall = ["uninstall", "demo", "-n", &namespace, "--cascade", "foreground", "--wait"];
    figures.purge(ground, ground.command("helm", &program, &ground.link, &uninstall)?, &ground.link, &watch)?;
    ground.drop(&namespace);
    Ok(())
}

fn write_chart(folder: &Path, pods: usize) -> Result<()> {
    fs::create_dir_all(folder.join("templates"))?;
    fs::write(folder.join("Chart.yaml"), "apiVersion: v2\nname: demo\nversion: 1.0.0\n")?;
    fs::write(folder.join("templates/all.yaml"), manifests("demo", pods))?;
    Ok(())
}

/// The pods only: from the moment that their ReplicaSet is told to have none.
fn controller(ground: &Ground, figures: &mut Figures, pods: usize) -> Result<()> {
    let namespace = ground.namespace()?;
    ground.application(&namespace, pods)?;
    let watch = ground.watcher.watch(&namespace, &[PODS], "app=demo")?;
    floor(figures, &watch, || {
        ground.plane.kubectl(&["scale", "deployment/demo", "-n", &namespace, "--replicas=0"]).ok()?;
        Ok(())
    })?;
    ground.drop(&namespace);
    Ok(())
}

/// The pods only, in one request, once their ReplicaSet is told to have none.
fn collection(ground: &Ground, figures: &mut Figures, pods: usize) -> Result<()> {
    let namespace = ground.namespace()?;
    ground.application(&namespace, pods)?;
    let watch = ground.watcher.watch(&namespace, &[PODS], "app=demo")?;
    floor(figures, &watch, || {
        ground.plane.kubectl(&["scale", "deployment/demo", "-n", &namespace, "--replicas=0"]).ok()?;
        ground.watcher.delete_collection(&namespace, PODS, "app=demo")
    })?;
    ground.drop(&namespace);
    Ok(())
}

pub fn workload(repeats: usize) -> Result<Vec<Work>> {
    let ground = Ground::new(3)?;
    let mut rows = [OURS, BY_LABEL, FOREGROUND, HELM, CONTROLLER, COLLECTION].map(Figures::of);
    for turn in 0..repeats {
        eprintln!("200 pods, run {} of {repeats}", turn + 1);
        ours(&ground, &mut rows[0], 200)?;
        by_label(&ground, &mut rows[1], 200)?;
        foreground(&ground, &mut rows[2], 200)?;
        helm_uninstall(&ground, &mut rows[3], 200)?;
        controller(&ground, &mut rows[4], 200)?;
        collection(&ground, &mut rows[5], 200)?;
    }
    count_requests(&ground, &mut rows)?;
    let mut small = Work { title: "B2 workload: 200 pods".to_owned(), rows: rows.to_vec(), ..Work::default() };
    small.against(OURS, BY_LABEL, 1.0 / 25.0);
    small.against(OURS, FOREGROUND, 1.0 / 9.0);
    for peer in [BY_LABEL, FOREGROUND, HELM] {
        small.note_mixed(OURS, peer);
    }
    let mut rows = [OURS, CONTROLLER, COLLECTION].map(Figures::of);
    for turn in 0..repeats {
        eprintln!("1,000 pods, run {} of {repeats}", turn + 1);
        ours(&ground, &mut rows[0], 1000)?;
        controller(&ground, &mut rows[1], 1000)?;
        collection(&ground, &mut rows[2], 1000)?;
    }
    count_requests(&ground, &mut rows)?;
    let mut large = Work { title: "B2 workload: 1,000 pods".to_owned(), rows: rows.to_vec(), ..Work::default() };
    large.goals = vec![Goal::new("of the ReplicaSet controller", 1.0 / 7.0, large.ratio(OURS, CONTROLLER), "")];
    Ok(vec![small, large])
}

/// 500 ConfigMaps and 500 Secrets with one label.
fn many(ground: &Ground) -> Result<(String, Watch)> {
    let namespace = ground.namespace()?;
    for kind in [CONFIG_MAPS, SECRETS] {
        let objects = (0..500).map(|number| {
            let metadata = json!({ "name": format!("demo-{number}"), "labels": { "app": "demo" } });
            json!({ "apiVersion": "v1", "kind": kind.2, "metadata": metadata })
        });
        ground.watcher.create(&namespace, kind, objects)?;
    }
    let watch = ground.watcher.watch(&namespace, &[CONFIG_MAPS, SECRETS], "app=demo")?;
    Ok((namespace, watch))
}

pub fn objects(repeats: usize) -> Result<Vec<Work>> {
    let ground = Ground::new(1)?;
    let mut rows = [OURS, BY_LABEL, COLLECTION].map(Figures::of);
    for turn in 0..repeats {
        eprintln!("1,000 objects, run {} of {repeats}", turn + 1);
        let (namespace, watch) = many(&ground)?;
        let purge = ["app", "demo", "-n", &namespace, "--yes", "--max", "2000"];
        rows[0].purge(&ground, ground.command("purge", "purge", &ground.link, &purge)?, &ground.link, &watch)?;
        let (namespace, watch) = many(&ground)?;
        floor(&mut rows[2], &watch, || {
            ground.watcher.delete_collection(&namespace, CONFIG_MAPS, "app=demo")?;
            ground.watcher.delete_collection(&namespace, SECRETS, "app=demo")
        })?;
        let (namespace, watch) = many(&ground)?;
        let delete = ["delete", "configmaps,secrets", "-l", "app=demo", "-n", &namespace];
        rows[1].purge(&ground, ground.command("kubectl", "kubectl", &ground.link, &delete)?, &ground.link, &watch)?;
    }
    count_requests(&ground, &mut rows)?;
    let mut work = Work { title: "B3 many objects: 1,000".to_owned(), rows: rows.to_vec(), ..Work::default() };
    work.against(OURS, BY_LABEL, 1.0 / 70.0);
    work.goals.push(Goal::new("of deletecollection", 1.1, work.ratio(OURS, COLLECTION), ""));
    work.note_mixed(OURS, BY_LABEL);
    Ok(vec![work])
}

pub fn requests(repeats: usize) -> Result<Vec<Work>> {
    let mut works = Vec::new();
    for (pods, target) in [(3, 95.0), (200, 290.0)] {
        // A control plane each: the audit log is counted by user.
        let ground = Ground::new(3)?;
        let mut rows = [OURS, BY_LABEL].map(Figures::of);
        for turn in 0..repeats {
            eprintln!("requests at {pods} pods, run {} of {repeats}", turn + 1);
            ours(&ground, &mut rows[0], pods)?;
            by_label(&ground, &mut rows[1], pods)?;
        }
        count_requests(&ground, &mut rows)?;
        let of_bytes = median(&rows[0].bytes) / median(&rows[1].bytes);
        let mut goals = vec![Goal::new("requests", target, rows[0].requests, "")];
        if pods == 200 {
            goals.push(Goal::new("of kubectl's bytes", 0.35, of_bytes, ""));
        }
        let by_kind = requests_of(&ground, "purge")?;
        // Who polls asks for one thing again and again.
        let gets = by_kind.iter().filter(|(what, _)| what.starts_with("get ")).map(|(_, count)| *count);
        let most = gets.max().unwrap_or(0) as f64 / repeats as f64;
        goals.push(Goal::new("GETs of any one kind of thing (no polling)", 1.0, most, ""));
        let mut notes: Vec<String> = by_kind
            .iter()
            .filter(|(what, _)| !what.starts_with("list "))
            .map(|(what, count)| format!("{what}: {:.1} a run", *count as f64 / repeats as f64))
            .collect();
        let lists: usize = by_kind.iter().filter(|(what, _)| what.starts_with("list ")).map(|(_, count)| count).sum();
        notes.push(format!("lists: {:.1} a run", lists as f64 / repeats as f64));
        works.push(Work { title: format!("B5 requests: {pods} pods"), rows: rows.to_vec(), goals, notes });
    }
    Ok(works)
}
