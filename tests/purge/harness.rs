//! One namespace, the objects in it, and the program run on it.

use std::{
    collections::BTreeMap,
    path::PathBuf,
    process::{Command, Stdio},
    sync::atomic::{AtomicU32, Ordering},
    time::{Duration, Instant},
};

use control_plane::ControlPlane;
use serde_json::Value;

/// The program under test.
pub const PROGRAM: &str = env!("CARGO_BIN_EXE_kubectl-purge");

/// A namespace of its own on the shared control plane, or on one that the test started.
pub struct World {
    pub plane: &'static ControlPlane,
    pub namespace: String,
}

impl World {
    /// A fresh namespace whose name begins with `story`.
    pub fn new(story: &str) -> Self {
        Self::on(ControlPlane::shared(), story)
    }

    pub fn on(plane: &'static ControlPlane, story: &str) -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let namespace = format!("{story}-{}-{count}", std::process::id());
        plane.create_namespace(&namespace).unwrap();
        Self { plane, namespace }
    }

    pub fn apply(&self, yaml: &str) {
        self.plane.apply_in(&self.namespace, yaml).unwrap();
    }

    pub fn quota(&self, hard: &[(&str, &str)]) {
        self.plane.quota(&self.namespace, hard).unwrap();
    }

    /// kubectl in the namespace; what it prints.
    pub fn kubectl(&self, arguments: &[&str]) -> String {
        let namespace = ["-n", &self.namespace];
        self.plane.kubectl(&[&namespace[..], arguments].concat()).ok().unwrap()
    }

    /// An object, or a list of them.
    pub fn get(&self, what: &str) -> Value {
        self.plane.get(&self.namespace, what).unwrap()
    }

    /// `Kind/name` of everything of these types (`pods,replicasets`), sorted.
    pub fn names(&self, types: &str) -> Vec<String> {
        let list = self.kubectl(&["get", types, "-o", "name", "--ignore-not-found"]);
        let mut names: Vec<String> = list.lines().map(str::to_owned).collect();
        names.sort();
        names
    }

    /// The stored objects of these types as they are, without what changes by itself: for a comparison of before
    /// and after.
    pub fn stored(&self, types: &str) -> BTreeMap<String, Value> {
        let items = self.get(types)["items"].as_array().unwrap().clone();
        items.into_iter().map(|item| (item["metadata"]["uid"].as_str().unwrap().to_owned(), item)).collect()
    }

    pub fn until<T>(&self, what: &str, probe: impl FnMut() -> Option<T>) -> T {
        self.plane.wait_for(what, Duration::from_secs(60), probe).unwrap()
    }

    /// Waits until so many pods that a selector picks are Running.
    pub fn until_running(&self, selector: &str, count: usize) {
        self.until(&format!("{count} running pods of {selector}"), || {
            let arguments = ["get", "pods", "-l", selector, "--field-selector=status.phase=Running", "-o", "name"];
            (self.kubectl(&arguments).lines().count() == count).then_some(())
        });
    }

    /// One number of the quota's status.
    pub fn used(&self, resource: &str) -> String {
        self.get("resourcequota/quota")["status"]["used"][resource].as_str().unwrap().to_owned()
    }

    /// The program with these arguments, in this namespace, as the admin, without a terminal.
    pub fn purge(&self, arguments: &[&str]) -> Run {
        let mut command = Command::new(PROGRAM);
        command.args(arguments).args(["-n", &self.namespace]);
        self.run(command)
    }

    /// The same as `kubectl purge`, found by kubectl on its PATH.
    pub fn kubectl_purge(&self, arguments: &[&str]) -> Run {
        let mut command = self.plane.kubectl_command();
        let folder = PathBuf::from(PROGRAM).parent().unwrap().to_owned();
        let path = std::env::join_paths(
            std::iter::once(folder).chain(std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default())),
        );
        command.env("PATH", path.unwrap()).arg("purge").args(arguments).args(["-n", &self.namespace]);
        self.run(command)
    }

    /// The program as a user with a kubeconfig of its own.
    pub fn purge_as(&self, kubeconfig: &std::path::Path, arguments: &[&str]) -> Run {
        let mut command = Command::new(PROGRAM);
        command.args(arguments).args(["-n", &self.namespace]).arg("--kubeconfig").arg(kubeconfig);
        self.run(command)
    }

    fn run(&self, mut command: Command) -> Run {
        command.env_remove("KUBERNETES_SERVICE_HOST").env("HOME", self.plane.dir());
        command.env("KUBECONFIG", self.plane.kubeconfig()).env("LC_ALL", "C.UTF-8");
        Run::of(command)
    }

    /// A plain Deployment whose pods ask for 1 cpu and 1Gi each, with label `app`.
    pub fn deployment(&self, name: &str, app: &str, replicas: u32) {
        self.apply(&deployment(name, app, replicas));
    }
}

pub fn deployment(name: &str, app: &str, replicas: u32) -> String {
    format!(
        "
apiVersion: apps/v1
kind: Deployment
metadata: {{ name: {name}, labels: {{ app: {app} }} }}
spec:
  replicas: {replicas}
  selector: {{ matchLabels: {{ app: {app} }} }}
  template: {}
",
        template(app)
    )
}

/// A pod template in flow style, to stand wherever one is needed.
pub fn template(app: &str) -> String {
    format!(
        "{{ metadata: {{ labels: {{ app: {app} }} }}, spec: {{ terminationGracePeriodSeconds: 1, containers: \
         [ {{ name: main, image: demo, resources: {{ requests: {{ cpu: '1', memory: 1Gi }} }} }} ] }} }}"
    )
}

/// What a run printed and how it ended.
#[derive(Debug)]
pub struct Run {
    pub stdout: String,
    pub stderr: String,
    pub code: i32,
    pub took: Duration,
}

impl Run {
    pub fn of(mut command: Command) -> Self {
        let begun = Instant::now();
        let output = command.stdin(Stdio::null()).output().unwrap();
        Self {
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
            code: output.status.code().unwrap_or(-1),
            took: begun.elapsed(),
        }
    }

    /// Fails with everything that was printed where the exit code is another.
    #[track_caller]
    pub fn exits(self, code: i32) -> Self {
        assert_eq!(self.code, code, "\n--- stdout\n{}\n--- stderr\n{}", self.stdout, self.stderr);
        self
    }

    #[track_caller]
    pub fn says(self, text: &str) -> Self {
        assert!(self.stdout.contains(text), "no {text:?} in\n{}\n--- stderr\n{}", self.stdout, self.stderr);
        self
    }

    #[track_caller]
    pub fn complains(self, text: &str) -> Self {
        assert!(self.stderr.contains(text), "no {text:?} in\n{}\n--- stdout\n{}", self.stderr, self.stdout);
        self
    }

    #[track_caller]
    pub fn never_says(self, text: &str) -> Self {
        assert!(
            !self.stdout.contains(text) && !self.stderr.contains(text),
            "{text:?} in\n{}\n{}",
            self.stdout,
            self.stderr
        );
        self
    }

    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}\n{}\n{}", self.stdout, self.stderr))
    }
}

/// The objects of a Plan or Report document, as `action Kind/name`.
pub fn planned(document: &Value) -> Vec<String> {
    let objects = document["objects"].as_array().unwrap();
    let line = |object: &Value| {
        let text = |key: &str| object[key].as_str().unwrap().to_owned();
        format!("{} {}/{}", text("action"), text("kind"), text("name"))
    };
    objects.iter().map(line).collect()
}

/// The reasons of one object of a document.
pub fn reasons(document: &Value, kind: &str, name: &str) -> Vec<String> {
    let objects = document["objects"].as_array().unwrap();
    let object = objects.iter().find(|object| object["kind"] == kind && object["name"] == name);
    let object = object.unwrap_or_else(|| panic!("no {kind}/{name} in {document:#}"));
    object["reasons"].as_array().unwrap().iter().map(|reason| reason.as_str().unwrap().to_owned()).collect()
}
