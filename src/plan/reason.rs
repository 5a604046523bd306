//! Why an object belongs to the application, or why it is kept although it seems to.

use std::fmt;

/// A piece of evidence that an object belongs to the application. The order of the variants is their strength.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reason {
    /// It was named on the command line.
    Named,
    /// The selector on the command line picks it.
    Matches,
    /// The object's own label says so.
    Label { key: String, value: String },
    /// The pods that it makes are labelled so. Its own labels say nothing.
    Template { key: String, value: String },
    /// The pods that it had were labelled so, before a purge scaled it to 0 and noted that.
    Had { label: String },
    /// An ownerReference, joined by uid, leads to a member. `owner` is `Kind/name`.
    Owned { owner: String },
    /// It controls a member. `member` is `Kind/name`.
    Controls { member: String },
    /// Nothing alive owns it, and it carries the application's label.
    OrphanLabel { key: String, value: String },
    /// Nothing alive owns it, and a member's selector picks it. `member` is `Kind/name`.
    OrphanSelector { member: String },
    /// Nothing alive owns it, and a controller made it: of whom, as far as that shows.
    Orphan { of: Option<String> },
    /// An EndpointSlice or Endpoints object of a member Service. `service` is the Service's name.
    Endpoints { service: String },
    /// Its selector picks the application's pods and nobody else's.
    Selects,
    /// It scales a member. `target` is `Kind/name`.
    Targets { target: String },
    /// It sends to a member Service.
    Routes { service: String },
    /// A claim of a member StatefulSet, by name and ordinal. `set` is `Kind/name`.
    Claims { set: String },
    /// Helm's record of a release all of whose objects are members.
    Record { release: String },
    /// Only members use it, and the user asked to take such things too. `user` is `Kind/name`.
    Used { user: String },
}

impl Reason {
    /// Whether nothing alive owns the object, so that a controller could adopt it at any moment.
    #[must_use]
    pub const fn is_orphan(&self) -> bool {
        matches!(self, Self::OrphanLabel { .. } | Self::OrphanSelector { .. } | Self::Orphan { .. })
    }

    /// Whether the question itself named the object, and no tie to another one.
    #[must_use]
    pub const fn is_direct(&self) -> bool {
        matches!(
            self,
            Self::Named
                | Self::Matches
                | Self::Label { .. }
                | Self::Template { .. }
                | Self::Had { .. }
                | Self::OrphanLabel { .. }
        )
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Named => f.write_str("named"),
            Self::Matches => f.write_str("selector"),
            Self::Label { key, value } => write!(f, "label {key}={value}"),
            Self::Template { key, value } => write!(f, "makes pods labelled {key}={value}"),
            Self::Had { label } => write!(f, "had pods labelled {label}"),
            Self::Owned { owner } => write!(f, "owned by {owner}"),
            Self::Controls { member } => write!(f, "controls {member}"),
            Self::OrphanLabel { key, value } => write!(f, "orphan, label {key}={value}"),
            Self::OrphanSelector { member } => write!(f, "orphan, selected by {member}"),
            Self::Orphan { of: Some(of) } => write!(f, "orphan, probably of {of}"),
            Self::Orphan { of: None } => f.write_str("orphan"),
            Self::Endpoints { service } => write!(f, "endpoints of Service/{service}"),
            Self::Selects => f.write_str("selects only this application's pods"),
            Self::Targets { target } => write!(f, "targets {target}"),
            Self::Routes { service } => write!(f, "routes to Service/{service}"),
            Self::Claims { set } => write!(f, "claim of {set}"),
            Self::Record { release } => write!(f, "Helm's record of release {release}"),
            Self::Used { user } => write!(f, "used only by {user}"),
        }
    }
}
