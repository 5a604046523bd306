//! The folder that holds the built programs and kwok's stages: found, or built once and kept.

use std::env;
use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::component::Tool;
use crate::error::{Doing as _, Error};
use crate::go_build;
use crate::progress;
use crate::random;
use crate::release::Release;

/// Names the folder in which built programs are kept, so that several checkouts can share them.
pub const CACHE_VARIABLE: &str = "KUBECTL_PURGE_CONTROL_PLANE_CACHE";

/// Where unfinished builds live, beside the finished ones.
const UNFINISHED: &str = "building-";

/// A complete set of programs: those of one release, and those of the current one that every release needs.
#[derive(Debug, Clone)]
pub(crate) struct Binaries {
    release: Release,
    servers: PathBuf,
    dir: PathBuf,
}

impl Binaries {
    /// The programs of this source tree's go.mod, if they have been built already.
    pub(crate) fn cached() -> Option<Self> {
        let dir = built(Release::Current)?;
        Some(Self { release: Release::Current, servers: dir.clone(), dir })
    }

    /// The programs, built first if need be.
    pub(crate) fn ensure(release: Release) -> Result<Self, Error> {
        Ok(Self { release, servers: Self::of(release)?, dir: Self::of(Release::Current)? })
    }

    /// One release's folder; of several processes, one builds and the others wait.
    fn of(release: Release) -> Result<PathBuf, Error> {
        if let Some(ready) = built(release) {
            return Ok(ready);
        }
        let cache = cache();
        fs::create_dir_all(&cache).doing(|| format!("create {}", cache.display()))?;
        // Held until the end of this function: the file's last handle going away releases it.
        let _lock = lock(&cache)?;
        if let Some(ready) = built(release) {
            return Ok(ready);
        }
        discard_unfinished(&cache);
        let workshop = cache.join(format!("{UNFINISHED}{}", random::hex(8)?));
        let built = go_build::build(release, &workshop).and_then(|bin| {
            let dir = finished(&cache, release);
            // One step from nothing to everything: an interrupted build is never taken for a set.
            fs::rename(&bin, &dir).doing(|| format!("move the programs to {}", dir.display()))?;
            Ok(dir)
        });
        let _ = fs::remove_dir_all(&workshop);
        built
    }

    pub(crate) fn dir(&self) -> &Path {
        &self.dir
    }

    pub(crate) fn path(&self, tool: Tool) -> PathBuf {
        let dir = if self.release.that_has(tool) == Release::Current { &self.dir } else { &self.servers };
        dir.join(tool.name())
    }

    /// Kwok's own stages, each a YAML document.
    pub(crate) fn stages(&self) -> Result<String, Error> {
        let path = self.dir.join(go_build::STAGES);
        fs::read_to_string(&path).doing(|| format!("read {}", path.display()))
    }
}

/// The cache folder: named by the environment, or in cargo's target folder.
fn cache() -> PathBuf {
    if let Some(cache) = env::var_os(CACHE_VARIABLE).filter(|cache| !cache.is_empty()) {
        return PathBuf::from(cache);
    }
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap_or(Path::new("."));
    let target = env::var_os("CARGO_TARGET_DIR").filter(|target| !target.is_empty());
    // `join` keeps an absolute CARGO_TARGET_DIR as it is.
    workspace.join(target.unwrap_or_else(|| "target".into())).join("control-plane")
}

fn finished(cache: &Path, release: Release) -> PathBuf {
    cache.join(format!("bin-{}", go_build::fingerprint(release)))
}

fn built(release: Release) -> Option<PathBuf> {
    Some(finished(&cache(), release)).filter(|dir| dir.is_dir())
}

/// Waits for the builder's lock, and says so when another process has it.
fn lock(cache: &Path) -> Result<File, Error> {
    let path = cache.join("lock");
    let file = File::create(&path).doing(|| format!("create {}", path.display()))?;
    let began = Instant::now();
    let mut said = None::<Instant>;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(TryLockError::WouldBlock) => {}
            Err(TryLockError::Error(source)) => {
                return Err(Error::Io { doing: format!("lock {}", path.display()), source });
            }
        }
        if said.is_none_or(|said| said.elapsed() >= progress::INTERVAL) {
            progress::say(&format!("another process is building it; waited {} s", began.elapsed().as_secs()));
            said = Some(Instant::now());
        }
        sleep(Duration::from_millis(100));
    }
}

/// What builds that were killed have left. Only under the lock: nobody else can be building.
fn discard_unfinished(cache: &Path) {
    for entry in fs::read_dir(cache).into_iter().flatten().flatten() {
        if entry.file_name().to_string_lossy().starts_with(UNFINISHED) {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}
