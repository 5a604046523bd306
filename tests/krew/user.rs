//! Somebody with kubectl, krew and a home of their own; nothing of the real user's is read or changed.

use std::env;
use std::error::Error;
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use control_plane::Tool;

use crate::release::Release;
use crate::tools;

pub(crate) struct User {
    home: PathBuf,
    path: OsString,
}

/// What a program did.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Output {
    pub(crate) ok: bool,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl User {
    /// `name` tells the users of one test run apart.
    pub(crate) fn new(name: &str) -> Result<Self, Box<dyn Error>> {
        let home = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("krew-{name}-{}", std::process::id()));
        let bin = home.join("bin");
        fs::create_dir_all(&bin)?;
        fs::create_dir(home.join("tmp"))?;
        let built = tools::folder()?;
        symlink(Tool::Kubectl.program()?, bin.join("kubectl"))?;
        symlink(built.join("krew"), bin.join("kubectl-krew"))?;
        symlink(built.join("validate-krew-manifest"), bin.join("validate-krew-manifest"))?;
        let inherited = env::var_os("PATH").unwrap_or_default();
        // The rest of PATH is for git, with which krew keeps its indexes.
        let path = env::join_paths([bin, home.join(".krew/bin")].into_iter().chain(env::split_paths(&inherited)))?;
        Ok(Self { home, path })
    }

    pub(crate) fn home(&self) -> &Path {
        &self.home
    }

    pub(crate) fn run(&self, program: &str, arguments: &[&str]) -> Result<Output, Box<dyn Error>> {
        let output = self.command(program).args(arguments).output().map_err(|error| format!("{program}: {error}"))?;
        Ok(Output {
            ok: output.status.success(),
            stdout: String::from_utf8(output.stdout)?,
            stderr: String::from_utf8(output.stderr)?,
        })
    }

    /// Runs `kubectl krew`, which has to succeed.
    pub(crate) fn krew(&self, arguments: &[&str]) -> Result<String, Box<dyn Error>> {
        let output = self.run("kubectl", &[&["krew"], arguments].concat())?;
        if output.ok { Ok(output.stdout) } else { Err(format!("krew {arguments:?}: {}", output.stderr).into()) }
    }

    /// The plugin's, by krew's own list.
    pub(crate) fn installed_version(&self) -> Result<String, Box<dyn Error>> {
        // Piped, the list is names only; `info` reads the index. The receipt is what krew goes by.
        let receipt = fs::read_to_string(self.home.join(".krew/receipts/purge.yaml"))?;
        let version = receipt.lines().find_map(|line| line.strip_prefix("  version: "));
        Ok(version.ok_or("a receipt without version")?.to_owned())
    }

    /// A file that the installed archive brought along.
    pub(crate) fn installed_file(&self, name: &str) -> Result<String, Box<dyn Error>> {
        let store = self.home.join(".krew/store/purge").join(self.installed_version()?);
        Ok(fs::read_to_string(store.join(name))?)
    }

    /// Puts a program into a folder of PATH.
    pub(crate) fn add_to_path(&self, name: &str, script: &str) -> Result<(), Box<dyn Error>> {
        let path = self.home.join("bin").join(name);
        fs::write(&path, script)?;
        Ok(fs::set_permissions(path, fs::Permissions::from_mode(0o755))?)
    }

    /// The plugins of which krew keeps files.
    pub(crate) fn left_in_the_store(&self) -> Result<Vec<String>, Box<dyn Error>> {
        let entries = fs::read_dir(self.home.join(".krew/store"))?.collect::<Result<Vec<_>, _>>()?;
        Ok(entries.into_iter().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect())
    }

    pub(crate) fn write_script(&self, name: &str, body: &str) -> Result<PathBuf, Box<dyn Error>> {
        let path = self.home.join(name);
        fs::write(&path, format!("#!/bin/sh\n{body}\n"))?;
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755))?;
        Ok(path)
    }

    /// The names in an archive, in their order.
    pub(crate) fn listing(&self, folder: &str, os: &str, arch: &str) -> Result<String, Box<dyn Error>> {
        let archive = self.home.join(folder).join(format!("kubectl-purge-{os}-{arch}.tar.gz"));
        Ok(self.run("tar", &["-tzf", archive.to_str().ok_or("a path of our own")?])?.stdout)
    }

    pub(crate) fn new_index(&self) -> Result<Index<'_>, Box<dyn Error>> {
        let path = self.home.join("index");
        fs::create_dir_all(path.join("plugins"))?;
        let index = Index { user: self, path };
        index.git(&["init", "--quiet"])?;
        Ok(index)
    }

    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.env_clear().env("PATH", &self.path).env("HOME", &self.home).env("TMPDIR", self.home.join("tmp"));
        command.env("GIT_CONFIG_NOSYSTEM", "1").env("KREW_NO_UPGRADE_CHECK", "1");
        command.env("KREW_ROOT", self.home.join(".krew")).current_dir(&self.home).stdin(Stdio::null());
        command
    }
}

impl Drop for User {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.home);
    }
}

/// An index of plugins, as anybody can keep one: a git repository with a manifest per plugin.
pub(crate) struct Index<'a> {
    user: &'a User,
    path: PathBuf,
}

impl Index<'_> {
    pub(crate) fn path(&self) -> &str {
        self.path.to_str().expect("a path of our own")
    }

    pub(crate) fn publish(&self, release: &Release) -> Result<(), Box<dyn Error>> {
        fs::copy(release.manifest_path(), self.path.join("plugins/purge.yaml"))?;
        self.git(&["add", "."])?;
        self.git(&["commit", "--quiet", "--message", &release.version])
    }

    fn git(&self, arguments: &[&str]) -> Result<(), Box<dyn Error>> {
        let who = ["-c", "user.name=Index", "-c", "user.email=index@example.invalid", "-C", self.path()];
        let output = self.user.run("git", &[who.as_slice(), arguments].concat())?;
        if output.ok { Ok(()) } else { Err(format!("git {arguments:?}: {}", output.stderr).into()) }
    }
}
