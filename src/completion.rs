//! `purge completion`: the script of a shell, and the program by which kubectl completes its plugin.

use clap_complete::{Shell as Known, generate};

use crate::{cli::Shell, help, output::stream};

/// The program, which its scripts complete when it is typed as one word.
const PROGRAM: &str = "kubectl-purge";

/// What kubectl looks for in PATH. Source: kubectl `pkg/cmd/plugin/plugin_completion.go`.
/// Whatever goes wrong, the line that somebody is typing stays clean.
const FOR_KUBECTL: &str = "\
#!/bin/sh
# Completes `kubectl purge`: kubectl runs this, as kubectl_complete-purge from PATH, and offers what it prints.
exec kubectl-purge __complete \"$@\" 2>/dev/null
";

/// Prints a script.
pub(crate) fn print(shell: Shell) -> std::io::Result<()> {
    let known = match shell {
        Shell::Kubectl => return stream::to_stdout(FOR_KUBECTL),
        Shell::Bash => Known::Bash,
        Shell::Elvish => Known::Elvish,
        Shell::Fish => Known::Fish,
        Shell::Powershell => Known::PowerShell,
        Shell::Zsh => Known::Zsh,
    };
    let mut script = Vec::new();
    // The usage says `kubectl purge`; the script is for the program's own name.
    generate(known, &mut help::command().bin_name(PROGRAM), PROGRAM, &mut script);
    stream::to_stdout(&String::from_utf8_lossy(&script))
}
