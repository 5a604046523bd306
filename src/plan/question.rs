//! What is asked for: which application, or what nothing owns any more.

use std::collections::{BTreeMap, BTreeSet};

use crate::inventory::{Inventory, Object, Selector};

/// The labels that say which application an object is of, in the order in which they are tried.
pub const APP_LABELS: [&str; 7] = [
    "app.kubernetes.io/instance",
    "app.kubernetes.io/part-of",
    "app.kubernetes.io/name",
    "app",
    "k8s-app",
    "release",
    "run",
];

/// What the purge is of, and the choices that narrow or widen it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    /// As the user typed it, and as everything calls it: `demo`, `deploy/web`, `-l tier=front`, `orphans`.
    pub app: String,
    pub target: Target,
    /// Of several instances that share the label, only this one.
    pub instance: Option<String>,
    /// Take what is only used by the application too.
    pub include_related: bool,
}

/// Where the search begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// Objects that any of the keys calls `value`.
    Named { value: String, keys: Vec<String> },
    /// Objects whose labels a selector picks.
    Matching(Selector),
    /// One object, by API group, kind and name.
    Around { group: String, kind: String, name: String },
    /// What no living controller owns.
    Orphans,
}

impl Question {
    /// The application that any of the usual labels calls `app`.
    #[must_use]
    pub fn named(app: &str) -> Self {
        let keys = APP_LABELS.iter().map(|&key| key.to_owned()).collect();
        Self::about(app, Target::Named { value: app.to_owned(), keys })
    }

    /// A question without further choices.
    #[must_use]
    pub fn about(app: &str, target: Target) -> Self {
        Self { app: app.to_owned(), target, instance: None, include_related: false }
    }

    /// The first key and the value under which these labels call an object part of a named application.
    #[must_use]
    pub fn label_of<'a>(&'a self, labels: &BTreeMap<String, String>) -> Option<(&'a str, &'a str)> {
        let Target::Named { value, keys } = &self.target else { return None };
        let key = keys.iter().find(|key| labels.get(*key).is_some_and(|found| found == value))?;
        Some((key, value))
    }
}

/// The application that an object says it is of, by the first of the usual labels that it has.
#[must_use]
pub fn app_of(labels: &BTreeMap<String, String>) -> Option<(&'static str, &str)> {
    APP_LABELS.iter().find_map(|&key| Some((key, labels.get(key).filter(|value| !value.is_empty())?.as_str())))
}

/// Which instance of an application an object says it is of, where the label `key` called it `value`.
///
/// The instance label says so, or the Helm release, or the `release` label of older charts. An object found by `release`
/// alone may belong to another application that only names the release, and says so by a stronger label.
fn own_instance<'a>(object: &'a Object, key: &str) -> Option<&'a str> {
    const INSTANCE: &str = "app.kubernetes.io/instance";
    let label = |name: &str| object.labels.get(name).map(String::as_str).filter(|value| !value.is_empty());
    let release = object.annotations.get("meta.helm.sh/release-name").map(String::as_str);
    let stronger = || {
        let stronger = APP_LABELS.iter().take_while(|&&known| known != key);
        (key == "release").then(|| stronger.copied().find_map(label)).flatten()
    };
    label(INSTANCE).or(release).or_else(|| label("release").filter(|_| key != "release")).or_else(stronger)
}

/// The instance that an object is of: by its own word, or the nearest owner's that has one, or else the application's
/// name itself.
#[must_use]
pub fn instance_of<'a>(inventory: &'a Inventory, index: usize, key: &str, value: &'a str) -> &'a str {
    let mut seen = BTreeSet::from([index]);
    let mut level = vec![index];
    while !level.is_empty() {
        let found = level.iter().filter_map(|&index| own_instance(&inventory.objects()[index], key)).min();
        if let Some(instance) = found {
            return instance;
        }
        let above = level.iter().flat_map(|&index| inventory.owners(index)).copied();
        level = above.filter(|&owner| seen.insert(owner)).collect();
    }
    value
}
