//! Who we are to the server, and in what state the namespace is.

use http::Method;
use serde::Deserialize;
use serde_json::json;

use super::{
    Cluster, Failure, Patience, answer,
    request::{Call, JSON},
    wire::Reading,
};

/// The state of the plan's namespace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NamespaceState {
    Active,
    /// It is being deleted as a whole.
    Terminating,
    /// There is none of that name.
    Missing,
    /// The user may not read it, which is common and no obstacle.
    Unknown,
}

impl Cluster {
    /// The user's name as the server knows it; none where the server does not tell.
    pub async fn who_am_i(&self) -> Option<String> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Review {
            status: Status,
        }
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Status {
            user_info: UserInfo,
        }
        #[derive(Deserialize)]
        struct UserInfo {
            username: String,
        }
        let review = json!({ "apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview" });
        let call = Call {
            method: Method::POST,
            path: "/apis/authentication.k8s.io/v1/selfsubjectreviews".to_owned(),
            accept: JSON,
            content_type: JSON,
            body: review.to_string().into_bytes(),
        };
        let read = |bytes: &[u8]| answer::read::<Review>("SelfSubjectReview", bytes);
        self.ask(&call, Patience::PLAN, read).await.ok().map(|review| review.status.user_info.username)
    }

    /// The names of all namespaces, in the server's order, of the first few thousand.
    pub async fn namespaces(&self) -> Result<Vec<String>, Failure> {
        #[derive(Default, Deserialize)]
        #[serde(default)]
        struct List {
            items: Vec<Item>,
        }
        #[derive(Default, Deserialize)]
        #[serde(default)]
        struct Item {
            metadata: Metadata,
        }
        #[derive(Default, Deserialize)]
        #[serde(default)]
        struct Metadata {
            name: String,
        }
        let call = Call::get("/api/v1/namespaces?limit=5000".to_owned()).accept(Reading::Metadata.accept_list());
        let read = |bytes: &[u8]| answer::read::<List>("List", bytes);
        let list = self.ask(&call, Patience::PLAN, read).await?;
        Ok(list.items.into_iter().map(|item| item.metadata.name).collect())
    }

    /// Looks at the namespace itself.
    pub async fn namespace_state(&self) -> Result<NamespaceState, Failure> {
        #[derive(Default, Deserialize)]
        #[serde(default)]
        struct Namespace {
            status: Status,
        }
        #[derive(Default, Deserialize)]
        #[serde(default)]
        struct Status {
            phase: String,
        }
        let call = Call::get(format!("/api/v1/namespaces/{}", self.namespace));
        match self.ask(&call, Patience::PLAN, |bytes| answer::read::<Namespace>("Namespace", bytes)).await {
            Ok(namespace) => {
                let terminating = namespace.status.phase == "Terminating";
                Ok(if terminating { NamespaceState::Terminating } else { NamespaceState::Active })
            }
            Err(failure) if failure.is_not_found() => Ok(NamespaceState::Missing),
            Err(Failure::Api { code: 403, .. }) => Ok(NamespaceState::Unknown),
            Err(failure) => Err(failure),
        }
    }
}
