//! Fake nodes, alive and dead.

use serde_json::{Value, json};

/// What a node offers, as Kubernetes quantities.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NodeSize {
    pub(crate) cpu: String,
    pub(crate) memory: String,
    pub(crate) pods: u32,
}

/// A Node object. Kwok plays the kubelet of those that carry its annotation; without it a node never
/// becomes ready, and a pod bound to it by `spec.nodeName` is never stopped.
pub(crate) fn node(name: &str, size: &NodeSize, alive: bool) -> Value {
    let offers = json!({ "cpu": size.cpu, "memory": size.memory, "pods": size.pods.to_string() });
    let mut node = json!({
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "labels": {
                "kubernetes.io/hostname": name,
                "kubernetes.io/os": "linux",
                "kubernetes.io/arch": "amd64",
                "kubernetes.io/role": "agent",
            },
        },
        "status": { "allocatable": offers, "capacity": offers },
    });
    if alive {
        node["metadata"]["annotations"] = json!({ "kwok.x-k8s.io/node": "fake" });
    } else {
        // As the controllers see a node that has gone silent. A node without conditions has no taints for
        // its first minute, and the scheduler would use it.
        node["status"]["conditions"] = json!([{
            "type": "Ready",
            "status": "Unknown",
            "reason": "NodeStatusUnknown",
            "message": "Kubelet stopped posting node status.",
        }]);
    }
    node
}

/// Whether a node is ready and rid of the taint that every new node has until it is.
pub(crate) fn is_ready(node: &Value) -> bool {
    let conditions = node["status"]["conditions"].as_array();
    let ready = conditions.is_some_and(|conditions| {
        conditions.iter().any(|condition| condition["type"] == "Ready" && condition["status"] == "True")
    });
    ready && node["spec"]["taints"].as_array().is_none_or(Vec::is_empty)
}
