//! A kind of object as the API server serves it.

use std::fmt;

/// One resource of the API, at the one version that is used for it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Kind {
    /// API group; empty for the core group.
    pub group: String,
    /// Version within the group, such as `v1`.
    pub version: String,
    /// The kind's name, such as `ReplicaSet`.
    pub kind: String,
    /// The resource's name in URLs, such as `replicasets`.
    pub plural: String,
    /// Whether discovery lists the verb `watch`.
    pub watchable: bool,
    /// Whether discovery lists a `scale` subresource.
    pub scalable: bool,
}

impl Kind {
    /// `apps/v1`, or `v1` for the core group: the `apiVersion` of the kind's objects.
    #[must_use]
    pub fn api_version(&self) -> String {
        if self.group.is_empty() { self.version.clone() } else { format!("{}/{}", self.group, self.version) }
    }

    /// `replicasets.apps`, or `pods` for the core group: the name by which kubectl tells resources apart.
    #[must_use]
    pub fn resource(&self) -> String {
        if self.group.is_empty() { self.plural.clone() } else { format!("{}.{}", self.plural, self.group) }
    }

    /// Whether this is `kind` of `group`, at whatever version.
    #[must_use]
    pub fn is(&self, group: &str, kind: &str) -> bool {
        self.group == group && self.kind == kind
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.kind)
    }
}
