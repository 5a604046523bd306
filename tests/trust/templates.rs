//! Objects as people write them: as little of a spec as the API server takes.

use serde_json::{Value, json};

pub fn bare(version: &str, kind: &str, name: &str, labels: &Value, spec: &Value) -> Value {
    json!({ "apiVersion": version, "kind": kind, "metadata": { "name": name, "labels": labels }, "spec": spec })
}

pub fn simple(kind: &str, name: &str, labels: &Value) -> Value {
    let version = match kind {
        "Role" | "RoleBinding" => "rbac.authorization.k8s.io/v1",
        "ControllerRevision" => "apps/v1",
        "EndpointSlice" => "discovery.k8s.io/v1",
        _ => "v1",
    };
    let mut object = json!({ "apiVersion": version, "kind": kind, "metadata": { "name": name, "labels": labels } });
    if kind == "PersistentVolumeClaim" {
        object["spec"] = json!({ "accessModes": ["ReadWriteOnce"], "storageClassName": "none", "resources": { "requests": { "storage": "1Gi" } } });
    }
    object
}

pub fn service(name: &str, labels: &Value, selector: &Value) -> Value {
    bare("v1", "Service", name, labels, &json!({ "selector": selector, "ports": [{ "port": 80 }] }))
}

pub fn pod(name: &str, labels: &Value, volumes: &Value) -> Value {
    // The scheduler would write into it that it finds no node.
    let spec = json!({
        "schedulerName": "nobody",
        "containers": [{ "name": "main", "image": "demo" }],
        "volumes": volumes,
    });
    bare("v1", "Pod", name, labels, &spec)
}

pub fn workload(kind: &str, name: &str, own: &Value, said: &Value, volumes: &Value) -> Value {
    let template = pod("x", said, volumes);
    let template = json!({ "metadata": { "labels": said }, "spec": template["spec"] });
    let version = if kind == "Job" { "batch/v1" } else { "apps/v1" };
    let mut spec = json!({ "template": template });
    if kind != "Job" {
        spec["selector"] = json!({ "matchLabels": said });
    }
    bare(version, kind, name, own, &spec)
}
