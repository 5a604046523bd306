//! What is doubtful is refused until the user says how to go on.

use control_plane::ControlPlane;

use crate::{
    belongs::define_kinds,
    harness::{Run, World, planned},
};

/// Two releases of one chart: the same `app`, different instances.
fn two_releases(story: &str) -> World {
    let world = World::new(story);
    for (instance, objects) in [("demo-a", 2), ("demo-b", 1)] {
        for number in 0..objects {
            world.apply(&format!(
                "{{ apiVersion: v1, kind: ConfigMap, metadata: {{ name: {instance}-{number}, labels: {{ app: demo, app.kubernetes.io/instance: {instance} }} }} }}"
            ));
        }
    }
    world
}

fn refused(run: Run) -> Run {
    run.exits(3).complains("error: ")
}

/// helm/helm#5363, jaseci-labs/jac#8816: a sweep by the shared label takes the neighbour down.
#[test]
fn two_instances_under_one_label_are_refused_until_one_is_chosen() {
    let world = two_releases("instances");
    let run = refused(world.purge(&["app", "demo", "--yes"]));
    run.complains("\"demo\" means 2 instances: demo-a (2 objects), demo-b (1 object); choose one with --instance NAME");
    assert_eq!(world.names("configmaps").len(), 4);
    let report = world.purge(&["app", "demo", "--instance", "demo-a", "--yes", "-o", "json"]).exits(0).json();
    assert_eq!(planned(&report), ["delete ConfigMap/demo-a-0", "delete ConfigMap/demo-a-1"]);
    assert_eq!(world.names("configmaps"), ["configmap/demo-b-0", "configmap/kube-root-ca.crt"]);
    // One is left: nothing is ambiguous any more.
    world.purge(&["app", "demo", "--yes"]).exits(0);
}

#[test]
fn all_instances_can_be_asked_for() {
    let world = two_releases("all");
    world.purge(&["app", "demo", "--all-instances", "--yes"]).exits(0);
    assert_eq!(world.names("configmaps"), ["configmap/kube-root-ca.crt"]);
}

#[test]
fn what_a_reconciler_manages_is_refused_with_the_command_that_does_it_properly() {
    let world = World::new("managed");
    for (app, mark, command) in [
        ("argo", "labels: { app: argo, argocd.argoproj.io/instance: shop }", "`argocd app delete shop`"),
        (
            "flux",
            "labels: { app: flux, kustomize.toolkit.fluxcd.io/name: shop, kustomize.toolkit.fluxcd.io/namespace: flux-system }",
            "`flux delete kustomization shop -n flux-system`",
        ),
        ("kapp", "labels: { app: kapp, kapp.k14s.io/app: '17' }", "`kapp delete -a label:kapp.k14s.io/app=17"),
        (
            "olm",
            "labels: { app: olm, olm.owner: thing.v1, olm.owner.kind: ClusterServiceVersion }",
            "`kubectl delete clusterserviceversion/thing.v1",
        ),
    ] {
        world.apply(&format!("{{ apiVersion: v1, kind: ConfigMap, metadata: {{ name: {app}, {mark} }} }}"));
        refused(world.purge(&["app", app, "--yes"])).complains(command).complains("--allow-managed");
        refused(world.purge(&["app", app, "--dry-run"])).says("delete");
    }
    let tracked = format!(
        "{{ apiVersion: v1, kind: ConfigMap, metadata: {{ name: tracked, labels: {{ app: tracked }}, annotations: {{ argocd.argoproj.io/tracking-id: 'shop:/ConfigMap:{}/tracked' }} }} }}",
        world.namespace
    );
    world.apply(&tracked);
    refused(world.purge(&["app", "tracked", "--yes"])).complains("Argo CD application shop");
    assert_eq!(world.names("configmaps").len(), 6);
    world.purge(&["app", "tracked", "--yes", "--allow-managed"]).exits(0);
    assert_eq!(world.names("configmaps").len(), 5);
}

#[test]
fn a_parent_of_several_applications_is_no_row_but_a_guard() {
    define_kinds();
    let world = World::new("parent");
    world.apply("{ apiVersion: purge.example/v1beta1, kind: Database, metadata: { name: main } }");
    let uid = world.get("database/main")["metadata"]["uid"].as_str().unwrap().to_owned();
    for app in ["demo", "other"] {
        world.apply(&format!(
            "{{ apiVersion: v1, kind: ConfigMap, metadata: {{ name: {app}, labels: {{ app: {app} }}, ownerReferences: [ {{ apiVersion: purge.example/v1beta1, kind: Database, name: main, uid: {uid}, controller: true }} ] }} }}"
        ));
    }
    let run = refused(world.purge(&["app", "demo", "--yes"]));
    run.complains("Database/main controls objects of this application, and ConfigMap/other (app=other) too");
    assert_eq!(world.names("configmaps,databases").len(), 4);
    // With nothing of others below it, it goes along, and first.
    world.kubectl(&["delete", "configmap", "other"]);
    world.purge(&["app", "demo", "--yes"]).exits(0).says("controls ConfigMap/demo");
    assert_eq!(world.names("configmaps,databases"), ["configmap/kube-root-ca.crt"]);
}

/// An operator outside the namespace: its object is the cluster's, and it would make the child anew.
#[test]
fn what_an_operator_outside_the_namespace_controls_is_refused() {
    let world = World::new("outside");
    let uid =
        world.plane.kubectl(&["get", "namespace", &world.namespace, "-o", "jsonpath={.metadata.uid}"]).ok().unwrap();
    world.apply(&format!(
        "{{ apiVersion: v1, kind: ConfigMap, metadata: {{ name: c, labels: {{ app: demo }}, ownerReferences: [ {{ apiVersion: cluster.example/v1, kind: Platform, name: all, uid: {uid}, controller: true }} ] }} }}"
    ));
    let run = refused(world.purge(&["app", "demo", "--yes"]));
    run.complains("managed by Platform/all, which is outside the namespace").complains("--allow-managed");
}

#[test]
fn no_more_than_max_and_no_system_namespace() {
    let world = two_releases("max");
    refused(world.purge(&["app", "demo", "--all-instances", "--yes", "--max", "2"]))
        .complains("3 objects would be deleted, and --max allows 2");
    world.purge(&["app", "demo", "--all-instances", "--yes", "--max", "3"]).exits(0);

    let plane = ControlPlane::shared();
    plane
        .apply_in(
            "kube-public",
            "{ apiVersion: v1, kind: ConfigMap, metadata: { name: purge-test, labels: { app: purge-test } } }",
        )
        .unwrap();
    let mut command = std::process::Command::new(crate::harness::PROGRAM);
    command.args(["app", "purge-test", "--yes", "-n", "kube-public"]).env("KUBECONFIG", plane.kubeconfig());
    refused(Run::of(command)).complains("--allow-system-namespace");
    let mut command = std::process::Command::new(crate::harness::PROGRAM);
    command.args(["app", "purge-test", "--yes", "--allow-system-namespace", "-n", "kube-public"]);
    command.env("KUBECONFIG", plane.kubeconfig());
    Run::of(command).exits(0);
}

#[test]
fn a_namespace_that_is_being_deleted_is_said_to_be() {
    let world = World::new("terminating");
    world.apply("{ apiVersion: v1, kind: ConfigMap, metadata: { name: held, labels: { app: demo }, finalizers: [ demo.example/hold ] } }");
    world.plane.kubectl(&["delete", "namespace", &world.namespace, "--wait=false"]).ok().unwrap();
    let run = world.purge(&["app", "demo", "--yes"]).exits(1);
    run.complains("is being deleted as a whole");
    world.kubectl(&["patch", "configmap", "held", "--type=merge", "-p", r#"{"metadata":{"finalizers":null}}"#]);
}

#[test]
fn what_can_not_be_meant_is_refused_before_any_request() {
    let world = World::new("usage");
    for (arguments, complaint) in [
        (&["app"][..], "required"),
        (&["app", "demo", "-l", "a=b"], "cannot be used with"),
        (&["app", "-l", ""], "it is empty, and would pick everything"),
        (&["app", "-l", "app!=demo"], "would pick the rest of the namespace"),
        (&["app", "-l", "a b"], "is no label key"),
        (&["app", "demo", "--label-key", "a/b/c"], "is no label key"),
        (&["app", "demo", "--instance", "a b"], "is no label value"),
        (&["app", "deploy/"], "is no object"),
        (&["app", "deploy/web", "--instance", "x"], "names an object"),
        (&["app", "demo", "--exclude", "web"], "is no object"),
        (&["app", "demo", "--timeout", "soon"], "--timeout"),
        (&["app", "demo", "--grace-period", "-1"], "grace"),
        (&["app", "demo", "--max", "0"], "--max"),
        (&["app", "demo", "-o", "name"], "--dry-run"),
    ] {
        let unreachable = ["--kubeconfig", "/does/not/exist"];
        let run = world.purge(&[&arguments[..1], &unreachable, &arguments[1..]].concat()).exits(2);
        assert!(run.stdout.is_empty(), "{}", run.stdout);
        run.complains(complaint);
    }
    // Only the server knows its types.
    world.purge(&["app", "deplox/web", "--yes"]).exits(2).complains("no namespaced type \"deplox\"");
    world.purge(&["app", "demo", "--yes", "--exclude", "widget/x"]).exits(2).complains("\"widget\"");
}

#[test]
fn what_is_near_is_suggested_where_nothing_is_found() {
    let world = World::new("near");
    world.deployment("payment", "pay", 0);
    world.purge(&["app", "payment", "--yes"]).exits(0).says("Did you mean: kubectl purge app deployment/payment -n ");
    world.purge(&["app", "paj", "--yes"]).exits(0).says("Did you mean: kubectl purge app pay -n ");
    world.purge(&["app", "deploy/nothing", "--yes"]).exits(0).says("There is no Deployment called nothing.");
}
