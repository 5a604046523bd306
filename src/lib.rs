//! `kubectl purge`: deletes an application from a namespace completely, safely and provably.
//!
//! Arguments → settings → cluster → catalog → inventory → selection → plan → decision → run → report → exit.

pub mod backup;
pub mod cli;
pub mod cluster;
pub mod confirm;
pub mod error;
pub mod exit;
pub mod inventory;
pub mod manifest;
pub mod output;
pub mod plan;
mod purge;
pub mod report;
pub mod run;
pub mod settings;
mod signals;

use std::ffi::OsString;

use clap::Parser as _;

use cli::{Cli, Command};
use cluster::{environment::Environment, kubeconfig};
use exit::Exit;
use output::{escape, stream};
use settings::Settings;

/// The whole program: reads the arguments, the program's name first, and says how it ended.
#[must_use]
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> Exit {
    let cli = match Cli::try_parse_from(arguments) {
        Ok(cli) => cli,
        Err(answer) => return answer_usage(&answer),
    };
    let Command::App(app) = &cli.command;
    let settings = match Settings::of(app) {
        Ok(settings) => settings,
        Err(error) => return fail(&error.into(), Exit::Usage),
    };
    match kubeconfig::resolve(&cli.connection, &Environment::of_this_process()) {
        Ok(connection) => purge::purge(&settings, &connection).unwrap_or_else(|error| fail(&error, Exit::Error)),
        Err(error) => fail(&error.into(), Exit::Error),
    }
}

/// Help and version go to stdout and are no error; everything else that clap says is.
fn answer_usage(answer: &clap::Error) -> Exit {
    let wanted = !answer.use_stderr();
    // A reader that has gone away wants no more help.
    let _ = answer.print();
    if wanted { Exit::Done } else { Exit::Usage }
}

/// Tells an error and every cause it has, in one line.
fn fail(error: &anyhow::Error, exit: Exit) -> Exit {
    stream::to_stderr(&format!("error: {}\n", escape::line(&format!("{error:#}"))));
    exit
}
