//! A release as its users meet it: archives and a manifest, on a web server.

use std::env::consts;
use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::server;

/// What is released.
pub(crate) const PLATFORMS: [(&str, &str); 5] =
    [("linux", "amd64"), ("linux", "arm64"), ("darwin", "amd64"), ("darwin", "arm64"), ("windows", "amd64")];

const HOMEPAGE: &str = "https://kubectl-purge.example";

/// A release, on loopback.
pub(crate) struct Release {
    folder: PathBuf,
    manifest: PathBuf,
    pub(crate) version: String,
}

impl Release {
    /// Packages every platform, serves the archives, and fills in the manifest.
    ///
    /// `program` is this platform's. Of a foreign one krew is only asked to check and unpack the archive, never
    /// to run what is in it: a text stands in.
    pub(crate) fn make(folder: &Path, version: &str, program: &Path) -> Result<Self, Box<dyn Error>> {
        fs::create_dir_all(folder)?;
        let foreign = folder.join("foreign");
        fs::write(&foreign, "of another platform\n")?;
        for (os, arch) in PLATFORMS {
            let shipped = if (os, arch) == present_platform() { program } else { &foreign };
            package(folder, os, arch, shipped, program)?;
        }
        let archives = server::serve(folder.to_owned())?;
        let filled = script("manifest").args([version, HOMEPAGE, &archives]).arg(folder).output()?;
        if !filled.status.success() {
            return Err(String::from_utf8_lossy(&filled.stderr).into());
        }
        // krew insists on this name.
        let manifest = folder.join("purge.yaml");
        fs::write(&manifest, filled.stdout)?;
        Ok(Self { folder: folder.to_owned(), manifest, version: version.to_owned() })
    }

    pub(crate) fn manifest_path(&self) -> &str {
        self.manifest.to_str().expect("a path of our own")
    }

    pub(crate) fn archive(&self, os: &str, arch: &str) -> PathBuf {
        self.folder.join(format!("kubectl-purge-{os}-{arch}.tar.gz"))
    }
}

/// Makes one archive in `folder`, as the release workflow does; `here` can be run on this machine.
pub(crate) fn package(
    folder: &Path,
    os: &str,
    arch: &str,
    program: &Path,
    here: &Path,
) -> Result<PathBuf, Box<dyn Error>> {
    let packaged = script("package").args([os, arch]).args([program, here]).env("DIST", folder).output()?;
    if !packaged.status.success() {
        return Err(String::from_utf8_lossy(&packaged.stderr).into());
    }
    Ok(String::from_utf8(packaged.stdout)?.trim_end().into())
}

/// This machine's, in Go's words.
pub(crate) fn present_platform() -> (&'static str, &'static str) {
    let os = if consts::OS == "macos" { "darwin" } else { consts::OS };
    let arch = match consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    };
    (os, arch)
}

fn script(name: &str) -> Command {
    let mut command = Command::new(Path::new(env!("CARGO_MANIFEST_DIR")).join(".ci").join(name));
    command.stdin(Stdio::null());
    command
}
