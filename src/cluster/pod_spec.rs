//! The spec of a pod, alone or in a template: what it names of its namespace, and what it asks for.
//!
//! Source of the format: `k8s.io/api` core/v1.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::inventory::{Quantity, References};

type Map = BTreeMap<String, String>;

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
#[serde(default)]
pub(super) struct Named {
    pub(super) name: String,
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
            uses.secrets.extend(volume.secret.as_ref().map(|secret| secret.secret_name.clone()));
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

fn add(names: &mut std::collections::BTreeSet<String>, named: Option<&Named>) {
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
