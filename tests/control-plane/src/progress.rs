//! Lines that tell a person why a test run is silent.

use std::io::{self, Write as _};
use std::time::Duration;

/// How often something slow reports.
pub(crate) const INTERVAL: Duration = Duration::from_secs(10);

/// One line on the process's own stderr. `eprintln!` would not do: the test harness captures it and
/// shows it only when the test has failed.
pub(crate) fn say(line: &str) {
    let _ = writeln!(io::stderr().lock(), "control plane: {line}");
}
