//! From kubeconfig and flags to a [`Connection`], with kubectl's own rules.
//!
//! Source of the rules: client-go's `tools/clientcmd` (loading rules, overrides, in-cluster fall-back). Stricter than
//! kubectl in four places, since this program deletes: a KUBECONFIG of which no file exists, a kubeconfig without
//! current context, and a context whose user does not exist are errors, never another cluster or another user; and
//! `--token` replaces the kubeconfig's client certificate, by which the server would know the sender otherwise.

mod cluster;
mod error;
mod fields;
mod files;
mod kuberc;
mod names;
#[cfg(all(test, unix))]
mod tests;
mod user;

use std::io::{ErrorKind, Read as _};
use std::path::Path;
use std::time::Duration;

use serde_json::{Map, Value};

pub use self::error::KubeconfigError;
use self::fields::Fields;
use self::files::{Entry, Merged};
pub use self::names::{Names, names};
use super::connection::Connection;
use super::environment::Environment;
use super::flags::ConnectionFlags;
use super::timeout;

/// The name that a plan shows as context when a pod uses its own service account.
const IN_CLUSTER: &str = "in-cluster";

/// Finds out where to connect to, as whom, and which namespace is meant. Reads files, sends nothing, runs nothing.
///
/// # Errors
/// Whatever is wrong with a flag or with the part of the kubeconfig that is in use. What is wrong elsewhere in the
/// file does not matter.
pub fn resolve(flags: &ConnectionFlags, environment: &Environment) -> Result<Connection, KubeconfigError> {
    // What was typed wrongly is said first, whatever the files hold.
    let request_timeout = given(flags.request_timeout.as_ref()).map_or(Ok(None), timeout::parse);
    let request_timeout = request_timeout.map_err(KubeconfigError::Timeout)?;
    let namespace_flag = namespace_flag(flags)?;
    let explicit = flags.kubeconfig.as_deref().filter(|path| !path.as_os_str().is_empty());
    connection(&files::read(explicit, environment)?, flags, environment, namespace_flag, request_timeout)
}

/// The connection that one file of these bytes stands for, as far as it names no other files.
pub(crate) fn of_bytes(
    bytes: &[u8],
    flags: &ConnectionFlags,
    environment: &Environment,
) -> Result<Connection, KubeconfigError> {
    connection(&files::of_bytes(Path::new("kubeconfig"), bytes)?, flags, environment, None, None)
}

fn connection(
    merged: &Merged,
    flags: &ConnectionFlags,
    environment: &Environment,
    namespace_flag: Option<String>,
    request_timeout: Option<Duration>,
) -> Result<Connection, KubeconfigError> {
    let chosen = choose(merged, flags, environment)?;
    let endpoint = cluster::read(chosen.cluster.as_ref(), flags, environment)?;
    let user = user::read(chosen.user.as_ref(), &endpoint, flags, environment)?;
    Ok(Connection {
        namespace: namespace_flag.map_or_else(|| namespace(chosen.context.as_ref(), environment), Ok)?,
        context: chosen.name,
        server: endpoint.server,
        request_timeout,
        disable_compression: endpoint.disable_compression,
        url: endpoint.url,
        trust: endpoint.trust,
        server_name: endpoint.server_name,
        proxy: endpoint.proxy,
        credential: user.credential,
        identity: user.identity,
        impersonation: user.impersonation,
    })
}

/// The entries that are in use.
struct Chosen {
    name: String,
    context: Option<Entry>,
    cluster: Option<Entry>,
    user: Option<Entry>,
}

fn choose(merged: &Merged, flags: &ConnectionFlags, environment: &Environment) -> Result<Chosen, KubeconfigError> {
    let server = given(flags.server.as_ref());
    let [context_flag, cluster_flag, user_flag] =
        [&flags.context, &flags.cluster, &flags.user].map(|flag| given(flag.as_ref()));
    let name = context_flag.or(merged.current_context.as_deref());
    let named = [context_flag, cluster_flag, user_flag, server].iter().any(Option::is_some);
    if merged.is_empty() && !named {
        return outside_of_files(merged, environment);
    }
    let context = match name {
        Some(name) => Some(find("context", &merged.contexts, name, None)?),
        None if server.is_some() || cluster_flag.is_some() => None,
        None if merged.files.is_empty() => return Err(none_found(merged)),
        None if let Some(file) = &merged.odd_current_context => {
            let place = format!("kubeconfig {}", file.display());
            let problem = "must be text; put it in quotes".to_owned();
            return Err(KubeconfigError::Field { place, field: "current-context".to_owned(), problem });
        }
        None => {
            let known = merged.contexts.iter().map(|context| context.name.clone()).collect();
            return Err(KubeconfigError::NoCurrentContext { files: merged.files.clone(), known });
        }
    };
    let fields = context.as_ref().map(|context| Fields::of("context", context));
    let of_context = |field| fields.as_ref().map_or(Ok(None), |fields| fields.text(field));
    let place = fields.as_ref().map(|fields| fields.place.clone());
    let cluster = match (cluster_flag, of_context("cluster")?) {
        (Some(name), _) => Some(find("cluster", &merged.clusters, name, None)?),
        // The flag says where the server is; the context's cluster may add how to trust it.
        (None, Some(name)) if server.is_some() => find("cluster", &merged.clusters, name, None).ok(),
        (None, Some(name)) => Some(find("cluster", &merged.clusters, name, place.clone())?),
        (None, None) if server.is_some() => None,
        (None, None) => {
            let place = place.unwrap_or_else(|| "kubeconfig".to_owned());
            let problem = "is missing; name one with --cluster or --server".to_owned();
            return Err(KubeconfigError::Field { place, field: "cluster".to_owned(), problem });
        }
    };
    let user = match (user_flag, of_context("user")?) {
        (Some(name), _) => Some(find("user", &merged.users, name, None)?),
        (None, Some(name)) => Some(find("user", &merged.users, name, place)?),
        (None, None) => None,
    };
    Ok(Chosen { name: name.unwrap_or_default().to_owned(), context, cluster, user })
}

/// Without a kubeconfig: the pod's own cluster, else KUBERNETES_MASTER, else nothing. kubectl would go on to
/// http://localhost:8080, where hardly anything has answered for years.
fn outside_of_files(merged: &Merged, environment: &Environment) -> Result<Chosen, KubeconfigError> {
    if merged.chosen && merged.files.is_empty() {
        return Err(none_found(merged));
    }
    if let Some(chosen) = in_cluster(environment) {
        return Ok(chosen);
    }
    let master = environment.text("KUBERNETES_MASTER").ok_or_else(|| none_found(merged))?;
    let cluster = entry("KUBERNETES_MASTER", [("server", master.to_owned())], Path::new("the environment"));
    Ok(Chosen { name: String::new(), context: None, cluster: Some(cluster), user: None })
}

/// The pod's own cluster and service account, where this process is in a pod that has them.
fn in_cluster(environment: &Environment) -> Option<Chosen> {
    let host = environment.text("KUBERNETES_SERVICE_HOST").filter(|_| is_in_pod(environment))?;
    let port = environment.text("KUBERNETES_SERVICE_PORT")?;
    let host = if host.contains(':') { format!("[{host}]") } else { host.to_owned() };
    let file = |name: &str| environment.service_account.join(name).display().to_string();
    let server = ("server", format!("https://{host}:{port}"));
    let authority = Path::new(&file("ca.crt")).exists().then(|| ("certificate-authority", file("ca.crt")));
    let origin = environment.service_account.join("token");
    Some(Chosen {
        name: IN_CLUSTER.to_owned(),
        context: None,
        cluster: Some(entry(IN_CLUSTER, std::iter::once(server).chain(authority), &origin)),
        user: Some(entry("service account", [("tokenFile", file("token"))], &origin)),
    })
}

/// Whether kubectl would take this process to be in a pod. Source: client-go `inClusterClientConfig.Possible`.
fn is_in_pod(environment: &Environment) -> bool {
    let named = ["KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT"].map(|name| environment.text(name).is_some());
    named == [true, true] && environment.service_account.join("token").is_file()
}

/// `--namespace`; one of blanks only counts as not given.
fn namespace_flag(flags: &ConnectionFlags) -> Result<Option<String>, KubeconfigError> {
    let Some(name) = flags.namespace.as_ref().filter(|name| !name.trim().is_empty()) else { return Ok(None) };
    let wrong = || KubeconfigError::Flag { flag: "--namespace", problem: not_a_namespace(name) };
    if is_namespace(name) { Ok(Some(name.clone())) } else { Err(wrong()) }
}

/// The namespace without a flag: the context's, the pod's, `default`.
/// Source: client-go `DeferredLoadingClientConfig.Namespace`, which asks the pod even when a kubeconfig is used.
fn namespace(context: Option<&Entry>, environment: &Environment) -> Result<String, KubeconfigError> {
    let fields = context.map(|context| Fields::of("context", context));
    if let Some(fields) = &fields
        && let Some(name) = fields.text("namespace")?.filter(|name| !name.trim().is_empty())
    {
        let wrong = || fields.wrong("namespace", &not_a_namespace(name));
        return if is_namespace(name) { Ok(name.to_owned()) } else { Err(wrong()) };
    }
    let of_pod = is_in_pod(environment).then(|| {
        let file = || std::fs::read_to_string(environment.service_account.join("namespace")).ok();
        let name = environment.text("POD_NAMESPACE").map(str::to_owned).or_else(file);
        name.map(|name| name.trim().to_owned()).filter(|name| is_namespace(name))
    });
    Ok(of_pod.flatten().unwrap_or_else(|| "default".to_owned()))
}

/// Whether a text is a DNS label. Source: apimachinery `validation.IsDNS1123Label`.
fn is_namespace(name: &str) -> bool {
    let inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    (1..=63).contains(&name.len()) && name.bytes().all(inner) && !name.starts_with('-') && !name.ends_with('-')
}

fn not_a_namespace(name: &str) -> String {
    let rule = "lower case letters, digits and dashes, at most 63, a letter or digit first and last";
    format!("{name:?} is no namespace's name: {rule}")
}

/// The entry of a name.
fn find(
    kind: &'static str,
    entries: &[Entry],
    name: &str,
    referred_by: Option<String>,
) -> Result<Entry, KubeconfigError> {
    let Some(entry) = entries.iter().find(|entry| entry.name == name) else {
        let known = entries.iter().map(|entry| entry.name.clone()).collect();
        return Err(KubeconfigError::Unknown { kind, name: name.to_owned(), referred_by, known });
    };
    if entry.twice {
        return Err(KubeconfigError::Twice { kind, name: name.to_owned(), path: entry.file.clone() });
    }
    Ok(entry.clone())
}

/// An entry that no file holds.
fn entry<'a>(name: &str, fields: impl IntoIterator<Item = (&'a str, String)>, file: &Path) -> Entry {
    let fields: Map<String, Value> = fields.into_iter().map(|(name, text)| (name.to_owned(), text.into())).collect();
    Entry { name: name.to_owned(), fields, file: file.to_owned(), twice: false }
}

fn none_found(merged: &Merged) -> KubeconfigError {
    match merged.missing.first() {
        Some(path) if merged.chosen => KubeconfigError::Missing { path: path.clone(), named_by: "KUBECONFIG" },
        _ => KubeconfigError::NoneFound { looked_for: merged.missing.clone() },
    }
}

/// A flag's value; an empty one counts as not given, as in kubectl.
fn given(flag: Option<&String>) -> Option<&str> {
    flag.map(String::as_str).filter(|text| !text.is_empty())
}

/// The largest kubeconfig, certificate or token that is read: thousands of clusters with all their certificates.
const LARGEST_FILE: usize = 16 << 20;

/// A file's bytes. `/dev/zero` has no end, so that even a device or a pipe is read up to the limit and no further.
fn bytes_of(path: &Path) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    std::fs::File::open(path)?.take(LARGEST_FILE as u64 + 1).read_to_end(&mut bytes)?;
    if bytes.len() > LARGEST_FILE {
        return Err(ErrorKind::FileTooLarge.into());
    }
    Ok(bytes)
}

/// Why a file cannot be read, in words that do not differ between systems.
fn reason(error: &std::io::Error) -> String {
    match error.kind() {
        ErrorKind::NotFound => "no such file".to_owned(),
        ErrorKind::PermissionDenied => "permission denied".to_owned(),
        ErrorKind::IsADirectory => "it is a folder".to_owned(),
        ErrorKind::FileTooLarge => format!("it is larger than {} MiB", LARGEST_FILE >> 20),
        _ => error.to_string(),
    }
}
