//! An independent witness: sees by watches of its own when objects are gone from storage.

use std::{
    collections::HashSet,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
        mpsc,
    },
    time::{Duration, Instant},
};

use anyhow::Result;
use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use kube::{
    Api, Client,
    api::{ApiResource, DeleteParams, DynamicObject, GroupVersionKind, ListParams, PostParams, WatchEvent},
};
use serde::Deserialize;
use serde_json::Value;
use tokio::runtime::Runtime;

/// A kind by group, version, kind and plural.
pub type Kind = (&'static str, &'static str, &'static str, &'static str);

pub const PODS: Kind = ("", "v1", "Pod", "pods");
pub const CONFIG_MAPS: Kind = ("", "v1", "ConfigMap", "configmaps");
pub const SECRETS: Kind = ("", "v1", "Secret", "secrets");
pub const SERVICES: Kind = ("", "v1", "Service", "services");
pub const REPLICA_SETS: Kind = ("apps", "v1", "ReplicaSet", "replicasets");
pub const DEPLOYMENTS: Kind = ("apps", "v1", "Deployment", "deployments");
pub const ENDPOINTS: Kind = ("", "v1", "Endpoints", "endpoints");
pub const ENDPOINT_SLICES: Kind = ("discovery.k8s.io", "v1", "EndpointSlice", "endpointslices");
/// What the applications of this benchmark are made of, with what controllers make of it under the same labels.
pub const APPLICATION: [Kind; 8] =
    [PODS, CONFIG_MAPS, SECRETS, SERVICES, ENDPOINTS, ENDPOINT_SLICES, REPLICA_SETS, DEPLOYMENTS];

const METADATA: &str = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";

/// As much of an object as the witness needs: what it reads besides, it reads on the processors of those it judges.
#[derive(Clone, Deserialize)]
struct Seen {
    metadata: Identity,
}

#[derive(Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Identity {
    uid: String,
    resource_version: String,
}

/// Creates in flight at once.
const CREATES: usize = 16;

fn resource((group, version, kind, plural): Kind) -> ApiResource {
    ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk(group, version, kind), plural)
}

/// The benchmark's own client, an administrator's.
pub struct Watcher {
    runtime: Runtime,
    client: Client,
}

/// Some objects, being watched.
pub struct Watch {
    /// How many there were.
    pub count: usize,
    last_gone: mpsc::Receiver<Instant>,
    tasks: Vec<tokio::task::JoinHandle<()>>,
}

impl Watch {
    /// When the last of them went.
    pub fn gone(&self, within: Duration) -> Result<Instant> {
        Ok(self.last_gone.recv_timeout(within)?)
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        for task in &self.tasks {
            task.abort();
        }
    }
}

impl Watcher {
    pub fn new(server: &str, token: &str) -> Result<Self> {
        let runtime = Runtime::new()?;
        let mut config = kube::Config::new(server.parse()?);
        // A throwaway server on the loopback.
        config.accept_invalid_certs = true;
        config.auth_info.token = Some(token.to_owned().into());
        let client = runtime.block_on(async { Client::try_from(config) })?;
        Ok(Self { runtime, client })
    }

    fn api(&self, namespace: &str, kind: Kind) -> Api<DynamicObject> {
        Api::namespaced_with(self.client.clone(), namespace, &resource(kind))
    }

    /// Begins to watch everything of these kinds that a selector picks.
    pub fn watch(&self, namespace: &str, kinds: &[Kind], selector: &str) -> Result<Watch> {
        let left = Arc::new(Mutex::new(HashSet::new()));
        let (sender, last_gone) = mpsc::channel();
        let mut begun = Vec::new();
        for &kind in kinds {
            let api = self.api(namespace, kind);
            let list = self.runtime.block_on(api.list_metadata(&ListParams::default().labels(selector)))?;
            let uids = list.items.into_iter().filter_map(|item| item.metadata.uid);
            left.lock().unwrap_or_else(PoisonError::into_inner).extend(uids);
            begun.push((api.resource_url().to_owned(), list.metadata.resource_version.unwrap_or_default()));
        }
        let count = left.lock().unwrap_or_else(PoisonError::into_inner).len();
        let follow = |(path, version)| {
            self.runtime.spawn(follow(self.client.clone(), path, version, left.clone(), sender.clone()))
        };
        Ok(Watch { count, last_gone, tasks: begun.into_iter().map(follow).collect() })
    }

    /// Creates all of these, many at a time.
    pub fn create(&self, namespace: &str, kind: Kind, objects: impl IntoIterator<Item = Value>) -> Result<()> {
        self.create_all(&self.api(namespace, kind), objects)
    }

    /// The same for objects of the cluster itself.
    pub fn create_in_cluster(&self, kind: Kind, objects: impl IntoIterator<Item = Value>) -> Result<()> {
        self.create_all(&Api::all_with(self.client.clone(), &resource(kind)), objects)
    }

    fn create_all(&self, api: &Api<DynamicObject>, objects: impl IntoIterator<Item = Value>) -> Result<()> {
        let objects: Vec<DynamicObject> = objects.into_iter().map(serde_json::from_value).collect::<Result<_, _>>()?;
        self.runtime.block_on(async {
            let creates = objects.iter().map(|object| {
                let api = api.clone();
                async move { api.create(&PostParams::default(), object).await }
            });
            stream::iter(creates).buffer_unordered(CREATES).try_for_each(|_| async { Ok(()) }).await
        })?;
        Ok(())
    }
    /// One request for all that a selector picks, with no word on what was planned.
    #[allow(clippy::disallowed_methods, reason = "the floor that the program is measured against")]
    pub fn delete_collection(&self, namespace: &str, kind: Kind, selector: &str) -> Result<()> {
        let api = self.api(namespace, kind);
        let what = ListParams::default().labels(selector);
        self.runtime.block_on(api.delete_collection(&DeleteParams::background(), &what))?;
        Ok(())
    }

    /// Asks for one small object again and again while `during` goes on, and says how long each answer took.
    pub fn ping(&self, kubeconfig_token: &str, server: &str, during: &AtomicBool) -> Result<Vec<f64>> {
        let mut config = kube::Config::new(server.parse()?);
        config.accept_invalid_certs = true;
        config.auth_info.token = Some(kubeconfig_token.to_owned().into());
        self.runtime.block_on(async {
            let client = Client::try_from(config)?;
            let api: Api<DynamicObject> = Api::namespaced_with(client, "default", &resource(CONFIG_MAPS));
            let mut answers = Vec::new();
            while during.load(Ordering::Relaxed) {
                let begun = Instant::now();
                api.get_metadata("kube-root-ca.crt").await?;
                answers.push(begun.elapsed().as_secs_f64());
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            Ok(answers)
        })
    }
}

async fn follow(
    client: Client,
    path: String,
    mut version: String,
    left: Arc<Mutex<HashSet<String>>>,
    sender: mpsc::Sender<Instant>,
) {
    loop {
        let query = format!("{path}?watch=1&allowWatchBookmarks=true&timeoutSeconds=290&resourceVersion={version}");
        let request = http::Request::get(query).header(http::header::ACCEPT, METADATA).body(Vec::new());
        let Ok(request) = request else { return };
        let Ok(events) = client.request_events::<Seen>(request).await else { return };
        let mut events = std::pin::pin!(events);
        while let Some(Ok(event)) = events.next().await {
            let (Seen { metadata }, is_gone) = match event {
                WatchEvent::Added(item) | WatchEvent::Modified(item) => (item, false),
                WatchEvent::Deleted(item) => (item, true),
                WatchEvent::Bookmark(bookmark) => {
                    version = bookmark.metadata.resource_version;
                    continue;
                }
                WatchEvent::Error(_) => return,
            };
            version = metadata.resource_version;
            if is_gone {
                let mut left = left.lock().unwrap_or_else(PoisonError::into_inner);
                if left.remove(&metadata.uid) && left.is_empty() {
                    let _ = sender.send(Instant::now());
                }
            }
        }
    }
}
