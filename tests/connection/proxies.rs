//! The ways through a proxy.

use std::io::{ErrorKind, Read, Write as _};
use std::net::TcpStream;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};

use control_plane::{ADMIN, ControlPlane};
use kubectl_purge::cluster::transport::connect;
use rustls::ServerConfig;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject as _};
use serde_json::json;

use crate::harness::{self, Listener, list, splice};

/// What a proxy was asked for, in order.
type Asked = Arc<Mutex<Vec<String>>>;

/// Reads an HTTP head.
fn head(stream: &mut impl Read) -> String {
    let (mut text, mut byte) = (Vec::new(), [0]);
    while !text.ends_with(b"\r\n\r\n") && matches!(stream.read(&mut byte), Ok(1)) {
        text.push(byte[0]);
    }
    String::from_utf8(text).unwrap()
}

/// A proxy for CONNECT, and for plain requests. It wants `jane:p@ss` where it wants a login.
fn http_proxy(login: bool) -> (Listener, Asked) {
    let asked = Asked::default();
    let heard = asked.clone();
    let listener = Listener::new("127.0.0.1", move |mut stream, frozen| {
        let head = head(&mut stream);
        let line = head.lines().next().unwrap_or_default().to_owned();
        heard.lock().unwrap().push(line.clone());
        // jane:p@ss
        if login && !head.to_ascii_lowercase().contains("proxy-authorization: basic amfuztpwqhnz") {
            let _ = stream.write_all(b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n");
            return;
        }
        let target = line.split(' ').nth(1).unwrap_or_default();
        if let Some(rest) = target.strip_prefix("http://") {
            let server = rest.split('/').next().unwrap();
            let mut onward = TcpStream::connect(server).unwrap();
            onward.write_all(head.replace(&format!("http://{server}"), "").as_bytes()).unwrap();
            return splice(stream, onward, frozen);
        }
        match TcpStream::connect(target) {
            Ok(onward) => {
                let _ = stream.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n");
                splice(stream, onward, frozen);
            }
            Err(_) => drop(stream.write_all(b"HTTP/1.1 502 Bad Gateway\r\n\r\n")),
        }
    });
    (listener, asked)
}

/// A proxy for CONNECT that speaks TLS itself.
fn https_proxy(plane: &ControlPlane) -> (Listener, Asked) {
    let asked = Asked::default();
    let heard = asked.clone();
    let pair = plane.server_certificate(&["127.0.0.1"]).unwrap();
    let chain = vec![CertificateDer::from_pem_slice(pair.certificate_pem.as_bytes()).unwrap()];
    let key = PrivateKeyDer::from_pem_slice(pair.key_pem.as_bytes()).unwrap();
    let config = ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()));
    let config = config.with_safe_default_protocol_versions().unwrap().with_no_client_auth();
    let config = Arc::new(config.with_single_cert(chain, key).unwrap());
    let listener = Listener::new("127.0.0.1", move |stream, _| {
        let connection = rustls::ServerConnection::new(config.clone()).unwrap();
        let mut inside = rustls::StreamOwned::new(connection, stream);
        let head = head(&mut inside);
        let line = head.lines().next().unwrap_or_default().to_owned();
        let mut onward = TcpStream::connect(line.split(' ').nth(1).unwrap()).unwrap();
        heard.lock().unwrap().push(line);
        inside.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n").unwrap();
        // One thread looks after both directions in turn: the TLS session cannot be shared.
        let pause = Some(std::time::Duration::from_millis(2));
        inside.sock.set_read_timeout(pause).unwrap();
        onward.set_read_timeout(pause).unwrap();
        while hand_on(&mut inside, &mut onward) && hand_on(&mut onward, &mut inside) {}
    });
    (listener, asked)
}

/// Copies what there is; whether there can be more.
fn hand_on(from: &mut impl Read, to: &mut impl std::io::Write) -> bool {
    let mut buffer = [0; 4096];
    match from.read(&mut buffer) {
        Ok(0) => false,
        Ok(count) => to.write_all(&buffer[..count]).and_then(|()| to.flush()).is_ok(),
        Err(error) => matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut),
    }
}

/// A SOCKS 5 proxy without login.
fn socks_proxy() -> (Listener, Asked) {
    let asked = Asked::default();
    let heard = asked.clone();
    let listener = Listener::new("127.0.0.1", move |mut stream, frozen: &AtomicBool| {
        let mut greeting = [0; 2];
        stream.read_exact(&mut greeting).unwrap();
        stream.read_exact(&mut vec![0; greeting[1].into()]).unwrap();
        stream.write_all(&[5, 0]).unwrap();
        let mut request = [0; 4];
        stream.read_exact(&mut request).unwrap();
        let host = if request[3] == 1 {
            let mut address = [0; 4];
            stream.read_exact(&mut address).unwrap();
            std::net::Ipv4Addr::from(address).to_string()
        } else {
            let mut length = [0; 1];
            stream.read_exact(&mut length).unwrap();
            let mut name = vec![0; length[0].into()];
            stream.read_exact(&mut name).unwrap();
            String::from_utf8(name).unwrap()
        };
        let mut port = [0; 2];
        stream.read_exact(&mut port).unwrap();
        let target = format!("{host}:{}", u16::from_be_bytes(port));
        heard.lock().unwrap().push(target.clone());
        let onward = TcpStream::connect(&target).unwrap();
        stream.write_all(&[5, 0, 0, 1, 0, 0, 0, 0, 0, 0]).unwrap();
        splice(stream, onward, frozen);
    });
    (listener, asked)
}

fn kubeconfig(plane: &ControlPlane, name: &str, server: &str, proxy: Option<&str>) -> std::path::PathBuf {
    let mut cluster = harness::cluster(plane, server);
    if let Some(proxy) = proxy {
        cluster["proxy-url"] = json!(proxy);
    }
    harness::kubeconfig(plane, name, &cluster, &json!({ "token": plane.token(ADMIN).unwrap() }))
}

#[tokio::test]
async fn http_https_and_socks_proxies_carry_the_one_connection() {
    let plane = ControlPlane::shared();
    let target = plane.server().rsplit('/').next().unwrap();
    let (http, asked) = http_proxy(false);
    let path = kubeconfig(plane, "http-proxy", plane.server(), Some(&format!("http://127.0.0.1:{}", http.port)));
    let client = harness::client(&path, &[]).await;
    futures_util::future::try_join_all((0..16).map(|_| list(&client))).await.unwrap();
    assert_eq!(*asked.lock().unwrap(), [format!("CONNECT {target} HTTP/1.1")]);

    let (https, asked) = https_proxy(plane);
    let path = kubeconfig(plane, "https-proxy", plane.server(), Some(&format!("https://127.0.0.1:{}", https.port)));
    list(&harness::client(&path, &[]).await).await.unwrap();
    assert_eq!(*asked.lock().unwrap(), [format!("CONNECT {target} HTTP/1.1")]);

    let (socks, asked) = socks_proxy();
    let proxy = format!("socks5://127.0.0.1:{}", socks.port);
    let path = kubeconfig(plane, "socks-proxy", plane.server(), Some(&proxy));
    list(&harness::client(&path, &[]).await).await.unwrap();
    let named = plane.server().replace("127.0.0.1", "localhost");
    let path = kubeconfig(plane, "socks-proxy-named", &named, Some(&proxy));
    list(&harness::client(&path, &[]).await).await.unwrap();
    assert_eq!(*asked.lock().unwrap(), [target.to_owned(), named.rsplit('/').next().unwrap().to_owned()]);
}

#[tokio::test]
async fn a_proxys_login_is_sent_and_its_refusals_are_told() {
    let plane = ControlPlane::shared();
    let (proxy, _) = http_proxy(true);
    let url = format!("http://jane:p%40ss@127.0.0.1:{}", proxy.port);
    let path = kubeconfig(plane, "login-proxy", plane.server(), Some(&url));
    list(&harness::client(&path, &[]).await).await.unwrap();
    let (server, shown) = (plane.server(), format!("http://127.0.0.1:{}", proxy.port));
    let path = kubeconfig(plane, "no-login-proxy", server, Some(&shown));
    assert_eq!(
        harness::refusal(&path, &[]).await,
        format!(
            "cannot reach {server} through {shown}: the proxy wants a user name and password; write them into the \
             proxy's URL, as in http://USER:PASSWORD@HOST:PORT"
        )
    );
    let advice = "check the proxy (proxy-url in the kubeconfig, or HTTPS_PROXY and NO_PROXY)";
    let path = kubeconfig(plane, "far-proxy", "https://127.0.0.1:1", Some(&url));
    assert_eq!(
        harness::refusal(&path, &[]).await,
        format!(
            "cannot reach https://127.0.0.1:1 through {shown}: the proxy does not let the connection through; {advice}"
        )
    );
    let path = kubeconfig(plane, "dead-proxy", server, Some("http://127.0.0.1:1"));
    assert_eq!(
        harness::refusal(&path, &[]).await,
        format!("cannot reach {server} through http://127.0.0.1:1: connection refused; {advice}")
    );
}

#[tokio::test]
async fn the_environments_proxy_is_not_used_for_loopback() {
    let plane = ControlPlane::shared();
    let path = kubeconfig(plane, "environment-proxy", plane.server(), None);
    let connection = harness::resolved(&path, &[], &[("HTTPS_PROXY", "http://127.0.0.1:1")]);
    list(&connect(&connection).await.unwrap()).await.unwrap();
}

#[tokio::test]
async fn plain_requests_are_handed_to_an_http_proxy_one_by_one() {
    let plane = ControlPlane::shared();
    let (proxy, asked) = http_proxy(true);
    let server = Listener::new("127.0.0.1", |mut stream, _| {
        head(&mut stream);
        let body = r#"{"kind":"ConfigMapList"}"#;
        let _ = write!(stream, "HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len());
        let _ = stream.read(&mut [0; 1]);
    });
    let address = format!("http://127.0.0.1:{}", server.port);
    let url = format!("http://jane:p%40ss@127.0.0.1:{}", proxy.port);
    let path = kubeconfig(plane, "plain-through-proxy", &address, Some(&url));
    list(&harness::client(&path, &[]).await).await.unwrap();
    assert_eq!(*asked.lock().unwrap(), [format!("GET {address}/api/v1/configmaps HTTP/1.1")]);
}
