//! What another program says on its standard error, on ours: made harmless, and not without end.

use std::{
    io::{BufRead as _, BufReader, Read},
    sync::mpsc::{Receiver, channel},
    thread,
    time::Duration,
};

use super::{escape, stream};

/// The longest line that is passed on whole.
const LONGEST_LINE: u64 = 8 << 10;
/// What is passed on in all; whoever says more has no end.
const MOST: usize = 256 << 10;
/// How long the last words are waited for, once the program itself has ended: what it has left running may hold the
/// pipe open for good.
const LAST_WORDS: Duration = Duration::from_millis(300);

/// Something that is being passed on.
#[derive(Debug)]
pub(crate) struct Relay(Receiver<()>);

impl Relay {
    /// Waits for the rest of it, for a moment.
    pub(crate) fn end(self) {
        // Nothing is ever sent: the sender goes when the end is reached.
        let _ = self.0.recv_timeout(LAST_WORDS);
    }
}

/// Passes on, line by line, in a thread of its own.
pub(crate) fn to_stderr(words: impl Read + Send + 'static) -> Relay {
    let (sender, receiver) = channel();
    thread::spawn(move || {
        pass_on(words, stream::to_stderr);
        drop(sender);
    });
    Relay(receiver)
}

/// Reads to the end, whatever of it is passed on: a pipe that nobody empties would stop the other program.
fn pass_on(words: impl Read, mut tell: impl FnMut(&str)) {
    let mut words = BufReader::new(words);
    let mut told = 0;
    loop {
        let mut line = Vec::new();
        match words.by_ref().take(LONGEST_LINE).read_until(b'\n', &mut line) {
            Ok(0) | Err(_) => return,
            Ok(count) if told > MOST => told = told.saturating_add(count),
            Ok(count) => {
                told += count;
                tell(&format!("{}\n", escape::line(String::from_utf8_lossy(&line).trim_end())));
                if told > MOST {
                    tell("(what it says goes on, and is not shown)\n");
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn passed_on(words: &[u8]) -> String {
        let mut told = String::new();
        pass_on(words, |line| told.push_str(line));
        told
    }

    #[test]
    fn words_are_passed_on_line_by_line_and_harmless() {
        assert_eq!(passed_on(b"log in\r\nhere\n"), "log in\nhere\n");
        assert_eq!(passed_on(b"without an end"), "without an end\n");
        assert_eq!(passed_on(b"\x1b]52;c;eA==\x07\xff\n"), "\\u{1b}]52;c;eA==\\u{7}\u{fffd}\n");
    }

    #[test]
    fn who_never_ends_is_not_passed_on_for_ever() {
        let told = passed_on(&b"x".repeat(4 * MOST));
        assert!(
            told.len() < 2 * MOST && told.ends_with("(what it says goes on, and is not shown)\n"),
            "{}",
            told.len()
        );
        assert!(told.lines().all(|line| line.len() as u64 <= LONGEST_LINE));
    }
}
