//! The service accounts that the controllers speak as.

use serde_json::{Value, json};

/// The accounts of Kubernetes 1.37's controllers, in `kube-system`.
const CONTROLLERS: &str = "attachdetach-controller certificate-controller clusterrole-aggregation-controller \
    cronjob-controller daemon-set-controller deployment-controller device-taint-eviction-controller \
    disruption-controller endpoint-controller endpointslice-controller endpointslicemirroring-controller \
    ephemeral-volume-controller expand-controller generic-garbage-collector horizontal-pod-autoscaler \
    job-controller kube-apiserver-serving-clustertrustbundle-publisher legacy-service-account-token-cleaner \
    namespace-controller node-controller persistent-volume-binder pod-garbage-collector \
    podcertificaterequestcleaner pv-protection-controller pvc-protection-controller replicaset-controller \
    replication-controller resource-claim-controller resourcequota-controller root-ca-cert-publisher \
    service-account-controller service-cidrs-controller statefulset-controller \
    storage-version-migrator-controller ttl-after-finished-controller ttl-controller \
    validatingadmissionpolicy-status-controller volumeattributesclass-protection-controller";

/// Made before the controller manager starts, these save it three requests for each controller, and so
/// four seconds: it allows itself 20 requests a second, a default that the tests want to keep. An
/// account that is missing here it makes by itself.
pub(crate) fn of_controllers() -> impl Iterator<Item = Value> {
    CONTROLLERS.split_whitespace().map(|name| {
        json!({ "apiVersion": "v1", "kind": "ServiceAccount", "metadata": { "name": name, "namespace": "kube-system" } })
    })
}
