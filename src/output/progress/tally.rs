//! How far each phase has come.

use std::collections::HashMap;

use crate::run::{Event, Phase};

/// Counts by phase, kept from the events.
#[derive(Debug, Default)]
pub(super) struct Tally {
    counts: HashMap<Phase, Count>,
}

/// How many things a phase has to do or to wait for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Count {
    pub(super) total: usize,
    pub(super) remaining: usize,
}

impl Tally {
    /// Takes notice of what happened.
    pub(super) fn count(&mut self, event: &Event) {
        let (phase, count) = match *event {
            Event::Started { phase, total } => (phase, Count { total, remaining: total }),
            Event::Remaining { phase, remaining, total } => (phase, Count { total, remaining }),
            _ => return,
        };
        self.counts.insert(phase, count);
    }

    pub(super) fn of(&self, phase: Phase) -> Count {
        self.counts.get(&phase).copied().unwrap_or_default()
    }
}
