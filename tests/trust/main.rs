//! Nothing outside the plan, no false success, under any fault: series of random and of systematic trouble.
//!
//! `cargo test` runs a quick form of each; `PURGE_TRUST_LONG=1` the long one, see docs/trust.md. Each prints its
//! figures, and the seed that repeats it.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod corpus;
mod growth;
#[path = "../purge/harness.rs"]
#[allow(dead_code, reason = "what the other suite needs of it")]
mod harness;
mod hostile;
mod memory;
#[allow(dead_code, reason = "the series come one after the other")]
mod series;
