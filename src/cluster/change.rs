//! Writes that are neither scaling nor deleting, and the looks at single objects that go with them.

use std::sync::Arc;

use http::Method;
use serde::Deserialize;
use serde_json::Value;

use super::{
    Cluster, Failure, Patience, Trial, answer,
    request::{Call, JSON},
    write::MERGE_PATCH,
};
use crate::inventory::{Kind, Object};

/// A node as far as its pods' end depends on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeState {
    Ready,
    NotReady,
    Absent,
    /// It may not be read, or was not to be had.
    Unknown,
}

/// An entry of `managedFields`: who wrote which fields last.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Managed {
    manager: String,
    subresource: String,
    /// None for what was written through the `scale` subresource.
    time: Option<String>,
    fields_v1: Value,
}

impl Cluster {
    /// Merges a patch into an object, if it still has this uid: for another one of that name the server answers 409.
    /// Gives its metadata as it is then.
    pub async fn merge(
        &self,
        kind: &Arc<Kind>,
        name: &str,
        uid: &str,
        mut patch: Value,
        trial: Trial,
    ) -> Result<Object, Failure> {
        patch["metadata"]["uid"] = uid.into();
        let call = Call {
            method: Method::PATCH,
            path: format!("{}{}", self.item(kind, name), trial.query()),
            accept: "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json",
            content_type: MERGE_PATCH,
            body: patch.to_string().into_bytes(),
        };
        self.ask(&call, trial.patience(), |bytes| answer::metadata(kind, bytes)).await
    }

    /// A whole object as the server has it, Secrets with their data; none where there is no object of that name.
    pub async fn manifest(&self, kind: &Arc<Kind>, name: &str) -> Result<Option<Value>, Failure> {
        let read = |bytes: &[u8]| answer::object(kind, bytes);
        match self.ask(&Call::get(self.item(kind, name)), Patience::RUN, read).await {
            Ok(object) => Ok(Some(object)),
            Err(failure) if failure.is_not_found() => Ok(None),
            Err(failure) => Err(failure),
        }
    }

    /// Makes an object. One of that name that is there already is left as it is, and is no failure.
    pub async fn create(&self, kind: &Arc<Kind>, manifest: &Value) -> Result<(), Failure> {
        let call = Call {
            method: Method::POST,
            path: self.collection(kind),
            accept: JSON,
            content_type: JSON,
            body: manifest.to_string().into_bytes(),
        };
        match self.ask(&call, Patience::RUN, answer::written).await {
            Err(failure) if failure.is_conflict() => Ok(()),
            answer => answer,
        }
    }

    /// Who made an object: the field manager of its first fields; none where that does not show, or it is gone.
    pub async fn maker(&self, kind: &Arc<Kind>, name: &str) -> Option<String> {
        let entries = self.managed_fields(kind, name).await?.into_iter();
        let own = entries.filter(|entry| entry.subresource.is_empty());
        own.min_by(|one, other| one.time.cmp(&other.time)).map(|entry| entry.manager)
    }

    /// Who last set an object's replica count. The server forgets who took it up from 0 through the subresource.
    pub async fn writer_of_replicas(&self, kind: &Arc<Kind>, name: &str) -> Option<String> {
        let entries = self.managed_fields(kind, name).await?.into_iter();
        let writers = entries.filter(|entry| entry.fields_v1.pointer("/f:spec/f:replicas").is_some());
        writers.max_by_key(|entry| (entry.time.is_none(), entry.time.clone())).map(|entry| entry.manager)
    }

    async fn managed_fields(&self, kind: &Arc<Kind>, name: &str) -> Option<Vec<Managed>> {
        #[derive(Default, Deserialize)]
        #[serde(default)]
        struct Answer {
            metadata: Metadata,
        }
        #[derive(Default, Deserialize)]
        #[serde(rename_all = "camelCase", default)]
        struct Metadata {
            managed_fields: Vec<Managed>,
        }
        let call = Call::get(self.item(kind, name))
            .accept("application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json");
        let read = |bytes: &[u8]| answer::read::<Answer>("", bytes);
        let answer = self.ask(&call, Patience::PLAN, read).await.ok()?;
        Some(answer.metadata.managed_fields.into_iter().filter(|entry| !entry.manager.is_empty()).collect())
    }

    /// The state of a node.
    pub async fn node(&self, name: &str) -> NodeState {
        #[derive(Default, Deserialize)]
        #[serde(default)]
        struct Node {
            status: Status,
        }
        #[derive(Default, Deserialize)]
        #[serde(default)]
        struct Status {
            conditions: Vec<Condition>,
        }
        #[derive(Default, Deserialize)]
        #[serde(default)]
        struct Condition {
            r#type: String,
            status: String,
        }
        let path = format!("/api/v1/nodes/{}", super::list::escaped(name));
        match self.ask(&Call::get(path), Patience::PLAN, |bytes| answer::read::<Node>("Node", bytes)).await {
            Err(failure) if failure.is_not_found() => NodeState::Absent,
            Err(_) => NodeState::Unknown,
            Ok(node) => {
                let ready = |condition: &Condition| condition.r#type == "Ready" && condition.status == "True";
                if node.status.conditions.iter().any(ready) { NodeState::Ready } else { NodeState::NotReady }
            }
        }
    }
}
