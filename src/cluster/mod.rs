//! From kubeconfig and flags to a client. The only folder that sends requests.

pub mod connection;
pub mod credential;
mod dial;
pub mod environment;
pub mod exec;
pub mod flags;
pub mod kubeconfig;
pub mod proxy;
pub mod secret;
pub mod timeout;
pub mod tls;
pub mod transport;
mod unreachable;
