//! Which proxy a connection goes through, by the rules that Go programs share.
//! Source: `golang.org/x/net/http/httpproxy`, client-go `clientcmd` (`proxy-url`).

use std::fmt;
use std::net::IpAddr;

use http::Uri;

use super::environment::Environment;
use super::secret::Secret;

/// A proxy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proxy {
    /// How it is spoken to.
    pub scheme: Scheme,
    /// Its host, an IPv6 address in brackets.
    pub host: String,
    /// Its port.
    pub port: u16,
    /// User and password for it.
    pub login: Option<(String, Secret)>,
}

/// How a proxy is spoken to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheme {
    /// HTTP, with CONNECT for https servers.
    Http,
    /// The same inside TLS.
    Https,
    /// SOCKS 5; names are looked up by the proxy.
    Socks5,
}

/// The text is no proxy's address. Says nothing of the text, which may hold a password.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("is no proxy's address; it is http://HOST:PORT, https://HOST:PORT or socks5://HOST:PORT")]
pub struct NotAProxy;

impl Proxy {
    /// Reads a kubeconfig's `proxy-url`.
    ///
    /// # Errors
    /// When it is no URL, or of another scheme than http, https and socks5.
    pub fn parse(text: &str) -> Result<Self, NotAProxy> {
        let uri: Uri = text.parse().map_err(|_| NotAProxy)?;
        let scheme = match uri.scheme_str().map(str::to_ascii_lowercase).as_deref() {
            Some("http") => Scheme::Http,
            Some("https") => Scheme::Https,
            Some("socks5" | "socks5h") => Scheme::Socks5,
            _ => return Err(NotAProxy),
        };
        let authority = uri.authority().ok_or(NotAProxy)?;
        let login = authority.as_str().rsplit_once('@').map(|(login, _)| {
            let (user, password) = login.split_once(':').unwrap_or((login, ""));
            (unescape(user), Secret::new(unescape(password)))
        });
        let host = authority.host().to_owned();
        let port = authority.port_u16().unwrap_or(match scheme {
            Scheme::Http => 80,
            Scheme::Https => 443,
            Scheme::Socks5 => 1080,
        });
        if host.is_empty() { Err(NotAProxy) } else { Ok(Self { scheme, host, port, login }) }
    }

    /// The proxy that the environment asks for on the way to `server`: HTTPS_PROXY for https, HTTP_PROXY for http,
    /// unless NO_PROXY or a loopback address says otherwise. ALL_PROXY means nothing to Go.
    ///
    /// # Errors
    /// The variable's name, when its value is no proxy's address.
    pub fn of_environment(server: &Uri, environment: &Environment) -> Result<Option<Self>, (&'static str, NotAProxy)> {
        let https = server.scheme_str() == Some("https");
        let names: [&'static str; 2] =
            if https { ["HTTPS_PROXY", "https_proxy"] } else { ["HTTP_PROXY", "http_proxy"] };
        let found = names.into_iter().find_map(|name| Some((name, environment.text(name)?.trim())));
        let Some((name, address)) = found else { return Ok(None) };
        let no_proxy = environment.text("NO_PROXY").or_else(|| environment.text("no_proxy")).unwrap_or_default();
        let host = server.host().unwrap_or_default();
        let port = server.port_u16().unwrap_or(if https { 443 } else { 80 });
        if is_excluded(host.trim_matches(['[', ']']), port, no_proxy) {
            return Ok(None);
        }
        let bare = || Self::parse(&format!("http://{address}"));
        let parsed = if address.contains("://") { Self::parse(address) } else { bare() };
        parsed.map(Some).map_err(|error| (name, error))
    }
}

impl fmt::Display for Proxy {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = match self.scheme {
            Scheme::Http => "http",
            Scheme::Https => "https",
            Scheme::Socks5 => "socks5",
        };
        write!(formatter, "{scheme}://{}:{}", self.host, self.port)
    }
}

/// Whether environment variables' proxies are not for this host.
fn is_excluded(host: &str, port: u16, no_proxy: &str) -> bool {
    let host = host.to_ascii_lowercase();
    let address = host.parse::<IpAddr>().ok().map(|address| address.to_canonical());
    if host == "localhost" || address.is_some_and(|address| address.is_loopback()) {
        return true;
    }
    let rules = no_proxy.split(',').map(|rule| rule.trim().to_ascii_lowercase());
    rules.into_iter().any(|rule| matches(&rule, &host, address, port))
}

/// Whether one entry of NO_PROXY covers the host: `*`, a network, an address or a name, either with a port.
fn matches(rule: &str, host: &str, address: Option<IpAddr>, port: u16) -> bool {
    if rule == "*" {
        return true;
    }
    if let Some((network, bits)) =
        rule.split_once('/').and_then(|(ip, bits)| Some((ip.parse().ok()?, bits.parse().ok()?)))
    {
        return address.is_some_and(|address| contains(network, bits, address));
    }
    let (rule, rule_port) = split_port(rule);
    if rule.is_empty() || rule_port.is_some_and(|rule_port| rule_port != port.to_string()) {
        return false;
    }
    if let Ok(rule) = rule.parse::<IpAddr>() {
        return address == Some(rule.to_canonical());
    }
    // example.com covers itself and all below it; .example.com and *.example.com only what is below.
    let below = rule.strip_prefix('*').filter(|rest| rest.starts_with('.')).unwrap_or(rule);
    match below.strip_prefix('.') {
        Some(_) => host.ends_with(below),
        None => host == below || host.strip_suffix(below).is_some_and(|rest| rest.ends_with('.')),
    }
}

/// Splits `host:port` and `[v6]:port`; a bare IPv6 address has no port.
fn split_port(rule: &str) -> (&str, Option<&str>) {
    if let Some(rest) = rule.strip_prefix('[') {
        return match rest.split_once(']') {
            Some((host, port)) => (host, port.strip_prefix(':').filter(|port| !port.is_empty())),
            None => (rule, None),
        };
    }
    match rule.split_once(':') {
        Some((host, port)) if !port.contains(':') => (host, Some(port).filter(|port| !port.is_empty())),
        _ => (rule, None),
    }
}

/// Whether a network holds an address.
fn contains(network: IpAddr, bits: u32, address: IpAddr) -> bool {
    let same = |network: u128, address: u128, width: u32| {
        bits <= width && (bits == 0 || (network ^ address) >> (width - bits) == 0)
    };
    match (network, address) {
        (IpAddr::V4(network), IpAddr::V4(address)) => same(u32::from(network).into(), u32::from(address).into(), 32),
        (IpAddr::V6(network), IpAddr::V6(address)) => same(network.into(), address.into(), 128),
        _ => false,
    }
}

/// Undoes percent-escapes; what is none stays as it is.
fn unescape(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        let escaped = tail.get(..2).filter(|_| *first == b'%').and_then(|pair| {
            let digit = |byte: u8| char::from(byte).to_digit(16);
            u8::try_from(digit(pair[0])? * 16 + digit(pair[1])?).ok()
        });
        bytes.push(escaped.unwrap_or(*first));
        rest = if escaped.is_some() { &tail[2..] } else { tail };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment(variables: &[(&str, &str)]) -> Environment {
        let variables = variables.iter().map(|(name, value)| (name.into(), value.into())).collect();
        Environment { variables, ..Environment::default() }
    }

    fn chosen(server: &str, variables: &[(&str, &str)]) -> Option<String> {
        let proxy = Proxy::of_environment(&server.parse().unwrap(), &environment(variables)).unwrap();
        proxy.map(|proxy| proxy.to_string())
    }

    #[test]
    fn the_variable_goes_by_the_servers_scheme() {
        let both = [("HTTPS_PROXY", "http://secure:1"), ("HTTP_PROXY", "plain:2"), ("ALL_PROXY", "http://all:3")];
        assert_eq!(chosen("https://api:6443", &both).as_deref(), Some("http://secure:1"));
        assert_eq!(chosen("http://api:8001", &both).as_deref(), Some("http://plain:2"));
        assert_eq!(chosen("https://api:6443", &[("https_proxy", "socks5://s")]).as_deref(), Some("socks5://s:1080"));
        assert_eq!(chosen("https://api:6443", &[("ALL_PROXY", "http://all:3")]), None);
        assert_eq!(
            chosen("https://api:6443", &[("HTTPS_PROXY", ""), ("https_proxy", "h:1")]).as_deref(),
            Some("http://h:1")
        );
    }

    #[test]
    fn loopback_is_never_proxied_by_the_environment() {
        for server in ["https://localhost:6443", "https://127.0.0.1:6443", "https://127.8.0.1", "https://[::1]:6443"] {
            assert_eq!(chosen(server, &[("HTTPS_PROXY", "http://p:1")]), None, "{server}");
        }
    }

    #[test]
    fn no_proxy_is_matched_against_the_server_as_go_does() {
        let cases = [
            ("https://api.example.com:6443", "example.com", true),
            ("https://example.com:6443", "example.com", true),
            ("https://example.com:6443", ".example.com", false),
            ("https://example.com:6443", "*.example.com", false),
            ("https://api.example.com:6443", "*.example.com", true),
            ("https://badexample.com:6443", "example.com", false),
            ("https://API.Example.com:6443", " EXAMPLE.com , x", true),
            ("https://api.example.com:6443", "example.com:6443", true),
            ("https://api.example.com:6443", "example.com:443", false),
            ("https://api.example.com", "example.com:443", true),
            ("https://10.1.2.3:6443", "10.0.0.0/8", true),
            ("https://11.1.2.3:6443", "10.0.0.0/8", false),
            ("https://10.1.2.3:6443", "10.1.2.3", true),
            ("https://10.1.2.3:6443", "10.1.2.3:6443", true),
            ("https://10.1.2.3:6443", "10.1.2.3:1", false),
            ("https://10.1.2.3:6443", "0.0.0.0/0", true),
            ("https://[fd00::7]:6443", "fd00::/8", true),
            ("https://[fd00::7]:6443", "fd00::7", true),
            ("https://[fd00::7]:6443", "[fd00::7]:6443", true),
            ("https://[fd00::7]:6443", "[fd00::7]:1", false),
            ("https://anything:6443", "*", true),
            ("https://anything:6443", "a,*", true),
            ("https://anything:6443", ",, ,:80", false),
        ];
        for (server, no_proxy, direct) in cases {
            let proxy = chosen(server, &[("HTTPS_PROXY", "http://p:1"), ("NO_PROXY", no_proxy)]);
            assert_eq!(proxy.is_none(), direct, "{server} with NO_PROXY={no_proxy}");
        }
    }

    #[test]
    fn a_login_is_unescaped_and_never_shown() {
        let proxy = Proxy::parse("http://jane:can%40ary%@proxy:3128").unwrap();
        assert_eq!(proxy.login, Some(("jane".to_owned(), Secret::new("can@ary%"))));
        assert_eq!(proxy.to_string(), "http://proxy:3128");
        assert!(!format!("{proxy:?}").contains("ary"));
    }

    #[test]
    fn what_is_no_proxy_is_refused_without_being_quoted() {
        for text in ["proxy:3128", "ftp://proxy", "http://", "", "http://user:canary@"] {
            assert_eq!(Proxy::parse(text), Err(NotAProxy), "{text}");
        }
        let error =
            Proxy::of_environment(&"https://h".parse().unwrap(), &environment(&[("HTTPS_PROXY", "ftp://canary")]));
        assert_eq!(error, Err(("HTTPS_PROXY", NotAProxy)));
    }
}
