//! Hostile data: whatever a server, a kubeconfig or a credential plugin says, no control byte leaves the program, the
//! columns stay columns, and what is secret stays so.

mod astray;
mod bounds;
mod canary;
mod check;
mod commands;
mod errors;
mod kubeconfigs;
mod plugins;
mod rendering;
mod screens;
pub mod server;
pub mod setup;
mod stored;
mod texts;
pub mod world;
