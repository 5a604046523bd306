//! Nothing outside the plan, no false success, under any fault: series of random and of systematic trouble.
//!
//! `cargo test` runs a quick form of each; `PURGE_TRUST_LONG=1` the long one, see docs/trust.md. Each prints its
//! figures, and the seed that repeats it.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
#![allow(clippy::cast_precision_loss, reason = "figures for people")]
#![allow(clippy::format_collect, clippy::format_push_string, reason = "test data is small")]

mod allowance;
mod api;
mod between;
mod bystanders;
mod claims;
mod corpus;
mod crash;
mod crew;
mod growth;
#[path = "../purge/harness.rs"]
#[allow(dead_code, reason = "what the other suite needs of it")]
mod harness;
mod hostile;
mod judge;
mod launch;
mod memory;
mod network;
mod outage;
mod permissions;
mod proxy;
mod quiet;
#[path = "../purge/screen.rs"]
#[allow(dead_code, reason = "what the other suite needs of it")]
mod screen;
mod series;
mod site;
mod templates;
mod worlds;
