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

    /// Whether group, version and plural are names that can stand in a path. An API server behind the API server may
    /// announce others, and a path made of those would lead out of the namespace.
    #[must_use]
    pub fn is_addressable(&self) -> bool {
        (self.group.is_empty() || is_path_name(&self.group))
            && is_path_name(&self.version)
            && is_path_name(&self.plural)
    }

    /// Whether this is `kind` of `group`, at whatever version.
    #[must_use]
    pub fn is(&self, group: &str, kind: &str) -> bool {
        self.group == group && self.kind == kind
    }
}

/// Letters, digits, dashes and dots, a letter or digit first: more than the API's own rules (DNS names) allow, and
/// nothing that a path could be led astray by.
pub(crate) fn is_path_name(name: &str) -> bool {
    let inner = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.');
    name.len() <= 253 && name.bytes().all(inner) && name.starts_with(|first: char| first.is_ascii_alphanumeric())
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.kind)
    }
}

#[cfg(test)]
mod tests {
    use super::is_path_name;

    #[test]
    fn what_leads_out_of_a_path_is_no_name_in_it() {
        for name in ["pods", "v1beta1", "crates.demo.example", "a-b", "Pods"] {
            assert!(is_path_name(name), "{name}");
        }
        for name in ["", ".", "..", "../nodes", "a/b", "pods?x", "pods#", "a%2fb", "a b", "pod\u{e9}", "a\n", "-a"] {
            assert!(!is_path_name(name), "{name}");
        }
        assert!(!is_path_name(&"a".repeat(254)));
    }
}
