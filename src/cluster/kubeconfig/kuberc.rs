//! Which credential plugins the user lets kubectl run, from kuberc, kubectl's own preferences: a kubeconfig from
//! somebody else must not bring its own program along. Source: kubectl `pkg/kuberc`, client-go
//! `plugin/pkg/client/auth/exec` (`PluginPolicy`).

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::error::KubeconfigError;
use super::files;
use crate::cluster::environment::Environment;

/// What may be run, and which file says so.
pub(super) struct Policy {
    rule: Rule,
    file: PathBuf,
}

enum Rule {
    All,
    None,
    /// Names that are looked up in PATH, and paths.
    Only(Vec<String>),
}

impl Policy {
    /// Reads the file of `--kuberc`, of KUBERC, or `~/.kube/kuberc`, which needs not exist. As in kubectl, only a
    /// file that was named has to be one.
    pub(super) fn read(flag: Option<&Path>, environment: &Environment) -> Result<Self, KubeconfigError> {
        let off = environment.text("KUBERC") == Some("off")
            || environment.text("KUBECTL_KUBERC").is_some_and(|gate| gate.eq_ignore_ascii_case("false"));
        let named = flag.map(Path::to_owned).or_else(|| environment.variable("KUBERC").map(PathBuf::from));
        let usual = || environment.home.as_ref().map(|home| home.join(".kube").join("kuberc"));
        let explicit = named.is_some();
        let Some(file) = named.or_else(usual).filter(|_| !off) else {
            return Ok(Self { rule: Rule::All, file: PathBuf::new() });
        };
        let place = || format!("kuberc {}", file.display());
        let wrong = |field: &str, problem: &str| KubeconfigError::Field {
            place: place(),
            field: field.to_owned(),
            problem: problem.to_owned(),
        };
        match super::bytes_of(&file).map(|bytes| preference(&bytes)) {
            Ok(Some(preference)) => {
                let rule = rule(&preference).map_err(|(field, problem)| wrong(field, problem))?;
                Ok(Self { rule, file })
            }
            Err(error) if explicit => {
                Err(KubeconfigError::Unreadable { what: "kuberc", path: file, reason: super::reason(&error) })
            }
            _ => Ok(Self { rule: Rule::All, file }),
        }
    }

    /// What to run for a command, if it may be run: under a list, the very file that was checked.
    pub(super) fn permitted(&self, command: &OsStr, environment: &Environment) -> Result<OsString, String> {
        let refused =
            || format!("{} is not allowed by credentialPluginPolicy in {}", command.display(), self.file.display());
        match &self.rule {
            Rule::All => Ok(command.to_owned()),
            Rule::None => Err(refused()),
            Rule::Only(entries) => {
                let path = look_up(command, environment).ok_or_else(refused)?;
                let same = |entry: &String| {
                    OsStr::new(entry) == command
                        || Path::new(entry) == path
                        || look_up(OsStr::new(entry), environment).as_ref() == Some(&path)
                };
                if entries.iter().any(same) { Ok(path.into_os_string()) } else { Err(refused()) }
            }
        }
    }
}

/// The first document that is kubectl's preferences.
fn preference(bytes: &[u8]) -> Option<Value> {
    let is = |document: &Value| {
        let version = document["apiVersion"].as_str().unwrap_or_default();
        version.starts_with("kubectl.config.k8s.io/") && document["kind"] == "Preference"
    };
    files::documents(bytes)?.into_iter().find(is)
}

fn rule(preference: &Value) -> Result<Rule, (&'static str, &'static str)> {
    let (policy, list) = ("credentialPluginPolicy", "credentialPluginAllowlist");
    let entries = match &preference[list] {
        Value::Null => None,
        Value::Array(entries) => Some(entries),
        _ => return Err((list, "must be a list")),
    };
    let rule = match preference[policy].as_str() {
        Some("" | "AllowAll") => Rule::All,
        None if preference[policy].is_null() => Rule::All,
        Some("DenyAll") => Rule::None,
        Some("Allowlist") => {
            let entries = entries.filter(|entries| !entries.is_empty());
            let entries = entries.ok_or((list, "is missing or empty, and credentialPluginPolicy is Allowlist"))?;
            // `name` is what the field was called at first.
            let command = |entry: &Value| entry["command"].as_str().or(entry["name"].as_str()).map(str::to_owned);
            let commands = entries.iter().map(|entry| command(entry).filter(|command| !command.is_empty()));
            return commands.collect::<Option<_>>().map(Rule::Only).ok_or((list, "has an entry without a command"));
        }
        _ => return Err((policy, "must be AllowAll, DenyAll or Allowlist")),
    };
    // Somebody who wrote a list meant it.
    if entries.is_some() { Err((list, "is set, and credentialPluginPolicy is not Allowlist")) } else { Ok(rule) }
}

/// Where a command is: a path as it is, a bare name by PATH.
fn look_up(command: &OsStr, environment: &Environment) -> Option<PathBuf> {
    if Path::new(command).components().count() > 1 {
        return Some(PathBuf::from(command)).filter(|path| path.is_file());
    }
    let folders = environment.variable("PATH")?;
    std::env::split_paths(folders).map(|folder| folder.join(command)).find(|path| is_executable(path))
}

#[cfg(unix)]
fn is_executable(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    path.metadata().is_ok_and(|data| data.is_file() && data.permissions().mode() & 0o111 != 0)
}

#[cfg(not(unix))]
fn is_executable(path: &Path) -> bool {
    path.is_file()
}
