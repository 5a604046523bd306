//! The question before anything is deleted, and when it may be asked at all.

use std::{
    fmt,
    io::{self, IsTerminal as _},
};

use dialoguer::console::{Key, Term};

use crate::output::{brief, escape};

/// Which of our streams are terminals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Terminals {
    /// An answer is taken from here; a pipe is never read as consent.
    pub stdin: bool,
    /// The question goes here.
    pub stderr: bool,
}

impl Terminals {
    /// As they are now.
    #[must_use]
    pub fn read() -> Self {
        Self { stdin: io::stdin().is_terminal(), stderr: io::stderr().is_terminal() }
    }
}

/// What may be done with the plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// Show it and ask.
    Ask,
    /// `--yes` was given: go on.
    Go,
    /// Nobody can be asked.
    Refuse,
}

impl Terminals {
    /// Whether somebody is there who can read a question and answer it.
    #[must_use]
    pub const fn can_ask(self) -> bool {
        self.stdin && self.stderr
    }
}

/// `--yes` is consent; without it somebody must be there who can read the question and answer it.
#[must_use]
pub const fn decide(terminals: Terminals, yes: bool) -> Decision {
    match (yes, terminals) {
        (true, _) => Decision::Go,
        (false, Terminals { stdin: true, stderr: true }) => Decision::Ask,
        (false, _) => Decision::Refuse,
    }
}

/// What is asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Question {
    /// `y` or `yes` is consent.
    YesNo { subject: String },
    /// Data is deleted too: only the application's name is consent.
    Name { app: String },
    /// Finalizers may be taken away: only the application's name is consent.
    Finalizers { app: String },
}

impl fmt::Display for Question {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::YesNo { subject } => {
                let subject = escape::line(subject);
                write!(f, "Purge {subject}? Nothing deleted can be brought back. [y/N] ")
            }
            Self::Name { app } => {
                let app = escape::line(app);
                write!(
                    f,
                    "Purge application \"{app}\" and its data? Nothing deleted can be brought back.\n\
                     Type the application's name to go on: "
                )
            }
            Self::Finalizers { app } => {
                let app = escape::line(app);
                write!(
                    f,
                    "Purge application \"{app}\" and take finalizers away from what is stuck? What they stood for may \
                     stay for ever.\nType the application's name to go on: "
                )
            }
        }
    }
}

impl Question {
    /// Whatever is not clearly consent is none.
    fn is_consent(&self, line: &str) -> bool {
        let line = line.trim();
        match self {
            Self::YesNo { .. } => line.eq_ignore_ascii_case("y") || line.eq_ignore_ascii_case("yes"),
            Self::Name { app } | Self::Finalizers { app } => !app.is_empty() && line == app,
        }
    }
}

/// How the question was answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    Yes,
    /// Anything else: another word, Enter alone, Escape, the end of the input, an error.
    No,
    /// Ctrl-C. It is read as a key, so no signal is raised and the caller goes on to end as it likes.
    Interrupted,
}

/// The terminal as it was before the question: a signal that ends the wait for an answer must not leave it raw.
#[derive(Debug)]
pub struct Saved {
    #[cfg(unix)]
    attributes: Option<rustix::termios::Termios>,
}

impl Saved {
    /// As it is now.
    #[must_use]
    pub fn of_stdin() -> Self {
        Self {
            #[cfg(unix)]
            attributes: rustix::termios::tcgetattr(io::stdin()).ok(),
        }
    }

    /// Puts it back. Where that is not possible there is nobody to tell.
    pub fn restore(&self) {
        #[cfg(unix)]
        if let Some(attributes) = &self.attributes {
            let _ = rustix::termios::tcsetattr(io::stdin(), rustix::termios::OptionalActions::Now, attributes);
        }
    }
}

/// Which of several instances is meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    pub app: String,
    /// Each with the number of its objects.
    pub instances: Vec<(String, usize)>,
}

impl fmt::Display for Choice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "\"{}\" means {} instances:", escape::line(&self.app), self.instances.len())?;
        for (name, count) in &self.instances {
            let objects = if *count == 1 { "object" } else { "objects" };
            writeln!(f, "  {}  {count} {objects}", brief(name))?;
        }
        f.write_str("Which one? (its name; Enter alone: none) ")
    }
}

/// What was chosen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Chosen {
    Instance(String),
    /// None of them, or something that is none.
    None,
    Interrupted,
}

/// Asks which instance is meant. Blocks, and wants a terminal, as [`ask`] does.
#[must_use]
pub fn choose(choice: &Choice) -> Chosen {
    match read_answer(&choice.to_string()) {
        Line::Entered(line) => {
            let name = choice.instances.iter().map(|(name, _)| name).find(|name| *name == line.trim());
            name.map_or(Chosen::None, |name| Chosen::Instance(name.clone()))
        }
        Line::Ended => Chosen::None,
        Line::Interrupted => Chosen::Interrupted,
    }
}

/// Asks on the terminal and waits for a line. Blocks: not for an async thread. To be called only after [`decide`] said
/// [`Decision::Ask`].
///
/// dialoguer's own prompts are not used: `Confirm` hides the cursor and leaves it hidden on Ctrl-C, takes the `y` of
/// any word for yes, and no prompt of it ends on Ctrl-D. Its terminal is.
#[must_use]
pub fn ask(question: &Question) -> Answer {
    match read_answer(&question.to_string()) {
        Line::Entered(line) if question.is_consent(&line) => Answer::Yes,
        Line::Entered(_) | Line::Ended => Answer::No,
        Line::Interrupted => Answer::Interrupted,
    }
}

/// Puts a question on the terminal and reads the line that answers it.
fn read_answer(question: &str) -> Line {
    let terminal = Term::stderr();
    // What was typed before the question stood there does not answer it.
    #[cfg(unix)]
    let _ = rustix::termios::tcflush(io::stdin(), rustix::termios::QueueSelector::IFlush);
    if terminal.write_str(question).is_err() {
        return Line::Ended;
    }
    let line = read_line(
        || terminal.read_key_raw(),
        |echo| match echo {
            Echo::Typed(character) => terminal.write_str(character.encode_utf8(&mut [0; 4])),
            Echo::Erased(columns) => terminal.clear_chars(columns),
        },
    );
    // The next output begins on its own line, whatever ended this one.
    let _ = terminal.write_str("\n");
    line
}

/// What the one who types is to see.
enum Echo {
    Typed(char),
    /// So many columns to the left are free again.
    Erased(usize),
}

/// How a line came to its end.
#[derive(Debug, PartialEq, Eq)]
enum Line {
    Entered(String),
    Ended,
    Interrupted,
}

const CTRL_D: char = '\u{4}';
const CTRL_U: char = '\u{15}';

fn read_line(mut key: impl FnMut() -> io::Result<Key>, mut echo: impl FnMut(Echo) -> io::Result<()>) -> Line {
    let mut line = String::new();
    loop {
        let shown = match key() {
            Ok(Key::Enter) => return Line::Entered(line),
            Ok(Key::CtrlC) => return Line::Interrupted,
            // A terminal that hung up is an end as well.
            Ok(Key::Escape) | Err(_) => return Line::Ended,
            Ok(Key::Char(CTRL_D)) if line.is_empty() => return Line::Ended,
            Ok(Key::Char(CTRL_U)) => erase(&mut line, usize::MAX),
            Ok(Key::Backspace) => erase(&mut line, 1),
            Ok(Key::Char(character)) if !escape::is_harmful(character) => {
                line.push(character);
                Echo::Typed(character)
            }
            Ok(_) => continue,
        };
        if echo(shown).is_err() {
            return Line::Ended;
        }
    }
}

/// Takes the last characters off the line, at most so many.
fn erase(line: &mut String, most: usize) -> Echo {
    let keep = line.chars().count().saturating_sub(most);
    let at = line.char_indices().nth(keep).map_or(line.len(), |(at, _)| at);
    let erased = line.split_off(at);
    Echo::Erased(unicode_width::UnicodeWidthStr::width(erased.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn typed(keys: impl IntoIterator<Item = Key>) -> (Line, String) {
        let mut keys = keys.into_iter();
        let mut screen = String::new();
        let line = read_line(
            || keys.next().ok_or_else(|| io::ErrorKind::UnexpectedEof.into()),
            |echo| {
                match echo {
                    Echo::Typed(character) => screen.push(character),
                    Echo::Erased(columns) => screen.push_str(&"<".repeat(columns)),
                }
                Ok(())
            },
        );
        (line, screen)
    }

    fn keys(text: &str) -> Vec<Key> {
        text.chars().map(|character| if character == '\n' { Key::Enter } else { Key::Char(character) }).collect()
    }

    #[test]
    fn only_a_terminal_on_both_sides_is_asked() {
        for (stdin, stderr, yes, decision) in [
            (true, true, false, Decision::Ask),
            (false, true, false, Decision::Refuse),
            (true, false, false, Decision::Refuse),
            (false, false, false, Decision::Refuse),
            (true, true, true, Decision::Go),
            (false, false, true, Decision::Go),
        ] {
            assert_eq!(decide(Terminals { stdin, stderr }, yes), decision, "{stdin} {stderr} {yes}");
        }
    }

    #[test]
    fn only_y_and_yes_are_consent() {
        let question = Question::YesNo { subject: "application \"demo\"".into() };
        for line in ["y", "Y", "yes", "YES", " yes "] {
            assert!(question.is_consent(line), "{line}");
        }
        for line in ["", "n", "no", "yep", "yy", "maybe yes", "demo", "j", "ｙ"] {
            assert!(!question.is_consent(line), "{line}");
        }
    }

    #[test]
    fn only_the_exact_name_is_consent_where_data_goes() {
        let question = Question::Name { app: "demo".into() };
        assert!(question.is_consent("demo"));
        for line in ["", "y", "yes", "Demo", "demo2", "dem"] {
            assert!(!question.is_consent(line), "{line}");
        }
        assert!(!Question::Name { app: String::new() }.is_consent(""));
    }

    #[test]
    fn the_questions_are_as_designed_and_escaped() {
        assert_eq!(
            Question::YesNo { subject: "application \"demo\"".into() }.to_string(),
            "Purge application \"demo\"? Nothing deleted can be brought back. [y/N] "
        );
        assert_eq!(
            Question::Name { app: "de\u{1b}mo".into() }.to_string(),
            "Purge application \"de\\u{1b}mo\" and its data? Nothing deleted can be brought back.\n\
             Type the application's name to go on: "
        );
    }

    #[test]
    fn a_line_is_typed_seen_and_entered() {
        assert_eq!(typed(keys("yes\n")), (Line::Entered("yes".into()), "yes".into()));
        assert_eq!(typed(keys("\n")), (Line::Entered(String::new()), String::new()));
    }

    #[test]
    fn what_was_typed_can_be_taken_back() {
        let line = typed([Key::Char('y'), Key::Backspace, Key::Backspace, Key::Char('n'), Key::Enter]);
        assert_eq!(line, (Line::Entered("n".into()), "y<n".into()));
        assert_eq!(typed(keys("ja日\u{15}n\n")), (Line::Entered("n".into()), "ja日<<<<n".into()));
    }

    #[test]
    fn ctrl_c_ctrl_d_escape_and_the_end_of_the_input_end_the_question() {
        assert_eq!(typed([Key::Char('y'), Key::CtrlC]).0, Line::Interrupted);
        assert_eq!(typed([Key::Char('y'), Key::Escape]).0, Line::Ended);
        assert_eq!(typed(keys("\u{4}")).0, Line::Ended);
        assert_eq!(typed(keys("y")).0, Line::Ended, "typed but never entered");
    }

    #[test]
    fn other_keys_do_nothing() {
        let line =
            typed([Key::ArrowUp, Key::Tab, Key::Char('\u{1}'), Key::Char('\u{202e}'), Key::Char('y'), Key::Enter]);
        assert_eq!(line, (Line::Entered("y".into()), "y".into()));
    }
}
