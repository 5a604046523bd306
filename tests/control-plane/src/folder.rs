//! The temporary folder in which one control plane lives.

use std::env;
use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use crate::error::{Doing as _, Error};
use crate::random;

/// What every folder's name begins with, so that a person can tell whose it is.
pub const FOLDER_PREFIX: &str = "kubectl-purge-control-plane-";

/// The path of a unix socket in the folder may have 103 bytes on macOS, whose temporary folders are half
/// of that already.
const LONGEST: usize = 92;

/// A path that nobody else has.
pub(crate) fn path() -> Result<PathBuf, Error> {
    let name = format!("{FOLDER_PREFIX}{}", random::hex(8)?);
    let usual = env::temp_dir().join(&name);
    Ok(if usual.as_os_str().len() <= LONGEST { usual } else { Path::new("/tmp").join(name) })
}

/// Makes the folder, for its owner only: it holds tokens and an etcd that trusts whoever reaches it.
pub(crate) fn create(path: &Path) -> Result<(), Error> {
    DirBuilder::new().mode(0o700).create(path).doing(|| format!("create {}", path.display()))
}
