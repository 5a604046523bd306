//! The command line: what can be typed, and the help for it.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::{cluster::flags::ConnectionFlags, output::Color};

const ABOUT: &str = "Delete an application from a namespace completely, safely and provably";

const EXAMPLES: &str = "\
Examples:
  # Show what belongs to the application demo, why, and what would happen to it
  kubectl purge app demo -n shop --dry-run

  # The same, then ask, scale down, wait, delete, and look again
  kubectl purge app demo -n shop

  # In a script: no question, a report as JSON
  kubectl purge app demo -n shop --yes -o json";

/// Everything typed after `kubectl purge`.
#[derive(Debug, Parser)]
#[command(
    name = "kubectl-purge",
    bin_name = "kubectl purge",
    version,
    about = ABOUT,
    after_help = EXAMPLES,
    disable_help_subcommand = true,
    max_term_width = 100
)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Command,
    #[command(flatten)]
    pub connection: ConnectionFlags,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Delete an application
    ///
    /// Finds everything that belongs to the application, orphaned ReplicaSets and pods too, shows the plan, asks,
    /// scales to 0, waits until pods and quota are released, deletes in a safe order and looks again for what is left.
    #[command(after_help = EXAMPLES)]
    App(App),
}

#[derive(Args, Debug)]
pub struct App {
    /// The application, as its labels call it
    #[arg(value_name = "NAME", allow_hyphen_values = false)]
    pub name: String,

    /// Do not ask
    #[arg(short, long)]
    pub yes: bool,

    /// Show the plan and change nothing; `server` has the server try every write of it as well
    #[arg(long, value_name = "HOW", num_args = 0..=1, require_equals = true, default_value = "none",
          default_missing_value = "client")]
    pub dry_run: DryRun,

    /// Give up waiting after this long; 0 waits as long as it takes
    #[arg(long, value_name = "DURATION", default_value = "5m")]
    pub timeout: String,

    /// How results are printed
    #[arg(short, long, value_name = "FORMAT", default_value = "table")]
    pub output: Output,

    /// Seconds each object is given to stop; by default its own
    #[arg(long, value_name = "SECONDS")]
    pub grace_period: Option<i64>,

    /// Give each object one second to stop, as --grace-period=1 does
    #[arg(long, conflicts_with = "grace_period")]
    pub now: bool,

    /// Take pods out of the API whose kubelet does not confirm that they stopped
    ///
    /// Only pods whose grace period is over, or whose node is gone or not ready. Such a pod may still run: two pods
    /// of a StatefulSet may then write to one volume.
    #[arg(long)]
    pub force: bool,

    /// Take away the finalizers that the plan names, where nothing else clears them
    ///
    /// What their controllers were to clean up may stay: load balancers, volumes, records in other systems.
    #[arg(long)]
    pub remove_finalizers: bool,

    /// Save every object to be deleted in this folder first; `kubectl apply -f DIR` brings them back
    #[arg(long, value_name = "DIR")]
    pub backup: Option<PathBuf>,

    /// Go on only if the plan's digest is this one, as `-o json` shows it
    #[arg(long, value_name = "DIGEST")]
    pub expect_digest: Option<String>,

    /// Delete claims and their data too
    #[arg(long)]
    pub delete_data: bool,

    /// Delete workloads as they stand
    #[arg(long)]
    pub no_scale_down: bool,

    /// Count kinds that may not be listed as not proven empty (exit code 5)
    #[arg(long)]
    pub strict: bool,

    /// Accept that an API cannot be read
    #[arg(long, conflicts_with = "strict")]
    pub ignore_unavailable: bool,

    /// Colour the output
    #[arg(long, value_name = "WHEN", default_value = "auto")]
    pub color: Color,
}

/// How much of a dry run it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum DryRun {
    /// None: the plan is carried out.
    None,
    /// The plan is shown.
    Client,
    /// The plan is shown, with what the server would refuse of it.
    Server,
}

/// How results are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Output {
    /// For people.
    Table,
    /// One document, for programs.
    Json,
}
