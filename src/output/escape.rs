//! Text from the cluster or the kubeconfig is made harmless before it reaches a terminal.
//!
//! Names, labels and messages are other people's. What a terminal would obey (control characters, escape
//! sequences), what changes how the rest of the line reads (bidirectional controls) and what cannot be seen
//! (zero-width and other format characters) is written as `\u{1b}` and the like: visible, and without effect.

use std::{borrow::Cow, fmt::Write as _};

/// One line of text that may be shown: line breaks and tabs fold to one space, at the end to nothing; whatever a
/// terminal would obey or hide becomes a visible escape.
#[must_use]
pub fn line(text: &str) -> Cow<'_, str> {
    if !text.contains(is_harmful) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    let mut characters = text.trim_matches(is_break).chars().peekable();
    while let Some(character) = characters.next() {
        if is_break(character) && (character != '\r' || characters.peek() == Some(&'\n')) {
            while characters.next_if(|next| is_break(*next)).is_some() {}
            if !shown.ends_with(' ') {
                shown.push(' ');
            }
        } else if is_harmful(character) {
            // Writing to a String cannot fail.
            let _ = write!(shown, "{}", character.escape_unicode());
        } else {
            shown.push(character);
        }
    }
    Cow::Owned(shown)
}

/// Whether a character acts on the terminal, reorders text, or cannot be seen.
#[must_use]
pub fn is_harmful(character: char) -> bool {
    // Nothing printable below U+007F, and most text is just that.
    if character.is_ascii() {
        return character.is_ascii_control();
    }
    let code = u32::from(character);
    HARMFUL
        .binary_search_by(|(first, last)| {
            if *last < code {
                std::cmp::Ordering::Less
            } else if *first > code {
                std::cmp::Ordering::Greater
            } else {
                std::cmp::Ordering::Equal
            }
        })
        .is_ok()
}

/// What separates lines or columns in honest text. A lone carriage return is not honest: it hides what stands
/// before it.
const fn is_break(character: char) -> bool {
    matches!(character, '\n' | '\r' | '\t')
}

/// Beyond ASCII, sorted: C1 controls; the whole category Cf (format: bidi controls, zero-width characters, the byte
/// order mark, tags); line and paragraph separators; and what Unicode calls default-ignorable: fillers, variation
/// selectors, and the code points reserved for more of them.
const HARMFUL: &[(u32, u32)] = &[
    (0x0080, 0x009f),
    (0x00ad, 0x00ad),
    (0x034f, 0x034f),
    (0x0600, 0x0605),
    (0x061c, 0x061c),
    (0x06dd, 0x06dd),
    (0x070f, 0x070f),
    (0x0890, 0x0891),
    (0x08e2, 0x08e2),
    (0x115f, 0x1160),
    (0x17b4, 0x17b5),
    (0x180b, 0x180f),
    (0x200b, 0x200f),
    (0x2028, 0x202e),
    (0x2060, 0x206f),
    (0x3164, 0x3164),
    (0xfe00, 0xfe0f),
    (0xfeff, 0xfeff),
    (0xffa0, 0xffa0),
    (0xfff0, 0xfffb),
    (0x0001_10bd, 0x0001_10bd),
    (0x0001_10cd, 0x0001_10cd),
    (0x0001_3430, 0x0001_343f),
    (0x0001_bca0, 0x0001_bca3),
    (0x0001_d173, 0x0001_d17a),
    (0x000e_0000, 0x000e_0fff),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ordinary_text_is_borrowed() {
        for text in ["", "deployment-demo", "größer · 3 pods → 0", "日本語", "a\u{301}", "back\\slash", "two  spaces "]
        {
            assert!(matches!(line(text), Cow::Borrowed(same) if same == text), "{text}");
        }
    }

    #[test]
    fn what_a_terminal_would_obey_becomes_visible() {
        for (text, shown) in [
            ("\u{1b}[31mred", "\\u{1b}[31mred"),
            ("\u{1b}]0;title\u{7}", "\\u{1b}]0;title\\u{7}"),
            ("\u{9b}2J", "\\u{9b}2J"),
            ("gone\rkept", "gone\\u{d}kept"),
            ("a\u{8}b\u{7f}", "a\\u{8}b\\u{7f}"),
            ("\0", "\\u{0}"),
        ] {
            assert_eq!(line(text), shown);
        }
    }

    #[test]
    fn what_reorders_or_hides_becomes_visible() {
        for hidden in [
            '\u{202e}',
            '\u{2066}',
            '\u{200b}',
            '\u{200d}',
            '\u{feff}',
            '\u{2028}',
            '\u{2029}',
            '\u{fe0f}',
            '\u{ad}',
            '\u{e0041}',
            '\u{e0100}',
            '\u{61c}',
            '\u{2060}',
            '\u{180e}',
            '\u{3164}',
        ] {
            assert_eq!(line(&format!("a{hidden}b")), format!("a{}b", hidden.escape_unicode()));
        }
    }

    #[test]
    fn line_breaks_fold_to_one_space() {
        for (text, shown) in [
            ("one\ntwo", "one two"),
            ("one\r\ntwo", "one two"),
            ("one\n\n\ttwo\n", "one two"),
            ("one \n two", "one  two"),
            ("\n", ""),
            ("name\tvalue", "name value"),
        ] {
            assert_eq!(line(text), shown);
        }
    }

    #[test]
    fn the_table_of_ranges_is_sorted_and_disjoint() {
        assert!(HARMFUL.iter().all(|(first, last)| first <= last));
        assert!(HARMFUL.windows(2).all(|pair| pair[0].1 < pair[1].0));
    }

    #[test]
    fn nothing_harmful_survives_whatever_the_character() {
        for character in '\0'..=char::MAX {
            let text = format!("a{character}b");
            let shown = line(&text);
            assert!(!shown.contains(is_harmful), "{character:?}");
            assert!(!shown.contains(char::is_control), "{character:?}");
            assert_eq!(line(&shown), shown, "escaping twice changes nothing: {character:?}");
        }
    }
}
