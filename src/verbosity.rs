//! `-v`: what the program tells of its own doings on standard error, in kubectl's levels.
//!
//! Only what this program says itself: libraries below it would tell headers and frames.

use std::fmt::{self, Write as _};

use tracing::{
    Event, Level, Metadata, Subscriber,
    field::{Field, Visit},
    level_filters::LevelFilter,
    span,
};

use crate::{
    cluster::told,
    output::{escape, stream},
};

/// Begins to tell; at level 0 nothing is told, and nothing costs anything.
pub(crate) fn listen(level: u8) {
    if level > 0 {
        // Only a second call in the same process finds one set already, and that one goes on telling.
        let _ = tracing::subscriber::set_global_default(Teller { level });
    }
}

/// The level from which an event is told.
fn level_of(metadata: &Metadata<'_>) -> Option<u8> {
    match metadata.target() {
        told::REQUESTS => Some(6),
        told::REQUEST_HEADERS => Some(7),
        told::ANSWER_HEADERS => Some(8),
        target if target.split("::").next() != Some("kubectl_purge") => None,
        _ => Some(match *metadata.level() {
            Level::ERROR | Level::WARN => 1,
            Level::INFO => 2,
            _ => 4,
        }),
    }
}

struct Teller {
    level: u8,
}

impl Subscriber for Teller {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        !metadata.is_span() && level_of(metadata).is_some_and(|level| level <= self.level)
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        Some(LevelFilter::DEBUG)
    }

    fn event(&self, event: &Event<'_>) {
        let mut words = Words::default();
        event.record(&mut words);
        let time = jiff::Timestamp::now().strftime("%H:%M:%S%.3fZ").to_string();
        // Lines of a message stay lines; what is in one cannot act on the terminal.
        let lines: Vec<_> = words.0.trim_end().lines().map(escape::line).collect();
        stream::to_stderr(&format!("{time} {}\n", lines.join("\n")));
    }

    fn new_span(&self, _: &span::Attributes<'_>) -> span::Id {
        span::Id::from_u64(1)
    }

    fn record(&self, _: &span::Id, _: &span::Record<'_>) {}
    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}
    fn enter(&self, _: &span::Id) {}
    fn exit(&self, _: &span::Id) {}
}

/// An event's message and its other fields, in the order in which they were given.
#[derive(Default)]
struct Words(String);

impl Visit for Words {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        // Writing to a String cannot fail.
        let _ = match field.name() {
            "message" => write!(self.0, "{value:?} "),
            // What somebody else said is on one line, and makes none that looks like ours.
            name => write!(self.0, "{name}={} ", escape::line(&format!("{value:?}"))),
        };
    }
}
