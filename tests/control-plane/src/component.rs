//! The processes that make up a control plane, and the programs that were built for it.

use std::fmt;
use std::path::PathBuf;

use crate::binaries::Binaries;
use crate::error::Error;
use crate::release::Release;

/// One of the processes of a control plane, in the order in which they are started.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Component {
    /// The store behind the API server.
    Etcd,
    /// kube-apiserver.
    ApiServer,
    /// kube-controller-manager: workload controllers, garbage collector, quota, namespaces.
    ControllerManager,
    /// kube-scheduler.
    Scheduler,
    /// kwok, which plays the kubelet of every fake node.
    Kwok,
}

impl Component {
    /// Every component, in the order in which they are started.
    pub const ALL: [Self; 5] = [Self::Etcd, Self::ApiServer, Self::ControllerManager, Self::Scheduler, Self::Kwok];

    /// The name of its program, which is also that of its log.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Etcd => "etcd",
            Self::ApiServer => "kube-apiserver",
            Self::ControllerManager => "kube-controller-manager",
            Self::Scheduler => "kube-scheduler",
            Self::Kwok => "kwok",
        }
    }
}

impl fmt::Display for Component {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A program that comes with the control plane.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tool {
    /// kubectl, of the API server's own version.
    Kubectl,
    /// The program of a component.
    Of(Component),
}

impl Tool {
    /// The program's file name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Kubectl => "kubectl",
            Self::Of(component) => component.name(),
        }
    }

    /// The path of the program, built first if need be; no control plane is started for it.
    ///
    /// # Errors
    /// When the programs cannot be built.
    pub fn program(self) -> Result<PathBuf, Error> {
        Ok(Binaries::ensure(Release::Current)?.path(self))
    }
}
