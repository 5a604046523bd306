//! Certificates, keys and addresses, and what is said when they do not fit.

use std::io::{Read as _, Write as _};
use std::time::{Duration, Instant};

use control_plane::{ADMIN, ControlPlane};
use serde_json::{Value, json};

use crate::harness::{self, Listener, list};

fn admin(plane: &ControlPlane) -> Value {
    json!({ "token": plane.token(ADMIN).unwrap() })
}

#[tokio::test]
async fn what_kubectl_connects_to_we_connect_to() {
    let plane = ControlPlane::shared();
    let user = admin(plane);
    let port = plane.server().rsplit(':').next().unwrap();
    let wire = Listener::forwarder("::1", plane.server());
    let authority = harness::cluster(plane, "")["certificate-authority"].clone();
    let clusters = [
        json!({ "server": plane.server(), "certificate-authority": authority }),
        json!({ "server": format!("https://localhost:{port}"), "certificate-authority": authority }),
        json!({ "server": plane.server(), "insecure-skip-tls-verify": true }),
        json!({ "server": plane.server(), "tls-server-name": "localhost", "certificate-authority": authority }),
        json!({ "server": format!("https://[::1]:{}", wire.port), "tls-server-name": "127.0.0.1", "certificate-authority": authority }),
        json!({ "server": format!("{}/", plane.server()), "certificate-authority": authority }),
    ];
    for (number, cluster) in clusters.iter().enumerate() {
        let kubeconfig = harness::kubeconfig(plane, &format!("connects-{number}"), cluster, &user);
        assert!(plane.kubectl_with(&kubeconfig, &["get", "configmaps"]).success(), "{cluster}");
        list(&harness::client(&kubeconfig, &[]).await).await.unwrap();
    }
}

#[tokio::test]
async fn what_cannot_be_trusted_is_not_sent_a_token() {
    let plane = ControlPlane::shared();
    let server = plane.server();
    let other = rcgen::generate_simple_self_signed(vec!["127.0.0.1".to_owned()]).unwrap();
    std::fs::write(plane.dir().join("other-ca.crt"), other.cert.pem()).unwrap();
    std::fs::write(plane.dir().join("no-ca.crt"), "no certificate").unwrap();
    let advice = "check the cluster's certificate-authority";
    let unknown =
        format!("cannot reach {server}: certificate is not trusted: it is signed by an unknown authority; {advice}");
    let cases = [
        (json!({ "server": server, "certificate-authority": "other-ca.crt" }), unknown.clone()),
        (json!({ "server": server }), unknown),
        (
            json!({ "server": server, "certificate-authority": "no-ca.crt" }),
            "certificate-authority holds no PEM certificate; check the cluster's entry in the kubeconfig".to_owned(),
        ),
        (
            json!({ "server": server, "certificate-authority": "test-ca.crt", "tls-server-name": "not a name" }),
            "tls-server-name is no host name and no IP address".to_owned(),
        ),
    ];
    harness::cluster(plane, "");
    for (number, (cluster, expected)) in cases.iter().enumerate() {
        let kubeconfig = harness::kubeconfig(plane, &format!("distrusted-{number}"), cluster, &admin(plane));
        assert_eq!(&harness::refusal(&kubeconfig, &[]).await, expected);
    }
    let cluster = json!({ "server": server, "certificate-authority": "test-ca.crt", "tls-server-name": "example.org" });
    let error = harness::refusal(&harness::kubeconfig(plane, "other-name", &cluster, &admin(plane)), &[]).await;
    assert!(error.starts_with(&format!("cannot reach {server}: certificate is not trusted: it is for ")), "{error}");
    assert!(error.ends_with("; check the cluster's server, or set its tls-server-name"), "{error}");
}

#[tokio::test]
async fn a_server_that_does_not_answer_is_given_up_within_five_seconds() {
    let plane = ControlPlane::shared();
    let silent = Listener::new("127.0.0.1", |_stream, _| std::thread::sleep(Duration::from_secs(20)));
    let plain = Listener::new("127.0.0.1", |mut stream, _| {
        let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\nClient sent an HTTPS request\n");
        let _ = stream.read(&mut [0; 1]);
    });
    let closing = Listener::new("127.0.0.1", |mut stream, _| drop(stream.read(&mut [0; 1])));
    let network = "check the cluster's server, and the network, VPN or firewall on the way";
    let runs = "check the cluster's server, and that the API server runs";
    let cases = [
        (format!("https://127.0.0.1:{}", silent.port), format!("timed out after 4s; {network}")),
        (
            format!("https://127.0.0.1:{}", plain.port),
            "what answers there does not speak TLS; check the cluster's server, which may have to begin with http://"
                .to_owned(),
        ),
        (format!("https://127.0.0.1:{}", closing.port), format!("connection closed by the other side; {runs}")),
        ("https://127.0.0.1:1".to_owned(), format!("connection refused; {runs}")),
        ("http://127.0.0.1:1".to_owned(), format!("connection refused; {runs}")),
        (
            "https://no-such-host.invalid".to_owned(),
            "no such host; check the cluster's server, and the VPN or DNS that knows it".to_owned(),
        ),
    ];
    for (number, (server, why)) in cases.iter().enumerate() {
        let cluster = harness::cluster(plane, server);
        let kubeconfig = harness::kubeconfig(plane, &format!("silent-{number}"), &cluster, &admin(plane));
        let begun = Instant::now();
        assert_eq!(harness::refusal(&kubeconfig, &[]).await, format!("cannot reach {server}: {why}"));
        assert!(begun.elapsed() < Duration::from_secs(5), "{server}: {:?}", begun.elapsed());
    }
}
