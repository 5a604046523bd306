//! Writes: scaling and deleting. Each names the uid it means, so that it can only hit the object that was planned.

use std::sync::Arc;

use http::Method;
use serde::Deserialize;
use serde_json::json;

use super::{
    Cluster, Failure, Patience, Turn, answer,
    request::{Call, JSON},
};
use crate::inventory::{Kind, Object};

pub(super) const MERGE_PATCH: &str = "application/merge-patch+json";

/// Whether a write is meant, or only tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trial {
    /// The server does it.
    No,
    /// The server says what it would do: `dryRun=All`.
    Yes,
}

impl Trial {
    /// Somebody waits for the outcome of trials.
    pub(super) const fn patience(self) -> Patience {
        match self {
            Self::No => Patience::RUN,
            Self::Yes => Patience::PLAN,
        }
    }

    /// What the path ends with.
    pub(super) const fn query(self) -> &'static str {
        match self {
            Self::No => "",
            Self::Yes => "?dryRun=All",
        }
    }
}

/// What a delete carries besides the object's name.
#[derive(Clone, Debug)]
pub struct Deletion<'a> {
    pub uid: &'a str,
    /// For what nothing owns: a controller may have adopted it since, its uid unchanged.
    pub resource_version: Option<&'a str>,
    /// Seconds; none leaves it to the object.
    pub grace_period: Option<i64>,
    pub trial: Trial,
}

/// Which object a patch means.
#[derive(Clone, Copy, Debug)]
pub struct Precondition<'a> {
    pub uid: &'a str,
    /// For what nothing owns, as in [`Deletion`].
    pub resource_version: Option<&'a str>,
}

impl<'a, T: AsRef<str>> From<&'a T> for Precondition<'a> {
    fn from(uid: &'a T) -> Self {
        Self { uid: uid.as_ref(), resource_version: None }
    }
}

/// What the server answered to a delete.
#[derive(Debug)]
pub enum Deleted {
    /// The object is gone from storage.
    Gone,
    /// Deletion has begun; the object stays until its grace period or finalizers end.
    Begun(Box<Object>),
    /// There was no such object any more.
    Absent,
}

impl Cluster {
    /// Deletes one object with `propagationPolicy: Background`: without it a batch/v1 Job orphans its pods, and
    /// `Foreground` waits for a garbage collector that may not run.
    pub async fn delete(
        &self,
        turn: Turn,
        kind: &Arc<Kind>,
        name: &str,
        how: &Deletion<'_>,
    ) -> Result<Deleted, Failure> {
        let mut preconditions = json!({ "uid": how.uid });
        if let Some(version) = how.resource_version {
            preconditions["resourceVersion"] = version.into();
        }
        let mut options = json!({
            "kind": "DeleteOptions",
            "apiVersion": "v1",
            "propagationPolicy": "Background",
            "preconditions": preconditions,
        });
        if let Some(seconds) = how.grace_period {
            options["gracePeriodSeconds"] = seconds.into();
        }
        if how.trial == Trial::Yes {
            options["dryRun"] = json!(["All"]);
        }
        let call = Call {
            method: Method::DELETE,
            // The server reads the options from the query only where there is no body. Should something on the way drop
            // what a DELETE carries, a trial remains one; and a trial that is refused is one in the audit log too, which
            // knows no body of what was refused for want of a right.
            path: format!("{}{}", self.item(kind, name), how.trial.query()),
            accept: "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json",
            content_type: JSON,
            body: options.to_string().into_bytes(),
        };
        let answer = self.ask(&call, how.trial.patience(), |bytes| deleted(kind, bytes)).await;
        match &answer {
            Err(failure @ Failure::Api { .. }) if failure.is_passing() => turn.refused(),
            Err(Failure::Transport(_) | Failure::Timeout(_)) => drop(turn),
            _ => turn.answered(kind),
        }
        match answer {
            Err(failure) if failure.is_not_found() => Ok(Deleted::Absent),
            answer => answer,
        }
    }

    /// Sets the replica count through the `scale` subresource, if it is still the object that is meant.
    pub async fn set_scale(
        &self,
        kind: &Arc<Kind>,
        name: &str,
        meant: Precondition<'_>,
        replicas: i64,
        trial: Trial,
    ) -> Result<(), Failure> {
        self.patch(&format!("{}/scale", self.item(kind, name)), meant, &json!({ "replicas": replicas }), trial).await
    }

    /// Sets the replica count in the object itself: for users who may not use the subresource.
    pub async fn set_replicas(
        &self,
        kind: &Arc<Kind>,
        name: &str,
        meant: Precondition<'_>,
        replicas: i64,
        trial: Trial,
    ) -> Result<(), Failure> {
        self.patch(&self.item(kind, name), meant, &json!({ "replicas": replicas }), trial).await
    }

    /// Merges into an object's spec. Uid and resourceVersion in the patch are preconditions: for another object of that
    /// name, or one that has changed, the server answers 409.
    async fn patch(
        &self,
        path: &str,
        meant: Precondition<'_>,
        spec: &serde_json::Value,
        trial: Trial,
    ) -> Result<(), Failure> {
        let mut metadata = json!({ "uid": meant.uid });
        if let Some(version) = meant.resource_version {
            metadata["resourceVersion"] = version.into();
        }
        let call = Call {
            method: Method::PATCH,
            path: format!("{path}{}", trial.query()),
            accept: JSON,
            content_type: MERGE_PATCH,
            body: json!({ "metadata": metadata, "spec": spec }).to_string().into_bytes(),
        };
        self.ask(&call, trial.patience(), answer::written).await
    }

    /// Replicas that an object asks for, by its `scale` subresource: for custom resources, whose spec is their own.
    pub async fn scale(&self, kind: &Arc<Kind>, name: &str) -> Result<i64, Failure> {
        #[derive(Default, Deserialize)]
        #[serde(default)]
        struct Scale {
            spec: Spec,
        }
        #[derive(Default, Deserialize)]
        #[serde(default)]
        struct Spec {
            replicas: Option<i64>,
        }
        let path = format!("{}/scale", self.item(kind, name));
        let scale = self.ask(&Call::get(path), Patience::PLAN, |bytes| answer::read::<Scale>("Scale", bytes)).await?;
        Ok(scale.spec.replicas.unwrap_or(0))
    }
}

/// A `Status` says the object is gone. Some kinds (Services, PodTemplates) answer with the object instead: with a
/// deletionTimestamp it is on its way out, without one it has been removed at once
/// (`k8s.io/apiserver/pkg/registry/generic/registry.Store.Delete`, `ReturnDeletedObject`).
fn deleted(kind: &Arc<Kind>, bytes: &[u8]) -> Result<Deleted, Failure> {
    if answer::kind_of(bytes)? == "Status" {
        return Ok(Deleted::Gone);
    }
    let object = answer::metadata(kind, bytes)?;
    Ok(if object.deletion.is_none() { Deleted::Gone } else { Deleted::Begun(Box::new(object)) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_means_gone_and_an_object_with_a_deletion_timestamp_means_begun() {
        let kind = Arc::new(Kind {
            group: String::new(),
            version: "v1".into(),
            kind: "Pod".into(),
            plural: "pods".into(),
            watchable: true,
            scalable: false,
        });
        assert!(matches!(deleted(&kind, br#"{"kind":"Status","status":"Success"}"#), Ok(Deleted::Gone)));
        assert!(matches!(
            deleted(&kind, br#"{"kind":"Service","metadata":{"name":"p","uid":"u"}}"#),
            Ok(Deleted::Gone)
        ));
        let begun =
            br#"{"kind":"Pod","metadata":{"uid":"u","deletionTimestamp":"2026-01-01T00:00:00Z","finalizers":["f"]}}"#;
        assert!(matches!(deleted(&kind, begun), Ok(Deleted::Begun(object)) if object.finalizers == ["f"]));
        // A page for people to log in is not the end of an object.
        for page in ["", "<html></html>", "{}", r#"{"status":"ok"}"#] {
            assert!(matches!(deleted(&kind, page.as_bytes()), Err(Failure::Nonsense(_))), "{page}");
        }
    }
}
