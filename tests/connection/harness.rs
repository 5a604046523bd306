//! Kubeconfigs for a real API server, and what stands between it and the client.

use std::{
    io::{Read, Write},
    net::{Shutdown, TcpListener, TcpStream},
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    thread,
};

use clap::Parser;
use control_plane::ControlPlane;
use kubectl_purge::cluster::{
    connection::Connection,
    environment::Environment,
    flags::ConnectionFlags,
    kubeconfig::{KubeconfigError, resolve},
    transport::connect,
};
use serde_json::{Value, json};

/// The connection that a kubeconfig and flags stand for.
pub(crate) fn resolved(kubeconfig: &Path, flags: &[&str], variables: &[(&str, &str)]) -> Connection {
    try_resolve(kubeconfig, flags, variables).unwrap()
}

/// The same, where there may be none.
pub(crate) fn try_resolve(
    kubeconfig: &Path,
    flags: &[&str],
    variables: &[(&str, &str)],
) -> Result<Connection, KubeconfigError> {
    #[derive(Parser)]
    struct Command {
        #[command(flatten)]
        connection: ConnectionFlags,
    }
    let mut environment = Environment::default();
    environment.variables.insert("KUBECONFIG".into(), kubeconfig.into());
    environment.variables.extend(variables.iter().map(|(name, value)| (name.into(), value.into())));
    let command = Command::parse_from([&["purge"], flags].concat());
    resolve(&command.connection, &environment)
}

/// A client of that connection.
pub(crate) async fn client(kubeconfig: &Path, flags: &[&str]) -> kube::Client {
    connect(&resolved(kubeconfig, flags, &[])).await.unwrap()
}

/// Why there is none.
pub(crate) async fn refusal(kubeconfig: &Path, flags: &[&str]) -> String {
    match connect(&resolved(kubeconfig, flags, &[])).await {
        Ok(_) => panic!("connected"),
        Err(error) => error.to_string(),
    }
}

/// As whom the server knows a client: name, uid, groups, extra.
pub(crate) async fn who_am_i(client: &kube::Client) -> Result<Value, kube::Error> {
    let review = json!({ "apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview" });
    let request = http::Request::post("/apis/authentication.k8s.io/v1/selfsubjectreviews")
        .header("content-type", "application/json")
        .body(serde_json::to_vec(&review).unwrap())
        .unwrap();
    Ok(client.request::<Value>(request).await?["status"]["userInfo"].clone())
}

/// Lists every namespace's ConfigMaps.
pub(crate) async fn list(client: &kube::Client) -> Result<Value, kube::Error> {
    let request = http::Request::get("/api/v1/configmaps").body(Vec::new()).unwrap();
    client.request::<Value>(request).await
}

/// Writes a kubeconfig, as JSON, into the control plane's folder.
pub(crate) fn kubeconfig(plane: &ControlPlane, name: &str, cluster: &Value, user: &Value) -> PathBuf {
    let path = plane.dir().join(format!("{name}.kubeconfig"));
    let config = json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "here",
        "clusters": [{ "name": "here", "cluster": cluster }],
        "users": [{ "name": "me", "user": user }],
        "contexts": [{ "name": "here", "context": { "cluster": "here", "user": "me" } }],
    });
    std::fs::write(&path, config.to_string()).unwrap();
    path
}

/// The control plane's cluster, reached at another address.
pub(crate) fn cluster(plane: &ControlPlane, server: &str) -> Value {
    std::fs::write(plane.dir().join("test-ca.crt"), plane.ca_pem()).unwrap();
    json!({ "server": server, "certificate-authority": "test-ca.crt" })
}

/// Something that listens on a port of its own, a thread for each connection.
pub(crate) struct Listener {
    pub(crate) port: u16,
    connections: Arc<AtomicUsize>,
    open: Arc<AtomicUsize>,
    frozen: Arc<AtomicBool>,
}

impl Listener {
    /// Serves each connection by `serve`, which may read from `frozen` whether to fall silent.
    pub(crate) fn new(address: &str, serve: impl Fn(TcpStream, &AtomicBool) + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind((address, 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let this = Self { port, connections: Arc::default(), open: Arc::default(), frozen: Arc::default() };
        let (connections, open, frozen) = (this.connections.clone(), this.open.clone(), this.frozen.clone());
        let serve = Arc::new(serve);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                connections.fetch_add(1, Ordering::SeqCst);
                open.fetch_add(1, Ordering::SeqCst);
                let (serve, open, frozen) = (serve.clone(), open.clone(), frozen.clone());
                thread::spawn(move || {
                    serve(stream, &frozen);
                    open.fetch_sub(1, Ordering::SeqCst);
                });
            }
        });
        this
    }

    /// Hands everything on to a server.
    pub(crate) fn forwarder(address: &str, target: &str) -> Self {
        let target = target.rsplit('/').next().unwrap().to_owned();
        Self::new(address, move |stream, frozen| {
            if let Ok(server) = TcpStream::connect(&target) {
                splice(stream, server, frozen);
            }
        })
    }

    /// How many connections there have been.
    pub(crate) fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }

    /// Lets nothing through any more, and closes nothing: a firewall that has forgotten the connection.
    pub(crate) fn freeze(&self, frozen: bool) {
        self.frozen.store(frozen, Ordering::SeqCst);
    }
}

/// Copies both ways until one side ends.
pub(crate) fn splice(client: TcpStream, server: TcpStream, frozen: &AtomicBool) {
    // The wire must not add the very delay that the client avoids.
    let _ = (client.set_nodelay(true), server.set_nodelay(true));
    let (mut from_server, mut to_client) = (server.try_clone().unwrap(), client.try_clone().unwrap());
    thread::scope(|scope| {
        scope.spawn(|| copy(&mut from_server, &mut to_client, frozen));
        let (mut from_client, mut to_server) = (client, server);
        copy(&mut from_client, &mut to_server, frozen);
    });
}

fn copy(from: &mut TcpStream, to: &mut TcpStream, frozen: &AtomicBool) {
    let mut buffer = [0; 16384];
    while let Ok(count @ 1..) = from.read(&mut buffer) {
        // What was on its way when the line froze is lost.
        if frozen.load(Ordering::SeqCst) {
            continue;
        }
        if to.write_all(&buffer[..count]).is_err() {
            break;
        }
    }
    let _ = to.shutdown(Shutdown::Both);
    let _ = from.shutdown(Shutdown::Both);
}
