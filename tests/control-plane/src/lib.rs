//! A throwaway Kubernetes control plane: etcd, kube-apiserver, kube-controller-manager, kube-scheduler
//! and kwok, built from source once and started in seconds. The API is a real one; only the nodes are
//! fake. Tests, the demo and benchmarks run on it.
//!
//! ```no_run
//! use control_plane::ControlPlane;
//!
//! let control_plane = ControlPlane::builder().nodes(3).start()?;
//! control_plane.create_namespace("web")?;
//! control_plane.quota("web", &[("pods", "10")])?;
//! println!("KUBECONFIG={}", control_plane.kubeconfig().display());
//! # Ok::<(), control_plane::Error>(())
//! ```
//!
//! Everything listens on 127.0.0.1 only, on a port found at run time, with tokens that are random: another
//! control plane may be running beside this one. Whatever becomes of this process, its control planes are
//! stopped and their folders removed.
//!
//! Three variables change where things come from: [`CACHE_VARIABLE`] names a folder for the built programs,
//! which several checkouts can share, [`RELEASE_VARIABLE`] an older Kubernetes for the shared control plane,
//! and [`KUBECONFIG_VARIABLE`] an existing cluster to run on instead.

#![warn(missing_docs)]

mod access;
mod arguments;
mod audit;
mod binaries;
mod builder;
mod certificates;
mod component;
mod control_plane;
mod error;
mod existing;
mod folder;
mod go_build;
mod guardian;
mod kubeconfig;
mod kubectl;
mod lifecycle;
mod nodes;
mod objects;
mod own;
mod port;
mod process;
mod progress;
mod random;
mod release;
mod service_accounts;
mod stages;
mod users;
mod wait;

pub use audit::AuditEvent;
pub use binaries::CACHE_VARIABLE;
pub use builder::Builder;
pub use certificates::CertifiedKey;
pub use component::{Component, Tool};
pub use control_plane::ControlPlane;
pub use error::Error;
pub use existing::KUBECONFIG_VARIABLE;
pub use folder::FOLDER_PREFIX;
pub use go_build::program as go_program;
pub use kubeconfig::{Credential, Endpoint, Kubeconfig};
pub use kubectl::KubectlOutput;
pub use release::{RELEASE_VARIABLE, Release};
pub use users::{ADMIN, Rule};
