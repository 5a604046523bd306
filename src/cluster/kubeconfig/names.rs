//! The names in a kubeconfig, for whoever is typing one. Nothing is checked and nothing sent.

use std::collections::{BTreeMap, BTreeSet};

use super::{Environment, KubeconfigError, files};
use crate::cluster::flags::ConnectionFlags;

/// The names that the flags `--context`, `--cluster`, `--user` and `--namespace` can be given, each with what tells it
/// from others.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Names {
    /// With the cluster's name.
    pub contexts: BTreeMap<String, String>,
    /// With nothing.
    pub clusters: BTreeMap<String, String>,
    /// With nothing.
    pub users: BTreeMap<String, String>,
    /// Those that contexts name.
    pub namespaces: BTreeSet<String>,
}

/// Reads the names of the kubeconfig that the flags and the environment stand for.
///
/// # Errors
/// When a file cannot be read.
pub fn names(flags: &ConnectionFlags, environment: &Environment) -> Result<Names, KubeconfigError> {
    let explicit = flags.kubeconfig.as_deref().filter(|path| !path.as_os_str().is_empty());
    let merged = files::read(explicit, environment)?;
    let field = |entry: &files::Entry, name: &str| {
        entry.fields.get(name).and_then(serde_json::Value::as_str).unwrap_or_default().to_owned()
    };
    let plain = |entries: &[files::Entry]| entries.iter().map(|entry| (entry.name.clone(), String::new())).collect();
    let of_contexts = merged.contexts.iter();
    Ok(Names {
        contexts: of_contexts.clone().map(|entry| (entry.name.clone(), field(entry, "cluster"))).collect(),
        clusters: plain(&merged.clusters),
        users: plain(&merged.users),
        namespaces: of_contexts.map(|entry| field(entry, "namespace")).filter(|name| !name.is_empty()).collect(),
    })
}
