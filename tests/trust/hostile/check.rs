//! What holds for everything that the program prints.

use kubectl_purge::output::escape::is_harmful;
use unicode_width::UnicodeWidthStr as _;

use crate::harness::Run;

/// The sequences of our own colours.
pub const COLOURS: [&str; 5] = ["\u{1b}[31m", "\u{1b}[32m", "\u{1b}[33m", "\u{1b}[2m", "\u{1b}[0m"];

/// No control byte but newlines, nothing that reorders or hides, and with `colour` our own colours.
#[track_caller]
pub fn harmless(run: &Run, colour: bool) {
    for (stream, text) in [("stdout", &run.stdout), ("stderr", &run.stderr)] {
        let plain = if colour { without_colours(text) } else { text.clone() };
        for line in plain.lines() {
            let found = line.chars().find(|character| is_harmful(*character));
            assert_eq!(found, None, "on {stream}: {line:?}");
        }
        // `lines` has taken the newlines, and with them a carriage return that stood before one.
        assert!(!plain.contains('\r'), "a carriage return on {stream}");
        assert!(!plain.contains("panicked"), "{plain}");
    }
}

fn without_colours(text: &str) -> String {
    COLOURS.iter().fold(text.to_owned(), |text, sequence| text.replace(sequence, ""))
}

/// In the table each cell begins under its heading. Gives the number of rows.
#[track_caller]
pub fn aligned(plan: &str) -> usize {
    let plan = without_colours(plan);
    let mut lines = plan.lines().skip_while(|line| !line.starts_with("ACTION "));
    let Some(header) = lines.next() else { return 0 };
    let columns: Vec<usize> = ["KIND", "NAME", "WHY", "NOW"].iter().filter_map(|word| header.find(word)).collect();
    assert!(columns.len() >= 3, "{header}");
    let mut rows = 0;
    for row in lines.take_while(|line| !line.is_empty()) {
        for column in &columns {
            let cells = split(row, *column);
            let Some((before, _)) = cells else { continue };
            assert!(before.ends_with("  "), "no gap before column {column} of {row:?} under\n{header}");
        }
        rows += 1;
    }
    rows
}

/// What stands before a column, and from it on; none where the row ends before it. A character across the column is
/// counted as before it, and so ends in no gap.
fn split(row: &str, column: usize) -> Option<(&str, &str)> {
    let mut at = 0;
    for (index, _) in row.char_indices() {
        at = index;
        if row[..index].width() >= column {
            return Some(row.split_at(index));
        }
    }
    (row[..at].width() >= column).then(|| row.split_at(at))
}

/// Nothing of what is secret is said, on either stream.
#[track_caller]
pub fn silent_about(run: &Run, secrets: &[&str]) {
    for secret in secrets {
        for (stream, text) in [("stdout", &run.stdout), ("stderr", &run.stderr)] {
            assert!(!text.contains(secret), "{secret} on {stream}:\n{text}");
        }
    }
}
