//! The run: drain, delete, wait, verify. Emits events and prints nothing.

mod event;

pub use event::{Blocker, Event, Phase};
