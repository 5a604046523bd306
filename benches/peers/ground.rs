//! Where the work is done: a control plane of the benchmark's own, users with a role, and a wire to it.

use std::{
    fs,
    net::SocketAddr,
    path::PathBuf,
    process::Command,
    sync::atomic::{AtomicU32, Ordering},
    time::Duration,
};

use anyhow::{Context as _, Result, ensure};
use control_plane::{ADMIN, Component, ControlPlane, Rule, Tool};
use serde_json::{Value, json};

use crate::{
    link::Link,
    watcher::{PODS, REPLICA_SETS, Watcher},
};

/// The program that is measured.
pub const PURGE: &str = env!("CARGO_BIN_EXE_kubectl-purge");

/// Who competes. Each has a user of its own, so that the audit log tells their requests apart.
pub const USERS: [&str; 4] = ["purge", "kubectl", "helm", "other"];

/// Above so many pods, waiting for the controllers to make them would be most of a run.
const MADE_BY_CONTROLLERS: usize = 200;

pub struct Ground {
    pub plane: ControlPlane,
    pub watcher: Watcher,
    pub link: Link,
    pub folder: PathBuf,
}

impl Ground {
    /// Starts it. Every competitor's user may do everything that a role can allow, and is no administrator:
    /// those escape the server's fairness queues.
    pub fn new(nodes: usize) -> Result<Self> {
        let mut builder = ControlPlane::builder().nodes(nodes).audit_log();
        for user in USERS {
            builder = builder.user(user, &[]);
        }
        let plane = builder.start()?;
        for user in USERS {
            plane.user_with_cluster_role(user, &[Rule::new(&["*"], &["*"], &["*"])])?;
        }
        let watcher = Watcher::new(plane.server(), plane.token(ADMIN)?)?;
        let link = Link::open(address(&plane)?, Duration::ZERO)?;
        let folder = folder()?;
        Ok(Self { plane, watcher, link, folder })
    }

    /// A kubeconfig of this user over this link.
    pub fn kubeconfig(&self, user: &str, link: &Link) -> Result<PathBuf> {
        let mut kubeconfig = self.plane.kubeconfig_of(user)?;
        kubeconfig.endpoint.server = format!("https://{}", link.address);
        let path = self.plane.dir().join(format!("{user}-{}", link.address.port()));
        kubeconfig.write(&path)?;
        Ok(path)
    }

    /// A link with a round trip of its own.
    pub fn link(&self, round_trip: Duration) -> Result<Link> {
        Ok(Link::open(address(&self.plane)?, round_trip)?)
    }

    /// A competitor's command, as its own user.
    pub fn command(&self, who: &str, program: &str, link: &Link, arguments: &[&str]) -> Result<Command> {
        let program = match program {
            "purge" => PathBuf::from(PURGE),
            "kubectl" => self.plane.binary(Tool::Kubectl)?,
            _ => PathBuf::from(program),
        };
        let mut command = Command::new(program);
        command.args(arguments).env("HOME", self.plane.dir()).env("KUBECONFIG", self.kubeconfig(who, link)?);
        Ok(command)
    }

    /// A namespace of a name never used before, with a quota that is being kept.
    pub fn namespace(&self) -> Result<String> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let name = format!("work-{}", COUNT.fetch_add(1, Ordering::Relaxed));
        self.plane.create_namespace(&name)?;
        self.plane.quota(&name, &[("requests.cpu", "2000"), ("requests.memory", "2000Gi"), ("pods", "20000")])?;
        self.plane.wait_for("the quota's status", Duration::from_secs(30), || {
            let quota = self.plane.get(&name, "resourcequota/quota").ok()?;
            quota.pointer("/status/hard/pods").map(drop)
        })?;
        Ok(name)
    }

    /// An application called `demo`: a Deployment whose pods run, a Service, a ConfigMap.
    pub fn application(&self, namespace: &str, pods: usize) -> Result<()> {
        self.plane.apply_in(namespace, &manifests("demo", if pods > MADE_BY_CONTROLLERS { 0 } else { pods }))?;
        if pods > MADE_BY_CONTROLLERS {
            self.fill(&[(namespace.to_owned(), "demo".to_owned())], pods)?;
        }
        self.until_running(namespace, pods)
    }

    pub fn until_running(&self, namespace: &str, pods: usize) -> Result<()> {
        self.plane.wait_for("running pods", Duration::from_secs(300), || {
            let selector = "--field-selector=status.phase=Running";
            let list = self.plane.kubectl(&["get", "pods", "-n", namespace, selector, "-o", "name"]).ok().ok()?;
            (list.lines().count() == pods).then_some(())
        })?;
        Ok(())
    }

    /// Makes the pods of Deployments that have none yet, as their ReplicaSets would at 20 a second, while nobody
    /// looks: a controller that starts sees all of it at once.
    pub fn fill(&self, deployments: &[(String, String)], pods: usize) -> Result<()> {
        let mut sets = Vec::new();
        for (namespace, name) in deployments {
            let set = self.plane.wait_for("the ReplicaSet", Duration::from_secs(60), || {
                let list = self.plane.get(namespace, "replicasets").ok()?;
                let is_its = |set: &&Value| set["metadata"]["ownerReferences"][0]["name"] == name.as_str();
                list["items"].as_array()?.iter().find(is_its).cloned()
            })?;
            sets.push((namespace, name, set));
        }
        self.plane.stop(Component::ControllerManager)?;
        let nodes = self.nodes()?;
        for (namespace, name, set) in &sets {
            let set_name = text(set, "/metadata/name");
            self.scale(namespace, &format!("replicaset/{set_name}"), pods)?;
            self.scale(namespace, &format!("deployment/{name}"), pods)?;
            // As the Deployment controller notes it: a ReplicaSet of another desired size would be scaled anew.
            let desired = format!("deployment.kubernetes.io/desired-replicas={pods}");
            let limit = format!("deployment.kubernetes.io/max-replicas={}", pods + pods.div_ceil(4));
            let set_path = format!("replicaset/{set_name}");
            self.plane.kubectl(&["annotate", &set_path, "-n", namespace, "--overwrite", &desired, &limit]).ok()?;
            let made = (0..pods).map(|number| pod(set, number, &nodes[number % nodes.len()]));
            self.watcher.create(namespace, PODS, made)?;
        }
        self.plane.start_component(Component::ControllerManager)?;
        Ok(())
    }

    fn scale(&self, namespace: &str, what: &str, replicas: usize) -> Result<()> {
        self.plane.kubectl(&["scale", what, "-n", namespace, &format!("--replicas={replicas}")]).ok()?;
        Ok(())
    }

    fn nodes(&self) -> Result<Vec<String>> {
        let list = self.plane.kubectl(&["get", "nodes", "-o", "name"]).ok()?;
        Ok(list.lines().map(|line| line.trim_start_matches("node/").to_owned()).collect())
    }

    /// Everything of a namespace goes, and nobody waits.
    pub fn drop(&self, namespace: &str) {
        let _ = self.plane.kubectl(&["delete", "namespace", namespace, "--wait=false"]);
    }
}

/// The folder of results and logs.
pub fn folder() -> Result<PathBuf> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("target/bench");
    fs::create_dir_all(&folder)?;
    Ok(folder)
}

fn address(plane: &ControlPlane) -> Result<SocketAddr> {
    let host = plane.server().trim_start_matches("https://");
    host.parse().with_context(|| format!("{host} is no address"))
}

/// helm 4, built once from the module that is locked in benches/go.
pub fn helm() -> Result<PathBuf> {
    // By what it is built from, so that another version is not taken for this one.
    let locked = include_str!("../go/go.sum").bytes().chain(include_str!("../go/go.mod").bytes());
    let mark =
        locked.fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3));
    let program = folder()?.join(format!("helm-{mark:016x}"));
    if !program.exists() {
        eprintln!("building helm (some minutes the first time)");
        let module = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("benches/go");
        let mut build = Command::new(control_plane::go_program());
        // Under another name until it is whole: an interrupted build is never taken for a program.
        let unfinished = program.with_extension("unfinished");
        build.current_dir(module).args(["build", "-mod=readonly", "-o"]).arg(&unfinished);
        let status = build.arg("helm.sh/helm/v4/cmd/helm").env("CGO_ENABLED", "0").status()?;
        ensure!(status.success(), "helm cannot be built");
        fs::rename(unfinished, &program)?;
    }
    Ok(program)
}

pub fn text(value: &Value, pointer: &str) -> String {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned()
}

fn pod(set: &Value, number: usize, node: &str) -> Value {
    let mut spec = set.pointer("/spec/template/spec").cloned().unwrap_or_default();
    spec["nodeName"] = node.into();
    let (group, version, kind, _) = REPLICA_SETS;
    let owner = json!({
        "apiVersion": format!("{group}/{version}"), "kind": kind, "name": text(set, "/metadata/name"),
        "uid": text(set, "/metadata/uid"), "controller": true, "blockOwnerDeletion": true,
    });
    let labels = set.pointer("/spec/template/metadata/labels").cloned().unwrap_or_default();
    let name = format!("{}-{number:05}", text(set, "/metadata/name"));
    let generate = format!("{}-", text(set, "/metadata/name"));
    json!({
        "apiVersion": "v1", "kind": "Pod", "spec": spec,
        "metadata": { "name": name, "generateName": generate, "labels": labels, "ownerReferences": [owner] },
    })
}

/// What every application of this benchmark is made of.
pub fn manifests(app: &str, replicas: usize) -> String {
    format!(
        "apiVersion: v1
kind: ConfigMap
metadata: {{ name: {app}, labels: {{ app: {app} }} }}
data: {{ key: value }}
---
apiVersion: v1
kind: Service
metadata: {{ name: {app}, labels: {{ app: {app} }} }}
spec: {{ selector: {{ app: {app} }}, ports: [ {{ port: 80 }} ] }}
---
apiVersion: apps/v1
kind: Deployment
metadata: {{ name: {app}, labels: {{ app: {app} }} }}
spec:
  replicas: {replicas}
  selector: {{ matchLabels: {{ app: {app} }} }}
  template:
    metadata: {{ labels: {{ app: {app} }} }}
    spec:
      terminationGracePeriodSeconds: 1
      containers: [ {{ name: main, image: demo, resources: {{ requests: {{ cpu: 10m, memory: 16Mi }} }} }} ]
"
    )
}
