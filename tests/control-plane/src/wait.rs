//! Waiting with a bound.

use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::error::Error;

/// For looks that cost little. Short, since every test waits for something.
pub(crate) const SHORT_PAUSE: Duration = Duration::from_millis(50);

/// Calls `probe` until it has an answer, fails, or `timeout` is over.
pub(crate) fn until<T>(
    what: &str,
    timeout: Duration,
    pause: Duration,
    mut probe: impl FnMut() -> Result<Option<T>, Error>,
) -> Result<T, Error> {
    let deadline = Instant::now() + timeout;
    loop {
        // Looked at first, so that a probe is always made after the last moment that counts.
        let late = Instant::now() >= deadline;
        if let Some(answer) = probe()? {
            return Ok(answer);
        }
        if late {
            return Err(Error::NotInTime { what: what.to_owned(), waited: timeout, log: String::new() });
        }
        sleep(pause);
    }
}
