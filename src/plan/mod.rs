//! What belongs to the application and why, what is kept, in what order it goes and what that frees.
//!
//! Everything here is pure: it knows neither the client nor the terminal nor the clock.

mod applications;
mod digest;
mod draft;
pub mod finalizer;
mod frees;
mod guard;
mod keep;
mod known;
#[cfg(test)]
mod model;
mod needed;
mod order;
mod orphan;
mod precaution;
mod question;
mod reason;
mod records;
mod restore;
#[cfg(test)]
pub(crate) mod sample;
mod selection;
mod stale;
mod ties;
mod uses;
mod wave;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

pub use applications::{Application, Share, applications};
pub use digest::digest;
pub use draft::Choices;
pub use frees::charged;
pub use guard::{Allowed, Guard, Manager, SYSTEM_NAMESPACES, helm_releases};
pub use order::{Held, Order, rows};
pub use precaution::{KEDA_PAUSES, Precaution};
pub use question::{APP_LABELS, Question, Target, app_of, instance_of};
pub use reason::Reason;
pub use restore::Restore;
pub use selection::Selection;
pub use stale::changed;
pub use wave::Wave;

use crate::inventory::Kind;

/// What happens to an object of the plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Action {
    /// Deleted by its own request in its wave.
    Delete,
    /// Goes with its owner; deleted by its own request if it has not.
    Cascade,
    /// Stays, and the plan says why.
    Keep,
}

impl Action {
    /// The word in the table and the documents.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Delete => "delete",
            Self::Cascade => "cascade",
            Self::Keep => "keep",
        }
    }
}

/// A change of the replica count through the scale subresource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scale {
    /// Replicas asked for when the plan was made.
    pub from: i64,
    /// Replicas to ask for: always 0 today.
    pub to: i64,
}

/// One object of the plan. Its identity is the uid; everything else is how people call it.
#[derive(Clone, Debug)]
pub struct PlanObject {
    pub kind: Arc<Kind>,
    pub name: String,
    pub uid: String,
    /// As of the plan's listing: the second precondition for what nothing owns.
    pub resource_version: String,
    pub action: Action,
    pub scale: Option<Scale>,
    pub wave: Wave,
    /// Strongest first; never empty for what is deleted. A kept object may have none.
    pub reasons: Vec<Reason>,
    /// Sentences for people: why it is kept, that it is being deleted already, ….
    pub notes: Vec<String>,
    /// What the object holds now, for the table's last column: `3 pods`, `10Gi`, `Failed`. May be empty.
    pub now: String,
    /// Uids of the planned objects that own this one: they go first.
    pub owners: Vec<String>,
    /// Uids of the planned objects by which alone it is known to be the application's, and of what owns those: they go
    /// after it, or a run that comes later would not find it. Empty for what says so itself.
    pub known_by: Vec<String>,
    /// Finalizers that stood on the object when the plan was made.
    pub finalizers: Vec<String>,
    /// Whether the object was already being deleted when the plan was made.
    pub terminating: bool,
    /// Uids of the other planned objects that this one uses while it lives (a pod its ConfigMaps, …).
    pub uses: Vec<String>,
    /// A pod that runs no more (Succeeded, Failed): deleted, not waited for while draining.
    pub finished: bool,
    /// The node of a pod.
    pub node: Option<String>,
    /// What is done to it before anything is scaled or deleted.
    pub precaution: Option<Precaution>,
    /// What an earlier run has changed and not put back.
    pub restore: Option<Restore>,
    /// Labels of its pods by which alone something is known to be the application's: noted on it before it is scaled
    /// down or suspended, and they go.
    pub pods_to_note: BTreeSet<BTreeMap<String, String>>,
    /// Where the server would refuse the object's deletion, its words in a sentence. It is kept then.
    pub refusal: Option<String>,
}

impl PlanObject {
    /// `Kind/name`, as messages name it.
    #[must_use]
    pub fn title(&self) -> String {
        format!("{}/{}", self.kind.kind, self.name)
    }

    /// Whether nothing alive owns it, so that a controller may adopt it between plan and delete.
    #[must_use]
    pub fn is_orphan(&self) -> bool {
        self.reasons.iter().any(Reason::is_orphan)
    }

    /// Whether the plan means it to be gone at the end.
    #[must_use]
    pub fn goes(&self) -> bool {
        self.action != Action::Keep
    }
}

/// Why a kind was not seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Blindness {
    /// The user may not list it.
    Forbidden,
    /// The API did not answer, or not with a list.
    Unavailable,
}

impl Blindness {
    /// The word in the documents.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Forbidden => "forbidden",
            Self::Unavailable => "unavailable",
        }
    }
}

/// A kind, or a whole group, that could not be looked through. Never to be taken for empty.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Unseen {
    /// `secrets`, `widgets.example.com`, or `metrics.k8s.io/v1beta1` for a whole group version.
    pub resource: String,
    pub why: Blindness,
    /// The server's own words, in one line.
    pub message: String,
}

/// What of one quota's one resource the plan gives back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frees {
    /// Name of the ResourceQuota.
    pub quota: String,
    /// `requests.cpu`, `pods`, `count/configmaps`, ….
    pub resource: String,
    /// What the planned objects are charged, as a Kubernetes quantity.
    pub amount: String,
    /// What the whole namespace uses, as the server wrote it.
    pub used: String,
    /// The quota's limit, as the server wrote it.
    pub hard: String,
}

/// Where the application is: what the plan's header says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Place {
    pub namespace: String,
    /// The kubeconfig context's name; empty where there is none (in a pod, or flags alone).
    pub context: String,
    /// The API server's URL.
    pub server: String,
    /// Who the server says we are; empty where it does not tell.
    pub user: String,
}

/// An object beside the plan, which no run touches.
#[derive(Clone, Debug)]
pub struct Aside {
    pub kind: Arc<Kind>,
    pub name: String,
    pub uid: String,
    /// Why it is listed.
    pub why: String,
}

/// The plan: the one value that is shown, confirmed, executed and reported.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The application as the user named it.
    pub app: String,
    /// Of several instances under the name, the one that is meant; none: all there are.
    pub instance: Option<String>,
    /// Whether it is of what nothing owns, and not of an application.
    pub orphans: bool,
    pub place: Place,
    /// In the order of the run: by wave, owners before owned, then kind and name; kept objects last.
    pub objects: Vec<PlanObject>,
    /// Used by the application alone, but not said to belong to it: taken when asked for.
    pub related: Vec<Aside>,
    /// Looks like part of the application by its name alone.
    pub suspected: Vec<Aside>,
    /// Carries the application's label, but belongs to the whole cluster.
    pub cluster_scoped: Vec<Aside>,
    pub unseen: Vec<Unseen>,
    pub frees: Vec<Frees>,
    pub warnings: Vec<String>,
}

impl Plan {
    /// What is purged, in words: `application "demo"`, or `orphans`. To be escaped before a terminal sees it.
    #[must_use]
    pub fn subject(&self) -> String {
        match &self.instance {
            _ if self.orphans => "orphans".to_owned(),
            Some(instance) => format!("application \"{}\", instance \"{instance}\",", self.app),
            None => format!("application \"{}\"", self.app),
        }
    }

    /// The objects that are meant to be gone at the end.
    pub fn going(&self) -> impl Iterator<Item = &PlanObject> {
        self.objects.iter().filter(|object| object.goes())
    }

    /// Whether there is nothing to do.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.going().next().is_none()
    }
}
