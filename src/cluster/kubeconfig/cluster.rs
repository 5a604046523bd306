//! The cluster's side of a connection: address, trust, proxy. Source: client-go `DirectClientConfig.getCluster`.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::Uri;
use serde_json::{Map, Value, json};

use super::error::KubeconfigError;
use super::fields::{self, Fields};
use super::files::Entry;
use super::given;
use crate::cluster::connection::Trust;
use crate::cluster::environment::Environment;
use crate::cluster::flags::ConnectionFlags;
use crate::cluster::proxy::{NotAProxy, Proxy};

/// The extension of a cluster that is passed to credential plugins as `config`.
const PLUGIN_EXTENSION: &str = "client.authentication.k8s.io/exec";

/// Where a cluster is and how its certificate is checked.
pub(super) struct Endpoint {
    pub(super) url: Uri,
    pub(super) server: String,
    pub(super) trust: Trust,
    pub(super) server_name: Option<String>,
    pub(super) proxy: Option<Proxy>,
    pub(super) disable_compression: bool,
    /// The `config` extension for credential plugins.
    plugin_config: Option<Value>,
}

impl Endpoint {
    /// Whether requests are encrypted; kubectl sends no credentials otherwise.
    pub(super) fn is_https(&self) -> bool {
        self.url.scheme_str() == Some("https")
    }

    /// What a credential plugin that asks for it is told of the cluster.
    /// Source: client-go `clientauthentication/v1.Cluster`.
    pub(super) fn plugin_info(&self) -> Value {
        let mut info = Map::new();
        info.insert("server".to_owned(), json!(self.server));
        if let Some(name) = &self.server_name {
            info.insert("tls-server-name".to_owned(), json!(name));
        }
        match &self.trust {
            Trust::System => {}
            Trust::Anyone => drop(info.insert("insecure-skip-tls-verify".to_owned(), json!(true))),
            Trust::Authorities(pem) => {
                info.insert("certificate-authority-data".to_owned(), json!(STANDARD.encode(pem)));
            }
        }
        if let Some(proxy) = &self.proxy {
            info.insert("proxy-url".to_owned(), json!(proxy.to_string()));
        }
        if self.disable_compression {
            info.insert("disable-compression".to_owned(), json!(true));
        }
        if let Some(config) = &self.plugin_config {
            info.insert("config".to_owned(), config.clone());
        }
        Value::Object(info)
    }
}

/// A cluster's entry, with what the flags put over it. Without an entry, `--server` says where it is.
pub(super) fn read(
    entry: Option<&Entry>,
    flags: &ConnectionFlags,
    environment: &Environment,
) -> Result<Endpoint, KubeconfigError> {
    let nothing = Map::new();
    let fields = entry.map_or_else(|| Fields::new(&nothing, "flags"), |entry| Fields::of("cluster", entry));
    let (url, server) = if let Some(text) = given(flags.server.as_ref()) {
        address(text).map_err(|problem| KubeconfigError::Flag { flag: "--server", problem })?
    } else {
        let text = fields.text("server")?.ok_or_else(|| fields.wrong("server", "is missing"))?;
        address(text).map_err(|problem| fields.wrong("server", &problem))?
    };
    // A name to expect belongs to the address it was written for.
    let server_name = match (given(flags.tls_server_name.as_ref()), given(flags.server.as_ref())) {
        (Some(name), _) => Some(name),
        (None, Some(_)) => None,
        (None, None) => fields.text("tls-server-name")?,
    };
    let proxy_flag = given(flags.proxy_url.as_ref()).map(|text| {
        let wrong = |problem: NotAProxy| KubeconfigError::Flag { flag: "--proxy-url", problem: problem.to_string() };
        Proxy::parse(text).map_err(wrong)
    });
    let proxy = match (proxy_flag, fields.text("proxy-url")?) {
        (Some(proxy), _) => Some(proxy?),
        (None, Some(text)) => {
            Some(Proxy::parse(text).map_err(|problem| fields.wrong("proxy-url", &problem.to_string()))?)
        }
        (None, None) => {
            Proxy::of_environment(&url, environment).map_err(|(field, problem)| KubeconfigError::Field {
                place: "environment".to_owned(),
                field: field.to_owned(),
                problem: problem.to_string(),
            })?
        }
    };
    let disable_compression = flags.disable_compression == Some(true) || fields.flag("disable-compression")?;
    Ok(Endpoint {
        url,
        server,
        trust: trust(&fields, flags)?,
        server_name: server_name.map(str::to_owned),
        proxy,
        disable_compression,
        plugin_config: plugin_config(&fields),
    })
}

/// What the flags say of trust replaces all that the kubeconfig says of it.
fn trust(fields: &Fields<'_>, flags: &ConnectionFlags) -> Result<Trust, KubeconfigError> {
    let path = flags.certificate_authority.as_ref().filter(|path| !path.as_os_str().is_empty());
    let flag = "--certificate-authority";
    match (flags.insecure_skip_tls_verify == Some(true), path) {
        (true, Some(_)) => {
            let problem = "and --insecure-skip-tls-verify exclude each other; leave one out".to_owned();
            Err(KubeconfigError::Flag { flag, problem })
        }
        (true, None) => Ok(Trust::Anyone),
        (false, Some(path)) => {
            let pem = fields::read(path).map_err(|problem| KubeconfigError::Flag { flag, problem })?;
            Ok(Trust::Authorities(pem))
        }
        (false, None) => {
            let pem = fields.data_or_file("certificate-authority")?;
            match (pem, fields.flag("insecure-skip-tls-verify")?) {
                (Some(_), true) => {
                    let problem = "and certificate-authority exclude each other; remove one of them";
                    Err(fields.wrong("insecure-skip-tls-verify", problem))
                }
                (Some(pem), false) => Ok(Trust::Authorities(pem)),
                (None, true) => Ok(Trust::Anyone),
                (None, false) => Ok(Trust::System),
            }
        }
    }
}

/// Reads an API server's address: a URL, or a host and port, which kubectl takes for http.
/// Source: client-go `rest.DefaultServerURL`.
fn address(text: &str) -> Result<(Uri, String), String> {
    let wrong = || "is no API server's address; it looks like https://HOST:PORT".to_owned();
    let (scheme, rest) = text.split_once("://").unwrap_or(("http", text));
    let scheme = scheme.to_ascii_lowercase();
    let rest = rest.split(['?', '#']).next().unwrap_or_default().trim_end_matches('/');
    let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
    if !matches!(scheme.as_str(), "http" | "https") || (!text.contains("://") && !path.is_empty()) {
        return Err(wrong());
    }
    if authority.contains('@') {
        return Err("must not hold a user name or password; use a kubeconfig user".to_owned());
    }
    let server = format!("{scheme}://{rest}");
    let url: Uri = server.parse().map_err(|_| wrong())?;
    match url.authority().filter(|authority| !authority.host().is_empty()) {
        // A port out of range parses, and reads back as none.
        Some(authority) if authority.as_str() == authority.host() || authority.port_u16().is_some() => {
            Ok((url, server))
        }
        _ => Err(wrong()),
    }
}

/// The cluster's extension for credential plugins, handed on as it is.
fn plugin_config(fields: &Fields<'_>) -> Option<Value> {
    let extensions = fields.value("extensions")?.as_array()?;
    let named = extensions.iter().find(|extension| extension["name"] == PLUGIN_EXTENSION)?;
    named.get("extension").cloned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_as_kubectl_reads_them() {
        for (text, server) in [
            ("https://10.0.0.1:6443", "https://10.0.0.1:6443"),
            ("https://10.0.0.1:6443/", "https://10.0.0.1:6443"),
            ("HTTPS://host", "https://host"),
            ("https://rancher/k8s/clusters/c-1/?a=b#c", "https://rancher/k8s/clusters/c-1"),
            ("https://[::1]:6443", "https://[::1]:6443"),
            ("localhost:8001", "http://localhost:8001"),
            ("host", "http://host"),
        ] {
            assert_eq!(address(text).unwrap().1, server, "{text}");
        }
    }

    #[test]
    fn what_is_no_address_is_refused() {
        for text in
            ["", "/", "ftp://host", "https://", "host/path", "https://host:999999", "https://a b", "unix:///sock"]
        {
            assert!(address(text).is_err(), "{text}");
        }
        let error = address("https://jane:canary@host").unwrap_err();
        assert_eq!(error, "must not hold a user name or password; use a kubeconfig user");
    }
}
