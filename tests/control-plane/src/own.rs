//! The processes of a control plane that this process started.

use std::fs;
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::Duration;

use rustix::process::Signal;

use crate::arguments::{self, Layout, arguments};
use crate::audit::policy;
use crate::binaries::Binaries;
use crate::builder::Builder;
use crate::certificates::{Authority, signing_key};
use crate::component::{Component, Tool};
use crate::error::{Doing as _, Error};
use crate::kubeconfig::{Credential, Endpoint, Kubeconfig, write_private};
use crate::kubectl::Kubectl;
use crate::port::HeldPort;
use crate::process::Process;
use crate::users::{User, write_tokens};
use crate::wait;

/// What etcd and the API server may take to answer. They need a second or two on an idle machine; a
/// test run that compiles beside them has been seen to need twenty times that.
const PATIENCE: Duration = Duration::from_mins(2);

/// A kubelet works for each of its pods by itself. Kwok's own four hands for the pods of all nodes together would be what
/// a large deletion waits for. Where there are options at all, kwok fills in none of the others.
const KWOK_OPTIONS: &str = "---
apiVersion: config.kwok.x-k8s.io/v1alpha1
kind: KwokConfiguration
metadata:
  name: kwok
options:
  podPlayStageParallelism: 16
  nodePlayStageParallelism: 4
  nodeLeaseParallelism: 4
  nodeLeaseDurationSeconds: 40
  podsOnNodeSyncParallelism: 4
  enablePodsOnNodeSyncStreamWatch: true
";

/// etcd, the API server, the controllers, the scheduler and kwok.
pub(crate) struct Own {
    processes: Vec<Process>,
    pub(crate) authority: Authority,
    pub(crate) endpoint: Endpoint,
    pub(crate) bin_dir: PathBuf,
    folder: PathBuf,
    port: HeldPort,
}

impl Own {
    /// Writes every file that the components need into `folder`. Starts none of them yet.
    pub(crate) fn prepare(
        folder: &Path,
        group: u32,
        binaries: &Binaries,
        builder: &Builder,
        users: &[User],
    ) -> Result<Self, Error> {
        let port = HeldPort::take()?;
        let authority = Authority::new()?;
        let endpoint = Endpoint {
            server: format!("https://127.0.0.1:{}", port.address().port()),
            ca_pem: Some(authority.pem()),
            tls_server_name: None,
            insecure: false,
        };
        let server = authority.server(&["127.0.0.1", "::1", "localhost"])?;
        let (signing, verifying) = signing_key()?;
        let stages = builder.stages.select(&binaries.stages()?) + KWOK_OPTIONS;
        let files = [
            (arguments::CA, authority.pem()),
            (arguments::SERVER_CERTIFICATE, server.certificate_pem),
            (arguments::SERVER_KEY, server.key_pem),
            (arguments::SIGNING_KEY, signing),
            (arguments::VERIFYING_KEY, verifying),
            (arguments::STAGES, stages),
        ];
        for (name, text) in &files {
            write_private(&folder.join(name), text)?;
        }
        if let Some(level) = builder.audit {
            write_private(&folder.join(arguments::AUDIT_POLICY), &policy(level).to_string())?;
        }

        let mut users = users.to_vec();
        let layout = Layout { folder, port: port.address().port(), audited: builder.audit.is_some() };
        let mut processes = Vec::new();
        for component in Component::ALL {
            if let Some(user) = User::of(component).transpose()? {
                component_kubeconfig(&endpoint, &user).write(&folder.join(arguments::kubeconfig_file(component)))?;
                users.push(user);
            }
            processes.push(Process {
                component,
                program: binaries.path(Tool::Of(component)),
                arguments: arguments(component, &layout, &flags(builder, component)),
                folder: folder.to_owned(),
                group,
                child: Mutex::new(None),
            });
        }
        write_tokens(folder, &users)?;
        let (folder, bin_dir) = (folder.to_owned(), binaries.dir().to_owned());
        Ok(Self { processes, authority, endpoint, bin_dir, folder, port })
    }

    pub(crate) fn process(&self, component: Component) -> &Process {
        let found = self.processes.iter().find(|process| process.component == component);
        found.expect("there is a process for every component")
    }

    /// An error when a component has ended that nobody stopped.
    pub(crate) fn check(&self) -> Result<(), Error> {
        self.processes.iter().try_for_each(Process::check)
    }

    /// Starts a component and waits until it can be used, as far as that can be told from outside.
    pub(crate) fn start(&self, component: Component, kubectl: &Kubectl) -> Result<(), Error> {
        let process = self.process(component);
        process.start()?;
        let socket = self.folder.join(arguments::ETCD_SOCKET);
        let answers = || match component {
            Component::Etcd => UnixStream::connect(&socket).is_ok(),
            // A connection costs nothing; a kubectl before there is anything to talk to takes the time
            // from the server that it waits for.
            Component::ApiServer => {
                TcpStream::connect(self.port.address()).is_ok() && kubectl.run(&["get", "--raw", "/readyz"]).success()
            }
            Component::ControllerManager | Component::Scheduler | Component::Kwok => true,
        };
        let what = format!("{component} to answer");
        let answered = wait::until(&what, PATIENCE, wait::SHORT_PAUSE, || {
            process.check()?;
            Ok(answers().then_some(()))
        });
        answered.map_err(|error| error.with_log(process.log_tail()))
    }

    pub(crate) fn signal(&self, component: Component, signal: Signal) {
        self.process(component).signal(signal);
    }

    /// The audit log as it is now.
    pub(crate) fn audit_log(&self) -> Result<String, Error> {
        let path = self.folder.join(arguments::AUDIT_LOG);
        fs::read_to_string(&path).doing(|| format!("read {}", path.display()))
    }
}

/// The end of a throwaway control plane: killed, since there is nothing to save, the API server before
/// its store.
impl Drop for Own {
    fn drop(&mut self) {
        self.processes.iter().rev().for_each(Process::kill);
    }
}

/// What the release needs to be used as the current one is, then what the caller asks for.
fn flags(builder: &Builder, component: Component) -> Vec<String> {
    let of_release = builder.release.flags_of(component).iter().map(ToString::to_string);
    of_release.chain(builder.flags_of(component).iter().cloned()).collect()
}

fn component_kubeconfig(endpoint: &Endpoint, user: &User) -> Kubeconfig {
    Kubeconfig {
        endpoint: endpoint.clone(),
        context: CONTEXT.to_owned(),
        user: user.name.clone(),
        credential: Some(Credential::Token(user.token.clone())),
        namespace: None,
    }
}

/// The context's name in every kubeconfig.
pub(crate) const CONTEXT: &str = "throwaway";
