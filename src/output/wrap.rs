//! Breaking text into lines where a reader would.

use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

use super::escape;

/// Columns of what others say of one thing: as many as the server's words have characters at most. What is longer would
/// push what stands above it out of sight; documents (`-o json`) have it in full.
const LONGEST: usize = 2000;

/// Lines of at most `width` columns. Breaks at spaces; a word too long for a line breaks after `/`, `-` and the like,
/// and only a piece too long even then breaks anywhere. Nothing but the spaces at the breaks is lost.
pub(crate) fn wrap(text: &str, width: usize) -> Vec<String> {
    let width = width.max(1);
    let mut lines = vec![String::new()];
    let mut used = 0;
    for (index, word) in text.split(' ').enumerate() {
        let gap = usize::from(index > 0);
        if used + gap + word.width() <= width {
            push(&mut lines, if gap == 1 { " " } else { "" });
            push(&mut lines, word);
            used += gap + word.width();
            continue;
        }
        let mut pieces = if word.width() <= width { vec![word] } else { pieces(word, width) };
        // A long word begins on the line that is already there if its first piece fits.
        if gap == 1 && pieces.len() > 1 && used + 1 + pieces[0].width() <= width {
            push(&mut lines, " ");
            push(&mut lines, pieces.remove(0));
            used = lines.last().map_or(0, |line| line.width());
        } else if used > 0 {
            lines.push(String::new());
            used = 0;
        }
        for piece in pieces {
            if used + piece.width() > width && used > 0 {
                lines.push(String::new());
                used = 0;
            }
            for character in piece.chars() {
                let columns = character.width().unwrap_or(0);
                if used + columns > width && used > 0 {
                    lines.push(String::new());
                    used = 0;
                }
                push(&mut lines, character.encode_utf8(&mut [0; 4]));
                used += columns;
            }
        }
    }
    lines
}

/// Prose for a terminal of `width` columns: its further lines are indented. Without a width it stays one line.
pub(super) fn prose(text: &str, width: Option<usize>) -> String {
    const INDENT: &str = "  ";
    match width {
        Some(width) if text.width() > width && width > 20 => {
            let lines = wrap(text, width - INDENT.len());
            lines.join(&format!("\n{INDENT}"))
        }
        _ => text.to_owned(),
    }
}

/// Others' words about one thing: harmless, and no more of them than people read.
pub(crate) fn brief(text: &str) -> String {
    cut(&escape::line(text), LONGEST)
}

/// At most so many columns of a text, and not many characters without any; where that is not all, its end says so.
pub(super) fn cut(text: &str, columns: usize) -> String {
    const END: &str = "...";
    let longest = 4 * columns;
    if text.len() <= columns || text.len() <= longest && text.width() <= columns {
        return text.to_owned();
    }
    let mut used = END.len();
    let mut end = 0;
    for (index, character) in text.char_indices() {
        used += character.width().unwrap_or(0);
        if used > columns || index + END.len() >= longest {
            break;
        }
        end = index + character.len_utf8();
    }
    format!("{}{END}", &text[..end])
}

fn push(lines: &mut [String], text: &str) {
    if let Some(line) = lines.last_mut() {
        line.push_str(text);
    }
}

/// A word, cut after each character that ends a part of it; a part too long for a line is cut at its own joints.
fn pieces(word: &str, width: usize) -> Vec<&str> {
    let parts = word.split_inclusive(['/', '=', ':', ',', '@']);
    parts
        .flat_map(|part| {
            let fits = part.width() <= width;
            if fits { vec![part] } else { part.split_inclusive(['-', '.', '_']).collect() }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_break_at_spaces_first() {
        assert_eq!(wrap("selects only this application's pods", 19), ["selects only this", "application's pods"]);
        assert_eq!(wrap("label app=demo", 14), ["label app=demo"]);
        assert_eq!(wrap("label app=demo", 13), ["label", "app=demo"]);
        assert_eq!(wrap("", 10), [""]);
    }

    #[test]
    fn a_word_that_fits_a_line_stays_whole() {
        assert_eq!(wrap("of the-whole-word", 15), ["of", "the-whole-word"]);
    }

    #[test]
    fn long_words_break_at_their_joints() {
        assert_eq!(wrap("owned by Deployment/deployment-demo", 20), ["owned by Deployment/", "deployment-demo"]);
        assert_eq!(wrap("owned by Deployment/deployment-demo", 19), ["owned by", "Deployment/", "deployment-demo"]);
        assert_eq!(wrap("label app.example.io/name=my-app", 22), ["label app.example.io/", "name=my-app"]);
        assert_eq!(wrap("my-app-of-many-words", 12), ["my-app-of-", "many-words"]);
        assert_eq!(wrap("abcdefghij", 4), ["abcd", "efgh", "ij"]);
    }

    #[test]
    fn what_is_cut_says_so() {
        assert_eq!(cut("abcde", 5), "abcde");
        assert_eq!(cut("abcdef", 5), "ab...");
        assert_eq!(cut("日本語", 5), "日...");
        assert!(cut(&"a\u{301}".repeat(1000), 10).len() < 60);
        assert!(cut(&"\u{301}".repeat(100_000), 10).len() < 60);
        assert_eq!(brief("one\ntwo \u{1b}[2J"), "one two \\u{1b}[2J");
        assert_eq!(brief(&"\u{1b}".repeat(100_000)).len(), LONGEST);
    }

    #[test]
    fn wide_characters_count_double() {
        assert_eq!(wrap("日本語日本語", 6), ["日本語", "日本語"]);
        assert_eq!(wrap("日本", 1), ["日", "本"], "what cannot fit is still shown");
    }

    #[test]
    fn no_line_is_too_wide_and_nothing_is_lost() {
        let text = "owned by ReplicaSet/a-very-long-name.of-some_thing=else, finalizer example.com/hold  x";
        for width in 1..100 {
            let lines = wrap(text, width);
            assert!(lines.iter().all(|line| line.width() <= width), "{width}: {lines:?}");
            assert_eq!(lines.concat().replace(' ', ""), text.replace(' ', ""), "{width}");
        }
    }
}
