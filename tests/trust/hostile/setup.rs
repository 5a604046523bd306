//! A kubeconfig for a server of our own, and the program run with it.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU32, Ordering},
    },
    thread,
};

use rcgen::{CertificateParams, KeyPair};
use serde_json::{Value, json};

use crate::{
    harness::{PROGRAM, Run},
    series::Series,
};

/// A folder of its own, which goes when it does.
pub struct Folder(pub PathBuf);

impl Folder {
    pub fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let name = format!("kubectl-purge-hostile-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let folder = std::env::temp_dir().join(name);
        fs::create_dir_all(&folder).unwrap();
        Self(folder)
    }

    /// Writes a file; its path.
    pub fn file(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.0.join(name);
        fs::write(&path, content).unwrap();
        path
    }

    /// A program of the shell's that a kubeconfig can name.
    #[cfg(unix)]
    pub fn script(&self, name: &str, lines: &str) -> PathBuf {
        use std::os::unix::fs::PermissionsExt as _;
        let path = self.file(name, format!("#!/bin/sh\n{lines}\n"));
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        path
    }

    /// A kubeconfig, as JSON, whose one context has this cluster and this user.
    pub fn kubeconfig(&self, cluster: &Value, user: &Value) -> PathBuf {
        self.named("context", cluster, user)
    }

    /// The same with a name for everything that has one.
    pub fn named(&self, name: &str, cluster: &Value, user: &Value) -> PathBuf {
        let config = json!({
            "apiVersion": "v1", "kind": "Config", "current-context": name,
            "clusters": [{ "name": name, "cluster": cluster }],
            "users": [{ "name": name, "user": user }],
            "contexts": [{ "name": name, "context": { "cluster": name, "user": name, "namespace": super::world::NAMESPACE } }],
        });
        self.file("config", config.to_string())
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// The program with a kubeconfig, and nothing else of this process's surroundings that could matter.
pub fn purge(kubeconfig: &Path, arguments: &[&str]) -> Run {
    Run::of(command(kubeconfig, arguments))
}

pub fn command(kubeconfig: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(PROGRAM);
    command.env_remove("KUBERNETES_SERVICE_HOST").env("HOME", "/nonexistent").env("LC_ALL", "C.UTF-8");
    for name in ["HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy", "ALL_PROXY", "all_proxy"] {
        command.env_remove(name);
    }
    command.env("KUBECONFIG", kubeconfig).args(arguments);
    command
}

/// A certificate for these names that its own authority has signed: the server's side, and the authority as PEM.
pub fn certificate(names: &[&str]) -> (Arc<rustls::ServerConfig>, String) {
    let key = KeyPair::generate().unwrap();
    let names: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
    let certificate = CertificateParams::new(names).unwrap().self_signed(&key).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate.der().clone()], key.serialize_der().try_into().unwrap())
        .unwrap();
    (Arc::new(config), certificate.pem())
}

/// The cases of a series, a few at once: most of a run is waiting. What each gives, in no order.
pub fn at_once<T: Send>(series: &Series, case: impl Fn(usize) -> T + Sync) -> Vec<T> {
    const AT_ONCE: usize = 6;
    let cases = Mutex::new(series.cases());
    let next = || cases.lock().unwrap().next();
    let work = || std::iter::from_fn(next).map(&case).collect::<Vec<T>>();
    thread::scope(|scope| {
        let workers: Vec<_> = (0..AT_ONCE).map(|_| scope.spawn(work)).collect();
        workers.into_iter().flat_map(|worker| worker.join().unwrap()).collect()
    })
}
