//! What belongs: every kind, every kind of evidence, and what only looks like it.
// Long because every piece of evidence is told in one place, most of it YAML.

use std::collections::BTreeSet;

use control_plane::ControlPlane;
use serde_json::Value;

use crate::harness::{World, planned, reasons, template};

/// Kinds whose definitions the tests bring along: one group with kinds in different versions, one of them with a
/// scale subresource, one whose objects own Deployments.
const DEFINITIONS: &str = "
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: { name: boxes.purge.example }
spec:
  group: purge.example
  scope: Namespaced
  names: { plural: boxes, singular: box, kind: Box }
  versions:
  - { name: v1, served: true, storage: true, schema: { openAPIV3Schema: { type: object, x-kubernetes-preserve-unknown-fields: true } } }
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: { name: rollouts.purge.example }
spec:
  group: purge.example
  scope: Namespaced
  names: { plural: rollouts, singular: rollout, kind: Rollout }
  versions:
  - name: v1alpha1
    served: true
    storage: true
    schema: { openAPIV3Schema: { type: object, properties: { spec: { type: object, properties: { replicas: { type: integer } } } } } }
    subresources: { scale: { specReplicasPath: .spec.replicas, statusReplicasPath: .status.replicas } }
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: { name: databases.purge.example }
spec:
  group: purge.example
  scope: Namespaced
  names: { plural: databases, singular: database, kind: Database }
  versions:
  - { name: v1beta1, served: true, storage: true, schema: { openAPIV3Schema: { type: object, x-kubernetes-preserve-unknown-fields: true } } }
";

/// Makes the kinds known once, for all tests of the process.
pub fn define_kinds() {
    static ONCE: std::sync::Once = std::sync::Once::new();
    ONCE.call_once(|| {
        let plane = ControlPlane::shared();
        plane.apply(DEFINITIONS).unwrap();
        for kind in ["boxes", "rollouts", "databases"] {
            let condition = ["wait", "--for=condition=Established", "--timeout=30s"];
            let name = format!("crd/{kind}.purge.example");
            plane.kubectl(&[&condition[..], &[&name]].concat()).ok().unwrap();
        }
        // Discovery follows a moment after the condition.
        let listed = |kind: &str| plane.kubectl(&["get", &format!("{kind}.purge.example"), "-A"]).success();
        let all = || ["boxes", "rollouts", "databases"].iter().all(|kind| listed(kind)).then_some(());
        plane.wait_for("the kinds to be served", std::time::Duration::from_secs(30), all).unwrap();
    });
}

fn one_of_each(template: &str) -> String {
    let meta = |name: &str| format!("metadata: {{ name: {name}, labels: {{ app: demo }} }}");
    let object = |version: &str, kind: &str, name: &str, rest: &str| {
        format!("---\napiVersion: {version}\nkind: {kind}\n{}\n{rest}\n", meta(name))
    };
    let of = |part: &str| template.replace("app: demo", &format!("app: demo, part: {part}"));
    let selector = |part: &str| format!("selector: {{ matchLabels: {{ app: demo, part: {part} }} }}");
    [
        object("v1", "ConfigMap", "each", ""),
        object("v1", "Endpoints", "each", "subsets: []"),
        object("v1", "LimitRange", "each", "spec: { limits: [ { type: PersistentVolumeClaim, max: { storage: 1Ti } } ] }"),
        object("v1", "PersistentVolumeClaim", "each", "spec: { accessModes: [ReadWriteOnce], resources: { requests: { storage: 1Gi } } }"),
        object("v1", "Pod", "each", "spec: { containers: [ { name: main, image: demo } ] }"),
        object("v1", "PodTemplate", "each", "template: { metadata: { labels: { app: demo } }, spec: { containers: [ { name: main, image: demo } ] } }"),
        object("v1", "ReplicationController", "each", &format!("spec: {{ replicas: 1, selector: {{ app: demo, part: rc }}, template: {} }}", of("rc"))),
        object("v1", "ResourceQuota", "each", "spec: { hard: { pods: '100' } }"),
        object("v1", "Secret", "each", "stringData: { a: b }"),
        object("v1", "ServiceAccount", "each", ""),
        object("v1", "Service", "each", "spec: { ports: [ { port: 80 } ] }"),
        object("apps/v1", "ControllerRevision", "each", "revision: 1\ndata: {}"),
        object("apps/v1", "DaemonSet", "each", &format!("spec: {{ {}, template: {} }}", selector("ds"), of("ds"))),
        object("apps/v1", "Deployment", "each", &format!("spec: {{ {}, template: {} }}", selector("deploy"), of("deploy"))),
        object("apps/v1", "ReplicaSet", "each", &format!("spec: {{ {}, template: {} }}", selector("rs"), of("rs"))),
        object("apps/v1", "StatefulSet", "each", &format!("spec: {{ serviceName: each, {}, template: {} }}", selector("sts"), of("sts"))),
        object("autoscaling/v2", "HorizontalPodAutoscaler", "each", "spec: { minReplicas: 1, maxReplicas: 2, scaleTargetRef: { apiVersion: apps/v1, kind: Deployment, name: each } }"),
        object("batch/v1", "CronJob", "each", "spec: { schedule: '0 3 * * *', jobTemplate: { spec: { template: { spec: { restartPolicy: Never, containers: [ { name: main, image: demo } ] } } } } }"),
        object("batch/v1", "Job", "each", "spec: { template: { spec: { restartPolicy: Never, containers: [ { name: main, image: demo } ] } } }"),
        object("coordination.k8s.io/v1", "Lease", "each", "spec: { holderIdentity: x }"),
        object("discovery.k8s.io/v1", "EndpointSlice", "each", "addressType: IPv4\nendpoints: []"),
        object("networking.k8s.io/v1", "Ingress", "each", "spec: { defaultBackend: { service: { name: each, port: { number: 80 } } } }"),
        object("networking.k8s.io/v1", "NetworkPolicy", "each", "spec: { podSelector: { matchLabels: { app: demo } } }"),
        object("policy/v1", "PodDisruptionBudget", "each", "spec: { maxUnavailable: 1, selector: { matchLabels: { app: demo } } }"),
        object("rbac.authorization.k8s.io/v1", "RoleBinding", "each", "roleRef: { apiGroup: rbac.authorization.k8s.io, kind: Role, name: each }"),
        object("rbac.authorization.k8s.io/v1", "Role", "each", "rules: []"),
        object("resource.k8s.io/v1", "ResourceClaim", "each", "spec: { devices: { requests: [ { name: one, exactly: { deviceClassName: none } } ] } }"),
        object("resource.k8s.io/v1", "ResourceClaimTemplate", "each", "spec: { spec: { devices: { requests: [ { name: one, exactly: { deviceClassName: none } } ] } } }"),
        object("storage.k8s.io/v1", "CSIStorageCapacity", "each", "storageClassName: none"),
        object("purge.example/v1", "Box", "each", ""),
        object("purge.example/v1alpha1", "Rollout", "each", "spec: { replicas: 2 }"),
        object("purge.example/v1beta1", "Database", "each", "spec: {}"),
    ]
    .concat()
}

#[test]
fn one_of_every_kind_is_found_exactly_once_with_its_reason() {
    define_kinds();
    let world = World::new("each");
    world.apply(&one_of_each(&template("demo")));
    // A Deployment of the operator's, with no label of its own.
    let uid = world.get("database/each")["metadata"]["uid"].as_str().unwrap().to_owned();
    world.apply(&format!(
        "
apiVersion: apps/v1
kind: Deployment
metadata:
  name: child
  ownerReferences: [ {{ apiVersion: purge.example/v1beta1, kind: Database, name: each, uid: {uid}, controller: true }} ]
spec: {{ replicas: 0, selector: {{ matchLabels: {{ tier: child }} }}, template: {{ metadata: {{ labels: {{ tier: child }} }}, spec: {{ containers: [ {{ name: main, image: demo }} ] }} }} }}
"
    ));
    world.until("the pods", || (world.names("pods").len() >= 9).then_some(()));

    let plan = world.purge(&["app", "demo", "--dry-run", "--delete-data", "-o", "json"]).exits(0).json();

    let objects = plan["objects"].as_array().unwrap();
    let uids: BTreeSet<&str> = objects.iter().map(|object| object["uid"].as_str().unwrap()).collect();
    assert_eq!(uids.len(), objects.len(), "each once");
    // Every kind that the server can create, list and delete in a namespace, but for Events and certificate requests,
    // which only a kubelet makes.
    let resources = ControlPlane::shared().kubectl(&[
        "api-resources",
        "--namespaced",
        "--verbs=list,delete,create",
        "--no-headers",
    ]);
    for line in resources.ok().unwrap().lines() {
        let kind = line.split_whitespace().last().unwrap();
        if !["Event", "PodCertificateRequest"].contains(&kind) {
            let found = objects.iter().filter(|object| object["kind"] == kind && object["name"] == "each").count();
            assert_eq!(found, 1, "{kind}");
        }
    }
    assert_eq!(reasons(&plan, "Deployment", "child"), ["owned by Database/each"]);
    for (kind, reason) in [
        ("ControllerRevision", "orphan, label app=demo"),
        ("Pod", "orphan, label app=demo"),
        ("Lease", "label app=demo"),
    ] {
        assert_eq!(reasons(&plan, kind, "each")[0], reason);
    }
    let action = |kind: &str| {
        let object = objects.iter().find(|object| object["kind"] == kind && object["name"] == "each").unwrap();
        (object["action"].as_str().unwrap().to_owned(), object["phase"].as_str().unwrap().to_owned())
    };
    assert_eq!(action("ResourceQuota").0, "keep");
    assert_eq!(action("LimitRange").0, "keep");
    assert_eq!(action("Database"), ("delete".into(), "owners".into()));
    assert_eq!(action("Box"), ("delete".into(), "config".into()));
    let rollout = objects.iter().find(|object| object["kind"] == "Rollout").unwrap();
    assert_eq!(rollout["scale"]["from"], 2);

    let report = world.purge(&["app", "demo", "--yes", "--delete-data", "-o", "json"]).exits(0).json();
    let left: Vec<&Value> =
        report["objects"].as_array().unwrap().iter().filter(|object| object["result"] != "gone").collect();
    let left: BTreeSet<&str> = left.iter().map(|object| object["kind"].as_str().unwrap()).collect();
    assert_eq!(left, BTreeSet::from(["LimitRange", "ResourceQuota"]));
}

#[test]
fn what_only_the_application_uses_is_listed_and_taken_when_asked_for() {
    let world = World::new("related");
    world.apply(
        "
apiVersion: v1
kind: ServiceAccount
metadata: { name: runner }
imagePullSecrets: [ { name: pull } ]
---
apiVersion: v1
kind: Pod
metadata: { name: one, labels: { app: demo } }
spec:
  serviceAccountName: runner
  containers:
  - name: main
    image: demo
    env: [ { name: A, valueFrom: { secretKeyRef: { name: by-env, key: a, optional: true } } } ]
    envFrom: [ { configMapRef: { name: shared, optional: true } } ]
  volumes: [ { name: a, projected: { sources: [ { configMap: { name: projected, optional: true } } ] } } ]
---
apiVersion: v1
kind: Pod
metadata: { name: two, labels: { app: other } }
spec: { containers: [ { name: main, image: demo, envFrom: [ { configMapRef: { name: shared, optional: true } } ] } ] }
---
apiVersion: v1
kind: Secret
metadata: { name: pull }
---
apiVersion: v1
kind: Secret
metadata: { name: by-env }
---
apiVersion: v1
kind: ConfigMap
metadata: { name: projected }
---
apiVersion: v1
kind: ConfigMap
metadata: { name: shared }
",
    );
    world.until_running("app=demo", 1);
    let plan = world.purge(&["app", "demo", "--dry-run", "-o", "json"]).exits(0).json();
    let related = |plan: &Value| -> Vec<String> {
        let related = plan["related"].as_array().unwrap().iter();
        related
            .map(|object| format!("{}/{}", object["kind"].as_str().unwrap(), object["name"].as_str().unwrap()))
            .collect()
    };
    assert_eq!(planned(&plan), ["delete Pod/one"]);
    assert_eq!(related(&plan), ["ConfigMap/projected", "Secret/by-env", "Secret/pull", "ServiceAccount/runner"]);

    let run = world.purge(&["app", "demo", "--yes", "--include-related"]).exits(0);
    run.says("used only by Pod/one");
    let left = world.names("configmaps,secrets,serviceaccounts");
    assert_eq!(left, ["configmap/kube-root-ca.crt", "configmap/shared", "serviceaccount/default"]);
}

#[test]
fn a_label_on_the_pods_alone_leads_up_to_what_makes_them() {
    let world = World::new("upwards");
    world.apply(&crate::harness::deployment("web", "demo", 1).replace("name: web, labels: { app: demo }", "name: web"));
    world.until_running("app=demo", 1);
    let plan = world.purge(&["app", "demo", "--dry-run", "-o", "json"]).exits(0).json();
    assert_eq!(reasons(&plan, "Deployment", "web"), ["makes pods labelled app=demo"]);
    world.purge(&["app", "demo", "--yes"]).exits(0);
    assert_eq!(world.names("deployments,replicasets,pods"), [""; 0]);
    // On the pods by hand, and in no template: what makes them says it is another's.
    world.deployment("bare", "x", 1);
    world.until_running("app=x", 1);
    let pod = world.names("pods")[0].clone();
    world.kubectl(&["label", &pod, "run=mine"]);
    let run = world.purge(&["app", "mine", "--yes"]).exits(3);
    run.complains("controls objects of this application, and").complains("(app=x) too");
}

#[test]
fn routes_and_autoscalers_go_along_unless_others_need_them() {
    let world = World::new("routes");
    world.deployment("web", "demo", 1);
    world.apply(
        "
apiVersion: v1
kind: Service
metadata: { name: web }
spec: { selector: { app: demo }, ports: [ { port: 80 } ] }
---
apiVersion: v1
kind: Service
metadata: { name: other }
spec: { selector: { app: other }, ports: [ { port: 80 } ] }
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: { name: scaler }
spec: { minReplicas: 1, maxReplicas: 2, scaleTargetRef: { apiVersion: apps/v1, kind: Deployment, name: web } }
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: { name: own }
spec: { defaultBackend: { service: { name: web, port: { number: 80 } } } }
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: { name: both }
spec:
  rules:
  - http:
      paths:
      - { path: /a, pathType: Prefix, backend: { service: { name: web, port: { number: 80 } } } }
      - { path: /b, pathType: Prefix, backend: { service: { name: other, port: { number: 80 } } } }
",
    );
    world.until_running("app=demo", 1);
    let run = world.purge(&["app", "demo", "--yes"]).exits(0);
    run.says("targets Deployment/web").says("routes to Service/web").says("also routes to Service/other");
    assert_eq!(
        world.names("services,ingresses,horizontalpodautoscalers"),
        ["ingress.networking.k8s.io/both", "service/other"]
    );
}

#[test]
fn a_certificate_that_only_the_applications_ingress_uses_is_related() {
    let world = World::new("certificate");
    world.apply(
        "
{ apiVersion: networking.k8s.io/v1, kind: Ingress, metadata: { name: web, labels: { app: demo } }, spec: { tls: [ { secretName: own }, { secretName: shared } ], defaultBackend: { service: { name: web, port: { number: 80 } } } } }
---
{ apiVersion: networking.k8s.io/v1, kind: Ingress, metadata: { name: other, labels: { app: other } }, spec: { tls: [ { secretName: shared } ], defaultBackend: { service: { name: other, port: { number: 80 } } } } }
---
{ apiVersion: v1, kind: Secret, metadata: { name: own } }
---
{ apiVersion: v1, kind: Secret, metadata: { name: shared, labels: { app: demo } } }
",
    );
    let run = world.purge(&["app", "demo", "--yes"]).exits(0);
    run.says("Secret/own (used only by Ingress/web)").says("also used by Ingress/other");
    assert_eq!(world.names("secrets,ingresses"), ["ingress.networking.k8s.io/other", "secret/own", "secret/shared"]);
}

/// k8s#118376: an EndpointSlice made by hand is owned by nobody and outlives its Service.
#[test]
fn an_endpointslice_made_by_hand_goes_with_its_service() {
    let world = World::new("slices");
    world.apply(
        "
{ apiVersion: v1, kind: Service, metadata: { name: demo, labels: { app: demo } }, spec: { ports: [ { port: 80 } ] } }
---
{ apiVersion: discovery.k8s.io/v1, kind: EndpointSlice, metadata: { name: demo-manual, labels: { kubernetes.io/service-name: demo } }, addressType: IPv4, endpoints: [] }
",
    );
    world.purge(&["app", "demo", "--yes"]).exits(0).says("endpoints of Service/demo");
    assert_eq!(world.names("services,endpointslices"), [""; 0]);
}

/// Labels copied from the selector, claims without owner, one of a bigger past without labels.
#[test]
fn claims_of_a_statefulset_are_found_by_name_and_kept_unless_asked_for() {
    let world = World::new("claims");
    let claim = |name: &str| {
        format!(
            "---\napiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {{ name: {name} }}\nspec: {{ accessModes: [ReadWriteOnce], resources: {{ requests: {{ storage: 2Gi }} }} }}\n"
        )
    };
    let set = format!(
        "apiVersion: apps/v1\nkind: StatefulSet\nmetadata: {{ name: db, labels: {{ app: demo }} }}\nspec: {{ replicas: 0, serviceName: db, selector: {{ matchLabels: {{ app: demo }} }}, template: {}, volumeClaimTemplates: [ {{ metadata: {{ name: data }}, spec: {{ accessModes: [ReadWriteOnce], resources: {{ requests: {{ storage: 2Gi }} }} }} }} ] }}\n",
        template("demo")
    );
    world.apply(&[set, claim("data-db-0"), claim("data-db-7"), claim("data-db-x"), claim("data-dbx-0")].concat());
    world.apply("{ apiVersion: v1, kind: Pod, metadata: { name: reader }, spec: { containers: [ { name: main, image: demo } ], volumes: [ { name: d, persistentVolumeClaim: { claimName: data-db-0 } } ] } }");
    let run = world.purge(&["app", "demo", "--dry-run"]).exits(0);
    let run = run.says("mounted by Pod/reader");
    world.kubectl(&["delete", "pod", "reader", "--force"]);
    run.says("holds data (--delete-data)")
        .says("data-db-7")
        .says("2Gi")
        .never_says("data-dbx-0")
        .never_says("data-db-x");
    world.purge(&["app", "demo", "--yes", "--delete-data"]).exits(0);
    assert_eq!(
        world.names("persistentvolumeclaims"),
        ["persistentvolumeclaim/data-db-x", "persistentvolumeclaim/data-dbx-0"]
    );
}

/// helm/helm#10247: without the record gone, `helm install` of the same name fails.
#[test]
fn helms_record_goes_when_all_of_the_release_goes() {
    let world = World::new("helm");
    let object = |name: &str, labels: &str| {
        format!(
            "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {{ name: {name}, labels: {{ {labels} }}, annotations: {{ meta.helm.sh/release-name: demo, meta.helm.sh/release-namespace: {} }} }}\n",
            world.namespace
        )
    };
    let record = "---\napiVersion: v1\nkind: Secret\ntype: helm.sh/release.v1\nmetadata: { name: sh.helm.release.v1.demo.v3, labels: { owner: helm, name: demo, version: '3' } }\n";
    world.apply(&[&object("a", "app: demo"), &object("b", "tier: x"), record].concat());
    let run = world.purge(&["app", "demo", "--yes"]).exits(0);
    run.says("part of Helm release demo: `helm uninstall demo")
        .says("Helm's record of release demo stays: ConfigMap/b");
    assert_eq!(world.names("secrets"), ["secret/sh.helm.release.v1.demo.v3"]);

    world.kubectl(&["label", "configmap", "b", "app=demo"]);
    world.purge(&["app", "demo", "--yes"]).exits(0).says("Helm's record of release demo");
    assert_eq!(world.names("secrets,configmaps"), ["configmap/kube-root-ca.crt"]);
}

/// k8s#20902: a Job deleted by a plain API call leaves pods whose only labels are the Job's.
#[test]
fn pods_of_a_job_that_is_gone_are_suspected_and_not_taken() {
    let world = World::new("suspected");
    world.apply(
        "
apiVersion: batch/v1
kind: CronJob
metadata: { name: nightly, labels: { app: demo } }
spec: { suspend: true, schedule: '0 3 * * *', jobTemplate: { spec: { template: { spec: { restartPolicy: Never, containers: [ { name: main, image: demo } ] } } } } }
---
apiVersion: batch/v1
kind: Job
metadata: { name: nightly-29384400 }
spec: { template: { spec: { restartPolicy: Never, containers: [ { name: main, image: demo } ] } } }
",
    );
    world.until("the Job's pod", || (world.names("pods").len() == 1).then_some(()));
    world.kubectl(&["delete", "job", "nightly-29384400", "--cascade=orphan"]);
    let pod = world.names("pods")[0].clone();
    world.until("a pod without owner", || world.get(&pod)["metadata"]["ownerReferences"].is_null().then_some(()));
    let plan = world.purge(&["app", "demo", "--dry-run", "-o", "json"]).exits(0).json();
    assert_eq!(planned(&plan), ["delete CronJob/nightly"]);
    assert_eq!(plan["suspected"][0]["reasons"][0], "named like a child of CronJob/nightly");
    world.purge(&["app", "demo", "--yes"]).exits(0).says("Looks like part of it, but is not tied to it, and stays:");
    assert_eq!(world.names("pods"), [pod]);
}

#[test]
fn an_object_or_a_selector_can_be_named_instead_of_an_application() {
    let world = World::new("around");
    world.deployment("web", "front", 1);
    world.deployment("other", "other", 1);
    world.until_running("app", 2);
    let plan = world.purge(&["app", "deploy/web", "--dry-run", "-o", "json"]).exits(0).json();
    assert_eq!(plan["app"], "deploy/web");
    assert_eq!(reasons(&plan, "Deployment", "web"), ["named"]);
    assert_eq!(planned(&plan).len(), 3);
    let names = world.purge(&["app", "-l", "app in (front)", "--dry-run", "-o", "name"]).exits(0);
    assert!(names.stdout.lines().all(|line| line.contains("/web")), "{}", names.stdout);
    assert!(names.stdout.contains("deployment.apps/web\n"), "{}", names.stdout);
    world.purge(&["app", "-l", "app=front", "--yes"]).exits(0).says("Purge application \"-l app=front\"");
    assert_eq!(world.names("deployments"), ["deployment.apps/other"]);
}

#[test]
fn what_is_excluded_stays_with_what_it_can_not_be_without() {
    let world = World::new("excluded");
    world.deployment("web", "demo", 1);
    world.apply("{ apiVersion: v1, kind: ConfigMap, metadata: { name: c, labels: { app: demo } } }");
    world.until_running("app=demo", 1);
    let set = world.names("replicasets")[0].replace("replicaset.apps/", "rs/");
    // A name mistyped must not cost what was to be kept.
    let typo = world.purge(&["app", "demo", "--yes", "--exclude", "cm/d"]).exits(2);
    typo.complains("--exclude ConfigMap/d: there is no such object in namespace");
    let run = world.purge(&["app", "demo", "--yes", "--exclude", &set]).exits(0);
    run.says("excluded (--exclude)").says("which is kept");
    assert_eq!(world.names("deployments,replicasets,pods").len(), 3);
    assert_eq!(world.names("configmaps"), ["configmap/kube-root-ca.crt"]);
}

/// kubernetes/kubectl#584, apecloud/kubeblocks#9860.
#[test]
fn objects_of_the_whole_cluster_are_listed_and_never_touched() {
    let world = World::new("cluster");
    let app = format!("cluster-{}", std::process::id());
    let plane = ControlPlane::shared();
    plane
        .apply(&format!(
            "{{ apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {{ name: {app}, labels: {{ app: {app} }} }}, rules: [] }}"
        ))
        .unwrap();
    world.apply(&format!("{{ apiVersion: v1, kind: ConfigMap, metadata: {{ name: c, labels: {{ app: {app} }} }} }}"));
    let run = world.purge(&["app", &app, "--yes"]).exits(0);
    run.says("Carries its label in the whole cluster, and is never touched:").says(&format!("ClusterRole/{app}"));
    plane.kubectl(&["get", "clusterrole", &app]).ok().unwrap();
    plane.kubectl(&["delete", "clusterrole", &app]).ok().unwrap();
}

/// rancher/rancher#26861: the garbage collector never acts on a reference whose kind is wrong.
#[test]
fn ownership_goes_by_uid_whatever_kind_the_reference_claims() {
    let world = World::new("wrongkind");
    world.apply("{ apiVersion: v1, kind: ConfigMap, metadata: { name: owner, labels: { app: demo } } }");
    let uid = world.get("configmap/owner")["metadata"]["uid"].as_str().unwrap().to_owned();
    let owned = |name: &str, uid: &str| {
        format!(
            "---\n{{ apiVersion: v1, kind: Secret, metadata: {{ name: {name}, ownerReferences: [ {{ apiVersion: v1, kind: configmaps, name: owner, uid: {uid} }} ] }} }}\n"
        )
    };
    // The same name under another uid is no match.
    world.apply(&[owned("child", &uid), owned("stranger", "00000000-0000-0000-0000-000000000001")].concat());
    world.purge(&["app", "demo", "--yes"]).exits(0).says("owned by ConfigMap/owner");
    assert_eq!(world.names("secrets"), ["secret/stranger"]);
}
