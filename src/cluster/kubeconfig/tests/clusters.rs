//! Address, trust and proxy of a cluster.

use super::*;

#[test]
fn files_that_are_named_and_cannot_be_read_are_errors() {
    let desk = Desk::with(&config("{server: 'https://h', certificate-authority: none}", "{}"));
    let missing = "names $/none, which cannot be read: no such file";
    assert_eq!(desk.error(""), format!("cluster \"c\" in $/config: certificate-authority {missing}"));
    assert_eq!(desk.error("--certificate-authority $/none"), format!("--certificate-authority {missing}"));
    let desk = Desk::with(&config(PLAIN, "{tokenFile: none}"));
    assert_eq!(desk.error(""), format!("user \"u\" in $/config: tokenFile {missing}"));
    assert!(matches!(Desk::with(&config(PLAIN, "{tokenFile: none, token: t}")).ok("").credential,
        Credential::TokenFile { fallback: Some(token), .. } if token == Secret::new("t")));
}

#[test]
fn server_flag_drops_the_name_that_belongs_to_the_kubeconfigs_server() {
    let desk =
        Desk::with(&config("{server: 'https://h', tls-server-name: name, proxy-url: 'http://p:1'}", "{token: t}"));
    assert_eq!(desk.ok("").server_name.as_deref(), Some("name"));
    let connection = desk.ok("--server https://other");
    assert_eq!((connection.server.as_str(), connection.server_name.as_deref()), ("https://other", None));
    assert_eq!((connection.proxy.unwrap().to_string().as_str(), connection.context.as_str()), ("http://p:1", "here"));
    assert_eq!(desk.ok("-s https://other --tls-server-name x").server_name.as_deref(), Some("x"));
    assert_eq!(desk.ok("--server=").server, "https://h");
    assert_eq!(desk.error("--server ftp://h"), "--server is no API server's address; it looks like https://HOST:PORT");
    assert!(desk.resolve("--server ftp://h").unwrap_err().is_usage());
}

#[test]
fn flags_of_trust_replace_all_that_the_kubeconfig_says_of_it() {
    let desk = Desk::with(&config("{server: 'https://h', certificate-authority-data: Y2E=}", "{}")).file("ca", "flag");
    assert_eq!(desk.ok("").trust, Trust::Authorities(b"ca".to_vec()));
    assert_eq!(desk.ok("--insecure-skip-tls-verify").trust, Trust::Anyone);
    assert_eq!(desk.ok("--insecure-skip-tls-verify=false").trust, Trust::Authorities(b"ca".to_vec()));
    assert_eq!(desk.ok("--certificate-authority $/ca").trust, Trust::Authorities(b"flag".to_vec()));
    assert_eq!(
        desk.error("--certificate-authority $/ca --insecure-skip-tls-verify"),
        "--certificate-authority and --insecure-skip-tls-verify exclude each other; leave one out"
    );
    let lax = Desk::with(&config("{server: 'https://h', insecure-skip-tls-verify: yes}", "{}")).file("ca", "flag");
    assert_eq!(lax.ok("").trust, Trust::Anyone);
    assert_eq!(lax.ok("--certificate-authority $/ca").trust, Trust::Authorities(b"flag".to_vec()));
    let both = "{server: 'https://h', insecure-skip-tls-verify: true, certificate-authority-data: Y2E=}";
    assert_eq!(
        Desk::with(&config(both, "{}")).error(""),
        "cluster \"c\" in $/config: insecure-skip-tls-verify and certificate-authority exclude each other; remove one \
         of them"
    );
    let twice = "{server: 'https://h', certificate-authority: ca, certificate-authority-data: Y2E=}";
    assert_eq!(
        Desk::with(&config(twice, "{}")).error(""),
        "cluster \"c\" in $/config: certificate-authority and certificate-authority-data are both set; keep one"
    );
}

#[test]
fn the_kubeconfigs_proxy_comes_before_the_environments() {
    let environment = |desk: Desk| desk.set("HTTPS_PROXY", "http://env:1").set("NO_PROXY", "h");
    let proxy =
        |cluster: &str| environment(Desk::with(&config(cluster, "{}"))).ok("").proxy.map(|proxy| proxy.to_string());
    assert_eq!(proxy("{server: 'https://h', proxy-url: 'socks5://p:1'}").as_deref(), Some("socks5://p:1"));
    assert_eq!(proxy("{server: 'https://h'}"), None);
    assert_eq!(proxy("{server: 'https://other'}").as_deref(), Some("http://env:1"));
    let flag = Desk::with(&config("{server: 'https://h', proxy-url: 'socks5://p:1'}", "{}"));
    assert_eq!(flag.ok("--proxy-url http://flag").proxy.unwrap().to_string(), "http://flag:80");
    let problem = "is no proxy's address; it is http://HOST:PORT, https://HOST:PORT or socks5://HOST:PORT";
    let desk = Desk::with(&config("{server: 'https://h', proxy-url: 'ftp://c4n4ry'}", "{}"));
    assert_eq!(desk.error(""), format!("cluster \"c\" in $/config: proxy-url {problem}"));
    assert_eq!(flag.error("--proxy-url c4n4ry"), format!("--proxy-url {problem}"));
    let desk = Desk::with(&config(PLAIN, "{}")).set("https_proxy", "ftp://c4n4ry");
    assert_eq!(desk.error(""), format!("environment: https_proxy {problem}"));
}

#[test]
fn timeouts_and_compression_are_kubectls() {
    let desk = Desk::with(&config("{server: 'https://h', disable-compression: true}", "{}"));
    assert!(desk.ok("--disable-compression=false").disable_compression);
    assert!(Desk::with(&config(PLAIN, "{}")).ok("--disable-compression").disable_compression);
    assert_eq!(desk.ok("--request-timeout 0").request_timeout, None);
    assert_eq!(desk.ok("--request-timeout 5").request_timeout.unwrap().as_secs(), 5);
    assert_eq!(
        desk.error("--request-timeout soon"),
        "--request-timeout: a timeout is a number of seconds, or a number and a unit, as in 30s, 2m or 1h"
    );
}
