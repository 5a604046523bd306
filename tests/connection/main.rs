//! The connection to a real API server: credentials, certificates, proxies, and what happens when it breaks.

mod credentials;
mod harness;
mod kubeconfigs;
mod lasting;
mod proxies;
mod trust;
