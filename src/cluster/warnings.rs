//! The server's `Warning:` headers, each told once.

use std::sync::Mutex;

use super::request::short;

/// Who has more to say is not worth listening to, or means to fill the screen.
const MOST: usize = 50;

/// Warnings of one run, in the order they came, without repetition.
#[derive(Debug, Default)]
pub struct Warnings {
    seen: Mutex<(Vec<String>, usize)>,
}

impl Warnings {
    /// Takes the header's value: `299 - "text"` (RFC 9111 §5.5, as the API server writes it).
    pub(super) fn add(&self, header: &str) {
        let text = header.splitn(3, ' ').nth(2).unwrap_or(header).trim().trim_matches('"').replace("\\\"", "\"");
        let text = short(text);
        if let Ok(mut seen) = self.seen.lock()
            && seen.0.len() < MOST
            && !seen.0.contains(&text)
        {
            seen.0.push(text);
        }
    }

    /// Those that have not been taken yet.
    #[must_use]
    pub fn take(&self) -> Vec<String> {
        self.seen.lock().map_or_else(
            |_| Vec::new(),
            |mut seen| {
                let new = seen.0[seen.1..].to_vec();
                seen.1 = seen.0.len();
                new
            },
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_warning_is_told_once() {
        let warnings = Warnings::default();
        warnings.add(r#"299 - "child pods are preserved by default""#);
        warnings.add(r#"299 - "child pods are preserved by default""#);
        assert_eq!(warnings.take(), ["child pods are preserved by default"]);
        warnings.add(r#"299 - "child pods are preserved by default""#);
        assert!(warnings.take().is_empty());
    }

    #[test]
    fn warnings_come_to_an_end() {
        let warnings = Warnings::default();
        for number in 0..200 {
            warnings.add(&format!("299 - \"{number}{}\"", "x".repeat(9000)));
        }
        let told = warnings.take();
        assert_eq!(told.len(), MOST);
        assert!(told.iter().all(|text| text.len() < 2010));
    }
}
