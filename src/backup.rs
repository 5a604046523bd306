//! Every object to be deleted, as manifests in a folder, before anything is changed.

use std::{
    collections::HashSet,
    fs::{self, File, OpenOptions},
    io::{self, Write as _},
    path::{Path, PathBuf},
};

use futures_util::{StreamExt as _, stream};
use serde_json::{Value, json};
use thiserror::Error;

use crate::{
    cluster::{Cluster, Failure},
    manifest,
    plan::{KEDA_PAUSES, Plan, PlanObject, Wave},
};

/// Why there is no backup.
#[derive(Debug, Error)]
pub enum BackupError {
    #[error("{}: {source}", path.display())]
    File { path: PathBuf, source: io::Error },
    #[error("{} is not empty: name another folder, or remove what is in it", .0.display())]
    NotEmpty(PathBuf),
    #[error("{title} cannot be read: {failure}")]
    Unreadable { title: String, failure: Failure },
    #[error("{0} has changed since the plan")]
    Changed(String),
}

/// Objects read at once.
const READS_AT_ONCE: usize = 32;

/// Saves what the plan deletes. Gives the number of manifests.
pub async fn save(cluster: &Cluster, plan: &Plan, folder: &Path) -> Result<usize, BackupError> {
    // Before anything is read: a folder that will not do is said at once.
    prepare(folder)?;
    let mut reads = stream::iter(plan.going().filter(|object| !is_of_a_controller(object)))
        .map(|object| async move { (object, cluster.manifest(&object.kind, &object.name).await) })
        .buffered(READS_AT_ONCE);
    let going: HashSet<&str> = plan.going().map(|object| object.uid.as_str()).collect();
    let mut count = 0;
    while let Some((object, answer)) = reads.next().await {
        let stored = answer.map_err(|failure| BackupError::Unreadable { title: object.title(), failure })?;
        // It has gone by itself.
        let Some(stored) = stored else { continue };
        if stored["metadata"]["uid"] != object.uid.as_str() {
            return Err(BackupError::Changed(object.title()));
        }
        if is_made_anew(object, &stored, &going) {
            continue;
        }
        for mut manifest in as_before(object, manifest::bare(stored)) {
            manifest["metadata"]["namespace"] = cluster.namespace().into();
            count += 1;
            write(folder, object.wave, count, &manifest)?;
        }
    }
    Ok(count)
}

/// What controllers make of what is saved: not worth a request for each of a thousand.
fn is_of_a_controller(object: &PlanObject) -> bool {
    let made = object.kind.is("", "Pod")
        || object.kind.is("apps", "ReplicaSet")
        || object.kind.is("apps", "ControllerRevision");
    made && !object.owners.is_empty()
}

/// Whether something that is saved itself makes the object again.
fn is_made_anew(object: &PlanObject, stored: &Value, going: &HashSet<&str>) -> bool {
    let owners = stored["metadata"]["ownerReferences"].as_array().map_or(&[][..], Vec::as_slice);
    let by_controller = owners
        .iter()
        .any(|owner| owner["controller"] == true && owner["uid"].as_str().is_some_and(|uid| going.contains(uid)));
    let labels = &stored["metadata"]["labels"];
    let is_marked =
        |key: &str| labels[key].as_str().is_some_and(|by| by.ends_with("-controller") || by.ends_with(".k8s.io"));
    by_controller
        || object.kind.is("", "Endpoints") && is_marked("endpoints.kubernetes.io/managed-by")
        || object.kind.is("discovery.k8s.io", "EndpointSlice") && is_marked("endpointslice.kubernetes.io/managed-by")
}

/// The object as it was before any run touched it, and the autoscalers that went before it.
fn as_before(object: &PlanObject, mut manifest: Value) -> Vec<Value> {
    let Some(before) = &object.restore else { return vec![manifest] };
    if let Some(replicas) = before.replicas {
        manifest["spec"]["replicas"] = replicas.into();
    }
    if before.paused && object.kind.group == "batch" {
        manifest["spec"]["suspend"] = false.into();
    }
    if before.paused
        && let Some(annotations) = manifest["metadata"]["annotations"].as_object_mut()
    {
        for key in KEDA_PAUSES {
            annotations.remove(key);
        }
    }
    if let Some(policy) = &before.claims {
        manifest["spec"]["persistentVolumeClaimRetentionPolicy"] =
            json!({ "whenDeleted": policy.when_deleted, "whenScaled": policy.when_scaled });
    }
    std::iter::once(manifest).chain(before.autoscalers.iter().cloned()).collect()
}

/// Characters of a name in the name of a file, which has 255 at most. Objects' names may have 253.
const LONGEST_PART: usize = 100;

/// An empty folder that only its owner can look into.
fn prepare(folder: &Path) -> Result<(), BackupError> {
    let failed = |source| BackupError::File { path: folder.to_owned(), source };
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder).map_err(failed)?;
    if fs::read_dir(folder).map_err(failed)?.next().is_some() {
        return Err(BackupError::NotEmpty(folder.to_owned()));
    }
    Ok(())
}

/// `kubectl apply` reads a folder's files in the order of their names: what others need comes first.
fn write(folder: &Path, wave: Wave, number: usize, manifest: &Value) -> Result<(), BackupError> {
    let order = Wave::ALL.iter().rev().position(|one| *one == wave).unwrap_or_default();
    let text = |key: &str| manifest.pointer(key).and_then(Value::as_str).unwrap_or_default();
    let kind = text("/kind").to_lowercase();
    // Names of some kinds may hold what names of files may not.
    // Nor are those as long: the number makes each name another.
    let plain = |name: &str| -> String {
        let plain = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '-' | '.') { c } else { '_' };
        name.chars().map(plain).take(LONGEST_PART).collect()
    };
    let path = folder.join(format!("{order}-{}-{}-{number}.json", plain(&kind), plain(text("/metadata/name"))));
    let failed = |source| BackupError::File { path: path.clone(), source };
    let mut file = private(&path).map_err(failed)?;
    let text = serde_json::to_string_pretty(manifest).map_err(|error| failed(error.into()))?;
    file.write_all(text.as_bytes()).and_then(|()| file.write_all(b"\n")).and_then(|()| file.sync_all()).map_err(failed)
}

/// A new file that only its owner can read: it may hold a Secret.
fn private(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}
