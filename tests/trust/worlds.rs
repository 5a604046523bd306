//! Random worlds: applications with look-alike names and shared labels in three namespaces, with all that makes it
//! hard to tell what belongs to which.

use fastrand::Rng;
use serde_json::{Value, json};

use crate::{
    quiet::{Quiet, path, uid},
    templates::{bare, pod, service, simple, workload},
};

/// Names that begin, end or sound alike.
const NAMES: [&str; 10] = ["demo", "demo-web", "demo2", "demo-1", "dem", "web", "web-demo", "Demo", "demo.web", "db"];
/// Labels by which applications are called.
const KEYS: [&str; 6] =
    ["app", "app.kubernetes.io/name", "app.kubernetes.io/instance", "app.kubernetes.io/part-of", "k8s-app", "release"];
/// Annotations that say keep, and one that does not.
const KEEPS: [(&str, &str); 4] = [
    ("kubectl-purge/keep", "true"),
    ("helm.sh/resource-policy", "keep"),
    ("argocd.argoproj.io/sync-options", "Prune=false"),
    ("kubectl-purge/keep", "false"),
];

/// When what has finished did.
const DONE: &str = "2026-01-01T00:00:00Z";

/// An owner of an object that is to be made.
enum Owner {
    /// One made before it, by its place.
    Of(usize, bool),
    /// Of a kind that this cluster does not serve, or of another namespace: nobody finds it.
    Foreign(bool),
}

struct Draft {
    namespace: usize,
    kind: &'static str,
    object: Value,
    owners: Vec<Owner>,
    layer: usize,
}

/// One application in one namespace.
#[derive(Clone, Debug)]
pub struct Application {
    pub namespace: usize,
    pub key: &'static str,
    pub name: &'static str,
}

impl Application {
    /// Its name as a part of objects' names.
    fn stem(&self) -> String {
        self.name.to_lowercase().replace('.', "-")
    }
}

/// What is to be made in three namespaces.
pub struct Populace {
    pub applications: Vec<Application>,
    drafts: Vec<Draft>,
}

impl Populace {
    /// 2 to 5 applications, 20 to 60 objects.
    pub fn random(rng: &mut Rng) -> Self {
        let count = rng.usize(2..=5);
        let mut applications: Vec<Application> = Vec::new();
        for _ in 0..count {
            // Often the same application once more, in another namespace or under another label.
            let name = match applications.first() {
                Some(first) if rng.bool() => first.name,
                _ => NAMES[rng.usize(..NAMES.len())],
            };
            let namespace = if rng.u8(..4) == 0 { rng.usize(1..3) } else { 0 };
            applications.push(Application { namespace, key: KEYS[rng.usize(..KEYS.len())], name });
        }
        let mut populace = Self { applications: applications.clone(), drafts: Vec::new() };
        let wanted = rng.usize(20..=60);
        for namespace in 0..3 {
            populace.shared(rng, namespace);
        }
        while populace.drafts.len() < wanted {
            let application = applications[rng.usize(..count)].clone();
            populace.part(rng, &application);
        }
        populace
    }

    /// Makes it all, owners before what they own; gives kind and name of each object of a namespace.
    pub fn make(self, quiet: &Quiet, namespaces: &[String]) -> Vec<(usize, &'static str, String)> {
        let mut uids: Vec<Option<(String, &'static str, String, String)>> = vec![None; self.drafts.len()];
        let deepest = self.drafts.iter().map(|draft| draft.layer).max().unwrap_or_default();
        for layer in 0..=deepest {
            let due: Vec<usize> = (0..self.drafts.len()).filter(|&at| self.drafts[at].layer == layer).collect();
            let requests: Vec<(String, Value)> = due
                .iter()
                .map(|&at| {
                    let draft = &self.drafts[at];
                    let mut object = draft.object.clone();
                    let owners: Vec<Value> = draft.owners.iter().map(|owner| reference(owner, &uids)).collect();
                    if !owners.is_empty() {
                        object["metadata"]["ownerReferences"] = Value::Array(owners);
                    }
                    (path(&namespaces[draft.namespace], draft.kind), object)
                })
                .collect();
            let made = quiet.api.create(&requests);
            quiet.api.finish(&requests, &made);
            for (at, made) in due.into_iter().zip(made) {
                let version = self.drafts[at].object["apiVersion"].as_str().unwrap().to_owned();
                let name = made["metadata"]["name"].as_str().unwrap().to_owned();
                uids[at] = Some((version, self.drafts[at].kind, name, uid(&made)));
            }
        }
        let places = self.drafts.iter().zip(uids);
        places.map(|(draft, made)| (draft.namespace, draft.kind, made.unwrap().2)).collect()
    }

    fn add(&mut self, namespace: usize, kind: &'static str, object: Value, owners: Vec<Owner>) -> Option<usize> {
        let name = &object["metadata"]["name"];
        let is_there = |draft: &Draft| {
            draft.namespace == namespace && draft.kind == kind && draft.object["metadata"]["name"] == *name
        };
        if self.drafts.iter().any(is_there) {
            return None;
        }
        let above = owners.iter().filter_map(|owner| match owner {
            Owner::Of(at, _) => Some(self.drafts[*at].layer + 1),
            Owner::Foreign(_) => None,
        });
        let layer = above.max().unwrap_or_default();
        self.drafts.push(Draft { namespace, kind, object, owners, layer });
        Some(self.drafts.len() - 1)
    }

    /// What several applications of a namespace use.
    fn shared(&mut self, rng: &mut Rng, namespace: usize) {
        for kind in ["ConfigMap", "Secret", "ServiceAccount", "PersistentVolumeClaim"] {
            if rng.bool() {
                let labels = if rng.u8(..4) == 0 { json!({ "tier": "front" }) } else { json!({}) };
                self.add(namespace, kind, simple(kind, "shared", &labels), Vec::new());
            }
        }
        if rng.bool() {
            let object = service("shared", &json!({}), &json!({ "tier": "front" }));
            self.add(namespace, "Service", object, Vec::new());
        }
    }

    /// An owner of an application's object that is not the application's, now and then.
    fn foreign(&self, rng: &mut Rng, namespace: usize, has_controller: bool) -> Vec<Owner> {
        match rng.u8(..20) {
            0 => vec![Owner::Foreign(!has_controller)],
            1 => vec![Owner::Foreign(false)],
            2 => {
                let here = (0..self.drafts.len()).filter(|&at| self.drafts[at].namespace == namespace);
                let here: Vec<usize> = here.filter(|&at| self.drafts[at].kind == "Deployment").collect();
                here.get(rng.usize(..here.len().max(1))).map(|&at| Owner::Of(at, false)).into_iter().collect()
            }
            _ => Vec::new(),
        }
    }

    /// One more part of an application: a workload with what it made, or something beside it.
    fn part(&mut self, rng: &mut Rng, application: &Application) {
        let Application { namespace, key, name } = *application;
        let stem = application.stem();
        let said = labels(rng, key, name);
        let own = if rng.u8(..4) == 0 { json!({}) } else { said.clone() };
        let title = match rng.u8(..4) {
            0 => stem.clone(),
            1 => format!("{stem}-web"),
            2 => format!("{stem}-{}", rng.u8(..3)),
            _ => ["web", "db", "demo"][rng.usize(..3)].to_owned(),
        };
        let mut owners = self.foreign(rng, namespace, false);
        match rng.u8(..22) {
            0..=3 => self.deployment(rng, namespace, &title, &own, &said, owners),
            4 => self.set(rng, namespace, &title, &own, &said),
            5 => {
                let set = workload("DaemonSet", &title, &own, &said, &uses(rng));
                self.add(namespace, "DaemonSet", set, owners);
            }
            6 => self.job(rng, namespace, &title, &own, &said),
            7 => {
                let mut object = workload("Job", "x", &json!({}), &said, &json!([]));
                object["spec"]["template"]["spec"]["restartPolicy"] = json!("Never");
                let spec = json!({ "schedule": "0 3 1 1 *", "suspend": rng.bool(), "jobTemplate": { "spec": object["spec"] } });
                let object = bare("batch/v1", "CronJob", &title, &own, &spec);
                self.add(namespace, "CronJob", object, owners);
            }
            8 | 9 => {
                let selector = if rng.u8(..3) == 0 { json!({ "tier": "front" }) } else { said };
                self.add(namespace, "Service", service(&title, &own, &selector), owners);
            }
            10 => {
                let backends = [stem.as_str(), "shared", "web"];
                let paths: Vec<Value> = (0..rng.usize(1..3))
                    .map(|_| backends[rng.usize(..3)])
                    .map(|name| json!({ "path": "/", "pathType": "Prefix", "backend": { "service": { "name": name, "port": { "number": 80 } } } }))
                    .collect();
                let spec = json!({ "rules": [{ "http": { "paths": paths } }] });
                let object = bare("networking.k8s.io/v1", "Ingress", &title, &own, &spec);
                self.add(namespace, "Ingress", object, owners);
            }
            11 => {
                let target = [title.as_str(), stem.as_str(), "web"][rng.usize(..3)];
                let target = json!({ "apiVersion": "apps/v1", "kind": "Deployment", "name": target });
                let spec = json!({ "scaleTargetRef": target, "maxReplicas": 3 });
                let object = bare("autoscaling/v2", "HorizontalPodAutoscaler", &title, &own, &spec);
                self.add(namespace, "HorizontalPodAutoscaler", object, owners);
            }
            12 => {
                let selector = if rng.u8(..3) == 0 { json!({ "tier": "front" }) } else { said };
                let (version, kind, key) = if rng.bool() {
                    ("policy/v1", "PodDisruptionBudget", "selector")
                } else {
                    ("networking.k8s.io/v1", "NetworkPolicy", "podSelector")
                };
                let object = bare(version, kind, &title, &own, &json!({ (key): { "matchLabels": selector } }));
                self.add(namespace, kind, object, owners);
            }
            13 => {
                let role = simple("Role", &title, &own);
                self.add(namespace, "Role", role, owners);
                let mut binding = simple("RoleBinding", &title, &own);
                binding["roleRef"] = json!({ "apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": title });
                let account = ["shared", &stem][rng.usize(..2)];
                binding["subjects"] = json!([{ "kind": "ServiceAccount", "name": account, "namespace": "elsewhere" }]);
                self.add(namespace, "RoleBinding", binding, Vec::new());
            }
            14 => self.release(rng, namespace, &stem, &said),
            15 => {
                let service = [title.as_str(), "gone", "shared"][rng.usize(..3)];
                let mut labels = own;
                labels["kubernetes.io/service-name"] = json!(service);
                let mut object = simple("EndpointSlice", &format!("{title}-{}", rng.u16(..)), &labels);
                object["addressType"] = json!("IPv4");
                object["endpoints"] = json!([]);
                self.add(namespace, "EndpointSlice", object, owners);
            }
            16 => self.operated(rng, namespace, &title, &own, &said),
            17 => self.orphans(rng, namespace, &title, &said),
            18 => {
                let claim = simple("PersistentVolumeClaim", &format!("data-{title}-{}", rng.u8(..3)), &own);
                self.add(namespace, "PersistentVolumeClaim", claim, owners);
            }
            kind => {
                let kind = ["ConfigMap", "Secret", "ServiceAccount"][usize::from(kind) % 3];
                let mut object = simple(kind, &title, &own);
                if rng.u8(..5) == 0 {
                    let (key, value) = KEEPS[rng.usize(..KEEPS.len())];
                    object["metadata"]["annotations"] = json!({ (key): value });
                }
                owners.extend(self.foreign(rng, namespace, true));
                let several = owners.iter().filter(|owner| matches!(owner, Owner::Foreign(true))).count() > 1;
                self.add(namespace, kind, object, if several { Vec::new() } else { owners });
            }
        }
    }

    fn deployment(
        &mut self,
        rng: &mut Rng,
        namespace: usize,
        title: &str,
        own: &Value,
        said: &Value,
        owners: Vec<Owner>,
    ) {
        let mut object = workload("Deployment", title, own, said, &uses(rng));
        object["spec"]["replicas"] = json!(rng.u8(..3));
        let Some(deployment) = self.add(namespace, "Deployment", object, owners) else { return };
        for _ in 0..rng.usize(..3) {
            let hash = hash(rng);
            let mut labels = said.clone();
            labels["pod-template-hash"] = json!(hash);
            let mut set = workload("ReplicaSet", &format!("{title}-{hash}"), said, &labels, &json!([]));
            set["spec"]["replicas"] = json!(0);
            // One that lost its owner is nobody's any more.
            let is_orphan = rng.u8(..4) == 0;
            let owners = if is_orphan { Vec::new() } else { vec![Owner::Of(deployment, true)] };
            let Some(set) = self.add(namespace, "ReplicaSet", set, owners) else { continue };
            for _ in 0..rng.usize(..3) {
                let owners = if rng.u8(..5) == 0 { Vec::new() } else { vec![Owner::Of(set, true)] };
                let pod = pod(&format!("{title}-{hash}-{}", hash_of(rng, 5)), &labels, &uses(rng));
                self.add(namespace, "Pod", pod, owners);
            }
        }
    }

    fn set(&mut self, rng: &mut Rng, namespace: usize, title: &str, own: &Value, said: &Value) {
        let mut object = workload("StatefulSet", title, own, said, &uses(rng));
        object["spec"]["replicas"] = json!(rng.u8(..2));
        object["spec"]["serviceName"] = json!(title);
        let mut claim = simple("PersistentVolumeClaim", "data", &json!({}));
        claim["metadata"] = json!({ "name": "data" });
        object["spec"]["volumeClaimTemplates"] = json!([claim]);
        if rng.u8(..3) == 0 {
            object["spec"]["persistentVolumeClaimRetentionPolicy"] =
                json!({ "whenDeleted": (["Delete", "Retain"][rng.usize(..2)]), "whenScaled": "Delete" });
        }
        let Some(set) = self.add(namespace, "StatefulSet", object, Vec::new()) else { return };
        for ordinal in 0..rng.usize(..3) {
            let name = format!("{title}-{ordinal}");
            let mut labels = said.clone();
            labels["statefulset.kubernetes.io/pod-name"] = json!(name);
            let volumes = json!([{ "name": "data", "persistentVolumeClaim": { "claimName": format!("data-{name}") } }]);
            self.add(namespace, "Pod", pod(&name, &labels, &volumes), vec![Owner::Of(set, true)]);
            let labels = if rng.bool() { said.clone() } else { json!({}) };
            let claim = simple("PersistentVolumeClaim", &format!("data-{name}"), &labels);
            self.add(namespace, "PersistentVolumeClaim", claim, Vec::new());
        }
        let mut revision = simple("ControllerRevision", &format!("{title}-{}", hash(rng)), said);
        revision["revision"] = json!(1);
        revision["data"] = json!({});
        let owners = if rng.u8(..4) == 0 { Vec::new() } else { vec![Owner::Of(set, true)] };
        self.add(namespace, "ControllerRevision", revision, owners);
    }

    /// A Job with its pod; half of them have run to their end.
    fn job(&mut self, rng: &mut Rng, namespace: usize, title: &str, own: &Value, said: &Value) {
        let mut object = workload("Job", title, own, said, &uses(rng));
        object["spec"]["template"]["spec"]["restartPolicy"] = json!("Never");
        let is_finished = rng.bool();
        if is_finished {
            let met = |what: &str| json!({ "type": what, "status": "True", "lastTransitionTime": DONE });
            let conditions = [met("SuccessCriteriaMet"), met("Complete")];
            object["status"] =
                json!({ "startTime": DONE, "completionTime": DONE, "succeeded": 1, "conditions": conditions });
        } else {
            object["spec"]["suspend"] = json!(rng.bool());
        }
        let Some(job) = self.add(namespace, "Job", object, Vec::new()) else { return };
        let mut labels = said.clone();
        labels["job-name"] = json!(title);
        labels["batch.kubernetes.io/job-name"] = json!(title);
        let owners = if rng.u8(..4) == 0 { Vec::new() } else { vec![Owner::Of(job, true)] };
        let mut pod = pod(&format!("{title}-{}", hash_of(rng, 5)), &labels, &json!([]));
        if is_finished {
            pod["status"] = json!({ "phase": "Succeeded" });
        }
        self.add(namespace, "Pod", pod, owners);
    }

    /// Helm's record of a release, and something that says it is of it.
    fn release(&mut self, rng: &mut Rng, namespace: usize, stem: &str, said: &Value) {
        let labels = json!({ "owner": "helm", "name": stem, "status": "deployed", "version": "1" });
        let mut record = simple("Secret", &format!("sh.helm.release.v1.{stem}.v1"), &labels);
        if rng.u8(..5) == 0 {
            record["metadata"]["annotations"] = json!({ "kubectl-purge/keep": "true" });
        }
        record["type"] = json!("helm.sh/release.v1");
        self.add(namespace, "Secret", record, Vec::new());
        let labels = if rng.u8(..3) == 0 { json!({}) } else { said.clone() };
        let mut chart = simple("ConfigMap", &format!("{stem}-chart"), &labels);
        chart["metadata"]["annotations"] = json!({ "meta.helm.sh/release-name": stem });
        self.add(namespace, "ConfigMap", chart, Vec::new());
    }

    /// A custom resource whose operator made a Deployment and a Secret.
    fn operated(&mut self, rng: &mut Rng, namespace: usize, title: &str, own: &Value, said: &Value) {
        let object = json!({ "apiVersion": "demo.example/v1", "kind": "Database", "metadata": { "name": title, "labels": own } });
        let Some(database) = self.add(namespace, "Database", object, Vec::new()) else { return };
        let made = vec![Owner::Of(database, true)];
        self.deployment(rng, namespace, &format!("{title}-db"), said, said, made);
        let labels = if rng.bool() { said.clone() } else { json!({}) };
        let secret = simple("Secret", &format!("{title}-db"), &labels);
        self.add(namespace, "Secret", secret, vec![Owner::Of(database, rng.bool())]);
    }

    /// What `--cascade=orphan` leaves.
    fn orphans(&mut self, rng: &mut Rng, namespace: usize, title: &str, said: &Value) {
        let hash = hash(rng);
        let mut labels = if rng.u8(..3) == 0 { json!({}) } else { said.clone() };
        labels["pod-template-hash"] = json!(hash);
        let mut set = workload("ReplicaSet", &format!("{title}-{hash}"), &labels, &labels, &json!([]));
        set["spec"]["replicas"] = json!(0);
        let set = self.add(namespace, "ReplicaSet", set, Vec::new());
        let owners = set.filter(|_| rng.bool()).map(|set| Owner::Of(set, true)).into_iter().collect();
        self.add(namespace, "Pod", pod(&format!("{title}-{hash}-{}", hash_of(rng, 5)), &labels, &uses(rng)), owners);
    }
}

fn reference(owner: &Owner, uids: &[Option<(String, &'static str, String, String)>]) -> Value {
    match owner {
        Owner::Of(at, controller) => {
            let (version, kind, name, uid) = uids[*at].as_ref().unwrap();
            json!({ "apiVersion": version, "kind": kind, "name": name, "uid": uid, "controller": controller })
        }
        Owner::Foreign(controller) => json!({
            "apiVersion": "elsewhere.example/v1",
            "kind": "Fleet",
            "name": "fleet",
            "uid": "00000000-aaaa-bbbb-cccc-000000000001",
            "controller": controller,
        }),
    }
}

/// The labels of an application's things, often with some that others have too.
fn labels(rng: &mut Rng, key: &str, name: &str) -> Value {
    let mut labels = json!({ (key): name });
    if rng.u8(..3) == 0 {
        labels["tier"] = json!("front");
    }
    if rng.u8(..8) == 0 {
        labels["app.kubernetes.io/part-of"] = json!("suite");
    }
    if rng.u8(..12) == 0 {
        labels["app.kubernetes.io/instance"] = json!(["demo-a", "demo-b"][rng.usize(..2)]);
    }
    labels
}

fn hash_of(rng: &mut Rng, length: usize) -> String {
    const LETTERS: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";
    (0..length).map(|_| char::from(LETTERS[rng.usize(..LETTERS.len())])).collect()
}

fn hash(rng: &mut Rng) -> String {
    hash_of(rng, 9)
}

/// Volumes of what is shared, now and then.
fn uses(rng: &mut Rng) -> Value {
    match rng.u8(..8) {
        0 => json!([{ "name": "c", "configMap": { "name": "shared" } }]),
        1 => json!([{ "name": "s", "secret": { "secretName": "shared" } }]),
        2 => json!([{ "name": "d", "persistentVolumeClaim": { "claimName": "shared" } }]),
        3 => json!([{ "name": "c", "configMap": { "name": (["web", "db", "demo"][rng.usize(..3)]) } }]),
        _ => json!([]),
    }
}
