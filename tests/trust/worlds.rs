//! Random worlds: a few applications that look alike, share things and own each other's, in three namespaces.

use fastrand::Rng;
use serde_json::{Value, json};

use crate::api::Administrator;

/// Names of which one is another's beginning, end or middle.
const APPS: [&str; 6] = ["demo", "demo-2", "demo2", "api-demo", "dem", "other"];

/// The keys by which applications are called, as many charts mix them.
const KEYS: [&str; 4] = ["app", "app.kubernetes.io/name", "app.kubernetes.io/instance", "k8s-app"];

const KEEPS: [(&str, &str); 3] = [
    ("helm.sh/resource-policy", "keep"),
    ("argocd.argoproj.io/sync-options", "Delete=false"),
    ("kubectl-purge/keep", "true"),
];

fn pick<'a, T>(random: &mut Rng, from: &'a [T]) -> &'a T {
    &from[random.usize(..from.len())]
}

/// One namespace's objects as they are being made.
struct Maker<'a> {
    random: &'a mut Rng,
    apps: Vec<&'static str>,
}

impl Maker<'_> {
    fn app(&mut self) -> &'static str {
        let apps = self.apps.clone();
        apps[self.random.usize(..apps.len())]
    }

    /// The labels of something of this application: sometimes none, sometimes another's as well.
    fn labels(&mut self, app: &str) -> Value {
        let mut labels = json!({});
        if self.random.u8(..5) > 0 {
            labels[*pick(self.random, &KEYS[..2])] = app.into();
        }
        if self.random.u8(..6) == 0 {
            labels[*pick(self.random, &KEYS)] = self.app().into();
        }
        if self.random.bool() {
            labels["tier"] = (*pick(self.random, &["front", "back"])).into();
        }
        labels
    }

    fn object(&mut self, api: &str, kind: &str, name: &str, app: &str, rest: Value) -> Value {
        let mut object =
            json!({ "apiVersion": api, "kind": kind, "metadata": { "name": name, "labels": self.labels(app) } });
        if let (Value::Object(object), Value::Object(rest)) = (&mut object, rest) {
            object.extend(rest);
        }
        if self.random.u8(..12) == 0 {
            let (key, value) = *pick(self.random, &KEEPS);
            object["metadata"]["annotations"] = json!({ key: value });
        }
        object
    }

    fn pod_spec(&mut self, app: &str) -> Value {
        let mut spec =
            json!({ "terminationGracePeriodSeconds": 0, "containers": [ { "name": "main", "image": "demo" } ] });
        let used = if self.random.u8(..3) == 0 { self.app() } else { app };
        let env = |kind: &str, name: String| json!([ { kind: { "name": name, "optional": true } } ]);
        match self.random.u8(..5) {
            0 => spec["containers"][0]["envFrom"] = env("configMapRef", format!("{used}-conf")),
            1 => spec["containers"][0]["envFrom"] = env("secretRef", format!("{used}-secret")),
            2 => {
                let claim = json!({ "claimName": format!("{used}-data") });
                spec["volumes"] = json!([ { "name": "data", "persistentVolumeClaim": claim } ]);
            }
            _ => {}
        }
        spec
    }

    /// What stands for itself.
    fn roots(&mut self) -> Vec<Value> {
        let mut made = Vec::new();
        for app in self.apps.clone() {
            let template = json!({ "metadata": { "labels": { "app": app } }, "spec": self.pod_spec(app) });
            let selector = json!({ "matchLabels": { "app": app } });
            let replicas = self.random.u8(..3);
            made.push(self.object(
                "apps/v1",
                "Deployment",
                app,
                app,
                json!({ "spec": { "replicas": replicas, "selector": selector, "template": template } }),
            ));
            for (kind, suffix) in [("ConfigMap", "conf"), ("Secret", "secret")] {
                made.push(self.object("v1", kind, &format!("{app}-{suffix}"), app, json!({})));
            }
            if self.random.bool() {
                let selector =
                    if self.random.u8(..4) == 0 { json!({ "tier": "front" }) } else { json!({ "app": app }) };
                made.push(self.object(
                    "v1",
                    "Service",
                    app,
                    app,
                    json!({ "spec": { "selector": selector, "ports": [ { "port": 80 } ] } }),
                ));
            }
            if self.random.bool() {
                made.push(self.object("v1", "PersistentVolumeClaim", &format!("{app}-data"), app, json!({ "spec": { "accessModes": ["ReadWriteOnce"], "resources": { "requests": { "storage": "1Gi" } } } })));
            }
            for _ in 0..self.random.u8(..4) {
                let extra = self.extra(app);
                made.push(extra);
            }
        }
        // The API server takes one object of a name.
        let mut seen = std::collections::BTreeSet::new();
        made.retain(|object| seen.insert((object["kind"].to_string(), object["metadata"]["name"].to_string())));
        made
    }

    fn extra(&mut self, app: &str) -> Value {
        let target = self.app();
        let name = format!("{app}-{}", self.random.u8(..4));
        let account = json!([ { "kind": "ServiceAccount", "name": format!("{target}-1") } ]);
        match self.random.u8(..11) {
            0 => self.object("autoscaling/v2", "HorizontalPodAutoscaler", &name, app, json!({ "spec": { "maxReplicas": 3, "scaleTargetRef": { "apiVersion": "apps/v1", "kind": "Deployment", "name": target } } })),
            1 => self.object("policy/v1", "PodDisruptionBudget", &name, app, json!({ "spec": { "minAvailable": 1, "selector": { "matchLabels": { "app": target } } } })),
            2 => self.object("networking.k8s.io/v1", "NetworkPolicy", &name, app, json!({ "spec": { "podSelector": { "matchLabels": { "tier": "front" } } } })),
            3 => {
                let rule = |service: &str| json!({ "path": format!("/{service}"), "pathType": "Prefix", "backend": { "service": { "name": service, "port": { "number": 80 } } } });
                let paths = [rule(app), rule(target)];
                self.object("networking.k8s.io/v1", "Ingress", &name, app, json!({ "spec": { "rules": [ { "http": { "paths": paths } } ] } }))
            }
            4 => self.object("v1", "ServiceAccount", &name, app, json!({})),
            5 => self.object("rbac.authorization.k8s.io/v1", "Role", &name, app, json!({ "rules": [] })),
            6 => self.object("rbac.authorization.k8s.io/v1", "RoleBinding", &name, app, json!({ "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": format!("{target}-1") }, "subjects": account })),
            7 => self.object("batch/v1", "CronJob", &name, app, json!({ "spec": { "schedule": "0 3 * * *", "jobTemplate": { "spec": { "template": { "spec": { "restartPolicy": "Never", "containers": [ { "name": "main", "image": "demo" } ] } } } } } })),
            8 => self.object("trust.example/v1", "Widget", &name, app, json!({})),
            9 => self.object("v1", "PodTemplate", &name, app, json!({ "template": { "metadata": { "labels": { "app": target } }, "spec": { "containers": [ { "name": "main", "image": "demo" } ] } } })),
            _ => json!({
                "apiVersion": "v1", "kind": "Secret", "type": "helm.sh/release.v1",
                "metadata": { "name": format!("sh.helm.release.v1.{app}.v{}", self.random.u8(1..4)), "labels": { "owner": "helm", "name": app } },
            }),
        }
    }

    /// What is owned: by what it should be, by somebody else's, by what is gone, or by nothing.
    fn owned(&mut self, kind: &str, owners: &[(Value, String)]) -> Vec<Value> {
        let mut made = Vec::new();
        for number in 0..owners.len().min(12) {
            let (owner, uid) = pick(self.random, owners);
            let app = owner["metadata"]["name"].as_str().unwrap().split("-rs").next().unwrap().to_owned();
            let spec = self.pod_spec(&app);
            let rest = match kind {
                "ReplicaSet" => {
                    json!({ "spec": { "replicas": 0, "selector": { "matchLabels": { "app": app } }, "template": { "metadata": { "labels": { "app": app } }, "spec": spec } } })
                }
                "Pod" => json!({ "spec": spec }),
                _ => json!({}),
            };
            let api = if kind == "ReplicaSet" { "apps/v1" } else { "v1" };
            let infix = if kind == "ReplicaSet" { "rs" } else { "x" };
            let mut object = self.object(api, kind, &format!("{app}-{infix}{number}"), &app, rest);
            if kind != "ConfigMap" {
                object["metadata"]["labels"]["app"] = app.into();
            }
            let uid = match self.random.u8(..8) {
                0 | 1 => None,
                2 => Some("00000000-0000-4000-8000-000000000001".to_owned()),
                _ => Some(uid.clone()),
            };
            if let Some(uid) = uid {
                object["metadata"]["ownerReferences"] = json!([ {
                    "apiVersion": owner["apiVersion"], "kind": owner["kind"], "name": owner["metadata"]["name"],
                    "uid": uid, "controller": self.random.u8(..4) > 0,
                } ]);
            }
            if self.random.bool() && kind == "Pod" {
                object["metadata"]["generateName"] =
                    format!("{}-", object["metadata"]["name"].as_str().unwrap()).into();
            }
            made.push(object);
        }
        made
    }
}

/// Fills a namespace with applications; says which there are, and how many objects.
pub fn fill(admin: &Administrator, random: &mut Rng, namespace: &str, apps: usize) -> (Vec<&'static str>, usize) {
    let mut names = APPS.to_vec();
    random.shuffle(&mut names);
    names.truncate(apps);
    let mut maker = Maker { random, apps: names.clone() };
    let roots = maker.roots();
    let uids = admin.create(namespace, &roots);
    let mut count = roots.len();
    let with_uids: Vec<(Value, String)> = roots.into_iter().zip(uids).collect();
    let of = |made: &[(Value, String)], kind: &str| -> Vec<(Value, String)> {
        made.iter().filter(|(object, _)| object["kind"] == kind).cloned().collect()
    };
    let sets = maker.owned("ReplicaSet", &of(&with_uids, "Deployment"));
    let set_uids = admin.create(namespace, &sets);
    let sets: Vec<(Value, String)> = sets.into_iter().zip(set_uids).collect();
    let pods = maker.owned("Pod", &[sets.clone(), sets.clone()].concat());
    admin.create(namespace, &pods);
    let maps = maker.owned("ConfigMap", &with_uids);
    admin.create(namespace, &maps);
    count += sets.len() + pods.len() + maps.len();
    (names, count)
}
