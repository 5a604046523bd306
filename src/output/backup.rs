//! What is said of a backup.

use std::path::Path;

use super::escape;

/// The line after the manifests have been written.
#[must_use]
pub fn backup_saved(count: usize, folder: &Path) -> String {
    let manifests = if count == 1 { "1 manifest".to_owned() } else { format!("{count} manifests") };
    let folder = folder.display().to_string();
    let folder = escape::line(&folder);
    format!("saved {manifests} in {folder}: `kubectl apply -f {folder}` brings them back\n")
}
