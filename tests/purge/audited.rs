//! What the API server itself has written down of a purge: the only witness that can't be talked round.

use std::{collections::BTreeSet, sync::OnceLock};

use control_plane::{AuditEvent, ControlPlane};

use crate::harness::World;

fn plane() -> &'static ControlPlane {
    static PLANE: OnceLock<ControlPlane> = OnceLock::new();
    PLANE.get_or_init(|| ControlPlane::builder().nodes(1).audit_log_with_bodies().start().unwrap())
}

#[test]
fn every_write_is_in_the_plan_and_every_delete_names_the_uid() {
    let world = World::on(plane(), "audited");
    world.deployment("web", "demo", 2);
    world.until_running("app=demo", 2);
    for revision in ["one", "two"] {
        let patch =
            format!(r#"{{"spec":{{"template":{{"metadata":{{"annotations":{{"revision":"{revision}"}}}}}}}}}}"#);
        world.kubectl(&["patch", "deployment", "web", "-p", &patch]);
        world.kubectl(&["rollout", "status", "deployment", "web", "--timeout=60s"]);
    }
    world.deployment("other", "other", 1);
    world.apply(
        "
{ apiVersion: v1, kind: Service, metadata: { name: web }, spec: { selector: { app: demo }, ports: [ { port: 80 } ] } }
---
{ apiVersion: v1, kind: ConfigMap, metadata: { name: conf, labels: { app: demo } } }
---
{ apiVersion: v1, kind: ConfigMap, metadata: { name: bystander } }
---
{ apiVersion: batch/v1, kind: CronJob, metadata: { name: nightly, labels: { app: demo } }, spec: { schedule: '0 3 * * *', jobTemplate: { spec: { template: { spec: { restartPolicy: Never, containers: [ { name: main, image: demo } ] } } } } } }
",
    );
    let report = world.purge(&["app", "demo", "--yes", "-o", "json"]).exits(0).json();
    let objects = report["objects"].as_array().unwrap();
    let uids: BTreeSet<&str> = objects.iter().map(|object| object["uid"].as_str().unwrap()).collect();
    let names: BTreeSet<&str> = objects.iter().map(|object| object["name"].as_str().unwrap()).collect();

    let events = plane().audit_events().unwrap();
    let of_ours =
        |event: &&AuditEvent| event.user_agent().starts_with("kubectl-purge/") && event.stage() == "ResponseComplete";
    let ours: Vec<&AuditEvent> = events.iter().filter(of_ours).collect();
    let writes: Vec<&&AuditEvent> =
        ours.iter().filter(|event| !["get", "list", "watch"].contains(&event.verb())).collect();
    assert!(writes.len() > 10, "{}", writes.len());
    for event in &writes {
        match event.verb() {
            "create" => assert_eq!(event.resource(), "selfsubjectreviews"),
            "patch" => assert!(names.contains(event.name()), "{}", event.json()),
            "delete" => {
                let uid = event.uid_precondition().unwrap_or_default();
                assert!(uids.contains(uid), "{}", event.json());
                assert_eq!(event.request().unwrap()["propagationPolicy"], "Background", "{}", event.json());
            }
            verb => panic!("{verb}: {}", event.json()),
        }
        let is_ours = event.namespace() == world.namespace || event.resource() == "selfsubjectreviews";
        assert!(is_ours, "{}", event.json());
    }
    // Owner before owned: no controller made anything anew once deleting had begun.
    let is_first = |event: &AuditEvent| of_ours(&event) && event.verb() == "delete" && !event.is_dry_run();
    let first = events.iter().position(is_first).unwrap();
    let made = |event: &&AuditEvent| {
        event.verb() == "create"
            && event.namespace() == world.namespace
            && ["replicasets", "pods", "jobs"].contains(&event.resource())
            && event.subresource().is_empty()
    };
    let anew: Vec<String> = events[first..].iter().filter(made).map(|event| event.json().to_string()).collect();
    assert_eq!(anew, [""; 0]);
    assert_eq!(world.names("deployments"), ["deployment.apps/other"]);
}
