//! Everything that people and scripts see: the plan, the progress, the report. Rendering is pure; only `stream` and
//! the progress display write.

mod backup;
mod command;
mod document;
mod duration;
pub mod escape;
pub mod guards;
pub mod json;
pub mod list;
mod look;
pub mod names;
pub mod nothing;
pub mod plan;
pub mod progress;
pub(crate) mod relay;
pub mod report;
mod row;
#[cfg(test)]
pub(crate) mod sample;
pub mod stream;
mod style;
mod table;
pub mod width;
mod wrap;

pub use backup::backup_saved;
pub use document::{PlanDocument, ReportDocument};
pub use json::document;
pub use look::{Look, unicode};
pub use progress::Progress;
pub use style::{Color, ColorEnv};
pub(crate) use wrap::{brief, wrap};
