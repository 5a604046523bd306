//! What the word under the cursor can be, by the words before it. Pure.

use clap::{Arg, Command, ValueHint};

use super::Candidate;
use crate::{cluster::flags::HEADING, plan::APP_LABELS};

/// A line so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Line {
    pub(super) wanted: Wanted,
    /// What is typed of the word already.
    pub(super) prefix: String,
    /// The connection flags so far, each as one word, for the parser of the real command line.
    pub(super) connection: Vec<String>,
}

/// What could stand there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum Wanted {
    /// One of these.
    Known(Vec<Candidate>),
    Files,
    Folders,
    Namespaces,
    Contexts,
    Clusters,
    Users,
    /// An application's name, or `TYPE/NAME`.
    Application,
    /// `TYPE/NAME` of whatever can be in a plan.
    Object,
    /// Nothing that could be known.
    #[default]
    Nothing,
}

/// Reads the words; the last is the one to complete. `command` has been built, so that it knows its global flags.
pub(super) fn read(command: &Command, words: &[String]) -> Line {
    let (word, before) = words.split_last().map_or(("", &[][..]), |(word, before)| (word.as_str(), before));
    let mut state =
        State { command, waiting: None, positionals: 0, flags_ended: false, given: Vec::new(), line: Line::default() };
    for word in before {
        state.take(word);
    }
    state.complete(word);
    state.line
}

struct State<'a> {
    command: &'a Command,
    /// The flag whose value the next word is.
    waiting: Option<&'a Arg>,
    positionals: usize,
    /// After `--`.
    flags_ended: bool,
    given: Vec<&'a str>,
    line: Line,
}

impl<'a> State<'a> {
    fn take(&mut self, word: &str) {
        if let Some(flag) = self.waiting.take() {
            self.note(flag, Some(word));
        } else if self.flags_ended {
            self.positionals += 1;
        } else if word == "--" {
            self.flags_ended = true;
        } else if let Some(flag) = word.strip_prefix("--") {
            let (name, value) = flag.split_once('=').map_or((flag, None), |(name, value)| (name, Some(value)));
            if let Some(flag) = self.long(name) {
                self.take_flag(flag, value);
            }
        } else if let Some(letters) = word.strip_prefix('-').filter(|letters| !letters.is_empty()) {
            self.take_letters(letters);
        } else if let Some(subcommand) = self.subcommand(word) {
            self.command = subcommand;
        } else {
            self.positionals += 1;
        }
    }

    /// `-y`, `-nshop`, `-n=shop`, `-yn shop`.
    fn take_letters(&mut self, letters: &str) {
        for (index, letter) in letters.char_indices() {
            let Some(flag) = self.command.get_arguments().find(|flag| flag.get_short() == Some(letter)) else { return };
            if takes_value(flag) {
                let rest = &letters[index + letter.len_utf8()..];
                let value = rest.strip_prefix('=').unwrap_or(rest);
                self.take_flag(flag, Some(value).filter(|value| !value.is_empty()));
                return;
            }
            self.note(flag, None);
        }
    }

    fn take_flag(&mut self, flag: &'a Arg, value: Option<&str>) {
        // A flag that takes its value only after an equals sign takes no other word.
        if value.is_none() && takes_value(flag) && !flag.is_require_equals_set() {
            self.waiting = Some(flag);
        } else {
            self.note(flag, value);
        }
    }

    fn note(&mut self, flag: &'a Arg, value: Option<&str>) {
        self.given.push(flag.get_id().as_str());
        if flag.get_help_heading() == Some(HEADING)
            && let Some(name) = flag.get_long()
        {
            self.line.connection.push(value.map_or(format!("--{name}"), |value| format!("--{name}={value}")));
        }
    }

    fn complete(&mut self, word: &str) {
        let (wanted, prefix) = if let Some(flag) = self.waiting {
            (value_of(flag), word)
        } else if self.flags_ended || !word.starts_with('-') {
            (self.word(), word)
        } else if let Some((name, value)) = word.strip_prefix("--").and_then(|flag| flag.split_once('=')) {
            (self.long(name).map_or(Wanted::Nothing, value_of), value)
        } else {
            (self.flags(), word)
        };
        (self.line.wanted, self.line.prefix) = (wanted, prefix.to_owned());
    }

    /// A word that is no flag.
    fn word(&self) -> Wanted {
        let positional = self.command.get_positionals().nth(self.positionals);
        match positional {
            Some(name) if name.get_id() == "name" && self.given.contains(&"selector") => Wanted::Nothing,
            Some(positional) => value_of(positional),
            None if self.command.has_subcommands() && self.positionals == 0 => {
                let visible = self.command.get_subcommands().filter(|subcommand| !subcommand.is_hide_set());
                let about = |command: &Command| command.get_about().map(ToString::to_string).unwrap_or_default();
                Wanted::Known(visible.map(|command| Candidate::new(command.get_name(), about(command))).collect())
            }
            None => Wanted::Nothing,
        }
    }

    /// The flags that are not given yet, or may be repeated.
    fn flags(&self) -> Wanted {
        let repeated = |flag: &Arg| matches!(flag.get_action(), clap::ArgAction::Append);
        let open = |flag: &&Arg| repeated(flag) || !self.given.contains(&flag.get_id().as_str());
        let flags = self.command.get_opts().chain(self.switches()).filter(|flag| !flag.is_hide_set()).filter(open);
        let mut flags: Vec<Candidate> = flags
            .filter_map(|flag| {
                let help = flag.get_help().map(ToString::to_string).unwrap_or_default();
                Some(Candidate::new(format!("--{}", flag.get_long()?), help))
            })
            .collect();
        flags.sort();
        Wanted::Known(flags)
    }

    fn switches(&self) -> impl Iterator<Item = &'a Arg> {
        self.command.get_arguments().filter(|flag| !flag.is_positional() && !takes_value(flag))
    }

    fn long(&self, name: &str) -> Option<&'a Arg> {
        self.command.get_arguments().find(|flag| flag.get_long() == Some(name))
    }

    fn subcommand(&self, word: &str) -> Option<&'a Command> {
        self.command.get_subcommands().find(|subcommand| subcommand.get_name() == word)
    }
}

fn takes_value(flag: &Arg) -> bool {
    flag.get_action().takes_values()
}

/// What a flag or a positional argument can be given.
fn value_of(argument: &Arg) -> Wanted {
    match argument.get_id().as_str() {
        "name" => return Wanted::Application,
        "exclude" => return Wanted::Object,
        "namespace" => return Wanted::Namespaces,
        "context" => return Wanted::Contexts,
        "cluster" => return Wanted::Clusters,
        "user" => return Wanted::Users,
        "label_key" => return Wanted::Known(APP_LABELS.iter().map(|key| Candidate::new(*key, "")).collect()),
        "backup" | "cache_dir" => return Wanted::Folders,
        _ => {}
    }
    let values = argument.get_possible_values();
    if !values.is_empty() {
        let help = |value: &clap::builder::PossibleValue| value.get_help().map(ToString::to_string).unwrap_or_default();
        return Wanted::Known(values.iter().map(|value| Candidate::new(value.get_name(), help(value))).collect());
    }
    match argument.get_value_hint() {
        ValueHint::AnyPath | ValueHint::FilePath => Wanted::Files,
        ValueHint::DirPath => Wanted::Folders,
        _ => Wanted::Nothing,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::help;

    fn line(text: &str) -> Line {
        let mut command = help::command();
        command.build();
        let words: Vec<String> = text.split(' ').map(str::to_owned).collect();
        read(&command, &words)
    }

    fn values(text: &str) -> Vec<String> {
        match line(text).wanted {
            Wanted::Known(candidates) => candidates.into_iter().map(|candidate| candidate.value).collect(),
            other => panic!("{text:?}: {other:?}"),
        }
    }

    #[test]
    fn the_first_word_is_a_command() {
        assert_eq!(values(""), ["app", "orphans", "list", "completion"]);
        assert_eq!(values("-n shop "), ["app", "orphans", "list", "completion"]);
        assert_eq!(values("completion z"), ["bash", "fish", "powershell", "zsh", "kubectl"]);
    }

    #[test]
    fn an_application_is_named_once() {
        assert_eq!(line("app ").wanted, Wanted::Application);
        assert_eq!(line("-n shop app de").wanted, Wanted::Application);
        assert_eq!(line("app -y de").prefix, "de");
        assert_eq!(line("app demo ").wanted, Wanted::Nothing);
        assert_eq!(line("app -l app=demo ").wanted, Wanted::Nothing);
        assert_eq!(line("app -- ").wanted, Wanted::Application);
    }

    #[test]
    fn a_flag_says_what_its_value_can_be() {
        assert_eq!(line("app demo -n ").wanted, Wanted::Namespaces);
        assert_eq!(
            line("app demo --namespace=sh"),
            Line { wanted: Wanted::Namespaces, prefix: "sh".into(), connection: vec![] }
        );
        assert_eq!(line("--context ").wanted, Wanted::Contexts);
        assert_eq!(line("list --kubeconfig ").wanted, Wanted::Files);
        assert_eq!(line("app demo --exclude ").wanted, Wanted::Object);
        assert!(values("app demo -o ").contains(&"json".to_owned()));
        assert!(values("app demo --dry-run=").contains(&"client".to_owned()));
        assert_eq!(line("app --timeout ").wanted, Wanted::Nothing);
        // Its value, if any, stands after an equals sign, so the next word is the application.
        assert_eq!(line("app --dry-run ").wanted, Wanted::Application);
    }

    #[test]
    fn flags_are_offered_once_unless_they_may_be_repeated() {
        let flags = values("app demo --yes --exclude deploy/web -");
        assert!(!flags.contains(&"--yes".to_owned()));
        assert!(flags.contains(&"--exclude".to_owned()) && flags.contains(&"--namespace".to_owned()));
        assert!(!flags.contains(&"--all-namespaces".to_owned()), "known only to be refused");
    }

    #[test]
    fn connection_flags_are_collected_however_they_are_written() {
        for text in [
            "app -n shop --context x ",
            "app -nshop --context=x ",
            "-n=shop app --context x ",
            "app -yn shop --context x ",
        ] {
            assert_eq!(line(text).connection, ["--namespace=shop", "--context=x"], "{text:?}");
        }
    }
}
