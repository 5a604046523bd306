//! `kubectl purge`: deletes an application from a namespace completely, safely and provably.
//!
//! Arguments → settings → cluster → catalog → inventory → selection → plan → decision → run → report → exit.

pub mod backup;
pub mod cli;
pub mod cluster;
mod complete;
mod completion;
pub mod confirm;
pub mod error;
pub mod exit;
#[doc(hidden)]
pub mod fuzzing;
pub mod help;
pub mod inventory;
mod list;
mod look;
pub mod manifest;
mod manual;
mod near;
pub mod output;
pub mod plan;
mod purge;
pub mod report;
pub mod run;
pub mod settings;
mod signals;
mod verbosity;

use std::ffi::OsString;

use clap::FromArgMatches as _;

use cli::{Cli, Command};
use cluster::{environment::Environment, kubeconfig};
use exit::Exit;
use output::{escape, stream};
use settings::{Settings, UsageError};

/// The whole program: reads the arguments, the program's name first, and says how it ended.
#[must_use]
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> Exit {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    if let Some(words) = complete::asked(&arguments) {
        return complete::complete(&words);
    }
    let typed = help::command().try_get_matches_from(arguments).and_then(|matches| Cli::from_arg_matches(&matches));
    let cli = match typed {
        Ok(cli) => cli,
        Err(answer) => return answer_usage(&answer),
    };
    verbosity::listen(cli.verbosity);
    let exit = command(&cli).unwrap_or_else(|error| {
        let is_usage =
            error.is::<UsageError>() || error.downcast_ref().is_some_and(kubeconfig::KubeconfigError::is_usage);
        let exit = if is_usage { Exit::Usage } else { Exit::Error };
        fail(&error, exit)
    });
    if exit == Exit::Done && stream::has_lost_a_result() { Exit::Error } else { exit }
}

fn command(cli: &Cli) -> anyhow::Result<Exit> {
    if cli.all_namespaces {
        return Err(UsageError::AllNamespaces.into());
    }
    let connection = || kubeconfig::resolve(&cli.connection, &Environment::of_this_process());
    match &cli.command {
        Command::App(app) => {
            let settings = Settings::of_app(app)?;
            on_runtime(purge::purge(&settings, &connection()?))
        }
        Command::Orphans(orphans) => {
            let settings = Settings::of_orphans(orphans)?;
            on_runtime(purge::purge(&settings, &connection()?))
        }
        Command::List(list) => on_runtime(list::list(list, &connection()?)),
        Command::Completion(completion) => {
            completion::print(completion.shell)?;
            Ok(Exit::Done)
        }
        Command::Man => {
            manual::print()?;
            Ok(Exit::Done)
        }
    }
}

fn on_runtime(command: impl Future<Output = anyhow::Result<Exit>>) -> anyhow::Result<Exit> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let exit = runtime.block_on(command);
    // Watches may still be open: nothing of them is wanted any more.
    runtime.shutdown_background();
    exit
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
