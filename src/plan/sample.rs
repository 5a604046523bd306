//! Objects for unit tests.

use std::{collections::BTreeMap, sync::Arc};

use crate::inventory::{Detail, Kind, Object};

/// An object of namespace `ns` whose uid is its kind and name.
pub(crate) fn object(group: &str, kind: &str, name: &str) -> Object {
    Object {
        kind: Arc::new(Kind {
            group: group.into(),
            version: "v1".into(),
            kind: kind.into(),
            plural: format!("{}s", kind.to_lowercase()),
            watchable: true,
            scalable: false,
        }),
        name: name.into(),
        namespace: "ns".into(),
        uid: format!("{kind}/{name}"),
        resource_version: "1".into(),
        labels: Arc::default(),
        annotations: BTreeMap::new(),
        owners: Vec::new(),
        generated: false,
        finalizers: Vec::new(),
        deletion: None,
        generation: 1,
        deletion_grace: None,
        overdue: false,
        detail: Detail::None,
    }
}
