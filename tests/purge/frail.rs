//! On a control plane of its own that lacks what a purge might lean on (no garbage collector, no quota controller) and
//! whose API server goes away in the middle. What the server was asked is read from its audit log.

use std::{
    sync::{Mutex, MutexGuard, OnceLock, PoisonError},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use control_plane::{Component, ControlPlane};

use crate::{harness::World, running::Running};

/// The control plane, for one test at a time: they stop its parts.
fn frail() -> (&'static ControlPlane, MutexGuard<'static, ()>) {
    static PLANE: OnceLock<ControlPlane> = OnceLock::new();
    static TURN: Mutex<()> = Mutex::new(());
    let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let plane = PLANE.get_or_init(|| {
        let lacking = "--controllers=*,-garbage-collector-controller,-resourcequota-controller";
        let one = "--concurrent-replicaset-syncs=1";
        ControlPlane::builder()
            .nodes(1)
            .node_size("1000", "4Ti", 1000)
            .flag(Component::ControllerManager, lacking)
            .flag(Component::ControllerManager, one)
            .audit_log()
            .start()
            .unwrap()
    });
    (plane, turn)
}

fn config_maps(world: &World, count: usize) {
    let items: Vec<String> = (0..count)
        .map(|number| {
            format!(r#"{{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"name":"map-{number}","labels":{{"app":"demo"}}}}}}"#)
        })
        .collect();
    let list = format!(r#"{{"apiVersion":"v1","kind":"List","items":[{}]}}"#, items.join(","));
    world.plane.kubectl_with_input(&["create", "-n", &world.namespace, "-f", "-"], &list).ok().unwrap();
}

fn hold(world: &World, object: &str) {
    world.kubectl(&["patch", object, "--type=merge", "-p", r#"{"metadata":{"finalizers":["demo.example/hold"]}}"#]);
}

fn release(world: &World, object: &str) {
    world.kubectl(&["patch", object, "--type=merge", "-p", r#"{"metadata":{"finalizers":null}}"#]);
}

#[test]
fn without_a_garbage_collector_everything_goes_all_the_same() {
    let (plane, _turn) = frail();
    let world = World::on(plane, "no-collector");
    world.deployment("web", "demo", 2);
    world.until_running("app=demo", 2);
    // A child that no workload controller looks after.
    let uid = world.get("deployment/web")["metadata"]["uid"].as_str().unwrap().to_owned();
    world.apply(&format!(
        "
apiVersion: v1
kind: ConfigMap
metadata:
  name: child
  ownerReferences: [ {{ apiVersion: apps/v1, kind: deployments, name: web, uid: {uid} }} ]
"
    ));
    world.purge(&["app", "demo", "--yes"]).exits(0).says("5 objects gone");
    assert_eq!(world.names("deployments,replicasets,pods,configmaps"), ["configmap/kube-root-ca.crt"]);
    // Every delete named the uid it meant, and none went to a collection.
    let events = plane.audit_events().unwrap();
    let ours: Vec<_> = events
        .iter()
        .filter(|event| event.namespace() == world.namespace && event.user() == control_plane::ADMIN)
        .collect();
    assert!(ours.iter().all(|event| event.verb() != "deletecollection"));
    let deletes: Vec<_> = ours.iter().filter(|event| event.verb() == "delete").collect();
    assert!(deletes.iter().any(|event| event.is_dry_run()) && deletes.iter().any(|event| !event.is_dry_run()));
    assert!(deletes.iter().all(|event| event.uid_precondition().is_some()));
}

#[test]
fn a_controller_busy_with_one_replica_set_does_not_hold_up_the_others() {
    let (plane, _turn) = frail();
    let world = World::on(plane, "busy-controller");
    let webs = ["one", "two"];
    for web in webs {
        world.deployment(web, "demo", 90);
    }
    world.until_running("app=demo", 180);
    world.purge(&["app", "demo", "--yes"]).exits(0).says("184 objects gone");
    let events = plane.audit_events().unwrap();
    // Whose delete was the first among the pods of each.
    let first = |web: &str| {
        let its = events.iter().filter(|event| event.namespace() == world.namespace && event.resource() == "pods");
        its.filter(|event| event.verb() == "delete" && !event.is_dry_run() && event.stage() == "ResponseComplete")
            .filter(|event| event.name().starts_with(&format!("{web}-")))
            .min_by_key(|event| event.json()["requestReceivedTimestamp"].as_str().unwrap_or_default().to_owned())
            .map(|event| event.user().to_owned())
    };
    let firsts = webs.map(|web| first(web).unwrap());
    let by_controller = firsts.iter().filter(|user| user.ends_with(":replicaset-controller")).count();
    // It begins with one of them, which shows that it is at work; the other is not left waiting until it is done.
    assert_eq!((by_controller, firsts.contains(&control_plane::ADMIN.to_owned())), (1, true), "{firsts:?}");
}

#[test]
fn pods_gone_and_quota_unmoved_is_said_as_just_that() {
    let (plane, _turn) = frail();
    let world = World::on(plane, "no-quota");
    world.apply("{apiVersion: v1, kind: ResourceQuota, metadata: {name: quota}, spec: {hard: {requests.cpu: '9'}}}");
    let status = r#"{"status":{"hard":{"requests.cpu":"9"},"used":{"requests.cpu":"0"}}}"#;
    world.kubectl(&["patch", "resourcequota", "quota", "--subresource=status", "--type=merge", "-p", status]);
    world.deployment("web", "demo", 2);
    world.until_running("app=demo", 2);
    assert_eq!(world.used("requests.cpu"), "2");
    let run = world.purge(&["app", "demo", "--yes", "--timeout", "8s"]).exits(4);
    run.says("4 of 4 objects gone, quota not released")
        .says("pods are gone but quota \"quota\" still counts requests.cpu 2 after");
    assert_eq!(world.names("deployments,replicasets,pods"), [""; 0]);
}

#[test]
fn the_api_server_may_go_away_during_the_drain_the_deletes_and_the_wait() {
    let (plane, _turn) = frail();
    let world = World::on(plane, "restarted");
    world.deployment("web", "demo", 1);
    config_maps(&world, 120);
    // The last wave waits for this.
    world.apply("{apiVersion: v1, kind: ServiceAccount, metadata: {name: robot, labels: {app: demo}}}");
    world.until_running("app=demo", 1);
    let pod = world.names("pods")[0].clone();
    hold(&world, &pod);
    hold(&world, "serviceaccount/robot");

    let mut run = Running::start(&world, &["app", "demo", "--yes", "--timeout", "2m"]);
    run.until_it_says("scaled Deployment/web from 1 to 0");
    plane.kill(Component::ApiServer).unwrap();
    std::thread::sleep(Duration::from_secs(2));
    plane.start_component(Component::ApiServer).unwrap();
    release(&world, &pod);
    run.until_it_says("deleting ConfigMap/");
    plane.kill(Component::ApiServer).unwrap();
    plane.start_component(Component::ApiServer).unwrap();
    run.until_it_says("deleting ServiceAccount/robot");
    plane.restart(Component::ApiServer).unwrap();
    release(&world, "serviceaccount/robot");
    // Controllers that have not heard of all that yet are waited for.
    let run = run.ends().exits(0).says("124 objects gone");
    assert!(run.stderr.contains("trouble: the server was out of reach: controllers act on what they saw"), "{run:?}");
    let looked = run.stderr.lines().find_map(|line| line.strip_prefix("looked again in ")).unwrap();
    assert!(looked.trim_end_matches('s').parse::<f64>().unwrap() > 3.0, "{run:?}");
    assert_eq!(world.names("deployments,replicasets,pods,configmaps"), ["configmap/kube-root-ca.crt"]);
}

#[test]
fn after_a_signal_no_delete_begins_and_the_next_run_goes_on() {
    let (plane, _turn) = frail();
    let world = World::on(plane, "stopped");
    config_maps(&world, 600);
    let mut run = Running::start(&world, &["app", "demo", "--yes"]);
    run.until_it_says("deleting ConfigMap/");
    run.signal("INT");
    let signalled = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    let run = run.ends().exits(130);
    let after = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().saturating_sub(signalled);
    assert!(after < Duration::from_secs(1), "{after:?}");
    run.complains("stopping: nothing new is begun")
        .says("Interrupted:")
        .says("Left:\n  ConfigMap/")
        .says(" more\nTo go on:")
        .says(&format!("kubectl purge app demo -n {}", world.namespace));
    let limit = signalled + Duration::from_millis(200);
    let events = plane.audit_events().unwrap();
    let late: Vec<_> = events
        .iter()
        .filter(|event| event.namespace() == world.namespace && event.verb() == "delete" && !event.is_dry_run())
        .filter(|event| event.user() == control_plane::ADMIN)
        .filter(|event| seconds(event.json()["requestReceivedTimestamp"].as_str().unwrap()) > limit.as_secs_f64())
        .collect();
    assert_eq!(late, [] as [&control_plane::AuditEvent; 0]);
    assert!(world.names("configmaps").len() > 1, "all were gone before the signal: nothing was tested");
    world.purge(&["app", "demo", "--yes"]).exits(0);
    assert_eq!(world.names("configmaps"), ["configmap/kube-root-ca.crt"]);
}

/// Seconds since 1970 of a time of today, as the audit log writes it.
fn seconds(time: &str) -> f64 {
    let today = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs() / 86_400 * 86_400;
    let clock = &time[11..time.len() - 1];
    let parts: Vec<f64> = clock.split(':').map(|part| part.parse().unwrap()).collect();
    #[expect(clippy::cast_precision_loss, reason = "seconds of this century fit")]
    let today = today as f64;
    today + parts[0] * 3600.0 + parts[1] * 60.0 + parts[2]
}

#[test]
fn a_second_signal_leaves_at_once() {
    let (plane, _turn) = frail();
    let world = World::on(plane, "twice-stopped");
    world.deployment("web", "demo", 1);
    world.until_running("app=demo", 1);
    let pod = world.names("pods")[0].clone();
    hold(&world, &pod);
    let mut run = Running::start(&world, &["app", "demo", "--yes"]);
    run.until_it_says("scaled Deployment/web from 1 to 0");
    // Nothing is answered any more, so nothing can be put back.
    plane.pause(Component::ApiServer).unwrap();
    run.signal("TERM");
    run.until_it_says("stopping: nothing new is begun");
    std::thread::sleep(Duration::from_millis(500));
    run.signal("TERM");
    let signalled = std::time::Instant::now();
    let run = run.ends().exits(130);
    assert!(signalled.elapsed() < Duration::from_millis(500), "{:?}", signalled.elapsed());
    run.complains("left at once");
    plane.resume(Component::ApiServer).unwrap();
    world.until("the server", || plane.kubectl(&["get", "ns", "default"]).success().then_some(()));
    release(&world, &pod);
    world.purge(&["app", "demo", "--yes"]).exits(0);
    assert_eq!(world.names("deployments,replicasets,pods"), [""; 0]);
}

#[test]
fn without_any_controller_the_run_stops_waiting_for_them_and_deletes() {
    let (plane, _turn) = frail();
    let world = World::on(plane, "no-controllers");
    world.deployment("web", "demo", 2);
    world.until_running("app=demo", 2);
    plane.stop(Component::ControllerManager).unwrap();
    let run = world.purge(&["app", "demo", "--yes", "--timeout", "16s"]);
    plane.start_component(Component::ControllerManager).unwrap();
    run.exits(0)
        .complains("trouble: nothing has moved for 4s, so the run goes on without waiting")
        .says("4 objects gone");
    assert_eq!(world.names("deployments,replicasets,pods"), [""; 0]);
}

/// What is deleted before its controller knows that it is to go would be made anew; a pod that somebody else had
/// deleted before is no sign that it knows.
#[test]
fn a_pod_that_was_stuck_before_is_no_sign_that_its_controller_has_begun() {
    let (plane, _turn) = frail();
    let world = World::on(plane, "stuck-before");
    world.deployment("web", "demo", 45);
    world.until_running("app=demo", 45);
    let stuck = world.names("pods")[0].clone();
    hold(&world, &stuck);
    world.kubectl(&["delete", &stuck, "--wait=false"]);
    // Its successor runs beside it.
    world.until_running("app=demo", 46);
    plane.stop(Component::ControllerManager).unwrap();
    let run = world.purge(&["app", "demo", "--yes", "--timeout", "12s"]);
    plane.start_component(Component::ControllerManager).unwrap();
    run.exits(4).complains("so the run goes on without waiting");
    let events = plane.audit_events().unwrap();
    let first = |resource: &str| {
        let its = events.iter().filter(|event| event.namespace() == world.namespace && event.resource() == resource);
        its.filter(|event| event.verb() == "delete" && !event.is_dry_run())
            .filter(|event| event.user_agent().starts_with("kubectl-purge/"))
            .map(|event| event.json()["requestReceivedTimestamp"].as_str().unwrap_or_default().to_owned())
            .min()
            .unwrap()
    };
    assert!(first("deployments") < first("pods"), "pods were deleted while their controller knew of nothing");
    release(&world, &stuck);
    world.purge(&["app", "demo", "--yes"]).exits(0);
}

#[test]
fn a_signal_while_it_looks_ends_it_quietly() {
    let (plane, _turn) = frail();
    let world = World::on(plane, "looking");
    plane.pause(Component::ApiServer).unwrap();
    let run = Running::start(&world, &["app", "demo", "--yes"]);
    std::thread::sleep(Duration::from_millis(500));
    run.signal("INT");
    let run = run.ends();
    plane.resume(Component::ApiServer).unwrap();
    let run = run.exits(130);
    assert_eq!((run.stdout.as_str(), run.stderr.as_str()), ("", ""));
    assert!(run.took < Duration::from_secs(2), "{:?}", run.took);
}
