//! APIs that do not answer: said, never taken for empty, and no obstacle to the rest. On a control plane of their
//! own, since everybody on it would see them.

use std::{sync::OnceLock, time::Duration};

use control_plane::{ControlPlane, Rule};

use crate::harness::{World, planned};

/// A dead aggregated API; a kind whose preferred version can't be converted to; one that can't be listed at all.
const BLIND: &str = "
apiVersion: apiregistration.k8s.io/v1
kind: APIService
metadata: { name: v1beta1.metrics.k8s.io }
spec:
  group: metrics.k8s.io
  version: v1beta1
  groupPriorityMinimum: 100
  versionPriority: 100
  insecureSkipTLSVerify: true
  service: { namespace: default, name: does-not-exist }
";

fn definition(plural: &str, kind: &str, v1_served: bool) -> String {
    format!(
        "
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {{ name: {plural}.conv.example }}
spec:
  group: conv.example
  scope: Namespaced
  names: {{ plural: {plural}, singular: {singular}, kind: {kind} }}
  conversion:
    strategy: Webhook
    webhook: {{ conversionReviewVersions: [v1], clientConfig: {{ url: 'https://127.0.0.1:1/' }} }}
  versions:
  - {{ name: v2, served: true, storage: false, schema: {{ openAPIV3Schema: {{ type: object, x-kubernetes-preserve-unknown-fields: true }} }} }}
  - {{ name: v1, served: {v1_served}, storage: true, schema: {{ openAPIV3Schema: {{ type: object, x-kubernetes-preserve-unknown-fields: true }} }} }}
",
        singular = kind.to_lowercase()
    )
}

/// The control plane, with these kinds.
fn plane() -> &'static ControlPlane {
    static PLANE: OnceLock<ControlPlane> = OnceLock::new();
    PLANE.get_or_init(|| {
        let plane = ControlPlane::builder().nodes(1).start().unwrap();
        plane.apply(BLIND).unwrap();
        for (plural, kind) in [("boxes", "Box"), ("crates", "Crate")] {
            plane.apply(&definition(plural, kind, true)).unwrap();
            let name = format!("{plural}.v1.conv.example");
            let served = || plane.kubectl(&["get", &name]).success().then_some(());
            plane.wait_for("the kind to be served", Duration::from_secs(30), served).unwrap();
        }
        plane
    })
}

/// prometheus-operator/kube-prometheus#275, k8s#71925: one API that is down must not stop or blind the purge.
#[test]
fn what_does_not_answer_is_told_and_the_rest_is_purged() {
    let world = World::on(plane(), "blind");
    world.apply("{ apiVersion: v1, kind: ConfigMap, metadata: { name: c, labels: { app: demo } } }");
    world.apply("{ apiVersion: conv.example/v1, kind: Box, metadata: { name: two, labels: { app: demo } } }");
    world.apply("{ apiVersion: conv.example/v1, kind: Crate, metadata: { name: one, labels: { app: demo } } }");
    // It stays stored as v1, which nobody can ask for any more.
    world.plane.apply(&definition("crates", "Crate", false)).unwrap();
    world.until("the version to be served no more", || {
        (!world.plane.kubectl(&["get", "crates.v1.conv.example"]).success()).then_some(())
    });

    let run = world.purge(&["app", "demo", "--dry-run", "-o", "json"]).exits(5);
    assert!(run.took < Duration::from_secs(5), "{:?}", run.took);
    let plan = run.json();
    // At the version that can be read, and once.
    assert_eq!(planned(&plan), ["delete Box/two", "delete ConfigMap/c"]);
    let boxes = plan["objects"].as_array().unwrap().iter().find(|object| object["kind"] == "Box").unwrap();
    assert_eq!(boxes["apiVersion"], "conv.example/v1");
    let unseen: Vec<(&str, &str)> = plan["unseen"]
        .as_array()
        .unwrap()
        .iter()
        .map(|unseen| (unseen["resource"].as_str().unwrap(), unseen["why"].as_str().unwrap()))
        .collect();
    assert_eq!(unseen, [("metrics.k8s.io/v1beta1", "unavailable"), ("crates.conv.example", "unavailable")]);

    let run = world.purge(&["app", "demo", "--yes"]).exits(5);
    let run = run
        .says("not checked (unavailable): metrics.k8s.io/v1beta1")
        .says("not checked (unavailable): crates.conv.example");
    run.says("except what could not be read");
    assert_eq!(world.names("configmaps,boxes.v1.conv.example"), ["configmap/kube-root-ca.crt"]);
    // Nothing found is not proven either, unless that is accepted.
    world
        .purge(&["app", "demo", "--yes"])
        .exits(5)
        .says("Nothing of application \"demo\"")
        .says("not checked (unavailable)");
    world.purge(&["app", "demo", "--yes", "--ignore-unavailable"]).exits(0);
    world.purge(&["list"]).exits(5).says("not checked (unavailable): metrics.k8s.io/v1beta1");
}

/// Of a kind that cannot be listed nothing is called absent, though it was named.
#[test]
fn whether_a_named_object_of_an_unseen_kind_is_there_is_not_known() {
    let world = World::new("unseen-name");
    world.deployment("web", "demo", 0);
    world.apply("{ apiVersion: v1, kind: ConfigMap, metadata: { name: c, labels: { app: demo } } }");
    let rules = [Rule::new(&[""], &["configmaps", "namespaces"], &["get", "list", "watch", "delete"])];
    let kubeconfig = ControlPlane::shared().user_with_role("blinded", &world.namespace, &rules).unwrap();
    for arguments in [&["app", "deploy/web"][..], &["app", "demo", "--exclude", "deploy/web"]] {
        let run = world.purge_as(&kubeconfig, &[arguments, &["--yes"]].concat()).exits(1);
        run.complains("error: whether there is a Deployment/web in namespace")
            .complains("is not known")
            .never_says("no such");
    }
    assert_eq!(
        world.names("deployments,configmaps"),
        ["configmap/c", "configmap/kube-root-ca.crt", "deployment.apps/web"]
    );
}

/// apache/incubator-kie-issues#1299: a context whose namespace is empty means `default`, never the whole cluster.
#[test]
fn an_empty_namespace_is_default_and_never_the_whole_cluster() {
    let world = World::on(plane(), "elsewhere");
    world.apply("{ apiVersion: v1, kind: ConfigMap, metadata: { name: c, labels: { app: everywhere } } }");
    let plane = plane();
    plane
        .apply_in(
            "default",
            "{ apiVersion: v1, kind: ConfigMap, metadata: { name: here, labels: { app: everywhere } } }",
        )
        .unwrap();
    let mut config = plane.kubeconfig_of(control_plane::ADMIN).unwrap();
    config.namespace = Some(String::new());
    let path = plane.dir().join("empty-namespace");
    config.write(&path).unwrap();
    for namespace in [&[][..], &["-n", ""]] {
        let mut command = std::process::Command::new(crate::harness::PROGRAM);
        command.args(["app", "everywhere", "--dry-run", "--ignore-unavailable", "-o", "json"]).args(namespace);
        command.env("KUBECONFIG", &path);
        let plan = crate::harness::Run::of(command).exits(0).json();
        assert_eq!(
            (plan["namespace"].as_str(), planned(&plan)),
            (Some("default"), vec!["delete ConfigMap/here".to_owned()])
        );
    }
}
