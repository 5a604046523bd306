//! A cluster of which every word is hostile, and yet complete enough to be purged: discovery, lists, writes, watches.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Mutex,
};

use fastrand::Rng;
use serde_json::{Value, json};

use super::{
    server::{Answer, Asked},
    texts::{bytes, short, text},
};

/// Never to be seen: in Secrets, in annotations, in tokens.
pub const CANARY: &str = "canary-7f3b90";
/// The same as a Secret has it.
pub const PACKED: &str = "Y2FuYXJ5LTdmM2I5MA";

/// The namespace: its name is checked, whoever says it.
pub const NAMESPACE: &str = "shop";

/// What becomes of a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mood {
    /// All are refused, in hostile words.
    Refuses,
    /// All are accepted, and nothing comes of them.
    Stays,
    /// What is deleted is gone.
    Gives,
    /// What is deleted is on its way out, and stays so: its finalizers hold it.
    Holds,
}

/// The cluster's answers.
pub struct Hostile {
    pub mood: Mood,
    documents: BTreeMap<String, Answer>,
    refusal: Answer,
    warning: Vec<u8>,
    single: Value,
    event: String,
    deleted: Mutex<BTreeSet<String>>,
}

/// Kinds with objects: path of the group version, plural, kind.
const KINDS: [(&str, &str, &str); 5] = [
    ("/api/v1", "pods", "Pod"),
    ("/api/v1", "secrets", "Secret"),
    ("/api/v1", "services", "Service"),
    ("/apis/apps/v1", "deployments", "Deployment"),
    ("/apis/apps/v1", "replicasets", "ReplicaSet"),
];

impl Hostile {
    pub fn new(random: &mut Rng, mood: Mood) -> Self {
        let mut documents = BTreeMap::new();
        let mut say = |path: &str, document: Value| drop(documents.insert(path.to_owned(), Answer::json(document)));
        let odd_kind = text(random);
        say("/api", discovery(&[("", "v1", &core(random))]));
        let things = vec![resource(random, "things", &odd_kind)];
        let astray = text_of_path(random);
        let stray = vec![resource(random, &astray, "Stray")];
        let stale = json!({ "metadata": { "name": text(random) }, "versions": [{ "version": text(random), "freshness": "Stale" }] });
        let mut groups = discovery(&[
            (
                "apps",
                "v1",
                &[resource(random, "deployments", "Deployment"), resource(random, "replicasets", "ReplicaSet")],
            ),
            ("evil.example", "v1", &things),
            ("odd.example", "v1", &stray),
        ]);
        groups["items"].as_array_mut().unwrap().push(stale);
        say("/apis", groups);
        say(
            "/apis/authentication.k8s.io/v1/selfsubjectreviews",
            json!({ "kind": "SelfSubjectReview", "status": { "userInfo": { "username": text(random) } } }),
        );
        say(
            &format!("/api/v1/namespaces/{NAMESPACE}"),
            json!({ "kind": "Namespace", "status": { "phase": "Active" } }),
        );
        for (group, plural, kind) in KINDS {
            let objects: Vec<Value> = (0..random.usize(1..4)).map(|_| object(random, kind)).collect();
            say(&format!("{group}/namespaces/{NAMESPACE}/{plural}"), list(&format!("{kind}List"), &objects));
        }
        let objects: Vec<Value> = (0..2).map(|_| object(random, "Thing")).collect();
        say(&format!("/apis/evil.example/v1/namespaces/{NAMESPACE}/things"), list("ThingList", &objects));
        say(&format!("/api/v1/namespaces/{NAMESPACE}/resourcequotas"), list("ResourceQuotaList", &[quota(random)]));
        let refused = |random: &mut Rng, code: u16, reason: &str| {
            let status = json!({ "kind": "Status", "status": "Failure", "message": text(random), "reason": reason, "code": code });
            Answer { reason: reason_phrase(random), ..Answer::of(code, status.to_string().into_bytes()) }
        };
        documents.insert(format!("/api/v1/namespaces/{NAMESPACE}/configmaps"), refused(random, 403, "Forbidden"));
        documents.insert(format!("/api/v1/namespaces/{NAMESPACE}/endpoints"), refused(random, 501, "Odd"));
        let broken = bytes(random);
        documents.insert(format!("/api/v1/namespaces/{NAMESPACE}/serviceaccounts"), Answer::of(200, broken));
        let mut warning = b"299 - \"".to_vec();
        warning.extend(header(random));
        warning.push(b'"');
        let status = json!({ "kind": "Status", "message": text(random), "code": 410 });
        Self {
            mood,
            documents,
            refusal: refused(random, 422, "Invalid"),
            warning,
            single: json!({ "kind": "PartialObjectMetadata", "metadata": { "uid": "u", "name": short(random),
                "managedFields": [{ "manager": text(random), "time": "2026-01-01T00:00:00Z", "fieldsV1": { "f:spec": { "f:replicas": {} } } }] } }),
            event: json!({ "type": "ERROR", "object": status }).to_string() + "\n",
            deleted: Mutex::default(),
        }
    }

    pub fn answer(&self, asked: &Asked) -> Answer {
        let path = asked.path.split('?').next().unwrap_or_default();
        let warned = |answer: Answer| answer.header("Warning", self.warning.clone());
        if asked.path.contains("watch=1") {
            return Answer::of(200, self.event.clone().into_bytes());
        }
        if asked.method == "GET" || path.ends_with("selfsubjectreviews") {
            return match self.documents.get(path) {
                Some(document) => self.as_of_now(path, document),
                None if path.matches('/').count() > 6 => Answer::json(&self.single),
                None => Answer::of(
                    404,
                    json!({ "kind": "Status", "reason": "NotFound", "message": "no", "code": 404 })
                        .to_string()
                        .into_bytes(),
                ),
            };
        }
        let is_trial = asked.path.contains("dryRun=All") || String::from_utf8_lossy(&asked.body).contains("dryRun");
        match self.mood {
            Mood::Refuses => warned(self.refusal.clone()),
            Mood::Gives | Mood::Holds if asked.method == "DELETE" && !is_trial => {
                self.deleted.lock().unwrap().insert(String::from_utf8_lossy(&asked.body).into_owned());
                warned(self.on_its_way(path).unwrap_or_else(success))
            }
            _ if asked.method == "DELETE" => warned(success()),
            _ => warned(Answer::json(&self.single)),
        }
    }

    /// A list as it is now: deleting is by uid.
    fn as_of_now(&self, path: &str, document: &Answer) -> Answer {
        let super::server::Body::Whole(body) = &document.body else { return document.clone() };
        let deleted = self.deleted.lock().unwrap();
        let Ok(mut list) = serde_json::from_slice::<Value>(body) else { return document.clone() };
        if deleted.is_empty() || !path.contains("/namespaces/shop/") {
            return document.clone();
        }
        let is_deleted = |item: &Value| {
            let uid = item["metadata"]["uid"].as_str().unwrap_or_default();
            deleted.iter().any(|body| body.contains(&format!("\"{uid}\"")))
        };
        if let Some(items) = list["items"].as_array_mut() {
            if self.mood == Mood::Holds {
                items.iter_mut().filter(|item| is_deleted(item)).for_each(hold);
            } else {
                items.retain(|item| !is_deleted(item));
            }
        }
        Answer { body: super::server::Body::Whole(list.to_string().into_bytes()), ..document.clone() }
    }

    /// What an API server answers to a delete that has only begun.
    fn on_its_way(&self, path: &str) -> Option<Answer> {
        let (list, name) = path.rsplit_once('/').filter(|_| self.mood == Mood::Holds)?;
        let super::server::Body::Whole(body) = &self.documents.get(list)?.body else { return None };
        let objects: Value = serde_json::from_slice(body).ok()?;
        let name = percent_decode(name);
        let mut object = objects["items"].as_array()?.iter().find(|item| item["metadata"]["name"] == *name)?.clone();
        hold(&mut object);
        Some(Answer::json(object))
    }
}

fn success() -> Answer {
    Answer::json(json!({ "kind": "Status", "status": "Success" }))
}

fn hold(object: &mut Value) {
    object["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z".into();
}

fn percent_decode(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((&first, tail)) = rest.split_first() {
        let digits = (first == b'%').then(|| tail.get(..2)).flatten();
        let escaped = digits.and_then(|digits| u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok());
        bytes.push(escaped.unwrap_or(first));
        rest = if escaped.is_some() { &tail[2..] } else { tail };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn core(random: &mut Rng) -> Vec<Value> {
    let kinds = [
        ("pods", "Pod"),
        ("secrets", "Secret"),
        ("services", "Service"),
        ("resourcequotas", "ResourceQuota"),
        ("configmaps", "ConfigMap"),
        ("endpoints", "Endpoints"),
        ("serviceaccounts", "ServiceAccount"),
    ];
    kinds.iter().map(|(plural, kind)| resource(random, plural, kind)).collect()
}

fn discovery(groups: &[(&str, &str, &[Value])]) -> Value {
    let item = |(name, version, resources): &(&str, &str, &[Value])| json!({ "metadata": { "name": name }, "versions": [{ "version": version, "resources": resources }] });
    json!({ "kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2", "items": groups.iter().map(item).collect::<Vec<_>>() })
}

fn resource(random: &mut Rng, plural: &str, kind: &str) -> Value {
    let subresources = if kind == "Deployment" {
        json!([{ "subresource": "scale" }])
    } else {
        json!([{ "subresource": short(random) }])
    };
    json!({ "resource": plural, "responseKind": { "kind": kind }, "scope": "Namespaced", "singularResource": short(random),
            "shortNames": [short(random)], "verbs": ["list", "delete", "watch", "patch", short(random)], "subresources": subresources })
}

/// A name that leads a path astray.
fn text_of_path(random: &mut Rng) -> String {
    format!("../../{}?{}", short(random), short(random))
}

fn list(kind: &str, items: &[Value]) -> Value {
    json!({ "kind": kind, "metadata": { "resourceVersion": "7" }, "items": items })
}

/// A name of an object: what it may not hold makes the whole kind unseen.
fn name(random: &mut Rng) -> String {
    text(random).replace(['/', '%'], "-")
}

fn object(random: &mut Rng, kind: &str) -> Value {
    let mut metadata = json!({
        "name": name(random),
        "namespace": NAMESPACE,
        "uid": format!("{:032x}", random.u128(..)),
        "resourceVersion": "1",
        "labels": { "app": "demo", text(random): text(random), "app.kubernetes.io/name": "demo" },
        "annotations": {
            text(random): text(random),
            "kubectl.kubernetes.io/last-applied-configuration": CANARY,
            "deployment.kubernetes.io/revision": text(random),
        },
        "finalizers": [text(random), short(random)],
    });
    match random.u8(..6) {
        0 => metadata["annotations"]["kubectl-purge/keep"] = text(random).into(),
        1 => metadata["annotations"]["helm.sh/resource-policy"] = "keep".into(),
        2 => {
            metadata["annotations"]["meta.helm.sh/release-name"] = text(random).into();
            metadata["labels"]["app.kubernetes.io/managed-by"] = text(random).into();
        }
        3 => metadata["annotations"]["argocd.argoproj.io/tracking-id"] = text(random).into(),
        _ => {}
    }
    if random.u8(..3) == 0 {
        metadata["deletionTimestamp"] = time(random).into();
        metadata["deletionGracePeriodSeconds"] = number(random).into();
    }
    metadata["creationTimestamp"] = time(random).into();
    metadata["generation"] = number(random).into();
    if random.bool() {
        metadata["ownerReferences"] = json!([{ "apiVersion": text(random), "kind": text(random), "name": text(random),
                                               "uid": text(random), "controller": random.bool() }]);
    }
    let template = json!({ "metadata": { "labels": { "app": "demo", text(random): text(random) } },
                           "spec": { "containers": [{ "name": text(random), "env": [{ "name": "PASSWORD", "value": CANARY }] }] } });
    let phase = ["Running", "Failed", "Succeeded"][random.usize(..3)];
    let (spec, status) = match kind {
        "Pod" => (
            json!({ "nodeName": text(random), "terminationGracePeriodSeconds": number(random), "activeDeadlineSeconds": number(random), "containers": [{ "resources": { "requests": { "cpu": text(random), text(random): "1" } } }],
                    "volumes": [{ "secret": { "secretName": text(random) } }, { "persistentVolumeClaim": { "claimName": text(random) } }] }),
            json!({ "phase": phase, "reason": text(random), "message": text(random) }),
        ),
        "Deployment" | "ReplicaSet" => (
            json!({ "replicas": number(random), "selector": { "matchLabels": { "app": "demo" } }, "template": template }),
            json!({ "replicas": number(random), "readyReplicas": number(random), "observedGeneration": number(random) }),
        ),
        "Service" => (json!({ "selector": { "app": "demo" }, "type": text(random) }), json!({})),
        _ => (json!({ text(random): text(random) }), json!({ "message": text(random) })),
    };
    json!({ "kind": kind, "metadata": metadata, "spec": spec, "status": status, "data": { "password": PACKED }, "stringData": { "password": CANARY } })
}

/// A number that an API server would not have let pass, half of the time.
fn number(random: &mut Rng) -> i64 {
    let odd = [i64::MAX, i64::MIN, -1, 0, i64::from(i32::MAX) + 1, 253_402_300_800, i64::MAX / 2 + 1];
    if random.bool() { random.i64(..4).rem_euclid(4) } else { odd[random.usize(..odd.len())] }
}

/// A time, or what looks like one, at either end of all time.
fn time(random: &mut Rng) -> &'static str {
    let odd = [
        "9999-12-31T23:59:59Z",
        "0000-01-01T00:00:00Z",
        "-009999-01-02T00:00:00Z",
        "2026-02-30T00:00:00Z",
        "",
        "\u{1b}[2J",
    ];
    if random.bool() { "2026-01-01T00:00:00Z" } else { odd[random.usize(..odd.len())] }
}

fn quota(random: &mut Rng) -> Value {
    let odd = text(random);
    let amount = ["3", "9223372036854775807", "-5", "1e400", "9999999999999999999999Ei"][random.usize(..5)];
    let amounts = json!({ "requests.cpu": amount, "pods": "5", odd: "3" });
    json!({ "kind": "ResourceQuota", "metadata": { "name": name(random), "namespace": NAMESPACE, "uid": "quota", "resourceVersion": "1" },
            "spec": { "hard": amounts, "scopes": [text(random)] }, "status": { "hard": amounts, "used": amounts } })
}

/// The bytes that a header may hold.
fn header(random: &mut Rng) -> Vec<u8> {
    short(random).into_bytes().into_iter().filter(|byte| !byte.is_ascii_control() && *byte != b'"').collect()
}

/// The bytes that the first line of an answer may hold.
fn reason_phrase(random: &mut Rng) -> Vec<u8> {
    header(random)
}
