//! How wide a terminal is.

use std::{env, io};

use terminal_size::{Height, Width, terminal_size_of};

/// Columns of the terminal that standard output is; none where it is none, so that nothing there is ever wrapped.
/// `COLUMNS` wins over what the terminal says, as for kubectl.
#[must_use]
pub fn of_stdout() -> Option<usize> {
    decide(env::var("COLUMNS").ok().as_deref(), terminal_size_of(io::stdout()).map(columns))
}

/// Columns of the terminal that standard error is, as the terminal itself says: what is redrawn there must fit it.
#[must_use]
pub fn of_stderr() -> Option<usize> {
    decide(None, terminal_size_of(io::stderr()).map(columns))
}

fn columns((width, _): (Width, Height)) -> usize {
    usize::from(width.0)
}

fn decide(columns: Option<&str>, terminal: Option<usize>) -> Option<usize> {
    let terminal = terminal?;
    columns.and_then(|columns| columns.trim().parse().ok()).or(Some(terminal)).filter(|width| *width > 0)
}

#[cfg(test)]
mod tests {
    use super::decide;

    #[test]
    fn columns_wins_on_a_terminal_and_means_nothing_in_a_pipe() {
        assert_eq!(decide(None, Some(80)), Some(80));
        assert_eq!(decide(Some("132"), Some(80)), Some(132));
        assert_eq!(decide(Some("wide"), Some(80)), Some(80));
        assert_eq!(decide(Some("-1"), Some(80)), Some(80));
        assert_eq!(decide(Some("132"), None), None);
        assert_eq!(decide(None, Some(0)), None, "a terminal that does not know its width");
        assert_eq!(decide(Some("0"), Some(80)), None);
    }
}
