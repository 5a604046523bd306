//! Neighbours that look like part of the application, share something with it, or point at it.

use control_plane::{ControlPlane, Rule};
use serde_json::Value;

use crate::harness::{World, planned};

fn map(name: &str, rest: &str) -> String {
    format!("---\n{{ apiVersion: v1, kind: ConfigMap, metadata: {{ name: {name}, {rest} }} }}\n")
}

fn record(release: &str) -> String {
    format!(
        "---\n{{ apiVersion: v1, kind: Secret, type: helm.sh/release.v1, metadata: {{ name: sh.helm.release.v1.{release}.v1, labels: {{ owner: helm, name: {release} }} }} }}\n"
    )
}

fn of_release(world: &World, release: &str) -> String {
    format!(
        "annotations: {{ meta.helm.sh/release-name: {release}, meta.helm.sh/release-namespace: {} }}",
        world.namespace
    )
}

/// A Deployment with labels, a selector and template labels of its own, no pods running.
fn deployment(name: &str, labels: &str, template: &str) -> String {
    format!(
        "---\n{{ apiVersion: apps/v1, kind: Deployment, metadata: {{ name: {name}, {labels} }}, spec: {{ replicas: 0, selector: {{ matchLabels: {{ {template} }} }}, template: {{ metadata: {{ labels: {{ {template} }} }}, spec: {{ containers: [ {{ name: main, image: demo }} ] }} }} }} }}\n"
    )
}

fn service(name: &str, selector: &str) -> String {
    format!(
        "---\n{{ apiVersion: v1, kind: Service, metadata: {{ name: {name} }}, spec: {{ selector: {{ {selector} }}, ports: [ {{ port: 80 }} ] }} }}\n"
    )
}

fn suspected(document: &Value) -> Vec<String> {
    let suspected = document["suspected"].as_array().unwrap().iter();
    suspected
        .map(|object| {
            format!(
                "{}/{}: {}",
                object["kind"].as_str().unwrap(),
                object["name"].as_str().unwrap(),
                object["reasons"][0].as_str().unwrap()
            )
        })
        .collect()
}

#[test]
fn the_record_of_a_release_stays_while_anything_of_the_release_does() {
    let world = World::new("records");
    let of = |release: &str| of_release(&world, release);
    world.apply(
        &[
            map("a", &format!("labels: {{ app: demo }}, {}", of("demo"))),
            map("b", &format!("labels: {{ app: demo }}, {}", of("demo"))),
            record("demo"),
        ]
        .concat(),
    );
    world
        .purge(&["app", "demo", "--yes", "--exclude", "cm/b"])
        .exits(0)
        .says("Helm's record of release demo stays: ConfigMap/b");
    assert_eq!(world.names("secrets"), ["secret/sh.helm.release.v1.demo.v1"]);
    // Another release's object is kept, for it serves others: its record is none of ours.
    world.apply(
        &[
            service("demo", "app: demo"),
            service("other", "app: other"),
            deployment("demo", "labels: { app: demo }", "app: demo"),
            deployment("other", "labels: { app: other }", "app: other"),
            format!(
                "---\n{{ apiVersion: networking.k8s.io/v1, kind: Ingress, metadata: {{ name: edge, {} }}, spec: {{ rules: [ {{ http: {{ paths: [ {{ path: /a, pathType: Prefix, backend: {{ service: {{ name: demo, port: {{ number: 80 }} }} }} }}, {{ path: /b, pathType: Prefix, backend: {{ service: {{ name: other, port: {{ number: 80 }} }} }} }} ] }} }} ] }} }}\n",
                of("edge")
            ),
            record("edge"),
        ]
        .concat(),
    );
    let run = world.purge(&["app", "demo", "--yes"]).exits(0);
    run.says("also routes to Service/other").never_says("release edge");
    assert_eq!(world.names("secrets"), ["secret/sh.helm.release.v1.edge.v1"]);
}

#[test]
fn claims_of_a_statefulset_that_stays_stay_with_it() {
    let world = World::new("kept-claims");
    let claim = |name: &str| {
        format!(
            "---\n{{ apiVersion: v1, kind: PersistentVolumeClaim, metadata: {{ name: {name}, labels: {{ app: demo }} }}, spec: {{ accessModes: [ReadWriteOnce], resources: {{ requests: {{ storage: 1Gi }} }} }} }}\n"
        )
    };
    let set = "{ apiVersion: apps/v1, kind: StatefulSet, metadata: { name: db, labels: { app: demo } }, spec: { replicas: 0, serviceName: db, selector: { matchLabels: { app: demo } }, template: { metadata: { labels: { app: demo } }, spec: { containers: [ { name: main, image: demo } ] } }, volumeClaimTemplates: [ { metadata: { name: data }, spec: { accessModes: [ReadWriteOnce], resources: { requests: { storage: 1Gi } } } } ] } }\n";
    world.apply(&[set.to_owned(), claim("data-db-0"), claim("data-db-7"), claim("loose")].concat());
    let run = world.purge(&["app", "demo", "--delete-data", "--exclude", "sts/db", "--yes"]).exits(0);
    run.says("claim of StatefulSet/db, which is kept");
    assert_eq!(
        world.names("persistentvolumeclaims"),
        ["persistentvolumeclaim/data-db-0", "persistentvolumeclaim/data-db-7"]
    );
}

#[test]
fn a_wide_selector_takes_nobody_elses_pod() {
    let world = World::new("wide");
    world.apply(
        &[
            deployment("a", "labels: { app: a }", "tier: web, app: a").replace("matchLabels: { tier: web, app: a }", "matchLabels: { tier: web }"),
            "---\n{ apiVersion: v1, kind: Pod, metadata: { name: b-debug, labels: { tier: web, app: b } }, spec: { nodeName: nowhere, containers: [ { name: main, image: demo } ] } }\n".to_owned(),
        ]
        .concat(),
    );
    let plan = world.purge(&["app", "a", "--dry-run", "-o", "json"]).exits(0).json();
    assert!(planned(&plan).iter().all(|line| !line.contains("b-debug")), "{:?}", planned(&plan));
    assert_eq!(suspected(&plan), ["Pod/b-debug: orphan, selected by Deployment/a, but is labelled app=b"]);
}

#[test]
fn a_shared_parent_is_seen_below_its_children_and_under_any_label() {
    let world = World::new("deep-parent");
    world.apply(&map("op", "labels: { }"));
    let uid = world.get("configmap/op")["metadata"]["uid"].as_str().unwrap().to_owned();
    let owned =
        format!("ownerReferences: [ {{ apiVersion: v1, kind: ConfigMap, name: op, uid: {uid}, controller: true }} ]");
    world.apply(
        &[
            deployment("d1", &format!("labels: {{ app: demo }}, {owned}"), "app: demo"),
            deployment("d2", &owned, "app: other"),
            map("c1", &format!("labels: {{ corp/app: demo }}, {owned}")),
        ]
        .concat(),
    );
    world
        .purge(&["app", "demo", "--yes"])
        .exits(3)
        .complains("ConfigMap/op controls objects of this application, and Deployment/d2 (app=other)");
    world.purge(&["app", "demo", "--label-key", "corp/app", "--yes"]).exits(3).complains("ConfigMap/op controls");
    assert_eq!(world.names("deployments").len(), 2);
}

#[test]
fn roles_bindings_and_accounts_stay_with_whoever_needs_them() {
    let world = World::new("roles");
    let account = |name: &str, labels: &str| {
        format!("---\n{{ apiVersion: v1, kind: ServiceAccount, metadata: {{ name: {name}, {labels} }} }}\n")
    };
    let binding = |name: &str, role: &str, accounts: &[&str], labels: &str| {
        let subjects: Vec<String> =
            accounts.iter().map(|account| format!("{{ kind: ServiceAccount, name: {account} }}")).collect();
        format!(
            "---\n{{ apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {{ name: {name}, {labels} }}, roleRef: {{ apiGroup: rbac.authorization.k8s.io, kind: Role, name: {role} }}, subjects: [ {} ] }}\n",
            subjects.join(", ")
        )
    };
    let role = |name: &str| {
        format!(
            "---\n{{ apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {{ name: {name}, labels: {{ app: demo }} }}, rules: [] }}\n"
        )
    };
    let ours = "labels: { app: demo }";
    world.apply(
        &[
            account("demo", ours),
            account("other", "labels: { app: other }"),
            role("shared"),
            role("own"),
            binding("demo", "own", &["demo"], ours),
            binding("both", "shared", &["demo", "other"], ours),
            binding("other", "shared", &["other"], "labels: { app: other }"),
            "---\n{ apiVersion: v1, kind: Secret, metadata: { name: share, labels: { app: demo } } }\n".to_owned(),
            "---\n{ apiVersion: v1, kind: Pod, metadata: { name: other, labels: { app: other } }, spec: { nodeName: nowhere, containers: [ { name: main, image: demo } ], volumes: [ { name: f, azureFile: { secretName: share, shareName: x } } ] } }\n".to_owned(),
        ]
        .concat(),
    );
    let run = world.purge(&["app", "demo", "--yes"]).exits(0);
    run.says("also granted by RoleBinding/other")
        .says("also grants to ServiceAccount/other")
        .says("also used by Pod/other");
    assert_eq!(
        world.names("roles,rolebindings,serviceaccounts,secrets"),
        [
            "role.rbac.authorization.k8s.io/shared",
            "rolebinding.rbac.authorization.k8s.io/both",
            "rolebinding.rbac.authorization.k8s.io/other",
            "secret/share",
            "serviceaccount/default",
            "serviceaccount/other"
        ]
    );
}

/// The token controller deletes a token with its account: they stay or go together.
#[test]
fn a_token_that_stays_keeps_its_account() {
    let world = World::new("token");
    let token = |name: &str, annotations: &str| {
        format!(
            "---\n{{ apiVersion: v1, kind: Secret, type: kubernetes.io/service-account-token, metadata: {{ name: {name}, annotations: {{ kubernetes.io/service-account.name: demo{annotations} }} }} }}\n"
        )
    };
    world.apply("{ apiVersion: v1, kind: ServiceAccount, metadata: { name: demo, labels: { app: demo } } }");
    world.apply(&[token("kept", ", kubectl-purge/keep: 'true'"), token("plain", "")].concat());
    let signed =
        || world.get("secret/kept")["metadata"]["annotations"]["kubernetes.io/service-account.uid"].is_string();
    world.until("the token to be signed", || signed().then_some(()));
    let run = world.purge(&["app", "demo", "--yes"]).exits(0);
    run.says("owns Secret/kept, which is kept");
    world.kubectl(&["annotate", "secret", "kept", "kubectl-purge/keep-"]);
    world.purge(&["app", "demo", "--yes"]).exits(0).says("owned by ServiceAccount/demo");
    assert_eq!(world.names("secrets,serviceaccounts"), ["serviceaccount/default"]);
}

#[test]
fn instances_are_told_apart_by_their_owners_and_by_better_labels() {
    let world = World::new("better");
    // The label on the pods alone, the instance on the Deployments alone.
    for instance in ["demo-a", "demo-b"] {
        let labels = format!("labels: {{ app.kubernetes.io/instance: {instance} }}");
        world.apply(
            &deployment(instance, &labels, &format!("app: demo, x: {instance}")).replace("replicas: 0", "replicas: 1"),
        );
    }
    world.until_running("app=demo", 2);
    world.purge(&["app", "demo", "--yes"]).exits(3).complains("\"demo\" means 2 instances: demo-a (");
    world
        .purge(&["app", "demo", "--instance", "demo-a", "--yes"])
        .exits(0)
        .says("application \"demo\", instance \"demo-a\",");
    assert_eq!(world.names("deployments"), ["deployment.apps/demo-b"]);
    // A subchart's instance, and an application of that name.
    world.apply(
        &[
            map("shop-redis", "labels: { app.kubernetes.io/name: redis, app.kubernetes.io/instance: shop }"),
            map("redis", "labels: { app: redis }"),
        ]
        .concat(),
    );
    world.purge(&["app", "redis", "--yes"]).exits(3).complains("redis (1 object), shop (1 object)");
    let plan = world.purge(&["app", "redis", "--instance", "redis", "--dry-run", "-o", "json"]).exits(0).json();
    assert_eq!(planned(&plan), ["delete ConfigMap/redis"]);
    assert_eq!(suspected(&plan), ["ConfigMap/shop-redis: label app.kubernetes.io/name=redis, of instance shop"]);
    // What only names a release that selects it.
    world.apply(
        &[
            map("prometheus", "labels: { app.kubernetes.io/instance: prometheus }"),
            map("monitor", "labels: { app: mine, release: prometheus }"),
        ]
        .concat(),
    );
    world.purge(&["app", "prometheus", "--yes"]).exits(3).complains("mine (1 object), prometheus (1 object)");
}

#[test]
fn routes_and_scalers_that_call_themselves_anothers_are_suspected() {
    let world = World::new("pointing");
    world.apply(
        &[
            deployment("demo", "labels: { app: demo }", "app: demo"),
            service("demo", "app: demo"),
            "---\n{ apiVersion: networking.k8s.io/v1, kind: Ingress, metadata: { name: edge, labels: { app: edge } }, spec: { defaultBackend: { service: { name: demo, port: { number: 80 } } } } }\n".to_owned(),
            "---\n{ apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, metadata: { name: platform, labels: { app: platform } }, spec: { minReplicas: 1, maxReplicas: 2, scaleTargetRef: { apiVersion: apps/v1, kind: Deployment, name: demo } } }\n".to_owned(),
            "---\n{ apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: { name: theirs, labels: { app: platform } }, spec: { maxUnavailable: 1, selector: { matchLabels: { app: demo } } } }\n".to_owned(),
        ]
        .concat(),
    );
    for what in ["demo", "deploy/demo"] {
        let plan = world.purge(&["app", what, "--dry-run", "-o", "json"]).exits(0).json();
        let lines = planned(&plan);
        assert!(
            lines.iter().all(|line| !line.contains("edge") && !line.contains("platform") && !line.contains("theirs")),
            "{lines:?}"
        );
        assert_eq!(
            suspected(&plan),
            [
                "HorizontalPodAutoscaler/platform: targets Deployment/demo, but is labelled app=platform",
                "Ingress/edge: routes to Service/demo, but is labelled app=edge",
                "PodDisruptionBudget/theirs: selects only this application's pods, but is labelled app=platform"
            ]
        );
    }
}

/// What nobody saw is not nobody.
#[test]
fn a_selector_proves_nothing_where_pods_may_not_be_listed() {
    let world = World::new("blind-user");
    world.apply(&[deployment("demo", "labels: { app: demo }", "tier: front"), service("both", "tier: front")].concat());
    let rules = [
        Rule::new(&["apps"], &["deployments", "replicasets"], &["get", "list", "watch", "delete", "patch"]),
        Rule::new(&[""], &["services"], &["get", "list", "watch", "delete"]),
    ];
    let kubeconfig = ControlPlane::shared().user_with_role("half-blind", &world.namespace, &rules).unwrap();
    let plan = world.purge_as(&kubeconfig, &["app", "demo", "--dry-run", "-o", "json"]).exits(0).json();
    assert!(planned(&plan).iter().all(|line| !line.contains("Service")), "{:?}", planned(&plan));
    assert_eq!(suspected(&plan), ["Service/both: selects only this application's pods, as far as could be seen"]);
    assert!(plan["warnings"].to_string().contains("could not all be read"), "{plan:#}");
}

#[test]
fn a_workload_that_will_make_such_pods_belongs_before_it_has_made_one() {
    let world = World::new("unborn");
    world.apply("{ apiVersion: batch/v1, kind: CronJob, metadata: { name: nightly }, spec: { suspend: true, schedule: '0 3 * * *', jobTemplate: { spec: { template: { metadata: { labels: { app: demo } }, spec: { restartPolicy: Never, containers: [ { name: main, image: demo } ] } } } } } }");
    world.purge(&["app", "demo", "--yes"]).exits(0).says("makes pods labelled app=demo");
    assert_eq!(world.names("cronjobs"), [""; 0]);
}

#[test]
fn a_kept_route_keeps_what_it_sends_to() {
    let world = World::new("kept-route");
    world.apply(
        &[
            service("web", "app: demo"),
            deployment("web", "labels: { app: demo }", "app: demo"),
            "---\n{ apiVersion: networking.k8s.io/v1, kind: Ingress, metadata: { name: web, labels: { app: demo } }, spec: { defaultBackend: { service: { name: web, port: { number: 80 } } } } }\n".to_owned(),
        ]
        .concat(),
    );
    world
        .purge(&["app", "demo", "--yes", "--exclude", "ingress/web"])
        .exits(0)
        .says("Ingress/web, which is kept, routes to it");
    assert_eq!(world.names("services,deployments"), ["service/web"]);
}
