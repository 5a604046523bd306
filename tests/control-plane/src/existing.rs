//! A cluster that exists already and may be thrown away, in the place of a control plane of our own.

use std::env;
use std::path::{Path, PathBuf};

use crate::binaries::Binaries;
use crate::component::Tool;
use crate::error::Error;
use crate::kubeconfig::{Endpoint, write_private};
use crate::kubectl::Kubectl;
use crate::release::Release;

/// Names the kubeconfig of a cluster to run on. A variable of its own: the caller's `KUBECONFIG` and
/// current context may be anything, and tests delete.
pub const KUBECONFIG_VARIABLE: &str = "KUBECTL_PURGE_TEST_KUBECONFIG";

/// The kubeconfig that the environment names.
pub(crate) fn named() -> Option<PathBuf> {
    env::var_os(KUBECONFIG_VARIABLE).filter(|path| !path.is_empty()).map(PathBuf::from)
}

/// Copies the current context of the kubeconfig into `folder`, so that nothing can change the original.
pub(crate) fn adopt(path: &Path, folder: &Path, kubeconfig: &Path) -> Result<(Kubectl, Endpoint), Error> {
    let bad = |message: String| Error::BadKubeconfig { path: path.to_owned(), message };
    let original =
        Kubectl { program: program()?, kubeconfig: path.to_owned(), home: folder.to_owned(), keep_environment: true };
    let view = original.run(&["config", "view", "--raw", "--minify", "--flatten", "-o", "json"]);
    let view = view.json().map_err(|error| bad(error.to_string()))?;
    let endpoint = Endpoint::from_view(&view).ok_or_else(|| bad("its current context names no server".to_owned()))?;
    write_private(kubeconfig, &format!("{view:#}\n"))?;
    let kubectl = original.with_kubeconfig(kubeconfig);
    kubectl.run(&["get", "--raw", "/version"]).ok().map_err(|error| bad(error.to_string()))?;
    Ok((kubectl, endpoint))
}

/// The built kubectl if there is one, else the caller's: naming a cluster must not need Go.
fn program() -> Result<PathBuf, Error> {
    if let Some(binaries) = Binaries::cached() {
        return Ok(binaries.path(Tool::Kubectl));
    }
    let path = env::var_os("PATH").unwrap_or_default();
    let found = env::split_paths(&path).map(|dir| dir.join(Tool::Kubectl.name())).find(|program| program.is_file());
    found.map_or_else(|| Ok(Binaries::ensure(Release::Current)?.path(Tool::Kubectl)), Ok)
}
