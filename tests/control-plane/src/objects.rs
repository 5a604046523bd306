//! What tests put into the control plane: manifests, namespaces, quotas, nodes.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use crate::control_plane::{ControlPlane, PATIENCE, PAUSE};
use crate::error::Error;
use crate::kubectl::KubectlOutput;
use crate::nodes::{is_ready, node};
use crate::service_accounts;

impl ControlPlane {
    /// Runs kubectl as the user who may do everything.
    pub fn kubectl(&self, arguments: &[&str]) -> KubectlOutput {
        self.kubectl.run(arguments)
    }

    /// Runs kubectl with something on its stdin.
    pub fn kubectl_with_input(&self, arguments: &[&str], input: &str) -> KubectlOutput {
        self.kubectl.run_with_input(arguments, input)
    }

    /// Runs kubectl with another kubeconfig.
    pub fn kubectl_with(&self, kubeconfig: &Path, arguments: &[&str]) -> KubectlOutput {
        self.kubectl.with_kubeconfig(kubeconfig).run(arguments)
    }

    /// A kubectl command with its environment set, for a caller with wishes of its own.
    #[must_use]
    pub fn kubectl_command(&self) -> Command {
        self.kubectl.command()
    }

    /// Applies manifests, as `kubectl apply` does; returns what it says.
    ///
    /// # Errors
    /// [`Error::Kubectl`].
    pub fn apply(&self, yaml: &str) -> Result<String, Error> {
        self.kubectl_with_input(&["apply", "-f", "-"], yaml).ok()
    }

    /// Applies manifests that name no namespace into one.
    ///
    /// # Errors
    /// [`Error::Kubectl`].
    pub fn apply_in(&self, namespace: &str, yaml: &str) -> Result<String, Error> {
        self.kubectl_with_input(&["apply", "-n", namespace, "-f", "-"], yaml).ok()
    }

    /// One object as JSON, or a list where `what` names a kind only: `get("web", "deploy/demo")`.
    ///
    /// # Errors
    /// [`Error::Kubectl`], for an object that is not there as well.
    pub fn get(&self, namespace: &str, what: &str) -> Result<Value, Error> {
        self.kubectl(&["get", "-n", namespace, what, "-o", "json"]).json()
    }

    /// Makes a namespace and waits until pods can be made in it.
    ///
    /// # Errors
    /// When it exists already, or gets no service account.
    pub fn create_namespace(&self, name: &str) -> Result<(), Error> {
        self.kubectl(&["create", "namespace", name]).ok()?;
        self.wait_for_service_account(name)
    }

    /// Makes a `ResourceQuota` called `quota`, such as `&[("pods", "4"), ("requests.cpu", "3")]`, and waits
    /// until it is in force: its status can stay empty for seconds.
    ///
    /// # Errors
    /// When the quota controller does not take it up.
    pub fn quota(&self, namespace: &str, hard: &[(&str, &str)]) -> Result<(), Error> {
        let hard: BTreeMap<_, _> = hard.iter().copied().collect();
        let quota = json!({
            "apiVersion": "v1",
            "kind": "ResourceQuota",
            "metadata": { "name": "quota", "namespace": namespace },
            "spec": { "hard": hard },
        });
        self.apply(&quota.to_string())?;
        self.wait_until("the quota to be in force", PATIENCE, PAUSE, || {
            let quota = self.get(namespace, "resourcequota/quota")?;
            // The server rewrites quantities (`1000m` to `1`), so what it made of the spec is compared.
            let taken_up = quota["status"]["hard"] == quota["spec"]["hard"] && quota["status"]["used"].is_object();
            Ok(taken_up.then_some(()))
        })
    }

    /// Adds a fake node and waits until it is ready.
    ///
    /// # Errors
    /// When it exists already or does not become ready.
    pub fn add_node(&self, name: &str) -> Result<(), Error> {
        self.create(&node(name, &self.node_size, true))?;
        self.wait_for_nodes(&[name.to_owned()])
    }

    /// Adds a node that nobody plays the kubelet of. Pods bound to it by `spec.nodeName` stay Pending, and
    /// once deleted Terminating for ever; the scheduler puts none there.
    ///
    /// # Errors
    /// When it exists already.
    pub fn add_dead_node(&self, name: &str) -> Result<(), Error> {
        self.create(&node(name, &self.node_size, false))
    }

    fn create(&self, object: &Value) -> Result<(), Error> {
        self.kubectl_with_input(&["create", "-f", "-"], &object.to_string()).ok().map(drop)
    }

    /// What is there before the controllers are; returns the nodes' names.
    pub(crate) fn create_first_objects(&self, nodes: usize) -> Result<Vec<String>, Error> {
        let names: Vec<_> = (0..nodes).map(|number| format!("node-{number}")).collect();
        let nodes = names.iter().map(|name| node(name, &self.node_size, true));
        let items: Vec<_> = nodes.chain(service_accounts::of_controllers()).collect();
        self.create(&json!({ "apiVersion": "v1", "kind": "List", "items": items }))?;
        Ok(names)
    }

    pub(crate) fn wait_for_nodes(&self, names: &[String]) -> Result<(), Error> {
        self.wait_until("the nodes to be ready", PATIENCE, PAUSE, || {
            let nodes = self.kubectl(&["get", "nodes", "-o", "json"]).json()?;
            let nodes = nodes["items"].as_array().map_or(&[][..], Vec::as_slice);
            let ready = |name: &String| nodes.iter().any(|node| node["metadata"]["name"] == **name && is_ready(node));
            Ok(names.iter().all(ready).then_some(()))
        })
    }

    pub(crate) fn wait_for_service_account(&self, namespace: &str) -> Result<(), Error> {
        let what = format!("the service account of namespace {namespace}");
        self.wait_until(&what, PATIENCE, PAUSE, || {
            Ok(self.kubectl(&["get", "-n", namespace, "serviceaccount/default"]).success().then_some(()))
        })
    }
}
