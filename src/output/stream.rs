//! Where text leaves the program.

use std::{
    io::{self, ErrorKind, Write as _},
    sync::atomic::{AtomicBool, Ordering},
};

/// Writes a result. A reader that has gone away (`| head`) is no error: it has seen what it wanted.
pub fn to_stdout(text: &str) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        result => result,
    }
}

/// Prints a result. A reader that has gone away is no reason to stop; a result that is lost in any other way is told,
/// and remembered.
pub fn print(text: &str) {
    if let Err(error) = to_stdout(text) {
        to_stderr(&format!("error: the result could not be written: {error}\n"));
        LOST.store(true, Ordering::Relaxed);
    }
}

/// Whether a result was lost: that is no success, whatever was done.
#[must_use]
pub fn has_lost_a_result() -> bool {
    LOST.load(Ordering::Relaxed)
}

static LOST: AtomicBool = AtomicBool::new(false);

/// Says something beside the result. Where nobody can hear it the run goes on all the same.
pub fn to_stderr(text: &str) {
    let mut stderr = io::stderr().lock();
    let _ = stderr.write_all(text.as_bytes()).and_then(|()| stderr.flush());
}
