//! Randomness from the operating system: tokens and names that nobody can guess.

use std::fmt::Write as _;
use std::fs::File;
use std::io::Read as _;

use crate::error::{Doing as _, Error};

/// `bytes` random bytes as lower-case hex.
///
/// Another control plane may be running beside this one, on ports that were this one's a moment
/// ago: a token it could know would make a test talk to the wrong cluster.
pub(crate) fn hex(bytes: usize) -> Result<String, Error> {
    let mut buffer = vec![0; bytes];
    File::open("/dev/urandom")
        .and_then(|mut source| source.read_exact(&mut buffer))
        .doing(|| "read random bytes from /dev/urandom".to_owned())?;
    Ok(buffer.iter().fold(String::new(), |mut hex, byte| {
        let _ = write!(hex, "{byte:02x}");
        hex
    }))
}
