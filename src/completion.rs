//! `purge completion`: the script of a shell, and the program by which kubectl completes its plugin.
//!
//! The scripts ask the program itself, as kubectl does, so that all of them know the names that only the cluster
//! knows. PowerShell's is made from the flags alone.

use std::io;

use clap_complete::{Shell as Known, generate};

use crate::{cli::Shell, help, output::stream};

/// The program, which the scripts complete when it is typed as one word.
const PROGRAM: &str = "kubectl-purge";

/// Prints a script.
pub(crate) fn print(shell: Shell) -> io::Result<()> {
    stream::to_stdout(&match shell {
        Shell::Bash => include_str!("completion/bash.sh").to_owned(),
        Shell::Fish => include_str!("completion/fish.fish").to_owned(),
        Shell::Zsh => include_str!("completion/zsh.zsh").to_owned(),
        Shell::Kubectl => include_str!("completion/kubectl.sh").to_owned(),
        Shell::Powershell => {
            let mut script = Vec::new();
            generate(Known::PowerShell, &mut help::command(), PROGRAM, &mut script);
            String::from_utf8_lossy(&script).into_owned()
        }
    })
}
