//! One object of the namespace: its identity, its ties, and what of its spec the plan needs.

use std::{collections::BTreeMap, sync::Arc};

use super::{Detail, Kind};

/// An ownerReference. Joined by uid and nothing else: kind and name are only how people call it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnerRef {
    pub uid: String,
    /// API group of the owner's kind, as the reference says; empty for the core group.
    pub group: String,
    pub kind: String,
    pub name: String,
    /// Whether this owner is the managing controller; at most one is.
    pub controller: bool,
}

/// An object as it was listed.
#[derive(Clone, Debug)]
pub struct Object {
    pub kind: Arc<Kind>,
    pub name: String,
    pub namespace: String,
    pub uid: String,
    pub resource_version: String,
    /// Counts the changes of its spec; 0 for kinds that do not count them.
    pub generation: i64,
    /// Shared with the objects that carry the same: most of a controller's do.
    pub labels: Arc<BTreeMap<String, String>>,
    /// Only the annotations that decide something; never `last-applied-configuration`, which holds plaintext.
    pub annotations: BTreeMap<String, String>,
    pub owners: Vec<OwnerRef>,
    /// Whether its name was made up by the server from a `generateName`, as for everything a controller makes many of.
    pub generated: bool,
    pub finalizers: Vec<String>,
    /// When deletion began (or, with a grace period, is due), as the server wrote it; none while it lives.
    pub deletion: Option<String>,
    /// Seconds of grace that the deletion gave.
    pub deletion_grace: Option<i64>,
    /// Whether its deletion and the grace that came with it were over when it was listed: a quota charges such a pod
    /// no more.
    pub overdue: bool,
    pub detail: Detail,
}

impl Object {
    /// `Kind/name`, as messages name it.
    #[must_use]
    pub fn title(&self) -> String {
        format!("{}/{}", self.kind.kind, self.name)
    }

    /// Whether its name can stand at the end of a path: the rule for all names, whatever further ones a kind has.
    /// Deleting what is called nothing would be deleting the whole collection.
    /// Source: apimachinery `api/validation/path.IsValidPathSegmentName`.
    #[must_use]
    pub fn is_addressable(&self) -> bool {
        !matches!(self.name.as_str(), "" | "." | "..") && !self.name.contains(['/', '%'])
    }

    /// The managing controller, living or not.
    #[must_use]
    pub fn controller(&self) -> Option<&OwnerRef> {
        self.owners.iter().find(|owner| owner.controller)
    }
}
