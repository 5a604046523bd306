//! From an object as the server has it to a manifest that makes it anew. Pure.

use serde_json::{Map, Value};

/// What only the server, or a controller, may write in `metadata`.
const METADATA: [&str; 11] = [
    "uid",
    "resourceVersion",
    "generation",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "selfLink",
    "managedFields",
    // Their uids will not come back.
    "ownerReferences",
    // Their controllers put them on again.
    "finalizers",
    "generateName",
];

/// Annotations that speak of the object that was, or hold a copy of it.
const ANNOTATIONS: [&str; 10] = [
    "kubectl.kubernetes.io/last-applied-configuration",
    "deployment.kubernetes.io/revision",
    "kubectl-purge/restore",
    "pv.kubernetes.io/bind-completed",
    "pv.kubernetes.io/bound-by-controller",
    "volume.kubernetes.io/selected-node",
    "volume.kubernetes.io/storage-provisioner",
    "volume.beta.kubernetes.io/storage-provisioner",
    "kubernetes.io/service-account.uid",
    "batch.kubernetes.io/job-tracking",
];

/// Labels by which a Job's controller tells one Job's pods from another's.
const JOB_LABELS: [&str; 4] =
    ["controller-uid", "job-name", "batch.kubernetes.io/controller-uid", "batch.kubernetes.io/job-name"];

/// Takes away what the server added: what is left can be applied, in the same namespace or, without that, in another.
#[must_use]
pub fn bare(mut manifest: Value) -> Value {
    let group = manifest["apiVersion"].as_str().unwrap_or_default().to_owned();
    let kind = manifest["kind"].as_str().unwrap_or_default().to_owned();
    if let Some(object) = manifest.as_object_mut() {
        object.remove("status");
    }
    if let Some(metadata) = child(&mut manifest, "metadata") {
        for key in METADATA {
            metadata.remove(key);
        }
        remove_from(metadata, "annotations", &ANNOTATIONS);
    }
    match (group.as_str(), kind.as_str()) {
        ("v1", "Service") => service(&mut manifest),
        ("v1", "Pod") => pod(&mut manifest),
        ("v1", "PersistentVolumeClaim") => {
            // Its volume may be gone, or keep the old claim's name; a new one is provided.
            if let Some(spec) = child(&mut manifest, "spec") {
                spec.remove("volumeName");
            }
        }
        ("v1", "Secret") if manifest["type"] == "kubernetes.io/service-account-token" => {
            if let Some(secret) = manifest.as_object_mut() {
                secret.remove("data");
            }
        }
        ("batch/v1", "Job") => job(&mut manifest),
        _ => {}
    }
    manifest
}

fn child<'a>(value: &'a mut Value, key: &str) -> Option<&'a mut Map<String, Value>> {
    value.get_mut(key)?.as_object_mut()
}

/// Removes keys of a map in a map, and that map where nothing is left of it.
fn remove_from(object: &mut Map<String, Value>, of: &str, keys: &[&str]) {
    let Some(map) = object.get_mut(of).and_then(Value::as_object_mut) else { return };
    for key in keys {
        map.remove(*key);
    }
    if map.is_empty() {
        object.remove(of);
    }
}

/// Addresses are given out anew; a headless Service stays headless.
fn service(manifest: &mut Value) {
    let Some(spec) = child(manifest, "spec") else { return };
    if spec.get("clusterIP").is_some_and(|address| address != "None") {
        spec.remove("clusterIP");
        spec.remove("clusterIPs");
    }
    spec.remove("healthCheckNodePort");
}

/// A pod is scheduled anew and gets a new token.
fn pod(manifest: &mut Value) {
    let Some(spec) = child(manifest, "spec") else { return };
    for key in ["nodeName", "ephemeralContainers", "priority", "preemptionPolicy"] {
        spec.remove(key);
    }
    let token = |value: &Value| value["name"].as_str().is_some_and(|name| name.starts_with("kube-api-access-"));
    if let Some(volumes) = spec.get_mut("volumes").and_then(Value::as_array_mut) {
        volumes.retain(|volume| !token(volume));
    }
    for key in ["containers", "initContainers"] {
        for container in spec.get_mut(key).and_then(Value::as_array_mut).into_iter().flatten() {
            if let Some(mounts) = container.get_mut("volumeMounts").and_then(Value::as_array_mut) {
                mounts.retain(|mount| !token(mount));
            }
        }
    }
}

/// A Job's selector and labels hold its uid, unless the user chose them.
fn job(manifest: &mut Value) {
    let Some(spec) = child(manifest, "spec") else { return };
    if spec.get("manualSelector").is_some_and(|manual| *manual == true) {
        return;
    }
    spec.remove("selector");
    if let Some(metadata) = spec.get_mut("template").and_then(|template| child(template, "metadata")) {
        remove_from(metadata, "labels", &JOB_LABELS);
    }
    if let Some(metadata) = child(manifest, "metadata") {
        remove_from(metadata, "labels", &JOB_LABELS);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_the_server_wrote_goes_and_what_the_user_wrote_stays() {
        let stored = json!({
            "apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {
                "name": "web", "namespace": "shop", "uid": "u", "resourceVersion": "7", "generation": 2,
                "creationTimestamp": "2026-01-01T00:00:00Z", "managedFields": [{}], "labels": { "app": "demo" },
                "ownerReferences": [{}], "finalizers": ["x"],
                "annotations": { "deployment.kubernetes.io/revision": "1", "mine": "yes" },
            },
            "spec": { "replicas": 3 }, "status": { "replicas": 3 },
        });
        assert_eq!(
            bare(stored),
            json!({
                "apiVersion": "apps/v1", "kind": "Deployment",
                "metadata": { "name": "web", "namespace": "shop", "labels": { "app": "demo" },
                              "annotations": { "mine": "yes" } },
                "spec": { "replicas": 3 },
            })
        );
    }

    #[test]
    fn addresses_are_given_out_anew_but_headless_stays_headless() {
        let service = |ip: &str| {
            bare(json!({ "apiVersion": "v1", "kind": "Service", "metadata": {},
                         "spec": { "clusterIP": ip, "clusterIPs": [ip] } }))
        };
        assert_eq!(service("10.0.0.7")["spec"], json!({}));
        assert_eq!(service("None")["spec"]["clusterIP"], "None");
    }

    #[test]
    fn a_pod_loses_its_node_and_its_token() {
        let pod = bare(json!({ "apiVersion": "v1", "kind": "Pod", "metadata": {}, "spec": {
            "nodeName": "node-1", "volumes": [{ "name": "kube-api-access-x" }, { "name": "own" }],
            "containers": [{ "volumeMounts": [{ "name": "kube-api-access-x" }, { "name": "own" }] }] } }));
        assert_eq!(
            pod["spec"],
            json!({ "volumes": [{ "name": "own" }], "containers": [{ "volumeMounts": [{ "name": "own" }] }] })
        );
    }

    #[test]
    fn a_job_loses_what_names_its_uid() {
        let job = bare(json!({ "apiVersion": "batch/v1", "kind": "Job", "metadata": { "labels": { "job-name": "a" } },
            "spec": { "selector": {}, "template": { "metadata": { "labels": { "controller-uid": "u", "a": "b" } } } } }));
        assert_eq!(job["spec"], json!({ "template": { "metadata": { "labels": { "a": "b" } } } }));
        assert_eq!(job["metadata"], json!({}));
    }
}
