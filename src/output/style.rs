//! Whether to colour, and the few calm colours there are.

use std::env;

use clap::ValueEnum;

/// What `--color` was given.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Color {
    /// On a terminal, unless the environment says otherwise.
    #[default]
    Auto,
    Always,
    Never,
}

/// What the environment says about colour.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ColorEnv {
    pub no_color: Option<String>,
    pub clicolor: Option<String>,
    pub clicolor_force: Option<String>,
    pub term: Option<String>,
}

impl ColorEnv {
    /// As the process sees it. A value that is not UTF-8 is still a value.
    #[must_use]
    pub fn read() -> Self {
        let read = |name| env::var_os(name).map(|value| value.to_string_lossy().into_owned());
        Self {
            no_color: read("NO_COLOR"),
            clicolor: read("CLICOLOR"),
            clicolor_force: read("CLICOLOR_FORCE"),
            term: read("TERM"),
        }
    }
}

impl Color {
    /// Whether a stream is to be coloured. The flag wins over the environment (no-color.org, bixense.com/clicolors),
    /// and a refusal there wins over a wish.
    #[must_use]
    pub fn decide(self, env: &ColorEnv, is_terminal: bool) -> bool {
        let set = |value: &Option<String>| value.as_deref().is_some_and(|value| !value.is_empty());
        match self {
            Self::Always => true,
            Self::Never => false,
            Self::Auto if set(&env.no_color) => false,
            Self::Auto if set(&env.clicolor_force) && env.clicolor_force.as_deref() != Some("0") => true,
            Self::Auto => is_terminal && env.term.as_deref() != Some("dumb") && env.clicolor.as_deref() != Some("0"),
        }
    }
}

/// A colour with a meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tone {
    Plain,
    /// It will be lost, or it is wrong.
    Red,
    /// It stays, or it went well.
    Green,
    /// Worth a look.
    Yellow,
    /// Follows from something else.
    Dim,
}

impl Tone {
    /// The text in this colour; as it is when `color` is off.
    pub(super) fn paint(self, text: &str, color: bool) -> String {
        let code = match self {
            Self::Plain => "",
            Self::Red => "31",
            Self::Green => "32",
            Self::Yellow => "33",
            Self::Dim => "2",
        };
        if color && !code.is_empty() && !text.is_empty() {
            format!("\u{1b}[{code}m{text}\u{1b}[0m")
        } else {
            text.to_owned()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn env(pairs: &[(&str, &str)]) -> ColorEnv {
        let find = |name| pairs.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned());
        ColorEnv {
            no_color: find("NO_COLOR"),
            clicolor: find("CLICOLOR"),
            clicolor_force: find("CLICOLOR_FORCE"),
            term: find("TERM"),
        }
    }

    #[test]
    fn a_pipe_is_never_coloured_unless_forced() {
        assert!(!Color::Auto.decide(&env(&[("TERM", "xterm-256color")]), false));
        assert!(Color::Always.decide(&env(&[]), false));
        assert!(Color::Auto.decide(&env(&[("CLICOLOR_FORCE", "1")]), false));
        assert!(!Color::Auto.decide(&env(&[("CLICOLOR_FORCE", "0")]), false));
        assert!(!Color::Auto.decide(&env(&[("CLICOLOR_FORCE", "")]), false));
    }

    #[test]
    fn a_terminal_is_coloured_unless_the_environment_refuses() {
        assert!(Color::Auto.decide(&env(&[("TERM", "xterm")]), true));
        assert!(Color::Auto.decide(&env(&[("NO_COLOR", "")]), true), "empty counts as not set");
        for refusal in [("NO_COLOR", "1"), ("TERM", "dumb"), ("CLICOLOR", "0")] {
            assert!(!Color::Auto.decide(&env(&[refusal]), true), "{refusal:?}");
        }
        assert!(!Color::Auto.decide(&env(&[("NO_COLOR", "1"), ("CLICOLOR_FORCE", "1")]), true));
    }

    #[test]
    fn the_flag_wins_over_the_environment() {
        assert!(Color::Always.decide(&env(&[("NO_COLOR", "1"), ("TERM", "dumb")]), false));
        assert!(!Color::Never.decide(&env(&[("CLICOLOR_FORCE", "1")]), true));
    }

    #[test]
    fn without_colour_text_stays_as_it_is() {
        assert_eq!(Tone::Red.paint("delete", false), "delete");
        assert_eq!(Tone::Red.paint("delete", true), "\u{1b}[31mdelete\u{1b}[0m");
        assert_eq!(Tone::Plain.paint("delete", true), "delete");
    }
}
