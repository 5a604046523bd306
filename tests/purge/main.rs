//! The real binary against a real control plane: what it prints, how it ends, and what the API server holds then.

mod harness;
mod held;
mod refusals;
mod sharing;
mod stories;
mod terminal;
mod trouble;
