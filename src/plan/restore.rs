//! What an object was before the run touched it, as it is noted on the object itself: whoever comes after a run that
//! was killed can go on, or put it back.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::inventory::{ClaimPolicy, Controller, Detail, Inventory};

/// The state to go back to. Only what was changed is given.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Restore {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replicas: Option<i64>,
    /// It was suspended for the run, or paused by KEDA's annotation.
    #[serde(skip_serializing_if = "is_false")]
    pub paused: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub claims: Option<ClaimPolicy>,
    /// Manifests of autoscalers of this workload that had to go before it was scaled down.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub autoscalers: Vec<serde_json::Value>,
    /// Labels of pods that it had, where something is known to be the application's by those pods alone. Nothing to go
    /// back to: whoever looks while it stands at 0 goes by them.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub pods: BTreeSet<BTreeMap<String, String>>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's signature")]
fn is_false(flag: &bool) -> bool {
    !flag
}

impl Restore {
    /// The annotation that holds it, as JSON.
    pub const ANNOTATION: &'static str = "kubectl-purge/restore";

    /// Reads the annotation of an object of this kind and name; none where it holds nothing of ours.
    ///
    /// Whoever may write to the object may write the annotation. What it makes others create is an autoscaler of that
    /// very object, in its namespace, and nothing else.
    #[must_use]
    pub fn parse(annotation: &str, kind: &str, name: &str) -> Option<Self> {
        let mut restore = serde_json::from_str::<Self>(annotation).ok()?;
        restore.autoscalers.retain(|manifest| is_autoscaler_of(manifest, kind, name));
        for manifest in &mut restore.autoscalers {
            if let Some(metadata) = manifest["metadata"].as_object_mut() {
                metadata.remove("namespace");
            }
        }
        Some(restore).filter(|restore| !restore.is_empty())
    }

    /// Whether there is nothing to go back to.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        let Self { replicas, paused, claims, autoscalers, pods: _ } = self;
        replicas.is_none() && !paused && claims.is_none() && autoscalers.is_empty()
    }

    /// The annotation's value.
    #[must_use]
    pub fn to_annotation(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    /// What an earlier run has done, as a note in the plan.
    #[must_use]
    pub fn sentence(&self) -> String {
        format!("an earlier purge {} (--restore puts it back)", self.did())
    }

    /// What a run has done to the object: `scaled it down from 3 and paused it`.
    #[must_use]
    pub fn did(&self) -> String {
        let mut did = Vec::new();
        if let Some(replicas) = self.replicas {
            did.push(format!("scaled it down from {replicas}"));
        }
        if self.paused {
            did.push("paused it".to_owned());
        }
        if self.claims.is_some() {
            did.push("made it retain its claims".to_owned());
        }
        if !self.autoscalers.is_empty() {
            did.push("deleted its autoscaler".to_owned());
        }
        did.join(" and ")
    }
}

/// Labels of the pods that a workload had before a purge scaled it down, as far as they were noted. It makes none now.
pub(super) fn pods_before(inventory: &Inventory, index: usize) -> BTreeSet<BTreeMap<String, String>> {
    let object = &inventory.objects()[index];
    let (Detail::Workload(workload), Some(note)) = (&object.detail, object.annotations.get(Restore::ANNOTATION)) else {
        return BTreeSet::new();
    };
    let rests = workload.replicas == Some(0) || workload.suspended;
    // Deployments hand their annotations down.
    let is_its_own = !matches!(inventory.controller(index), Controller::Living(_));
    let noted = Restore::parse(note, &object.kind.kind, &object.name).filter(|_| rests && is_its_own);
    noted.map(|noted| noted.pods).unwrap_or_default()
}

fn is_autoscaler_of(manifest: &serde_json::Value, kind: &str, name: &str) -> bool {
    let target = &manifest["spec"]["scaleTargetRef"];
    matches!(manifest["apiVersion"].as_str(), Some("autoscaling/v1" | "autoscaling/v2"))
        && manifest["kind"] == "HorizontalPodAutoscaler"
        && manifest["metadata"]["name"].is_string()
        && target["kind"] == kind
        && target["name"] == name
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_annotation_makes_nothing_but_an_autoscaler_of_its_own_object() {
        let manifest = |version: &str, kind: &str, target: &str| {
            json!({ "apiVersion": version, "kind": kind, "metadata": { "name": "x", "namespace": "kube-system" },
                    "spec": { "scaleTargetRef": { "kind": "Deployment", "name": target } } })
        };
        let parsed = |manifest: serde_json::Value| {
            let note = json!({ "replicas": 1, "autoscalers": [manifest] }).to_string();
            Restore::parse(&note, "Deployment", "web").unwrap().autoscalers
        };
        let good = parsed(manifest("autoscaling/v2", "HorizontalPodAutoscaler", "web"));
        assert_eq!(good.len(), 1);
        assert_eq!(good[0]["metadata"], json!({ "name": "x" }));
        for bad in [
            manifest("rbac.authorization.k8s.io/v1", "RoleBinding", "web"),
            manifest("autoscaling/v2/namespaces/other/x", "HorizontalPodAutoscaler", "web"),
            manifest("autoscaling/v2", "HorizontalPodAutoscaler", "other"),
            json!("text"),
        ] {
            assert_eq!(parsed(bad.clone()), [] as [serde_json::Value; 0], "{bad}");
        }
    }

    #[test]
    fn what_is_noted_is_read_back() {
        let restore = Restore { replicas: Some(3), paused: true, ..Restore::default() };
        assert_eq!(restore.to_annotation(), r#"{"replicas":3,"paused":true}"#);
        assert_eq!(Restore::parse(&restore.to_annotation(), "Deployment", "web"), Some(restore.clone()));
        assert_eq!(restore.sentence(), "an earlier purge scaled it down from 3 and paused it (--restore puts it back)");
    }

    #[test]
    fn what_is_none_of_ours_is_nothing() {
        for text in ["", "{}", "true", "[]", "{\"other\":1}"] {
            assert_eq!(Restore::parse(text, "Deployment", "web"), None, "{text}");
        }
    }
}
