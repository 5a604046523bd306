//! A pod's spec: what it names of its namespace, and what a quota charges for it.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;

use super::{Map, Named};
use crate::inventory::{Quantity, References};

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct PodSpec {
    containers: Option<Vec<Container>>,
    init_containers: Option<Vec<Container>>,
    ephemeral_containers: Option<Vec<Container>>,
    resources: Option<Resources>,
    overhead: Option<Map>,
    pub(super) volumes: Option<Vec<Volume>>,
    image_pull_secrets: Option<Vec<Named>>,
    service_account_name: Option<String>,
    pub(super) node_name: Option<String>,
    pub(super) priority_class_name: Option<String>,
    pub(super) active_deadline_seconds: Option<i64>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Container {
    resources: Option<Resources>,
    restart_policy: Option<String>,
    env: Option<Vec<Env>>,
    env_from: Option<Vec<EnvFrom>>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Resources {
    pub(super) requests: Option<Map>,
    limits: Option<Map>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Env {
    value_from: Option<EnvSource>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct EnvSource {
    config_map_key_ref: Option<Named>,
    secret_key_ref: Option<Named>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct EnvFrom {
    config_map_ref: Option<Named>,
    secret_ref: Option<Named>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Volume {
    pub(super) name: String,
    config_map: Option<Named>,
    secret: Option<SecretVolume>,
    persistent_volume_claim: Option<ClaimVolume>,
    projected: Option<Projected>,
    csi: Option<Csi>,
    pub(super) ephemeral: Option<serde::de::IgnoredAny>,
    azure_file: Option<SecretVolume>,
    cephfs: Option<SecretUser>,
    rbd: Option<SecretUser>,
    iscsi: Option<SecretUser>,
    flex_volume: Option<SecretUser>,
    #[serde(rename = "scaleIO")]
    scale_io: Option<SecretUser>,
    storageos: Option<SecretUser>,
}

/// Volumes that sign in with a Secret.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct SecretUser {
    secret_ref: Option<Named>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct SecretVolume {
    secret_name: String,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct ClaimVolume {
    claim_name: String,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct Projected {
    sources: Option<Vec<Source>>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Source {
    config_map: Option<Named>,
    secret: Option<Named>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Csi {
    node_publish_secret_ref: Option<Named>,
}

impl PodSpec {
    fn containers(&self) -> impl Iterator<Item = &Container> {
        [&self.containers, &self.init_containers, &self.ephemeral_containers].into_iter().flatten().flatten()
    }

    /// What of its namespace the pod names.
    pub(super) fn references(&self) -> References {
        let mut uses = References::default();
        for container in self.containers() {
            for source in container.env.iter().flatten().filter_map(|env| env.value_from.as_ref()) {
                add(&mut uses.config_maps, source.config_map_key_ref.as_ref());
                add(&mut uses.secrets, source.secret_key_ref.as_ref());
            }
            for source in container.env_from.iter().flatten() {
                add(&mut uses.config_maps, source.config_map_ref.as_ref());
                add(&mut uses.secrets, source.secret_ref.as_ref());
            }
        }
        for volume in self.volumes.iter().flatten() {
            add(&mut uses.config_maps, volume.config_map.as_ref());
            let by_name = [&volume.secret, &volume.azure_file].into_iter().flatten();
            uses.secrets.extend(by_name.map(|secret| secret.secret_name.clone()).filter(|name| !name.is_empty()));
            let signing_in =
                [&volume.cephfs, &volume.rbd, &volume.iscsi, &volume.flex_volume, &volume.scale_io, &volume.storageos];
            for user in signing_in.into_iter().flatten() {
                add(&mut uses.secrets, user.secret_ref.as_ref());
            }
            uses.claims.extend(volume.persistent_volume_claim.as_ref().map(|claim| claim.claim_name.clone()));
            add(&mut uses.secrets, volume.csi.as_ref().and_then(|csi| csi.node_publish_secret_ref.as_ref()));
            for source in volume.projected.iter().filter_map(|projected| projected.sources.as_ref()).flatten() {
                add(&mut uses.config_maps, source.config_map.as_ref());
                add(&mut uses.secrets, source.secret.as_ref());
            }
        }
        for secret in self.image_pull_secrets.iter().flatten() {
            add(&mut uses.secrets, Some(secret));
        }
        uses.service_accounts.extend(self.service_account_name.clone().filter(|name| !name.is_empty()));
        uses
    }

    /// What a quota charges for the pod, as `k8s.io/component-helpers/resource.PodRequests` adds it up: the larger
    /// of all containers together and the costliest moment of the init containers (sidecars run on), or what is
    /// given for the pod as a whole, plus overhead.
    pub(super) fn charge(&self) -> BTreeMap<String, Quantity> {
        let mut charge = BTreeMap::new();
        for (prefix, pick) in [
            ("requests", (|resources: &Resources| resources.requests.as_ref()) as fn(&Resources) -> Option<&Map>),
            ("limits", |resources| resources.limits.as_ref()),
        ] {
            let mut total = BTreeMap::new();
            let of = |container: &Container| quantities(container.resources.as_ref().and_then(pick));
            for container in self.containers.iter().flatten() {
                add_all(&mut total, &of(container));
            }
            let mut sidecars = BTreeMap::new();
            let mut peak = BTreeMap::new();
            for init in self.init_containers.iter().flatten() {
                if init.restart_policy.as_deref() == Some("Always") {
                    add_all(&mut total, &of(init));
                    add_all(&mut sidecars, &of(init));
                    raise_all(&mut peak, &sidecars);
                } else {
                    let mut moment = of(init);
                    add_all(&mut moment, &sidecars);
                    raise_all(&mut peak, &moment);
                }
            }
            raise_all(&mut total, &peak);
            total.extend(quantities(self.resources.as_ref().and_then(pick)));
            let overhead = quantities(self.overhead.as_ref());
            for (resource, amount) in overhead {
                // Overhead counts towards a limit only where there is one.
                if prefix == "requests" || total.contains_key(&resource) {
                    *total.entry(resource).or_default() += amount;
                }
            }
            charge.extend(total.into_iter().map(|(resource, amount)| (format!("{prefix}.{resource}"), amount)));
        }
        charge
    }
}

fn add(names: &mut BTreeSet<String>, named: Option<&Named>) {
    names.extend(named.map(|named| named.name.clone()).filter(|name| !name.is_empty()));
}

fn quantities(map: Option<&Map>) -> BTreeMap<String, Quantity> {
    map.into_iter()
        .flatten()
        .filter_map(|(resource, amount)| Some((resource.clone(), Quantity::parse(amount)?)))
        .collect()
}

fn add_all(to: &mut BTreeMap<String, Quantity>, more: &BTreeMap<String, Quantity>) {
    for (resource, amount) in more {
        *to.entry(resource.clone()).or_default() += *amount;
    }
}

fn raise_all(to: &mut BTreeMap<String, Quantity>, at_least: &BTreeMap<String, Quantity>) {
    for (resource, amount) in at_least {
        let entry = to.entry(resource.clone()).or_default();
        *entry = (*entry).max(*amount);
    }
}

#[cfg(test)]
mod tests {
    use super::super::PodItem;
    use super::*;
    use crate::{
        cluster::wire::Item as _,
        inventory::{self, Detail},
    };

    fn pod(json: &str) -> inventory::Pod {
        match serde_json::from_str::<PodItem>(json).unwrap().parts().1 {
            Detail::Pod(pod) => *pod,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_pod_is_charged_as_the_quota_charges_it() {
        let pod = pod(r#"{"spec":{
            "containers":[{"resources":{"requests":{"cpu":"500m"},"limits":{"cpu":"1"}}},{"resources":{"requests":{"cpu":"250m"}}}],
            "initContainers":[
                {"restartPolicy":"Always","resources":{"requests":{"cpu":"100m"}}},
                {"resources":{"requests":{"cpu":"2","memory":"1Gi"}}}],
            "overhead":{"cpu":"10m"}}}"#);
        let charge: Vec<_> = pod.charge.iter().map(|(name, amount)| format!("{name}={amount}")).collect();
        // 2 + the sidecar's 100m at the costliest moment, + 10m of overhead.
        assert_eq!(charge, ["limits.cpu=1010m", "requests.cpu=2110m", "requests.memory=1073741824"]);
    }

    #[test]
    fn what_is_given_for_the_pod_as_a_whole_stands_for_the_sum() {
        let pod = pod(r#"{"spec":{"resources":{"requests":{"cpu":"3"}},
            "containers":[{"resources":{"requests":{"cpu":"1","memory":"1"}}}]}}"#);
        assert_eq!(pod.charge["requests.cpu"], Quantity::whole(3));
        assert_eq!(pod.charge["requests.memory"], Quantity::whole(1));
    }

    #[test]
    fn every_way_of_using_a_config_map_or_secret_is_seen() {
        let pod = pod(
            r#"{"metadata":{"name":"p"},"spec":{"serviceAccountName":"sa","imagePullSecrets":[{"name":"s1"}],
            "containers":[{"env":[{"valueFrom":{"configMapKeyRef":{"name":"c1"}}},{"valueFrom":{"secretKeyRef":{"name":"s2"}}},{"value":"x"}],
                "envFrom":[{"configMapRef":{"name":"c2"}},{"secretRef":{"name":"s3"}}]}],
            "volumes":[{"name":"a","configMap":{"name":"c3"}},{"name":"b","secret":{"secretName":"s4"}},
                {"name":"c","persistentVolumeClaim":{"claimName":"v1"}},{"name":"d","ephemeral":{}},
                {"name":"e","projected":{"sources":[{"configMap":{"name":"c4"}},{"secret":{"name":"s5"}}]}},
                {"name":"f","csi":{"nodePublishSecretRef":{"name":"s6"}}}]}}"#,
        );
        let join = |names: &BTreeSet<String>| names.iter().cloned().collect::<Vec<_>>().join(" ");
        assert_eq!(join(&pod.uses.config_maps), "c1 c2 c3 c4");
        assert_eq!(join(&pod.uses.secrets), "s1 s2 s3 s4 s5 s6");
        assert_eq!(join(&pod.uses.claims), "p-d v1");
        assert_eq!(join(&pod.uses.service_accounts), "sa");
    }
}
