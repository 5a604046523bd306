//! Which Kubernetes release the servers are of.

use std::env;

use crate::component::{Component, Tool};

/// A release that a control plane can be of. Each is built from a go.mod of its own.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Release {
    /// The newest.
    #[default]
    Current,
    /// The oldest that is still used much: 1.34.
    Older,
}

/// Names the Kubernetes release of the shared control plane: `1.34`, or the current one's number.
pub const RELEASE_VARIABLE: &str = "KUBECTL_PURGE_TEST_KUBERNETES";

impl Release {
    /// The release that the environment names.
    pub(crate) fn of_environment() -> Result<Self, String> {
        match env::var(RELEASE_VARIABLE).unwrap_or_default().as_str() {
            "" | "1.37" => Ok(Self::Current),
            "1.34" => Ok(Self::Older),
            other => Err(format!("{RELEASE_VARIABLE}={other}: there are 1.34 and 1.37")),
        }
    }

    // Embedded, so that what is built is what was compiled in, wherever the source tree is by then.
    pub(crate) const fn go_mod(self) -> &'static str {
        match self {
            Self::Current => include_str!("../go/go.mod"),
            Self::Older => include_str!("../go-1.34/go.mod"),
        }
    }

    pub(crate) const fn go_sum(self) -> &'static str {
        match self {
            Self::Current => include_str!("../go/go.sum"),
            Self::Older => include_str!("../go-1.34/go.sum"),
        }
    }

    /// Flags that make up for what it does not do by itself.
    pub(crate) const fn flags_of(self, component: Component) -> &'static [&'static str] {
        match (self, component) {
            // An autoscaler's `minReplicas: 0` is refused without.
            (Self::Older, Component::ApiServer) => &["--feature-gates=HPAScaleToZero=true"],
            _ => &[],
        }
    }

    /// The release whose build has this program: of an older Kubernetes only the servers are built.
    pub(crate) fn that_has(self, tool: Tool) -> Self {
        match tool {
            Tool::Of(Component::ApiServer | Component::ControllerManager | Component::Scheduler) => self,
            Tool::Of(Component::Etcd | Component::Kwok) | Tool::Kubectl => Self::Current,
        }
    }
}
