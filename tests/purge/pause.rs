//! What acts against a run is paused first, and what was paused or scaled down can be put back.

use serde_json::Value;

use crate::{
    harness::{World, template},
    running::Running,
};

/// Pods that stay Terminating until their finalizer is taken away: a drain that lasts as long as the test wants.
fn hold_pods(world: &World, selector: &str) {
    let pods = world.kubectl(&["get", "pods", "-l", selector, "-o", "name"]);
    for pod in pods.lines() {
        world.kubectl(&["patch", pod, "-p", r#"{"metadata":{"finalizers":["demo.example/hold"]}}"#]);
    }
}

fn release_pods(world: &World) {
    for pod in world.names("pods") {
        world.kubectl(&["patch", &pod, "--type=merge", "-p", r#"{"metadata":{"finalizers":null}}"#]);
    }
}

fn notes(plan: &Value, kind: &str) -> Vec<String> {
    let objects = plan["objects"].as_array().unwrap();
    let object = objects.iter().find(|object| object["kind"] == kind).unwrap();
    object["notes"].as_array().unwrap().iter().map(|note| note.as_str().unwrap().to_owned()).collect()
}

const CRON_JOB: &str = "
apiVersion: batch/v1
kind: CronJob
metadata: { name: nightly, labels: { app: demo } }
spec:
  schedule: '* * * * *'
  jobTemplate: { spec: { template: { spec: { restartPolicy: Never, containers: [ { name: main, image: demo } ] } } } }
";

/// minReplicas 0 is allowed only with a metric of that sort.
const WAKER: &str = "
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: { name: web, labels: { app: demo } }
spec:
  minReplicas: 0
  maxReplicas: 5
  scaleTargetRef: { apiVersion: apps/v1, kind: Deployment, name: web }
  metrics: [ { type: External, external: { metric: { name: queue }, target: { type: Value, value: '1' } } } ]
";

fn restored(world: &World) {
    let deployment = world.get("deployment/web");
    assert_eq!(deployment["spec"]["replicas"], 2);
    assert_eq!(deployment["metadata"]["annotations"]["kubectl-purge/restore"], Value::Null);
    let cron = world.get("cronjob/nightly");
    assert_eq!(cron["spec"]["suspend"], false);
    assert_eq!(cron["metadata"]["annotations"]["kubectl-purge/restore"], Value::Null);
    assert_eq!(world.get("hpa/web")["spec"]["minReplicas"], 0);
}

fn application(story: &str) -> World {
    let world = World::new(story);
    world.deployment("web", "demo", 2);
    world.apply(CRON_JOB);
    world.apply(WAKER);
    world.until_running("app=demo", 2);
    world
}

#[test]
fn an_interrupted_drain_puts_everything_back() {
    for signal in ["INT", "TERM"] {
        let world = application("interrupted-drain");
        hold_pods(&world, "app=demo");
        let mut run = Running::start(&world, &["app", "demo", "--yes"]);
        run.until_it_says("scaled Deployment/web from 2 to 0");
        assert_eq!(world.get("cronjob/nightly")["spec"]["suspend"], true);
        assert_eq!(world.names("hpa"), [""; 0]);
        run.signal(signal);
        let run = run.ends().exits(130);
        run.complains("CronJob/nightly suspended")
            .complains("HorizontalPodAutoscaler/web deleted: it could scale up from 0")
            .complains("restored Deployment/web: scaled back to 2, its autoscaler made anew")
            .complains("restored CronJob/nightly: resumed")
            .says("Interrupted:")
            .says("nothing was deleted, and what was paused or scaled down is put back");
        restored(&world);
        release_pods(&world);
        world.until_running("app=demo", 2);
        world.purge(&["app", "demo", "--yes"]).exits(0);
        assert_eq!(world.names("deployments,pods,cronjobs,jobs,hpa"), [""; 0]);
    }
}

#[test]
fn the_successor_of_a_killed_run_says_what_was_changed_and_can_put_it_back_or_go_on() {
    let world = application("killed");
    hold_pods(&world, "app=demo");
    let mut run = Running::start(&world, &["app", "demo", "--yes"]);
    run.until_it_says("scaled Deployment/web from 2 to 0");
    run.signal("KILL");
    run.ends().exits(137);

    let plan = world.purge(&["app", "demo", "--dry-run", "-o", "json"]).exits(0).json();
    assert_eq!(
        notes(&plan, "Deployment"),
        ["an earlier purge scaled it down from 2 and deleted its autoscaler (--restore puts it back)"]
    );
    assert_eq!(notes(&plan, "CronJob"), ["an earlier purge paused it (--restore puts it back)"]);

    // It can be put back without going on.
    world.purge(&["app", "demo", "--restore"]).exits(0).says("Restored").says("2 objects put back, nothing deleted.");
    restored(&world);
    world.purge(&["app", "demo", "--restore"]).exits(0).says("Nothing to put back");
    release_pods(&world);
    world.until_running("app=demo", 2);
    hold_pods(&world, "app=demo");
    let mut run = Running::start(&world, &["app", "demo", "--yes"]);
    run.until_it_says("scaled Deployment/web from 2 to 0");
    run.signal("KILL");
    run.ends().exits(137);

    // A successor that is interrupted puts back what its predecessor had changed.
    world.apply(
        "
apiVersion: apps/v1
kind: Deployment
metadata: { name: more, labels: { app: demo } }
spec: { replicas: 1, selector: { matchLabels: { part: more } }, template: { metadata: { labels: { part: more } }, spec: { containers: [ { name: main, image: demo } ] } } }
",
    );
    world.until_running("part=more", 1);
    hold_pods(&world, "part=more");
    let mut run = Running::start(&world, &["app", "demo", "--yes"]);
    run.until_it_says("scaled Deployment/more from 1 to 0");
    run.signal("INT");
    run.ends().exits(130);
    restored(&world);
    assert_eq!(world.get("deployment/more")["spec"]["replicas"], 1);

    release_pods(&world);
    world.purge(&["app", "demo", "--yes"]).exits(0);
    assert_eq!(world.names("deployments,replicasets,pods,cronjobs,jobs,hpa"), [""; 0]);
}

#[test]
fn claims_that_a_policy_would_destroy_with_the_scaling_are_kept() {
    let world = World::new("retention");
    let db = template("demo").replace("app: demo", "app: demo, part: db");
    for (name, scaled, deleted) in
        [("db", "Delete", "Retain"), ("log", "Delete", "Delete"), ("tmp", "Retain", "Delete")]
    {
        world.apply(&format!(
            "
apiVersion: apps/v1
kind: StatefulSet
metadata: {{ name: {name}, labels: {{ app: demo }} }}
spec:
  replicas: 2
  serviceName: {name}
  podManagementPolicy: Parallel
  persistentVolumeClaimRetentionPolicy: {{ whenScaled: {scaled}, whenDeleted: {deleted} }}
  selector: {{ matchLabels: {{ app: demo, part: {name} }} }}
  template: {}
  volumeClaimTemplates:
  - metadata: {{ name: data }}
    spec: {{ accessModes: [ReadWriteOnce], storageClassName: none, resources: {{ requests: {{ storage: 1Gi }} }} }}
",
            db.replace("part: db", &format!("part: {name}"))
        ));
    }
    bind_claims(&world, 6);
    world.until_running("app=demo", 6);
    let claims = || -> Vec<(String, String)> {
        let list = world.get("persistentvolumeclaims");
        let mut claims: Vec<(String, String)> = list["items"]
            .as_array()
            .unwrap()
            .iter()
            .map(|claim| {
                let text = |key: &str| claim["metadata"][key].as_str().unwrap().to_owned();
                assert_eq!(claim["metadata"]["deletionTimestamp"], Value::Null);
                (text("name"), text("uid"))
            })
            .collect();
        claims.sort();
        claims
    };
    let before = claims();
    assert_eq!(before.len(), 6);

    let plan = world.purge(&["app", "demo", "--dry-run", "-o", "json"]).exits(0).json();
    let note = &notes(&plan, "StatefulSet")[0];
    assert_eq!(note, "its policy is set to retain its claims first (whenScaled: Delete would destroy them)");
    let run = world.purge(&["app", "demo", "--yes"]).exits(0);
    run.complains("StatefulSet/db told to retain its claims").says("Purged");
    assert_eq!(world.names("statefulsets,pods"), [""; 0]);
    // The garbage collector has had its time.
    std::thread::sleep(std::time::Duration::from_secs(3));
    assert_eq!(claims(), before);
}

/// Volumes by hand, each bound to a claim: nothing provides any here.
fn bind_claims(world: &World, count: usize) {
    let claims = world.until("the claims", || {
        let names = world.names("persistentvolumeclaims");
        (names.len() == count).then_some(names)
    });
    for claim in claims {
        let name = claim.split('/').nth(1).unwrap();
        let namespace = &world.namespace;
        world.apply(&format!(
            "
apiVersion: v1
kind: PersistentVolume
metadata: {{ name: {namespace}-{name} }}
spec:
  capacity: {{ storage: 1Gi }}
  accessModes: [ReadWriteOnce]
  storageClassName: none
  hostPath: {{ path: /tmp/none }}
  claimRef: {{ apiVersion: v1, kind: PersistentVolumeClaim, name: {name}, namespace: {namespace} }}
"
        ));
    }
}

/// A run that was killed between the note and the change.
#[test]
fn a_note_of_what_was_never_done_is_taken_away() {
    let world = World::new("noted-only");
    world.deployment("web", "demo", 2);
    world.until_running("app=demo", 2);
    let note = r#"{"metadata":{"annotations":{"kubectl-purge/restore":"{\"replicas\":3}"}}}"#;
    world.kubectl(&["patch", "deployment", "web", "-p", note]);
    world.purge(&["app", "demo", "--yes", "--restore"]).exits(0).never_says("scaled back");
    let deployment = world.get("deployment/web");
    assert_eq!(deployment["metadata"]["annotations"]["kubectl-purge/restore"], Value::Null);
    assert_eq!(deployment["spec"]["replicas"], 2);
}
