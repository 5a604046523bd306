//! The command line: what can be typed, and the help for it.

use std::path::PathBuf;

use clap::{ArgGroup, Args, Parser, Subcommand, ValueEnum};

use crate::{cluster::flags::ConnectionFlags, output::Color};

const ABOUT: &str = "Delete an application from a namespace completely, safely and provably";

const SHORT_EXAMPLES: &str = "\
Examples:
  # Show what belongs to the application demo, and what would happen to it
  kubectl purge app demo -n shop --dry-run

  # The same, then ask, scale down, wait, delete, and look again
  kubectl purge app demo -n shop";

const EXAMPLES: &str = "\
Examples:
  # Show what belongs to the application demo, why, and what would happen to it
  kubectl purge app demo -n shop --dry-run

  # The same, then ask, scale down, wait, delete, and look again
  kubectl purge app demo -n shop

  # In a script: no question, a report as JSON
  kubectl purge app demo -n shop --yes -o json

  # What controllers have left behind, and who holds the quota
  kubectl purge orphans -n shop
  kubectl purge list -n shop";

const SHORT_APP_EXAMPLES: &str = "\
Examples:
  kubectl purge app demo -n shop --dry-run    # by its labels; changes nothing
  kubectl purge app deploy/web -n shop        # around one object";

const APP_EXAMPLES: &str = "\
Examples:
  # The application that labels call demo
  kubectl purge app demo -n shop

  # The application around one object
  kubectl purge app deploy/web -n shop

  # What a label selector picks, and all that hangs on it
  kubectl purge app -l tier=front,track=canary -n shop

  # One of several instances under the same label
  kubectl purge app demo --instance demo-a -n shop

  # The names alone, for other programs
  kubectl purge app demo -n shop --dry-run -o name";

const LIST_EXAMPLES: &str = "\
Examples:
  # Who holds the quota, and what nobody owns any more
  kubectl purge list -n shop

  # The applications' names alone
  kubectl purge list -n shop -o name";

const COMPLETION_EXAMPLES: &str = "\
Examples:
  # For `kubectl purge`, beside kubectl's own completion: a program in a folder of PATH
  kubectl purge completion kubectl >~/.local/bin/kubectl_complete-purge
  chmod +x ~/.local/bin/kubectl_complete-purge

  # For `kubectl-purge` typed as one word, in bash
  source <(kubectl-purge completion bash)";

const ORPHANS_EXAMPLES: &str = "\
Examples:
  # Show what no controller owns any more, and what it probably belonged to
  kubectl purge orphans -n shop --dry-run

  # Delete it, after a question
  kubectl purge orphans -n shop";

/// Everything typed after `kubectl purge`.
#[derive(Debug, Parser)]
#[command(
    name = "kubectl-purge",
    bin_name = "kubectl purge",
    version,
    about = ABOUT,
    after_help = SHORT_EXAMPLES,
    after_long_help = EXAMPLES,
    disable_help_subcommand = true,
    max_term_width = 100
)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Command,
    #[command(flatten)]
    pub connection: ConnectionFlags,

    /// How much to tell on stderr of what is done: 6 each request, 7 and 8 its headers
    #[arg(
        short = 'v',
        long = "v",
        global = true,
        value_name = "LEVEL",
        default_value = "0",
        hide_default_value = true
    )]
    pub verbosity: u8,

    /// Known, so that its refusal can be told.
    #[arg(short = 'A', long, global = true, hide = true)]
    pub all_namespaces: bool,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Delete an application
    ///
    /// Finds everything that belongs to the application, orphaned ReplicaSets and pods too, shows the plan, asks,
    /// scales to 0, waits until pods and quota are released, deletes in a safe order and looks again for what is left.
    #[command(after_help = SHORT_APP_EXAMPLES, after_long_help = APP_EXAMPLES)]
    App(App),

    /// Delete what no controller owns any more
    ///
    /// Finds ReplicaSets, pods, Jobs, ControllerRevisions and EndpointSlices that a controller has made and no living
    /// controller owns, says what each probably belonged to, and deletes them like an application. What somebody made
    /// by hand is left alone.
    #[command(after_help = ORPHANS_EXAMPLES)]
    Orphans(Orphans),

    /// List the namespace's applications
    ///
    /// One line an application, by the labels that `purge app` goes by: its objects and pods, what they ask for, what
    /// of the quota that is, how much of it nothing owns, and what manages it.
    #[command(after_help = LIST_EXAMPLES)]
    List(List),

    /// Print a shell's completion script
    ///
    /// kubectl itself completes `kubectl purge` with the help of a program called kubectl_complete-purge in PATH, which
    /// `completion kubectl` prints. It asks the cluster for names, and gives up after a second and a half.
    #[command(after_help = COMPLETION_EXAMPLES)]
    Completion(Completion),

    /// Print the manual page, as roff
    #[command(hide = true)]
    Man,
}

#[derive(Args, Debug)]
#[command(group(ArgGroup::new("what").required(true).args(["name", "selector"])))]
pub struct App {
    /// The application as its labels call it, or one object of it
    #[arg(value_name = "NAME | TYPE/NAME")]
    pub name: Option<String>,

    /// The application that a label selector picks
    #[arg(short = 'l', long, value_name = "SELECTOR")]
    pub selector: Option<String>,

    /// The label that says which application an object is of, instead of the usual ones
    #[arg(long, value_name = "KEY", conflicts_with = "selector")]
    pub label_key: Option<String>,

    /// Of several instances or releases under the same label, only this one
    #[arg(long, value_name = "NAME", conflicts_with_all = ["selector", "all_instances"])]
    pub instance: Option<String>,

    /// Of several instances or releases under the same label, all
    #[arg(long)]
    pub all_instances: bool,

    /// Take ConfigMaps, Secrets, ServiceAccounts and claims too that only this application uses
    #[arg(long)]
    pub include_related: bool,

    #[command(flatten)]
    pub run: RunFlags,

    /// Go on although a reconciler manages the objects and may bring them back
    #[arg(long)]
    pub allow_managed: bool,
}

#[derive(Args, Debug)]
pub struct Orphans {
    #[command(flatten)]
    pub run: RunFlags,
}

#[derive(Args, Debug)]
pub struct Completion {
    /// bash, fish, powershell, zsh, or kubectl
    #[arg(value_name = "SHELL")]
    pub shell: Shell,
}

/// Whose completion script.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Shell {
    Bash,
    Fish,
    Powershell,
    Zsh,
    /// For `kubectl purge`, whatever the shell.
    Kubectl,
}

#[derive(Args, Debug)]
pub struct List {
    /// How results are printed
    #[arg(short, long, value_name = "FORMAT", default_value = "table")]
    pub output: ListOutput,

    /// Colour the output
    #[arg(long, value_name = "WHEN", default_value = "auto")]
    pub color: Color,
}

/// What both kinds of purge take.
#[derive(Args, Debug)]
pub struct RunFlags {
    /// Do not ask
    #[arg(short, long)]
    pub yes: bool,

    /// Show the plan and change nothing; `server` has the server try every write of it as well
    #[arg(long, value_name = "HOW", num_args = 0..=1, require_equals = true, default_value = "none",
          default_missing_value = "client")]
    pub dry_run: DryRun,

    /// Keep this object, and what can't be without it; may be repeated
    #[arg(long, value_name = "TYPE/NAME")]
    pub exclude: Vec<String>,

    /// Give up waiting after this long; 0 waits as long as it takes
    #[arg(long, value_name = "DURATION", default_value = "5m")]
    pub timeout: String,

    /// Seconds each object is given to stop; by default its own
    #[arg(long, value_name = "SECONDS", allow_negative_numbers = true)]
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

    /// Put back what an earlier purge, which was killed or left something, has paused or scaled down; delete nothing
    #[arg(long, conflicts_with_all = ["backup", "remove_finalizers", "force"])]
    pub restore: bool,

    /// Go on only if the plan's digest is this one, as `-o json` shows it
    #[arg(long, value_name = "DIGEST")]
    pub expect_digest: Option<String>,

    /// Delete claims and their data too
    #[arg(long)]
    pub delete_data: bool,

    /// Delete workloads as they stand
    #[arg(long)]
    pub no_scale_down: bool,

    /// Refuse where more objects than this would be deleted
    #[arg(long, value_name = "N")]
    pub max: Option<usize>,

    /// Go on in kube-system, kube-public or kube-node-lease
    #[arg(long)]
    pub allow_system_namespace: bool,

    /// Count kinds that may not be listed as not proven empty (exit code 5)
    #[arg(long)]
    pub strict: bool,

    /// Accept that an API cannot be read
    #[arg(long, conflicts_with = "strict")]
    pub ignore_unavailable: bool,

    /// How results are printed
    #[arg(short, long, value_name = "FORMAT", default_value = "table")]
    pub output: Output,

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
    /// For people who want every object and every reason.
    Wide,
    /// One document, for programs.
    Json,
    /// The same document as YAML.
    Yaml,
    /// One `type/name` a line.
    Name,
}

/// How a list is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ListOutput {
    /// For people.
    Table,
    /// One document, for programs.
    Json,
    /// The same document as YAML.
    Yaml,
    /// One name a line.
    Name,
}
