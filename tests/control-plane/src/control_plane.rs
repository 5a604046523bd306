//! The control plane as its users see it.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::Duration;

use crate::access::{KUBECONFIGS, kubeconfig_path};
use crate::binaries::Binaries;
use crate::builder::Builder;
use crate::component::{Component, Tool};
use crate::error::{Doing as _, Error};
use crate::existing;
use crate::folder;
use crate::guardian::Guardian;
use crate::kubeconfig::Endpoint;
use crate::kubectl::Kubectl;
use crate::nodes::NodeSize;
use crate::own::Own;
use crate::release::Release;
use crate::users::{ADMIN, User};
use crate::wait;

/// How long the small helpers wait for a controller. On an idle machine it is well under a second.
pub(crate) const PATIENCE: Duration = Duration::from_mins(1);

/// Between two looks of ours: each is a kubectl, which costs a core 50 ms.
pub(crate) const PAUSE: Duration = Duration::from_millis(150);

/// A running Kubernetes control plane with fake nodes, or the existing cluster that the environment
/// names. Dropping it stops it and removes its folder; so does the end of the process, however it ends.
///
/// Every method takes `&self`: one control plane can serve many test threads.
pub struct ControlPlane {
    // Fields are dropped in this order: the components first, then the guardian removes the folder.
    pub(crate) own: Option<Own>,
    pub(crate) folder: PathBuf,
    pub(crate) kubectl: Kubectl,
    pub(crate) endpoint: Endpoint,
    pub(crate) tokens: BTreeMap<String, String>,
    pub(crate) node_size: NodeSize,
    _guardian: Guardian,
}

impl ControlPlane {
    /// Describes one to be started.
    pub fn builder() -> Builder {
        Builder::new()
    }

    /// The control plane that all tests of this process share, started by the first that asks. Its three
    /// nodes are too big to fill; a test makes a namespace of its own, and leaves the components alone.
    /// [`RELEASE_VARIABLE`](crate::RELEASE_VARIABLE) says of which Kubernetes release it is.
    ///
    /// # Panics
    /// When it cannot be started, for every test that asks.
    pub fn shared() -> &'static Self {
        static SHARED: OnceLock<Result<ControlPlane, String>> = OnceLock::new();
        let start = || {
            let release = Release::of_environment()?;
            let builder = Self::builder().release(release).node_size("1000", "8Ti", 10_000);
            builder.start().map_err(|error| error.to_string())
        };
        match SHARED.get_or_init(start) {
            Ok(control_plane) => control_plane,
            Err(message) => panic!("{message}"),
        }
    }

    pub(crate) fn start(builder: &Builder) -> Result<Self, Error> {
        match existing::named() {
            Some(kubeconfig) => Self::adopt(builder, &kubeconfig),
            None => Self::start_own(builder),
        }
    }

    fn adopt(builder: &Builder, kubeconfig: &Path) -> Result<Self, Error> {
        if let Some(what) = builder.needs_own() {
            return Err(Error::NeedsOwn { what: what.to_owned() });
        }
        let (guardian, folder) = guarded_folder()?;
        let (kubectl, endpoint) = existing::adopt(kubeconfig, &folder, &kubeconfig_path(&folder, ADMIN))?;
        let (tokens, node_size) = (BTreeMap::new(), builder.node_size.clone());
        Ok(Self { own: None, folder, kubectl, endpoint, tokens, node_size, _guardian: guardian })
    }

    fn start_own(builder: &Builder) -> Result<Self, Error> {
        let binaries = Binaries::ensure(builder.release)?;
        // First, and so dropped last: an error on the way leaves nothing behind.
        let (guardian, folder) = guarded_folder()?;
        let mut users = vec![User::admin()?];
        for (name, groups) in &builder.users {
            users.push(User::new(name, groups)?);
        }
        let own = Own::prepare(&folder, guardian.group(), &binaries, builder, &users)?;
        let control_plane = Self {
            endpoint: own.endpoint.clone(),
            own: Some(own),
            kubectl: Kubectl {
                program: binaries.path(Tool::Kubectl),
                kubeconfig: kubeconfig_path(&folder, ADMIN),
                home: folder.clone(),
                keep_environment: false,
            },
            folder,
            tokens: users.into_iter().map(|user| (user.name, user.token)).collect(),
            node_size: builder.node_size.clone(),
            _guardian: guardian,
        };
        for user in control_plane.tokens.keys() {
            control_plane.save(user, &control_plane.kubeconfig_of(user)?)?;
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

    /// Whether it is one of our own, whose components can be stopped, and not the cluster that the
    /// environment names.
    #[must_use]
    pub fn is_own(&self) -> bool {
        self.own.is_some()
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

    /// Calls `probe` some twenty times a second until it answers.
    ///
    /// # Errors
    /// [`Error::NotInTime`] after `timeout`; [`Error::Died`] as soon as a component has ended by itself.
    pub fn wait_for<T>(&self, what: &str, timeout: Duration, mut probe: impl FnMut() -> Option<T>) -> Result<T, Error> {
        self.wait_until(what, timeout, wait::SHORT_PAUSE, || Ok(probe()))
    }

    pub(crate) fn own(&self, what: &str) -> Result<&Own, Error> {
        self.own.as_ref().ok_or_else(|| Error::NeedsOwn { what: what.to_owned() })
    }

    pub(crate) fn wait_until<T>(
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
}

/// A folder that is removed whatever happens.
fn guarded_folder() -> Result<(Guardian, PathBuf), Error> {
    let folder = folder::path()?;
    let guardian = Guardian::over(&folder)?;
    folder::create(&folder)?;
    let kubeconfigs = folder.join(KUBECONFIGS);
    fs::create_dir(&kubeconfigs).doing(|| format!("create {}", kubeconfigs.display()))?;
    Ok((guardian, folder))
}
