//! How many connections there are, and what becomes of them.

use std::time::{Duration, Instant};

use control_plane::{ADMIN, Component, ControlPlane};
use futures_util::future::join_all;
use kubectl_purge::cluster::transport::connect_error;
use serde_json::json;

use crate::harness::{self, Listener, list};

/// A client of a control plane that goes through a listener.
async fn through(plane: &ControlPlane, wire: &Listener) -> kube::Client {
    let cluster = harness::cluster(plane, &format!("https://127.0.0.1:{}", wire.port));
    let user = json!({ "token": plane.token(ADMIN).unwrap() });
    let name = format!("through-{}", wire.port);
    harness::client(&harness::kubeconfig(plane, &name, &cluster, &user), &[]).await
}

#[tokio::test]
async fn all_requests_share_one_connection() {
    let plane = ControlPlane::shared();
    let wire = Listener::forwarder("127.0.0.1", plane.server());
    let client = through(plane, &wire).await;
    for answer in join_all((0..64).map(|_| list(&client))).await {
        assert_eq!(answer.unwrap()["kind"], "ConfigMapList");
    }
    assert_eq!(wire.connections(), 1);
}

#[tokio::test]
async fn a_server_without_http2_gets_a_few_connections_and_no_more() {
    let plane = ControlPlane::builder().nodes(0).flag(Component::ApiServer, "--disable-http2-serving").start().unwrap();
    let wire = Listener::forwarder("127.0.0.1", plane.server());
    let client = through(&plane, &wire).await;
    let request = || http::Request::get("/api/v1/configmaps?watch=true").body(Vec::new()).unwrap();
    let watches = join_all((0..10).map(|_| client.request_stream(request()))).await;
    assert!(watches.iter().all(Result::is_ok));
    let before = wire.connections();
    assert!((10..=18).contains(&before), "{before}");
    for answer in join_all((0..64).map(|_| list(&client))).await {
        assert_eq!(answer.unwrap()["kind"], "ConfigMapList");
    }
    assert!(wire.connections() <= 18, "{}", wire.connections());
}

#[tokio::test]
async fn plain_http_as_from_kubectl_proxy_works() {
    let plane = ControlPlane::shared();
    let kubectl = plane.kubectl_command().args(["proxy", "--port=0"]).stdout(std::process::Stdio::piped()).spawn();
    let mut kubectl = kubectl.unwrap();
    let mut line = String::new();
    std::io::BufRead::read_line(&mut std::io::BufReader::new(kubectl.stdout.take().unwrap()), &mut line).unwrap();
    let address = line.trim().rsplit(' ').next().unwrap().to_owned();
    let cluster = json!({ "server": format!("http://{address}") });
    let client = harness::client(&harness::kubeconfig(plane, "plain", &cluster, &json!({})), &[]).await;
    for answer in join_all((0..32).map(|_| list(&client))).await {
        assert_eq!(answer.unwrap()["kind"], "ConfigMapList");
    }
    kubectl.kill().unwrap();
    kubectl.wait().unwrap();
}

#[tokio::test]
async fn after_a_restart_of_the_server_the_next_request_connects_again() {
    let plane = ControlPlane::builder().nodes(0).start().unwrap();
    let client = harness::client(plane.kubeconfig(), &[]).await;
    list(&client).await.unwrap();
    plane.restart(Component::ApiServer).unwrap();
    list(&client).await.unwrap();
    plane.kill(Component::ApiServer).unwrap();
    let error = list(&client).await.unwrap_err();
    let server = plane.server();
    assert_eq!(
        connect_error(&error).unwrap().to_string(),
        format!("cannot reach {server}: connection refused; check the cluster's server, and that the API server runs")
    );
    plane.start_component(Component::ApiServer).unwrap();
    list(&client).await.unwrap();
}

#[tokio::test]
async fn a_server_that_sends_its_clients_elsewhere_loses_no_request() {
    let flag = "--goaway-chance=0.02";
    let plane = ControlPlane::builder().nodes(0).flag(Component::ApiServer, flag).start().unwrap();
    let wire = Listener::forwarder("127.0.0.1", plane.server());
    let client = through(&plane, &wire).await;
    for _ in 0..60 {
        for answer in join_all((0..32).map(|_| list(&client))).await {
            assert_eq!(answer.unwrap()["kind"], "ConfigMapList");
        }
    }
    assert!(wire.connections() > 1);
}

#[tokio::test]
async fn a_connection_that_has_gone_silent_is_given_up_and_replaced() {
    let plane = ControlPlane::shared();
    let wire = Listener::forwarder("127.0.0.1", plane.server());
    let client = through(plane, &wire).await;
    list(&client).await.unwrap();
    wire.freeze(true);
    let begun = Instant::now();
    list(&client).await.unwrap_err();
    assert!(begun.elapsed() < Duration::from_secs(27), "{:?}", begun.elapsed());
    wire.freeze(false);
    list(&client).await.unwrap();
    assert_eq!(wire.connections(), 2);
}
