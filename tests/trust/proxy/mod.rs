//! A proxy in front of the real API server that misbehaves where it is told to: HTTP/2 over TLS on both sides, each
//! request handed on with its credential, each written down.

pub mod api;
mod call;
mod events;
pub mod fault;
pub mod log;
pub mod script;
mod server;
mod wire;

use std::{
    path::PathBuf,
    sync::{Arc, OnceLock},
};

use control_plane::{ADMIN, ControlPlane};
use tokio::{net::TcpListener, runtime::Runtime, task::JoinHandle};

use log::Log;
use script::Script;
use server::Shared;

/// Every proxy and every direct look of the suite runs on it.
pub fn runtime() -> &'static Runtime {
    static RUNTIME: OnceLock<Runtime> = OnceLock::new();
    RUNTIME.get_or_init(|| tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap())
}

/// One run's proxy. Dropped, it hangs up.
pub struct Proxy {
    /// The admin's kubeconfig with the proxy in the place of the server.
    pub kubeconfig: PathBuf,
    shared: Arc<Shared>,
    listening: JoinHandle<()>,
}

impl Proxy {
    /// Listens on a port of its own.
    pub fn start(plane: &'static ControlPlane, script: Script) -> Self {
        let shared = Arc::new(Shared::new(plane, script));
        let listener = runtime().block_on(TcpListener::bind(("127.0.0.1", 0))).unwrap();
        let port = listener.local_addr().unwrap().port();
        let mut kubeconfig = plane.kubeconfig_of(ADMIN).unwrap();
        kubeconfig.endpoint.server = format!("https://127.0.0.1:{port}");
        let path = plane.dir().join(format!("proxy-{port}.kubeconfig"));
        kubeconfig.write(&path).unwrap();
        let listening = runtime().spawn(server::listen(listener, shared.clone()));
        Self { kubeconfig: path, shared, listening }
    }

    /// What has gone through it up to now.
    pub fn log(&self) -> Log {
        self.shared.log()
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.listening.abort();
        let _ = std::fs::remove_file(&self.kubeconfig);
    }
}
