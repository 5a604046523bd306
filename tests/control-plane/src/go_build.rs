//! Builds every program of the control plane from the committed go.mod.

use std::env::{self, consts};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::error::{Doing as _, Error};
use crate::process::tail;
use crate::progress;
use crate::release::Release;

/// The file beside the programs that holds kwok's stages.
pub(crate) const STAGES: &str = "kwok-stages.yaml";

/// The stages of nodes that come up and stay up, and of pods that start and stop at once; folders
/// of kwok's module.
const STAGE_FOLDERS: [&str; 3] =
    ["kustomize/stage/node/fast", "kustomize/stage/node/heartbeat", "kustomize/stage/pod/fast"];

/// Changes with everything that the result depends on, so that a new go.mod is built and an old one
/// reused. FNV-1a: stable across compilers, and nobody is trying to collide it.
pub(crate) fn fingerprint(release: Release) -> String {
    let parts =
        [release.go_mod(), release.go_sum(), &ldflags(release), consts::OS, consts::ARCH, &STAGE_FOLDERS.join(" ")];
    let hash = parts
        .iter()
        .flat_map(|part| part.bytes().chain([0]))
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3));
    format!("{hash:016x}")
}

/// Builds in `workshop`, which must not exist, and returns the folder with the programs in it.
pub(crate) fn build(release: Release, workshop: &Path) -> Result<PathBuf, Error> {
    let module = workshop.join("module");
    let bin = workshop.join("bin");
    for dir in [&module, &bin] {
        fs::create_dir_all(dir).doing(|| format!("create {}", dir.display()))?;
    }
    for (name, text) in [("go.mod", release.go_mod()), ("go.sum", release.go_sum())] {
        let path = module.join(name);
        fs::write(&path, text).doing(|| format!("write {}", path.display()))?;
    }
    let go = Go { program: program(), module, release };
    go.check_version()?;
    compile(&go, &bin, &workshop.join("go.log"))?;
    if release == Release::Older {
        return Ok(bin);
    }
    // etcd's command is called after the last element of its module path.
    fs::rename(bin.join("server"), bin.join("etcd")).doing(|| "rename etcd's program".to_owned())?;
    let stages = stages(&go)?;
    let path = bin.join(STAGES);
    fs::write(&path, stages).doing(|| format!("write {}", path.display()))?;
    Ok(bin)
}

/// A `go` that works on one module.
struct Go {
    program: PathBuf,
    module: PathBuf,
    release: Release,
}

impl Go {
    fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command.current_dir(&self.module).stdin(Stdio::null());
        // For this machine and without a C compiler, whatever the caller is building otherwise.
        command.env("CGO_ENABLED", "0").env("GOWORK", "off").env_remove("GOOS").env_remove("GOARCH");
        command
    }

    fn query(&self, arguments: &[&str]) -> Result<Result<String, String>, Error> {
        let output = self.command().args(arguments).output().doing(|| format!("run {}", self.program.display()))?;
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
        Ok(if output.status.success() { Ok(text(&output.stdout)) } else { Err(text(&output.stderr)) })
    }

    /// Asked inside the module: a `go` that may fetch newer toolchains answers for the one it would use.
    fn check_version(&self) -> Result<(), Error> {
        let needed = needed_go(self.release);
        let found = match self.query(&["env", "GOVERSION"]) {
            Ok(Ok(version)) if minor(version.trim_start_matches("go")) >= minor(needed) => return Ok(()),
            Ok(Ok(found) | Err(found)) => found,
            Err(Error::Io { .. }) => return Err(Error::GoMissing { needed: needed.to_owned() }),
            Err(other) => return Err(other),
        };
        Err(Error::GoTooOld { needed: needed.to_owned(), found })
    }
}

/// `go` from PATH, or from where its installer puts it without telling PATH.
#[must_use]
pub fn program() -> PathBuf {
    let on_path = env::var_os("PATH").is_some_and(|path| env::split_paths(&path).any(|dir| dir.join("go").is_file()));
    let usual = Path::new("/usr/local/go/bin/go");
    if !on_path && usual.is_file() { usual.to_owned() } else { "go".into() }
}

fn compile(go: &Go, bin: &Path, log: &Path) -> Result<(), Error> {
    progress::say(&format!(
        "building Kubernetes {} and what it needs from source; the first time takes up to 9 minutes",
        kubernetes_version(go.release)
    ));
    let output = File::create(log).doing(|| format!("create {}", log.display()))?;
    let mut command = go.command();
    // -v prints each package as it is compiled, which is the only progress `go build` can show.
    command.args(["build", "-v", "-mod=readonly", "-buildvcs=false", "-ldflags", &ldflags(go.release), "-o"]).arg(bin);
    command.arg("tool").stdout(Stdio::null()).stderr(output);
    let mut build = command.spawn().doing(|| format!("run {}", go.program.display()))?;
    let began = Instant::now();
    let mut said = began;
    let status = loop {
        if let Some(status) = build.try_wait().doing(|| "wait for go".to_owned())? {
            break status;
        }
        if said.elapsed() >= progress::INTERVAL {
            said = Instant::now();
            progress::say(&format!("{} s, {}", began.elapsed().as_secs(), state(log)));
        }
        sleep(Duration::from_millis(100));
    };
    if status.success() {
        progress::say(&format!("built in {} s", began.elapsed().as_secs()));
        return Ok(());
    }
    Err(Error::BuildFailed { status, output: tail(&fs::read(log).unwrap_or_default()) })
}

/// What go's output so far says: it downloads modules first, then compiles packages.
fn state(log: &Path) -> String {
    let log = fs::read_to_string(log).unwrap_or_default();
    let downloaded = log.lines().filter(|line| line.starts_with("go: downloading")).count();
    let compiled = log.lines().filter(|line| !line.starts_with("go: ")).count();
    match (downloaded, compiled) {
        (0, 0) => "nothing had to be compiled yet".to_owned(),
        (_, 0) => format!("{downloaded} modules downloaded"),
        _ => format!("{compiled} packages compiled"),
    }
}

/// The stage files that kwok's kustomizations list, as one YAML stream.
fn stages(go: &Go) -> Result<String, Error> {
    let listed = go.query(&["list", "-mod=readonly", "-m", "-f", "{{.Dir}}", "sigs.k8s.io/kwok"])?;
    let kwok = listed.map(PathBuf::from).map_err(|message| Error::Io {
        doing: "find kwok's module folder".to_owned(),
        source: std::io::Error::other(message),
    })?;
    let mut stages = String::new();
    for folder in STAGE_FOLDERS {
        let folder = kwok.join(folder);
        let doing = || format!("read {}", folder.display());
        let files = fs::read_dir(&folder).and_then(Iterator::collect::<Result<Vec<_>, _>>).doing(doing)?;
        let mut files: Vec<_> = files.into_iter().map(|file| file.path()).collect();
        files.sort();
        for file in files.iter().filter(|file| file.extension().is_some_and(|extension| extension == "yaml")) {
            let text = fs::read_to_string(file).doing(|| format!("read {}", file.display()))?;
            if text.lines().any(|line| line == "kind: Stage") {
                stages.push_str("---\n");
                stages.push_str(&text);
            }
        }
    }
    Ok(stages)
}

/// Without a version the server calls itself v0.0.0, and clients behave differently.
fn ldflags(release: Release) -> String {
    let version = kubernetes_version(release);
    let mut numbers = version.trim_start_matches('v').split('.');
    let (major, minor) = (numbers.next().unwrap_or_default(), numbers.next().unwrap_or_default());
    let package = "k8s.io/component-base/version";
    format!("-s -w -X {package}.gitVersion={version} -X {package}.gitMajor={major} -X {package}.gitMinor={minor}")
}

fn kubernetes_version(release: Release) -> &'static str {
    go_mod_word(release, "k8s.io/kubernetes").expect("go.mod requires k8s.io/kubernetes")
}

/// `1.26` of go.mod's `go 1.26.0`.
fn needed_go(release: Release) -> &'static str {
    let version = go_mod_word(release, "go").expect("go.mod has a go line");
    version.match_indices('.').nth(1).map_or(version, |(end, _)| &version[..end])
}

/// The word that follows `key` in go.mod.
fn go_mod_word(release: Release, key: &str) -> Option<&'static str> {
    release.go_mod().lines().find_map(|line| {
        let mut words = line.split_whitespace();
        (words.next() == Some(key)).then(|| words.next()).flatten()
    })
}

/// `(1, 26)` of `1.26.8` or `1.26rc1`; text that is no version is older than any.
fn minor(version: &str) -> (u32, u32) {
    let number = |text: &str| {
        let digits = text.find(|c: char| !c.is_ascii_digit()).map_or(text, |end| &text[..end]);
        digits.parse().unwrap_or_default()
    };
    let mut parts = version.split('.').map(number);
    (parts.next().unwrap_or_default(), parts.next().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_of_go_compare_by_number() {
        assert!(minor("1.9.7") < minor("1.26"));
        assert!(minor("1.26rc1") >= minor("1.26"));
        assert!(minor("2.0") > minor("1.26.8"));
        assert!(minor("devel +abc") < minor("1.26"));
    }

    fn go(program: &str) -> Go {
        Go { program: program.into(), module: env::temp_dir(), release: Release::Current }
    }

    #[test]
    fn without_go_the_error_says_what_to_install_or_set() {
        let error = go("/nonexistent/go").check_version().unwrap_err();
        assert_eq!(
            error.to_string(),
            "the control plane is built with Go, and no `go` was found: install Go 1.26 or newer, or name a cluster \
             that may be thrown away with KUBECTL_PURGE_TEST_KUBECONFIG=/path/to/kubeconfig"
        );
    }

    #[test]
    fn an_old_go_is_told_from_a_new_one() {
        // `echo env GOVERSION` stands for a go whose version says nothing.
        let error = go("echo").check_version().unwrap_err();
        assert_eq!(
            error.to_string(),
            "the control plane needs Go 1.26 or newer to be built, and this is env GOVERSION: install Go 1.26, or \
             name a cluster that may be thrown away with KUBECTL_PURGE_TEST_KUBECONFIG=/path/to/kubeconfig"
        );
    }

    #[test]
    fn go_mod_says_what_is_built_and_with_what() {
        assert!(kubernetes_version(Release::Older).starts_with("v1.34."));
        assert_eq!(minor(needed_go(Release::Current)), (1, 26));
        let release = Release::Current;
        assert!(ldflags(release).contains(&format!("gitVersion={}", kubernetes_version(release))));
    }
}
