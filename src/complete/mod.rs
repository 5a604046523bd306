//! Completion of a line that somebody is typing: `kubectl purge app d<TAB>`.
//!
//! kubectl runs the program `kubectl_complete-purge` of PATH with the words so far and the one to complete, and reads
//! candidates, one a line, a description after a tab, and at last `:N`, which says how to go on with the line.
//! Source: kubectl `pkg/cmd/plugin/plugin_completion.go`; cobra `completions.go` for the numbers.

mod seek;
mod words;

use std::{ffi::OsString, path::Path, time::Duration};

use tokio::time::timeout;

use self::words::{Line, Wanted};
use crate::{
    exit::Exit,
    help,
    output::{escape::is_harmful, stream},
};

/// What a shell's user waits for without wondering. Whatever is not known by then is not offered.
const BUDGET: Duration = Duration::from_millis(1500);

/// The word by which the program's own help program calls it.
const WORD: &str = "__complete";

/// Something that may be typed.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Candidate {
    value: String,
    description: String,
}

impl Candidate {
    fn new(value: impl Into<String>, description: impl Into<String>) -> Self {
        Self { value: value.into(), description: description.into() }
    }
}

/// How the shell goes on. The numbers are cobra's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Directive {
    /// Files are offered where there are no candidates.
    Files = 0,
    /// Nothing else is offered.
    Nothing = 4,
    /// Nothing else is offered, and the word goes on after the candidate.
    GoesOn = 6,
    Folders = 16,
}

/// The words of a line to complete, where that is what the program was called for: as `kubectl_complete-purge`, or
/// with a word that no user types.
pub(crate) fn asked(arguments: &[OsString]) -> Option<Vec<String>> {
    let program = arguments.first().map(Path::new).and_then(Path::file_stem);
    let skip = match arguments.get(1) {
        _ if program.is_some_and(|name| name == "kubectl_complete-purge") => 1,
        Some(word) if word == WORD => 2,
        _ => return None,
    };
    Some(arguments[skip..].iter().map(|word| word.to_string_lossy().into_owned()).collect())
}

/// Prints the candidates. Never an error: a line half typed is no place for one.
pub(crate) fn complete(words: &[String]) -> Exit {
    let mut command = help::command();
    command.build();
    let line = words::read(&command, words);
    let (mut candidates, directive) = match &line.wanted {
        Wanted::Known(candidates) => (candidates.clone(), Directive::Nothing),
        Wanted::Files => (Vec::new(), Directive::Files),
        Wanted::Folders => (Vec::new(), Directive::Folders),
        wanted => (sought(&line, wanted), Directive::Nothing),
    };
    candidates.retain(|candidate| candidate.value.starts_with(&line.prefix) && is_word(&candidate.value));
    candidates.dedup_by(|a, b| a.value == b.value);
    let all_go_on = !candidates.is_empty() && candidates.iter().all(|candidate| candidate.value.ends_with('/'));
    let directive = if all_go_on { Directive::GoesOn } else { directive };
    let _ = stream::to_stdout(&printed(&candidates, directive));
    Exit::Done
}

/// What only the kubeconfig or the cluster knows.
fn sought(line: &Line, wanted: &Wanted) -> Vec<Candidate> {
    let Ok(runtime) = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build() else {
        return Vec::new();
    };
    let found = runtime.block_on(async { timeout(BUDGET, seek::seek(line, wanted)).await });
    // What is still being asked for is not waited for.
    runtime.shutdown_background();
    found.unwrap_or_default()
}

/// Whether a name can be typed as it is. Names of contexts may be anything; those that a shell would take apart, or
/// carry out, are left out rather than offered: a shell puts a candidate on the line unquoted.
fn is_word(value: &str) -> bool {
    const SIGNS: &str = "._-/:@=,+%";
    let plain = |character: char| {
        let is_letter =
            if character.is_ascii() { character.is_ascii_alphanumeric() } else { character.is_alphanumeric() };
        (is_letter || SIGNS.contains(character)) && !is_harmful(character)
    };
    !value.is_empty() && value.chars().all(plain)
}

fn printed(candidates: &[Candidate], directive: Directive) -> String {
    let mut text = String::new();
    for Candidate { value, description } in candidates {
        text.push_str(value);
        let description = description.lines().next().unwrap_or_default();
        if !description.is_empty() {
            text.push('\t');
            text.push_str(&crate::output::escape::line(description));
        }
        text.push('\n');
    }
    text + &format!(":{}\n", directive as u8)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arguments(words: &[&str]) -> Vec<OsString> {
        words.iter().map(OsString::from).collect()
    }

    #[test]
    fn it_is_asked_by_its_other_name_or_by_a_word() {
        let words = Some(vec!["app".to_owned(), String::new()]);
        assert_eq!(asked(&arguments(&["/bin/kubectl_complete-purge", "app", ""])), words);
        assert_eq!(asked(&arguments(&["/bin/kubectl_complete-purge.exe", "app", ""])), words);
        assert_eq!(asked(&arguments(&["kubectl-purge", "__complete", "app", ""])), words);
        assert_eq!(asked(&arguments(&["kubectl-purge", "app", "demo"])), None);
        assert_eq!(asked(&[]), None);
    }

    #[test]
    fn candidates_are_printed_as_kubectl_reads_them() {
        let candidates = [Candidate::new("demo", "3 pods"), Candidate::new("web", "")];
        assert_eq!(printed(&candidates, Directive::Nothing), "demo\t3 pods\nweb\n:4\n");
        assert_eq!(printed(&[], Directive::Files), ":0\n");
    }

    #[test]
    fn what_a_shell_would_take_apart_is_not_offered() {
        assert!(is_word("arn:aws:eks:eu-1:1:cluster/prod"));
        assert!(!is_word("two words") && !is_word("bell\u{7}") && !is_word(""));
        assert!(is_word("größe") && is_word("日本") && is_word("--output=json"));
        for value in
            ["$(reboot)", "`reboot`", "a;b", "a&b", "a|b", "a>b", "~", "*", "a'b", "a\"b", "a\\b", "{a,b}", "!1", "a#"]
        {
            assert!(!is_word(value), "{value}");
        }
        assert!(!is_word("a\u{202e}b") && !is_word("a\u{200b}b") && !is_word("a\u{a0}b"));
    }
}
