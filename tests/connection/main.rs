//! The connection to a real API server: credentials, certificates, proxies, and what happens when it breaks.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod credentials;
mod harness;
mod kubeconfigs;
mod lasting;
mod proxies;
mod trust;
