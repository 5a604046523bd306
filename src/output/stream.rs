//! Where text leaves the program.

use std::io::{self, ErrorKind, Write as _};

/// Writes a result. A reader that has gone away (`| head`) is no error: it has seen what it wanted.
pub fn to_stdout(text: &str) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        result => result,
    }
}

/// Says something beside the result. Where nobody can hear it the run goes on all the same.
pub fn to_stderr(text: &str) {
    let mut stderr = io::stderr().lock();
    let _ = stderr.write_all(text.as_bytes()).and_then(|()| stderr.flush());
}
