//! Watching one kind: what is there, what changes, what goes. Survives what breaks a watch.

use std::{sync::Arc, time::Duration};

use futures_util::TryStreamExt as _;
use kube::core::WatchEvent;
use tokio::{
    sync::mpsc,
    task::JoinHandle,
    time::{Instant, sleep, timeout},
};

use super::{
    Cluster, Failure, Listing, Patience,
    list::with_query,
    request::Call,
    specs::QuotaItem,
    wire::{Bare, Item, Reading},
};
use crate::inventory::{Kind, Object};

/// A change of one kind's objects in the namespace.
#[derive(Debug)]
pub enum Change {
    /// Everything there is: whatever is not in it has gone.
    Snapshot(Vec<Object>),
    /// Added or changed.
    Upsert(Box<Object>),
    /// Gone from storage, by its uid.
    Gone(String),
    /// The kind could not be read just now; it is tried again.
    Blind(Failure),
}

/// A watch that goes on until it is dropped.
#[derive(Debug)]
pub struct Watch {
    task: JoinHandle<()>,
}

/// Where the watches of several kinds send what they see.
pub type Changes = mpsc::UnboundedSender<(Arc<Kind>, Change)>;

impl Drop for Watch {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Seconds after which the server ends a watch; it is begun anew from where it stood.
const WATCH_SECONDS: u64 = 240;
/// Between two looks where watching is not possible.
const POLL: Duration = Duration::from_secs(1);
/// The longest pause after trouble.
const LONGEST_PAUSE: Duration = Duration::from_secs(2);

impl Cluster {
    /// Watches a kind: what has changed since a list of this resourceVersion, or without one a snapshot first. Falls
    /// back to looking every second where watching is forbidden, and goes on through 410, broken connections and a
    /// restarted API server.
    #[must_use]
    pub fn watch(&self, kind: &Arc<Kind>, since: Option<&str>, changes: Changes) -> Watch {
        let follower = Follower { cluster: self.clone(), kind: kind.clone(), changes };
        let since = since.filter(|version| !version.is_empty()).map(str::to_owned);
        Watch { task: tokio::spawn(follower.follow(since)) }
    }
}

struct Follower {
    cluster: Cluster,
    kind: Arc<Kind>,
    changes: Changes,
}

/// How a watch ended.
enum End {
    /// Nobody listens any more.
    Unheard,
    /// Look at everything again: the history is lost, or the watch broke.
    Relist,
    /// Watching is not possible for this user or this kind.
    Unwatchable,
}

impl Follower {
    /// Fails where nobody listens any more.
    fn tell(&self, change: Change) -> Result<(), ()> {
        self.changes.send((self.kind.clone(), change)).map_err(drop)
    }

    async fn follow(self, mut since: Option<String>) {
        let mut pause = Duration::from_millis(100);
        let mut watchable = self.kind.watchable;
        let reading = Reading::while_waiting(&self.kind);
        loop {
            let begun = Instant::now();
            let known = since.take().filter(|_| watchable);
            let version = match known {
                Some(version) => Ok(version),
                None => match self.cluster.list_as(&self.kind, reading, Patience::PLAN).await {
                    Ok(Listing { objects, resource_version }) => {
                        if self.tell(Change::Snapshot(objects)).is_err() {
                            return;
                        }
                        Ok(resource_version)
                    }
                    Err(failure) => Err(failure),
                },
            };
            match version {
                Ok(_) if !watchable => {
                    sleep(POLL).await;
                    continue;
                }
                Ok(version) => {
                    let end = match reading {
                        Reading::Metadata => self.stream::<Bare>(reading, version).await,
                        Reading::Spec(_) => self.stream::<QuotaItem>(reading, version).await,
                    };
                    match end {
                        End::Unheard => return,
                        End::Unwatchable => watchable = false,
                        End::Relist => {}
                    }
                }
                Err(failure) => {
                    if self.tell(Change::Blind(failure)).is_err() {
                        return;
                    }
                }
            }
            // Something that keeps breaking at once must not be asked without a pause.
            pause = if begun.elapsed() > Duration::from_secs(5) { Duration::from_millis(100) } else { pause * 2 };
            sleep(pause.min(LONGEST_PAUSE)).await;
            pause = pause.min(LONGEST_PAUSE);
        }
    }

    /// The connection broke, or has long been dead.
    fn broken(&self) -> End {
        self.cluster.outages.lost(std::time::Instant::now());
        End::Relist
    }

    /// Watches on from a version; begins again by itself as long as the server ends the watch in good order.
    async fn stream<T: Item + Clone>(&self, reading: Reading, mut version: String) -> End {
        loop {
            let begun = Instant::now();
            let query = [
                "watch=1".to_owned(),
                "allowWatchBookmarks=true".to_owned(),
                format!("timeoutSeconds={WATCH_SECONDS}"),
                format!("resourceVersion={version}"),
            ];
            let call = Call::get(with_query(&self.cluster.collection(&self.kind), &query));
            let call = call.accept(reading.accept_object());
            let Ok(request) = call.request(|body| body) else { return End::Relist };
            let opening = self.cluster.client.request_events::<T>(request);
            let events = match timeout(Patience::RUN.answer, opening).await {
                Ok(Ok(events)) => events,
                Ok(Err(kube::Error::Api(status))) if matches!(status.code, 401 | 403 | 405) => return End::Unwatchable,
                Ok(Err(kube::Error::Api(_))) => return End::Relist,
                Ok(Err(_)) | Err(_) => return self.broken(),
            };
            let mut events = std::pin::pin!(events);
            // The server ends the watch in time; one that outlives that by much is a dead connection.
            let limit = Duration::from_secs(WATCH_SECONDS + 30);
            loop {
                let (item, gone) = match timeout(limit.saturating_sub(begun.elapsed()), events.try_next()).await {
                    Ok(Ok(Some(WatchEvent::Added(item) | WatchEvent::Modified(item)))) => (item, false),
                    Ok(Ok(Some(WatchEvent::Deleted(item)))) => (item, true),
                    Ok(Ok(Some(WatchEvent::Bookmark(bookmark)))) => {
                        version.clone_from(&bookmark.metadata.resource_version);
                        continue;
                    }
                    Ok(Ok(None)) => break,
                    Ok(Ok(Some(WatchEvent::Error(_)))) => return End::Relist,
                    Ok(Err(_)) | Err(_) => return self.broken(),
                };
                let object = item.into_object(&self.kind);
                if object.uid.is_empty() {
                    return End::Relist;
                }
                version.clone_from(&object.resource_version);
                let change = if gone { Change::Gone(object.uid) } else { Change::Upsert(Box::new(object)) };
                if self.tell(change).is_err() {
                    return End::Unheard;
                }
            }
            if begun.elapsed() < Duration::from_secs(5) {
                return End::Relist;
            }
        }
    }
}
