//! `kubectl purge`: deletes an application from a namespace completely, safely and provably.

<<<<<<< HEAD
pub mod cluster;
=======
pub mod confirm;
>>>>>>> output
pub mod exit;
pub mod inventory;
pub mod output;
pub mod plan;
pub mod report;
pub mod run;
