//! The cluster: the only folder that sends requests. Reading what it answers is pure.

mod answer;
mod bound;
mod catalog;
mod change;
pub mod connection;
pub mod credential;
mod dial;
pub mod environment;
pub mod exec;
pub mod flags;
pub(crate) mod fuzzed;
mod identity;
pub mod kubeconfig;
mod links;
mod list;
mod outage;
mod pace;
pub mod proxy;
mod request;
pub mod secret;
mod specs;
pub mod timeout;
pub mod tls;
pub mod told;
pub mod transport;
mod unreachable;
mod warnings;
mod watch;
mod wire;
mod write;

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

pub use catalog::{Catalog, Served};
pub use change::NodeState;
pub use identity::NamespaceState;
pub use list::Listing;
pub use outage::{LONGEST as LONGEST_OUTAGE, Outages};
pub use pace::{MOST as WRITES_AT_ONCE, Turn};
pub use request::{Failure, Patience};
pub use warnings::Warnings;
pub use watch::{Change, Changes, Watch};
pub use write::{Deleted, Deletion, Precondition, Trial};

/// A connection to one namespace of one cluster. Cheap to clone: all clones share one connection.
#[derive(Clone)]
pub struct Cluster {
    client: kube::Client,
    namespace: Arc<str>,
    request_timeout: Option<Duration>,
    /// When the time for everything together ends; none without a limit.
    deadline: Option<Instant>,
    warnings: Arc<Warnings>,
    outages: Arc<Outages>,
    pace: pace::Pace,
}

impl Cluster {
    /// Over a client that is connected. `request_timeout` bounds each request; watches it does not bound.
    #[must_use]
    pub fn new(client: kube::Client, namespace: &str, request_timeout: Option<Duration>) -> Self {
        Self {
            client,
            namespace: namespace.into(),
            request_timeout,
            deadline: None,
            warnings: Arc::default(),
            outages: Arc::default(),
            pace: pace::Pace::default(),
        }
    }

    /// The same connection for work that is to end by then: no request is waited for much longer, nor tried again.
    #[must_use]
    pub fn until(&self, deadline: Option<Instant>) -> Self {
        Self { deadline, ..self.clone() }
    }

    /// Waits for the turn to send a delete, real or tried: no more are under way at once than the server can do with.
    /// When the time for everything is over, nobody waits any more: what is left is tried once.
    pub async fn turn(&self) -> Turn {
        match self.deadline {
            Some(deadline) => tokio::time::timeout_at(deadline.into(), self.pace.turn()).await.unwrap_or_default(),
            None => self.pace.turn().await,
        }
    }

    /// The one namespace whose objects this connection lists and changes.
    #[must_use]
    pub fn namespace(&self) -> &str {
        &self.namespace
    }

    /// Warnings that the server sent along with its answers.
    #[must_use]
    pub fn warnings(&self) -> &Warnings {
        &self.warnings
    }

    /// When the server was out of reach, as far as this connection and all its clones have seen.
    #[must_use]
    pub fn outages(&self) -> &Outages {
        &self.outages
    }
}
