//! The user's side of a connection: credential, client certificate, impersonation.
//! Source: client-go `DirectClientConfig.getUserIdentificationPartialConfig` and `validateAuthInfo`.

use std::path::PathBuf;

use http::{HeaderName, HeaderValue};
use serde_json::{Map, Value};

use super::cluster::Endpoint;
use super::error::KubeconfigError;
use super::fields::{self, Fields};
use super::files::Entry;
use super::given;
use super::kuberc::Policy;
use crate::cluster::connection::{Credential, Identity};
use crate::cluster::environment::Environment;
use crate::cluster::exec::Plugin;
use crate::cluster::flags::ConnectionFlags;
use crate::cluster::secret::Secret;

/// As whom requests are sent.
pub(super) struct User {
    pub(super) credential: Credential,
    pub(super) identity: Option<Identity>,
    pub(super) impersonation: Vec<(HeaderName, HeaderValue)>,
}

/// A user's entry, with what the flags put over it.
pub(super) fn read(
    entry: Option<&Entry>,
    endpoint: &Endpoint,
    flags: &ConnectionFlags,
    environment: &Environment,
) -> Result<User, KubeconfigError> {
    let nothing = Map::new();
    let fields = entry.map_or_else(|| Fields::new(&nothing, "flags"), |entry| Fields::of("user", entry));
    let impersonation = impersonation(&fields, flags)?;
    if !endpoint.is_https() {
        return Ok(User { credential: Credential::None, identity: None, impersonation });
    }
    let identity = identity(&fields, flags)?;
    let credential = match secret(&fields, flags)? {
        Credential::None if identity.is_none() => plugin(&fields, endpoint, flags, environment)?,
        credential => credential,
    };
    Ok(User { credential, identity, impersonation })
}

/// Token, token file, or user and password. `--token` replaces token and token file.
fn secret(fields: &Fields<'_>, flags: &ConnectionFlags) -> Result<Credential, KubeconfigError> {
    let flag = |secret: &Option<Secret>| secret.clone().filter(|secret| !secret.expose().is_empty());
    let (token, file) = match flag(&flags.token) {
        Some(token) => (Some(token), None),
        None => (fields.text("token")?.map(Secret::new), fields.path("tokenFile")?),
    };
    let username = given(flags.username.as_ref()).map_or_else(|| fields.text("username"), |name| Ok(Some(name)))?;
    let password = match flag(&flags.password) {
        Some(password) => Some(password),
        None => fields.text("password")?.map(Secret::new),
    };
    if (token.is_some() || file.is_some()) && (username.is_some() || password.is_some()) {
        return Err(fields.wrong("token", "and a user name or password are both set; keep one"));
    }
    match (token, file) {
        (fallback, Some(path)) => {
            if fallback.is_none() {
                fields::read(&path).map_err(|problem| fields.wrong("tokenFile", &problem))?;
            }
            Ok(Credential::TokenFile { path, fallback })
        }
        (Some(token), None) => Ok(Credential::Token(token)),
        (None, None) if username.is_some() || password.is_some() => Ok(Credential::Basic {
            username: username.unwrap_or_default().to_owned(),
            password: password.unwrap_or_else(|| Secret::new("")),
        }),
        (None, None) => Ok(Credential::None),
    }
}

/// The client certificate; a key without one means nothing, as in kubectl. Whoever gives a token by flag wants to be
/// known by it, and a server that is shown both goes by the certificate: often a cluster administrator's.
fn identity(fields: &Fields<'_>, flags: &ConnectionFlags) -> Result<Option<Identity>, KubeconfigError> {
    let nothing = Map::new();
    let none = Fields::new(&nothing, "flags");
    let fields = if flags.token.as_ref().is_some_and(|token| !token.expose().is_empty()) { &none } else { fields };
    let from = |flag: &'static str, path: &Option<PathBuf>, field: &str| match path {
        Some(path) if !path.as_os_str().is_empty() => {
            fields::read(path).map(Some).map_err(|problem| KubeconfigError::Flag { flag, problem })
        }
        _ => fields.data_or_file(field),
    };
    let Some(certificate) = from("--client-certificate", &flags.client_certificate, "client-certificate")? else {
        return Ok(None);
    };
    let key = from("--client-key", &flags.client_key, "client-key")?
        .ok_or_else(|| fields.wrong("client-key", "is missing; a client certificate needs its key"))?;
    let key = Secret::new(String::from_utf8_lossy(&key));
    Ok(Some(Identity { certificate, key, origin: fields.place.clone() }))
}

/// A credential plugin, or what is left of the auth providers that came before them.
fn plugin(
    fields: &Fields<'_>,
    endpoint: &Endpoint,
    flags: &ConnectionFlags,
    environment: &Environment,
) -> Result<Credential, KubeconfigError> {
    if let Some(exec) = fields.inside("exec")? {
        if fields.value("auth-provider").is_some() {
            return Err(fields.wrong("exec", "and auth-provider are both set; keep one"));
        }
        let mut plugin = read_plugin(&exec, fields, endpoint, environment)?;
        let kuberc = flags.kuberc.as_deref().filter(|path| !path.as_os_str().is_empty());
        let policy = Policy::read(kuberc, environment)?;
        let permitted = policy.permitted(&plugin.command, environment);
        plugin.command = permitted.map_err(|problem| exec.wrong("command", &problem))?;
        return Ok(Credential::Plugin(Box::new(plugin)));
    }
    let Some(provider) = fields.inside("auth-provider")? else { return Ok(Credential::None) };
    let token = match (provider.text("name")?, provider.inside("config")?) {
        (Some("oidc"), Some(config)) => config.text("id-token")?.map(Secret::new),
        _ => None,
    };
    let problem = "is of a kind that kubectl has dropped; use an exec credential plugin instead";
    token.map(Credential::Token).ok_or_else(|| fields.wrong("auth-provider", problem))
}

fn read_plugin(
    exec: &Fields<'_>,
    fields: &Fields<'_>,
    endpoint: &Endpoint,
    environment: &Environment,
) -> Result<Plugin, KubeconfigError> {
    let command = exec.text("command")?.ok_or_else(|| exec.wrong("command", "is missing"))?;
    // Without a separator it is looked up in PATH; with one it is a path like any other in the file.
    let command = if command.contains(std::path::MAIN_SEPARATOR) {
        exec.path("command")?.unwrap_or_default().into_os_string()
    } else {
        command.into()
    };
    let api_version = match exec.text("apiVersion")? {
        Some(version @ ("client.authentication.k8s.io/v1" | "client.authentication.k8s.io/v1beta1")) => version,
        Some(_) => {
            let problem = "must be client.authentication.k8s.io/v1 or client.authentication.k8s.io/v1beta1";
            return Err(exec.wrong("apiVersion", problem));
        }
        None => return Err(exec.wrong("apiVersion", "is missing")),
    };
    let interactive = match exec.text("interactiveMode")? {
        Some("Never") => false,
        Some("IfAvailable") => environment.stdin_is_terminal,
        Some("Always") if environment.stdin_is_terminal => true,
        Some("Always") => {
            let problem = "is Always, and stdin is no terminal; run this on a terminal, or log in without one";
            return Err(exec.wrong("interactiveMode", problem));
        }
        // Only the older version has a default.
        None if api_version.ends_with("v1beta1") => environment.stdin_is_terminal,
        _ => return Err(exec.wrong("interactiveMode", "must be Never, IfAvailable or Always")),
    };
    Ok(Plugin {
        origin: fields.place.clone(),
        command,
        arguments: exec.texts("args")?,
        variables: variables(exec)?,
        api_version: api_version.to_owned(),
        install_hint: exec.text("installHint")?.map(str::to_owned),
        interactive,
        is_quiet: environment.is_completing,
        cluster: exec.flag("provideClusterInfo")?.then(|| endpoint.plugin_info()),
    })
}

/// The plugin's own environment variables.
fn variables(exec: &Fields<'_>) -> Result<Vec<(String, Secret)>, KubeconfigError> {
    let wrong = || exec.wrong("env", "must be a list of names and values, all text");
    let items = match exec.value("env") {
        None => return Ok(Vec::new()),
        Some(Value::Array(items)) => items,
        Some(_) => return Err(wrong()),
    };
    let pair = |item: &Value| {
        let name = item.get("name")?.as_str().filter(|name| !name.is_empty() && !name.contains(['=', '\0']))?;
        let value = item.get("value").map_or(Some(""), Value::as_str)?;
        Some((name.to_owned(), Secret::new(value)))
    };
    items.iter().map(|item| pair(item).ok_or_else(wrong)).collect()
}

/// The headers by which a request acts as somebody else. Source: client-go `transport.impersonatingRoundTripper`.
fn impersonation(
    fields: &Fields<'_>,
    flags: &ConnectionFlags,
) -> Result<Vec<(HeaderName, HeaderValue)>, KubeconfigError> {
    let user = given(flags.impersonate.as_ref()).map_or_else(|| fields.text("as"), |user| Ok(Some(user)))?;
    let uid = given(flags.as_uid.as_ref()).map_or_else(|| fields.text("as-uid"), |uid| Ok(Some(uid)))?;
    let groups = if flags.as_group.is_empty() { fields.texts("as-groups")? } else { flags.as_group.clone() };
    let extra = if flags.as_user_extra.is_empty() { extra_of(fields)? } else { extra_of_flags(flags)? };
    let Some(user) = user else {
        if uid.is_some() || !groups.is_empty() || !extra.is_empty() {
            let problem = "is missing: a group, uid or extra to act as needs a user to act as (--as)";
            return Err(fields.wrong("as", problem));
        }
        return Ok(Vec::new());
    };
    let mut headers = vec![("impersonate-user".to_owned(), user.to_owned())];
    headers.extend(uid.map(|uid| ("impersonate-uid".to_owned(), uid.to_owned())));
    headers.extend(groups.into_iter().map(|group| ("impersonate-group".to_owned(), group)));
    headers.extend(extra.into_iter().map(|(key, value)| (format!("impersonate-extra-{}", escape(&key)), value)));
    let header =
        |(name, value): (String, String)| Some((name.parse::<HeaderName>().ok()?, HeaderValue::from_str(&value).ok()?));
    let wrong = || fields.wrong("as", "or one of its groups or extras cannot be sent in an HTTP header");
    headers.into_iter().map(|pair| header(pair).ok_or_else(wrong)).collect()
}

fn extra_of(fields: &Fields<'_>) -> Result<Vec<(String, String)>, KubeconfigError> {
    let Some(extra) = fields.inside("as-user-extra")? else { return Ok(Vec::new()) };
    let mut pairs = Vec::new();
    for key in extra.names() {
        pairs.extend(extra.texts(key)?.into_iter().map(|value| (key.clone(), value)));
    }
    Ok(pairs)
}

fn extra_of_flags(flags: &ConnectionFlags) -> Result<Vec<(String, String)>, KubeconfigError> {
    let wrong = || KubeconfigError::Flag { flag: "--as-user-extra", problem: "must be KEY=VALUE".to_owned() };
    let pair = |text: &String| text.split_once('=').map(|(key, value)| (key.to_owned(), value.to_owned()));
    flags.as_user_extra.iter().map(|text| pair(text).filter(|(key, _)| !key.is_empty()).ok_or_else(wrong)).collect()
}

/// Escapes what may not stand in a header's name, and the escape itself. Source: client-go `headerKeyEscape`.
fn escape(key: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$&'*+-.^_`|~".contains(&byte);
    key.bytes().map(|byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02x}") }).collect()
}
