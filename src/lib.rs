//! `kubectl purge`: deletes an application from a namespace completely, safely and provably.

pub mod cluster;
pub mod exit;
pub mod inventory;
pub mod plan;
pub mod report;
pub mod run;
