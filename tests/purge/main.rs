//! The real binary against a real control plane: what it prints, how it ends, and what the API server holds then.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod audited;
mod backup;
mod belongs;
mod between;
mod blind;
mod comeback;
mod completion;
mod consent;
mod frail;
mod guards;
mod harness;
mod held;
mod keeping;
mod listing;
mod neighbours;
mod pause;
mod preflight;
mod readme;
mod refusals;
mod running;
mod screen;
mod sharing;
mod skew;
mod stories;
mod streams;
mod stuck;
mod terminal;
mod ties;
mod trouble;
mod typed;
mod verbose;
