//! How text is to look on the stream that it goes to.

use std::{env, io, io::IsTerminal as _};

use super::{Color, ColorEnv, width};

/// What a rendering needs to know of its stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Look {
    /// Columns to fit into; none: nothing is wrapped or shortened.
    pub width: Option<usize>,
    pub color: bool,
    /// Whether signs beyond ASCII may be used.
    pub unicode: bool,
    /// Whether to show every object, as with `-o wide`.
    pub wide: bool,
}

impl Look {
    /// For standard output.
    #[must_use]
    pub fn of_stdout(color: Color, wide: bool) -> Self {
        let color = color.decide(&ColorEnv::read(), io::stdout().is_terminal());
        Self { width: width::of_stdout(), color, unicode: unicode(), wide }
    }

    /// For standard error, where the plan goes when standard output is kept for a document.
    #[must_use]
    pub fn of_stderr(color: Color, wide: bool) -> Self {
        let color = color.decide(&ColorEnv::read(), io::stderr().is_terminal());
        Self { width: width::of_stderr(), color, unicode: unicode(), wide }
    }
}

/// Whether the locale says UTF-8. Windows' console takes UTF-8 from us whatever the locale.
#[must_use]
pub fn unicode() -> bool {
    cfg!(windows) || is_utf8(|name| env::var(name).ok())
}

/// The first of the three that is set and not empty decides, as POSIX has it.
fn is_utf8(read: impl Fn(&str) -> Option<String>) -> bool {
    ["LC_ALL", "LC_CTYPE", "LANG"]
        .iter()
        .filter_map(|name| read(name))
        .find(|value| !value.is_empty())
        .map(|value| value.to_ascii_lowercase())
        .is_some_and(|value| value.contains("utf-8") || value.contains("utf8"))
}

#[cfg(test)]
mod tests {
    use super::is_utf8;

    #[test]
    fn the_strongest_locale_variable_decides() {
        let utf8 = |pairs: &[(&str, &str)]| {
            is_utf8(|name| pairs.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned()))
        };
        assert!(utf8(&[("LANG", "en_US.UTF-8")]));
        assert!(utf8(&[("LC_ALL", "C.utf8"), ("LANG", "C")]));
        assert!(utf8(&[("LC_ALL", ""), ("LANG", "de_DE.UTF-8")]));
        assert!(!utf8(&[("LC_ALL", "C"), ("LANG", "en_US.UTF-8")]));
        assert!(!utf8(&[("LANG", "de_DE.ISO-8859-1")]));
        assert!(!utf8(&[]));
    }
}
