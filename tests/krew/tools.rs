//! krew and its manifest validator, built from the go.mod beside this file.

use std::error::Error;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The folder that holds `krew` and `validate-krew-manifest`; builds them if need be, which takes half a
/// minute the first time. Of several processes one builds and the others wait.
pub(crate) fn folder() -> Result<PathBuf, Box<dyn Error>> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("krew-tools");
    fs::create_dir_all(&folder)?;
    let lock = File::create(folder.join("lock"))?;
    lock.lock()?;
    let programs = folder.join("bin");
    if !programs.exists() {
        // `eprintln!` would be kept from whoever wonders why nothing happens.
        let _ = writeln!(io::stderr(), "krew: building it from source, half a minute");
    }
    // go leaves alone what is up to date.
    fs::create_dir_all(&programs)?;
    let mut build = Command::new(go());
    build.args(["build", "-mod=readonly", "-buildvcs=false", "-ldflags=-s -w", "-o"]).arg(&programs).arg("tool");
    build.current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/krew"));
    build.env("CGO_ENABLED", "0").env("GOWORK", "off").env_remove("GOOS").env_remove("GOARCH");
    let output = build.stdin(Stdio::null()).output().map_err(|error| format!("krew is built with go: {error}"))?;
    if !output.status.success() {
        return Err(format!("building krew failed: {}", String::from_utf8_lossy(&output.stderr)).into());
    }
    Ok(programs)
}

/// `go` from PATH, or from where its installer puts it without telling PATH.
fn go() -> &'static str {
    let usual = "/usr/local/go/bin/go";
    let answers = Command::new("go").arg("version").output().is_ok();
    if !answers && Path::new(usual).is_file() { usual } else { "go" }
}
