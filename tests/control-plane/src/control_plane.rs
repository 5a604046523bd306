//! The control plane as its users see it.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::time::Duration;

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::audit::{self, AuditEvent};
use crate::binaries::Binaries;
use crate::builder::Builder;
use crate::certificates::CertifiedKey;
use crate::component::{Component, Tool};
use crate::error::{Doing as _, Error};
use crate::existing;
use crate::folder;
use crate::guardian::Guardian;
use crate::kubeconfig::{Credential, Endpoint, Kubeconfig, file_name};
use crate::kubectl::{Kubectl, KubectlOutput};
use crate::nodes::{NodeSize, is_ready, node};
use crate::own::{CONTEXT, Own};
use crate::random;
use crate::service_accounts;
use crate::users::{ADMIN, Rule, Subject, User, review, role};
use crate::wait;

/// How long the small helpers wait for a controller. On an idle machine it is well under a second.
const PATIENCE: Duration = Duration::from_secs(60);

/// Between two looks of ours: each is a kubectl, which costs a core 50 ms.
const PAUSE: Duration = Duration::from_millis(150);

/// A running Kubernetes control plane with fake nodes, or the existing cluster that the environment
/// names. Dropping it stops it and removes its folder; so does the end of the process, however it ends.
///
/// Every method takes `&self`: one control plane can serve many test threads.
pub struct ControlPlane {
    // Fields are dropped in this order: the components first, then the guardian removes the folder.
    own: Option<Own>,
    folder: PathBuf,
    kubectl: Kubectl,
    endpoint: Endpoint,
    tokens: BTreeMap<String, String>,
    node_size: NodeSize,
    _guardian: Guardian,
}

impl ControlPlane {
    /// Describes one to be started.
    pub fn builder() -> Builder {
        Builder::new()
    }

    /// The control plane that all tests of this process share, started by the first that asks. Its three
    /// nodes are too big to fill; a test makes a namespace of its own, and leaves the components alone.
    ///
    /// # Panics
    /// When it cannot be started, for every test that asks.
    pub fn shared() -> &'static Self {
        static SHARED: OnceLock<Result<ControlPlane, String>> = OnceLock::new();
        let start = || Self::builder().node_size("1000", "8Ti", 10_000).start().map_err(|error| error.to_string());
        match SHARED.get_or_init(start) {
            Ok(control_plane) => control_plane,
            Err(message) => panic!("{message}"),
        }
    }

    pub(crate) fn start(builder: &Builder) -> Result<Self, Error> {
        let folder = folder::path()?;
        if let Some(path) = existing::named() {
            if let Some(what) = builder.needs_own() {
                return Err(Error::NeedsOwn { what: what.to_owned() });
            }
            let guardian = Guardian::over(&folder)?;
            prepare(&folder)?;
            let (kubectl, endpoint) = existing::adopt(&path, &folder, &kubeconfig_path(&folder, ADMIN))?;
            let (tokens, node_size) = (BTreeMap::new(), builder.node_size.clone());
            return Ok(Self { own: None, folder, kubectl, endpoint, tokens, node_size, _guardian: guardian });
        }

        let binaries = Binaries::ensure()?;
        let guardian = Guardian::over(&folder)?;
        prepare(&folder)?;
        let mut users = vec![User::admin()?];
        for (name, groups) in &builder.users {
            users.push(User::new(name, &groups.iter().map(String::as_str).collect::<Vec<_>>())?);
        }
        let own = Own::prepare(&folder, guardian.group(), &binaries, builder, &users)?;
        let kubectl = Kubectl {
            program: binaries.path(Tool::Kubectl),
            kubeconfig: kubeconfig_path(&folder, ADMIN),
            home: folder.clone(),
            keep_environment: false,
        };
        let control_plane = Self {
            endpoint: own.endpoint.clone(),
            own: Some(own),
            folder,
            kubectl,
            tokens: users.into_iter().map(|user| (user.name, user.token)).collect(),
            node_size: builder.node_size.clone(),
            _guardian: guardian,
        };
        for user in control_plane.tokens.keys() {
            control_plane.kubeconfig_of(user)?.write(&kubeconfig_path(&control_plane.folder, user))?;
        }
        control_plane.start_component(Component::Etcd)?;
        control_plane.start_component(Component::ApiServer)?;
        let nodes = control_plane.create_first_objects(builder.nodes)?;
        for component in [Component::ControllerManager, Component::Scheduler, Component::Kwok] {
            control_plane.start_component(component)?;
        }
        control_plane.wait_for_nodes(&nodes)?;
        // Pods of a namespace are refused until it has this.
        control_plane.wait_for_service_account("default")?;
        Ok(control_plane)
    }

    /// The folder in which it lives, logs and all; removed with it.
    #[must_use]
    pub fn dir(&self) -> &Path {
        &self.folder
    }

    /// The API server's URL.
    #[must_use]
    pub fn server(&self) -> &str {
        &self.endpoint.server
    }

    /// The authority that signed the API server's certificate; empty where an existing cluster names none.
    #[must_use]
    pub fn ca_pem(&self) -> &str {
        self.endpoint.ca_pem.as_deref().unwrap_or_default()
    }

    /// The kubeconfig of a user who may do everything.
    #[must_use]
    pub fn kubeconfig(&self) -> &Path {
        &self.kubectl.kubeconfig
    }

    /// The kubeconfig of a user declared with [`Builder::user`].
    ///
    /// # Errors
    /// [`Error::UnknownUser`].
    pub fn kubeconfig_for(&self, user: &str) -> Result<PathBuf, Error> {
        self.token(user).map(|_| kubeconfig_path(&self.folder, user))
    }

    /// The same as a value, to be changed before it is written: another server, no credential.
    ///
    /// # Errors
    /// [`Error::UnknownUser`].
    pub fn kubeconfig_of(&self, user: &str) -> Result<Kubeconfig, Error> {
        let credential = Some(Credential::Token(self.token(user)?.to_owned()));
        Ok(self.with_credential(user, credential))
    }

    /// Writes a kubeconfig with a token into the control plane's folder and returns its path; `name`
    /// is the file's and the user entry's. A namespace of `None` leaves the key out.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn write_kubeconfig(&self, name: &str, token: &str, namespace: Option<&str>) -> Result<PathBuf, Error> {
        let mut kubeconfig = self.with_credential(name, Some(Credential::Token(token.to_owned())));
        kubeconfig.namespace = namespace.map(str::to_owned);
        self.save(name, &kubeconfig)
    }

    /// The token of a user declared with [`Builder::user`], or of [`ADMIN`].
    ///
    /// # Errors
    /// [`Error::UnknownUser`]; on an existing cluster there are none.
    pub fn token(&self, user: &str) -> Result<&str, Error> {
        self.tokens.get(user).map(String::as_str).ok_or_else(|| Error::UnknownUser {
            user: user.to_owned(),
            declared: self.tokens.keys().cloned().collect(),
        })
    }

    /// A certificate by which the API server knows its holder as `user`, in at most one group.
    ///
    /// # Errors
    /// On an existing cluster, whose authority is not ours.
    pub fn client_certificate(&self, user: &str, group: Option<&str>) -> Result<CertifiedKey, Error> {
        self.own("a client certificate")?.authority.client(user, group)
    }

    /// A serving certificate by the API server's authority, for a test's own proxy in front of it.
    /// kubectl sends credentials to no server without one.
    ///
    /// # Errors
    /// On an existing cluster, whose authority is not ours.
    pub fn server_certificate(&self, names: &[&str]) -> Result<CertifiedKey, Error> {
        self.own("a serving certificate")?.authority.server(names)
    }

    /// The path of a built program.
    ///
    /// # Errors
    /// On an existing cluster there is only [`Tool::Kubectl`].
    pub fn binary(&self, tool: Tool) -> Result<PathBuf, Error> {
        match tool {
            Tool::Kubectl => Ok(self.kubectl.program.clone()),
            Tool::Of(component) => Ok(self.own("the program of a component")?.process(component).program.clone()),
        }
    }

    /// The folder of the programs, to be put in a `PATH`.
    #[must_use]
    pub fn bin_dir(&self) -> &Path {
        let beside = || self.kubectl.program.parent().unwrap_or(Path::new("."));
        self.own.as_ref().map_or_else(beside, |own| &own.bin_dir)
    }

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

    /// Makes a ResourceQuota called `quota`, such as `&[("pods", "4"), ("requests.cpu", "3")]`, and waits
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

    /// Lets a user do in one namespace what the rules say and nothing else, and returns their kubeconfig
    /// once that is in force. Asked again, the new rules take the place of the old ones.
    ///
    /// A user declared with [`Builder::user`] has a token; any other name gets a client certificate, which
    /// the API server needs not be told of beforehand. On an existing cluster it is a service account of
    /// that name in the namespace.
    ///
    /// # Errors
    /// When the role cannot be made.
    pub fn user_with_role(&self, user: &str, namespace: &str, rules: &[Rule]) -> Result<PathBuf, Error> {
        self.user_with_rules(user, Some(namespace), rules)
    }

    /// The same for the whole cluster.
    ///
    /// # Errors
    /// When the role cannot be made.
    pub fn user_with_cluster_role(&self, user: &str, rules: &[Rule]) -> Result<PathBuf, Error> {
        self.user_with_rules(user, None, rules)
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

    /// Calls `probe` some twenty times a second until it answers.
    ///
    /// # Errors
    /// [`Error::NotInTime`] after `timeout`; [`Error::Died`] as soon as a component has ended by itself.
    pub fn wait_for<T>(&self, what: &str, timeout: Duration, mut probe: impl FnMut() -> Option<T>) -> Result<T, Error> {
        self.wait_until(what, timeout, wait::SHORT_PAUSE, || Ok(probe()))
    }

    /// Asks a component to end, and waits until it has. A client of a stopped API server is refused the
    /// connection; its port stays reserved.
    ///
    /// # Errors
    /// [`Error::NeedsOwn`] on an existing cluster.
    pub fn stop(&self, component: Component) -> Result<(), Error> {
        self.own("stopping a component")?.process(component).stop();
        Ok(())
    }

    /// Ends a component at once, as a crash would.
    ///
    /// # Errors
    /// [`Error::NeedsOwn`] on an existing cluster.
    pub fn kill(&self, component: Component) -> Result<(), Error> {
        self.own("killing a component")?.process(component).kill();
        Ok(())
    }

    /// Starts a stopped component with the same flags, port and data, and waits until it answers. One
    /// that runs is left as it is.
    ///
    /// # Errors
    /// [`Error::NeedsOwn`] on an existing cluster; [`Error::Died`] or [`Error::NotInTime`] with its log.
    pub fn start_component(&self, component: Component) -> Result<(), Error> {
        self.own("starting a component")?.start(component, &self.kubectl)
    }

    /// [`stop`](Self::stop), then [`start_component`](Self::start_component).
    ///
    /// # Errors
    /// Theirs.
    pub fn restart(&self, component: Component) -> Result<(), Error> {
        self.stop(component)?;
        self.start_component(component)
    }

    /// Suspends a component: its connections stay open, and nothing is answered.
    ///
    /// # Errors
    /// [`Error::NeedsOwn`] on an existing cluster.
    pub fn pause(&self, component: Component) -> Result<(), Error> {
        self.own("pausing a component")?.signal(component, Signal::STOP);
        Ok(())
    }

    /// Lets a suspended component go on.
    ///
    /// # Errors
    /// [`Error::NeedsOwn`] on an existing cluster.
    pub fn resume(&self, component: Component) -> Result<(), Error> {
        self.own("resuming a component")?.signal(component, Signal::CONT);
        Ok(())
    }

    /// A component's process id while it runs.
    ///
    /// # Errors
    /// [`Error::NeedsOwn`] on an existing cluster.
    pub fn process_id(&self, component: Component) -> Result<Option<u32>, Error> {
        Ok(self.own("a component's process id")?.process(component).id())
    }

    /// A component's log so far.
    ///
    /// # Errors
    /// [`Error::NeedsOwn`] on an existing cluster.
    pub fn log(&self, component: Component) -> Result<String, Error> {
        let path = self.own("a component's log")?.process(component).log_path();
        let log = fs::read(&path).doing(|| format!("read {}", path.display()))?;
        Ok(String::from_utf8_lossy(&log).into_owned())
    }

    /// Every request that the API server has answered so far, in the order of its log; needs
    /// [`Builder::audit_log`].
    ///
    /// A request is logged just after it is answered. This makes one of its own and waits until that is
    /// in the log (and leaves it out), so that what was answered before the call is there.
    ///
    /// # Errors
    /// Without an audit log; when the API server does not answer.
    pub fn audit_events(&self) -> Result<Vec<AuditEvent>, Error> {
        let own = self.own("an audit log")?;
        let parsed =
            |log: &str| audit::parse(log).map_err(|source| Error::Json { what: "the audit log".to_owned(), source });
        let marker = format!("{MARKER}{}", random::hex(8)?);
        self.kubectl(&["get", "--raw", &marker]).ok()?;
        self.wait_until("the audit log to catch up", PATIENCE, PAUSE, || {
            let events = parsed(&own.audit_log()?)?;
            let caught_up = events.iter().any(|event| event.uri() == marker);
            Ok(caught_up.then(|| events.into_iter().filter(|event| !event.uri().starts_with(MARKER)).collect()))
        })
    }

    fn own(&self, what: &str) -> Result<&Own, Error> {
        self.own.as_ref().ok_or_else(|| Error::NeedsOwn { what: what.to_owned() })
    }

    fn wait_until<T>(
        &self,
        what: &str,
        timeout: Duration,
        pause: Duration,
        mut probe: impl FnMut() -> Result<Option<T>, Error>,
    ) -> Result<T, Error> {
        wait::until(what, timeout, pause, || {
            self.own.as_ref().map_or(Ok(()), Own::check)?;
            probe()
        })
    }

    fn with_credential(&self, user: &str, credential: Option<Credential>) -> Kubeconfig {
        Kubeconfig {
            endpoint: self.endpoint.clone(),
            context: CONTEXT.to_owned(),
            user: user.to_owned(),
            credential,
            namespace: None,
        }
    }

    fn save(&self, name: &str, kubeconfig: &Kubeconfig) -> Result<PathBuf, Error> {
        let path = kubeconfig_path(&self.folder, name);
        kubeconfig.write(&path)?;
        Ok(path)
    }

    fn user_with_rules(&self, user: &str, namespace: Option<&str>, rules: &[Rule]) -> Result<PathBuf, Error> {
        let home = namespace.unwrap_or("default");
        let subject = match self.own {
            Some(_) => Subject::User(user),
            None => Subject::ServiceAccount { namespace: home, name: user },
        };
        let credential = match (&self.own, self.tokens.get(user)) {
            (_, Some(token)) => Credential::Token(token.clone()),
            (Some(own), None) => Credential::Certificate(own.authority.client(user, None)?),
            (None, None) => Credential::Token(self.service_account_token(home, user)?),
        };
        let name = format!("user-{}", file_name(user));
        self.apply(&role(&name, namespace, &subject, rules).to_string())?;
        if let Some(rule) = rules.last() {
            let question = review(namespace, &subject, rule).to_string();
            self.wait_until("the role to be in force", PATIENCE, PAUSE, || {
                let answer = self.kubectl_with_input(&["create", "-f", "-", "-o", "json"], &question).json()?;
                Ok((answer["status"]["allowed"] == true).then_some(()))
            })?;
        }
        self.save(user, &self.with_credential(user, Some(credential)))
    }

    fn service_account_token(&self, namespace: &str, name: &str) -> Result<String, Error> {
        let account = json!({
            "apiVersion": "v1",
            "kind": "ServiceAccount",
            "metadata": { "name": name, "namespace": namespace },
        });
        self.apply(&account.to_string())?;
        let token = self.kubectl(&["create", "token", name, "-n", namespace, "--duration=1h"]).ok()?;
        Ok(token.trim().to_owned())
    }

    fn create(&self, object: &Value) -> Result<(), Error> {
        self.kubectl_with_input(&["create", "-f", "-"], &object.to_string()).ok().map(drop)
    }

    /// What is there before the controllers are; returns the nodes' names.
    fn create_first_objects(&self, nodes: usize) -> Result<Vec<String>, Error> {
        let names: Vec<_> = (0..nodes).map(|number| format!("node-{number}")).collect();
        let nodes = names.iter().map(|name| node(name, &self.node_size, true));
        let items: Vec<_> = nodes.chain(service_accounts::of_controllers()).collect();
        self.create(&json!({ "apiVersion": "v1", "kind": "List", "items": items }))?;
        Ok(names)
    }

    fn wait_for_nodes(&self, names: &[String]) -> Result<(), Error> {
        self.wait_until("the nodes to be ready", PATIENCE, PAUSE, || {
            let nodes = self.kubectl(&["get", "nodes", "-o", "json"]).json()?;
            let nodes = nodes["items"].as_array().map_or(&[][..], Vec::as_slice);
            let ready = |name: &String| nodes.iter().any(|node| node["metadata"]["name"] == **name && is_ready(node));
            Ok(names.iter().all(ready).then_some(()))
        })
    }

    fn wait_for_service_account(&self, namespace: &str) -> Result<(), Error> {
        let what = format!("the service account of namespace {namespace}");
        self.wait_until(&what, PATIENCE, PAUSE, || {
            Ok(self.kubectl(&["get", "-n", namespace, "serviceaccount/default"]).success().then_some(()))
        })
    }
}

/// A request that changes nothing and that no client makes.
const MARKER: &str = "/version?marker=";

fn prepare(folder: &Path) -> Result<(), Error> {
    folder::create(folder)?;
    let kubeconfigs = folder.join(KUBECONFIGS);
    fs::create_dir(&kubeconfigs).doing(|| format!("create {}", kubeconfigs.display()))
}

const KUBECONFIGS: &str = "kubeconfigs";

fn kubeconfig_path(folder: &Path, user: &str) -> PathBuf {
    folder.join(KUBECONFIGS).join(file_name(user))
}
