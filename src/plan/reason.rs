//! Why an object belongs to the application, or why it is kept although it seems to.

use std::fmt;

/// A piece of evidence that an object belongs to the application. The order of the variants is their strength.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reason {
    /// The object's own label says so.
    Label { key: String, value: String },
    /// An ownerReference, joined by uid, leads to a member. `owner` is `Kind/name`.
    Owned { owner: String },
    /// It controls a member. `member` is `Kind/name`.
    Controls { member: String },
    /// Nothing alive owns it, and it carries the application's label.
    OrphanLabel { key: String, value: String },
    /// Nothing alive owns it, and a member's selector picks it. `member` is `Kind/name`.
    OrphanSelector { member: String },
    /// An EndpointSlice or Endpoints object of a member Service. `service` is the Service's name.
    Endpoints { service: String },
    /// Its selector picks the application's pods and nobody else's.
    Selects,
}

impl Reason {
    /// Whether nothing alive owns the object, so that a controller could adopt it at any moment.
    #[must_use]
    pub const fn is_orphan(&self) -> bool {
        matches!(self, Self::OrphanLabel { .. } | Self::OrphanSelector { .. })
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Label { key, value } => write!(f, "label {key}={value}"),
            Self::Owned { owner } => write!(f, "owned by {owner}"),
            Self::Controls { member } => write!(f, "controls {member}"),
            Self::OrphanLabel { key, value } => write!(f, "orphan, label {key}={value}"),
            Self::OrphanSelector { member } => write!(f, "orphan, selected by {member}"),
            Self::Endpoints { service } => write!(f, "endpoints of Service/{service}"),
            Self::Selects => f.write_str("selects only this application's pods"),
        }
    }
}
