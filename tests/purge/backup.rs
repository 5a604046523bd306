//! A purge with a backup can be undone by `kubectl apply`.

use std::{fs, os::unix::fs::PermissionsExt as _, path::PathBuf};

use crate::harness::World;

/// A folder of the test's own that is not there yet.
fn folder(world: &World) -> PathBuf {
    world.plane.dir().join(format!("backup-{}", world.namespace))
}

#[test]
fn what_was_purged_is_brought_back_by_kubectl_apply() {
    let world = World::new("backup");
    world.deployment("web", "demo", 2);
    world.apply(
        "
apiVersion: v1
kind: Service
metadata: { name: web, labels: { app: demo } }
spec: { selector: { app: demo }, ports: [ { port: 80 } ] }
---
apiVersion: v1
kind: Secret
metadata: { name: token, labels: { app: demo } }
stringData: { password: canary }
---
apiVersion: batch/v1
kind: Job
metadata: { name: once, labels: { app: demo } }
spec: { template: { spec: { restartPolicy: Never, containers: [ { name: main, image: demo } ] } } }
---
apiVersion: v1
kind: Pod
metadata: { name: bare, labels: { app: demo } }
spec: { terminationGracePeriodSeconds: 1, containers: [ { name: main, image: demo, envFrom: [ { secretRef: { name: token } } ] } ] }
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: { name: 'demo:reader', labels: { app: demo } }
rules: [ { apiGroups: [''], resources: [pods], verbs: [get] } ]
",
    );
    world.until_running("app=demo", 3);
    let kinds = "deployments,services,secrets,jobs,roles";
    let before = world.names(kinds);
    let backup = folder(&world);
    let path = backup.to_str().unwrap();

    let run = world.purge(&["app", "demo", "--yes", "--backup", path]).exits(0);

    run.complains(&format!("saved 6 manifests in {path}: `kubectl apply -f {path}` brings them back"));
    assert_eq!(world.names("deployments,services,secrets,jobs,roles,pods"), [""; 0]);
    let mode = |path: &std::path::Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&backup), 0o700);
    for file in fs::read_dir(&backup).unwrap() {
        assert_eq!(mode(&file.unwrap().path()), 0o600);
    }

    world.kubectl(&["apply", "-f", path]);
    world.until_running("app=demo", 3);
    assert_eq!(world.names(kinds), before);
    assert_eq!(world.get("secret/token")["data"]["password"], "Y2FuYXJ5");
    assert_eq!(world.get("deployment/web")["spec"]["replicas"], 2);

    // An earlier backup is not written over, and without a backup nothing is changed.
    let run = world.purge(&["app", "demo", "--yes", "--backup", path]).exits(1);
    run.complains("error: the backup could not be written, and nothing was changed:").complains("is not empty");
    world.until_running("app=demo", 3);
}

#[test]
fn where_no_backup_can_be_written_nothing_is_changed() {
    let world = World::new("no-backup");
    world.deployment("web", "demo", 1);
    world.until_running("app=demo", 1);
    let file = folder(&world);
    fs::write(&file, "").unwrap();
    let below = file.join("below");
    let run = world.purge(&["app", "demo", "--yes", "--backup", below.to_str().unwrap()]).exits(1);
    run.complains("error: the backup could not be written, and nothing was changed:");
    assert_eq!(world.get("deployment/web")["spec"]["replicas"], 1);
}

#[test]
fn a_backup_after_a_killed_run_holds_the_replicas_of_before() {
    let world = World::new("backup-killed");
    world.deployment("web", "demo", 0);
    let note = r#"{"metadata":{"annotations":{"kubectl-purge/restore":"{\"replicas\":2}"}}}"#;
    world.kubectl(&["patch", "deployment", "web", "-p", note]);
    let backup = folder(&world);
    let path = backup.to_str().unwrap();
    world.purge(&["app", "demo", "--yes", "--backup", path]).exits(0);
    world.kubectl(&["apply", "-f", path]);
    world.until_running("app=demo", 2);
    assert_eq!(
        world.get("deployment/web")["metadata"]["annotations"]["kubectl-purge/restore"],
        serde_json::Value::Null
    );
}

/// Names of objects may be nearly as long as those of files, and to the latter more is added.
#[test]
fn objects_with_the_longest_of_names_are_saved_and_come_back() {
    let world = World::new("backup-long");
    let names: Vec<String> =
        ["a", "b"].iter().map(|end| format!("{}{end}", "long-name-".repeat(26).split_at(252).0)).collect();
    for name in &names {
        world.apply(&format!(
            "{{ apiVersion: v1, kind: ConfigMap, metadata: {{ name: {name}, labels: {{ app: demo }} }} }}"
        ));
    }
    let backup = folder(&world);
    let path = backup.to_str().unwrap();
    world.purge(&["app", "demo", "--yes", "--backup", path]).exits(0).complains("saved 2 manifests");
    world.kubectl(&["apply", "-f", path]);
    let back = world.names("configmaps");
    assert!(names.iter().all(|name| back.iter().any(|there| there.ends_with(name.as_str()))), "{back:?}");
}
