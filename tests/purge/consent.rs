//! Between the plan and the answer the cluster goes on: what is deleted is what was shown, and nothing else.

use std::process::Command;

use crate::{
    harness::World,
    screen::{QUESTION, Screen},
};

const MAP: &str = "{apiVersion: v1, kind: ConfigMap, metadata: {name: settings, labels: {app: demo}}, data: {a: b}}";

#[test]
fn an_object_made_anew_under_its_name_before_the_answer_survives() {
    let world = World::new("anew-before-yes");
    world.apply(MAP);
    world.apply("{apiVersion: v1, kind: ConfigMap, metadata: {name: other, labels: {app: demo}}}");
    let mut screen = Screen::run(&world, 120, &["app", "demo"]);
    screen.until(QUESTION);
    world.kubectl(&["delete", "configmap", "settings"]);
    world.apply(MAP);
    let uid = world.get("configmap/settings")["metadata"]["uid"].clone();
    screen.types("y\r");
    assert_eq!(screen.ends(), 4, "{}", screen.text());
    let text = screen.text();
    assert!(text.contains("there is another object of this name now; it was left alone"), "{text}");
    assert!(text.contains("Came back:"), "{text}");
    assert_eq!(world.get("configmap/settings")["metadata"]["uid"], uid);
    assert_eq!(world.names("configmaps"), ["configmap/kube-root-ca.crt", "configmap/settings"]);
}

/// kubernetes/kubernetes#108372: an orphaned ReplicaSet is adopted by a Deployment with the same selector.
#[test]
fn an_orphan_that_another_adopts_before_the_answer_is_left_to_it() {
    let world = World::new("adopted");
    let set = "
apiVersion: apps/v1
kind: ReplicaSet
metadata: { name: lost, labels: { app: demo, tier: front } }
spec:
  replicas: 1
  selector: { matchLabels: { tier: front } }
  template: { metadata: { labels: { tier: front } }, spec: { terminationGracePeriodSeconds: 1, containers: [ { name: main, image: demo } ] } }
";
    world.apply(set);
    world.until_running("tier=front", 1);
    let mut screen = Screen::run(&world, 120, &["app", "demo"]);
    screen.until(QUESTION);
    // Its pod template is the ReplicaSet's, so it is taken for a revision of this Deployment.
    world.apply(
        "
apiVersion: apps/v1
kind: Deployment
metadata: { name: canary, labels: { app: canary } }
spec:
  replicas: 1
  selector: { matchLabels: { tier: front } }
  template: { metadata: { labels: { tier: front } }, spec: { terminationGracePeriodSeconds: 1, containers: [ { name: main, image: demo } ] } }
",
    );
    world.until("the adoption", || {
        let owners = &world.get("replicaset/lost")["metadata"]["ownerReferences"];
        (owners[0]["name"] == "canary").then_some(())
    });
    screen.types("y\r");
    assert_eq!(screen.ends(), 4, "{}", screen.text());
    let text = screen.text();
    assert!(text.contains("Deployment/canary has adopted it since the plan"), "{text}");
    assert!(world.names("deployments,replicasets").contains(&"replicaset.apps/lost".to_owned()));
}

#[test]
fn data_and_finalizers_ask_for_the_name_to_be_typed() {
    let world = World::new("typed");
    world.apply("{apiVersion: v1, kind: ConfigMap, metadata: {name: held, labels: {app: demo}, finalizers: [demo.example/hold]}}");
    for (flag, words) in [("--remove-finalizers", "take finalizers away"), ("--delete-data", "and its data?")] {
        if flag == "--delete-data" {
            world.apply(
                "
apiVersion: v1
kind: PersistentVolumeClaim
metadata: { name: data, labels: { app: demo } }
spec: { accessModes: [ReadWriteOnce], storageClassName: none, resources: { requests: { storage: 1Gi } } }
",
            );
        }
        let mut screen = Screen::run(&world, 120, &["app", "demo", flag]);
        let text = screen.until("Type the application's name to go on:");
        assert!(text.contains(words), "{text}");
        screen.types("y\r");
        assert_eq!(screen.ends(), 3, "{}", screen.text());
    }
    let mut screen = Screen::run(&world, 120, &["app", "demo", "--remove-finalizers", "--timeout", "20s"]);
    screen.until("Type the application's name to go on:");
    screen.types("demo\r");
    assert_eq!(screen.ends(), 0, "{}", screen.text());
    assert_eq!(world.names("configmaps"), ["configmap/kube-root-ca.crt"]);
}

#[test]
fn a_signal_at_the_question_changes_nothing_and_leaves_the_terminal_as_it_was() {
    let world = World::new("signalled");
    world.apply(MAP);
    for signal in ["TERM", "INT"] {
        let mut screen = Screen::run(&world, 120, &["app", "demo"]);
        screen.until(QUESTION);
        let id = screen.process_id().to_string();
        assert!(Command::new("kill").args([&format!("-{signal}"), &id]).status().unwrap().success());
        assert_eq!(screen.ends(), 130, "{}", screen.text());
        assert!(screen.text().contains("Nothing was changed."), "{}", screen.text());
        assert!(screen.echoes(), "the terminal is raw still");
    }
    assert_eq!(world.names("configmaps").len(), 2);
}

#[test]
fn only_the_plan_that_was_agreed_to_is_carried_out() {
    let world = World::new("digest");
    world.apply(MAP);
    let plan = world.purge(&["app", "demo", "--dry-run", "-o", "json"]).exits(0).json();
    let digest = plan["digest"].as_str().unwrap();
    world.purge(&["app", "demo", "--dry-run", "-o", "wide"]).exits(0).says(&format!("\ndigest {digest}\n"));
    world.apply("{apiVersion: v1, kind: ConfigMap, metadata: {name: late, labels: {app: demo}}}");
    let run = world.purge(&["app", "demo", "--yes", "--expect-digest", digest]).exits(3);
    run.says("ACTION").complains("error: this is not the plan that was agreed to: its digest is sha256:");
    assert_eq!(world.names("configmaps").len(), 3);
    world.kubectl(&["delete", "configmap", "late"]);
    world.purge(&["app", "demo", "--yes", "--expect-digest", digest]).exits(0).says("Purged");
    world.purge(&["app", "demo", "--yes", "--expect-digest", digest]).exits(0).says("Nothing of application");
    world.purge(&["app", "demo", "--yes", "--expect-digest", "sha256:12"]).exits(2).complains("is no digest of a plan");
}

/// kubernetes/kubernetes#42627: a CronJob that fires during the purge.
#[test]
fn a_job_that_a_cron_job_makes_before_the_answer_goes_with_it() {
    let world = World::new("fires");
    world.apply(
        "
apiVersion: batch/v1
kind: CronJob
metadata: { name: nightly, labels: { app: demo } }
spec:
  schedule: '0 3 1 1 *'
  jobTemplate: { spec: { template: { spec: { restartPolicy: Never, containers: [ { name: main, image: demo } ] } } } }
",
    );
    let mut screen = Screen::run(&world, 120, &["app", "demo"]);
    screen.until(QUESTION);
    world.kubectl(&["create", "job", "late", "--from=cronjob/nightly"]);
    world.until("its pod", || (world.names("pods").len() == 1).then_some(()));
    screen.types("y\r");
    assert_eq!(screen.ends(), 0, "{}", screen.text());
    assert_eq!(world.names("cronjobs,jobs,pods"), [""; 0]);
}

#[test]
fn a_claim_that_a_late_pod_mounts_waits_and_names_that_pod() {
    let world = World::new("mounted");
    world.apply(
        "
apiVersion: v1
kind: PersistentVolumeClaim
metadata: { name: data, labels: { app: demo } }
spec: { accessModes: [ReadWriteOnce], storageClassName: none, resources: { requests: { storage: 1Gi } } }
",
    );
    let mut screen = Screen::run(&world, 120, &["app", "demo", "--delete-data", "--timeout", "4s"]);
    screen.until("Type the application's name to go on:");
    world.apply(
        "
apiVersion: v1
kind: Pod
metadata: { name: late, labels: { app: other } }
spec:
  nodeName: node-0
  containers: [ { name: main, image: demo } ]
  volumes: [ { name: data, persistentVolumeClaim: { claimName: data } } ]
",
    );
    screen.types("demo\r");
    assert_eq!(screen.ends(), 4, "{}", screen.text());
    let text = screen.text();
    assert!(text.contains("finalizer kubernetes.io/pvc-protection: Pod/late mounts it"), "{text}");
    world.kubectl(&["delete", "pod", "late", "--grace-period=0", "--force"]);
}
