//! How help looks: kubectl's order (what it does, examples, flags by purpose, usage), and a short form on one screen.
//!
//! What can be typed is declared in `cli`; this only arranges it, so that the flags of one purpose stand together
//! whatever command they belong to.

use clap::{Arg, ArgAction, Command, CommandFactory as _};

use crate::cli::Cli;

/// What stands under which heading. A flag that is missing here would stand under `Options:`, which a test forbids.
const HEADINGS: [(&str, &[&str]); 4] = [
    (
        "What to purge",
        &["selector", "label_key", "instance", "all_instances", "include_related", "exclude", "delete_data"],
    ),
    (
        "How to run",
        &["yes", "dry_run", "backup", "timeout", "grace_period", "now", "force", "no_scale_down", "remove_finalizers"],
    ),
    (
        "When to refuse",
        &["max", "expect_digest", "allow_managed", "allow_system_namespace", "strict", "ignore_unavailable"],
    ),
    ("Output", &["output", "color", "verbosity", "help", "version"]),
];

/// What `-h` shows: the flags of everyday use. `--help` shows all.
const EVERYDAY: [&str; 10] =
    ["name", "selector", "shell", "exclude", "delete_data", "yes", "dry_run", "output", "namespace", "context"];

/// Every other part belongs where kubectl has it; clap's own order has usage before examples.
const TEMPLATE: &str = "{about}{after-help}\n\n{all-args}\n\n{usage-heading}\n  {usage}\n{before-help}";

const MORE: &str = "\n--help tells all flags.";

/// The command line with its help arranged.
#[must_use]
pub fn command() -> Command {
    let command =
        Cli::command().before_help("\nUse \"kubectl purge COMMAND --help\" for a command's examples and flags.");
    let help = Arg::new("help").short('h').long("help").action(ArgAction::Help).global(true);
    let version = Arg::new("version").short('V').long("version").action(ArgAction::Version);
    let command = command
        .disable_help_flag(true)
        .disable_version_flag(true)
        .arg(help.help("Show this help; -h shows a shorter one"))
        .arg(version.help("Show the version"));
    let arranged = arrange(command).override_usage("kubectl purge COMMAND [flags]");
    arranged.mut_subcommands(|subcommand| {
        let usage = match subcommand.get_name() {
            "app" => "kubectl purge app (NAME | TYPE/NAME | -l SELECTOR) [flags]".to_owned(),
            "completion" => "kubectl purge completion SHELL".to_owned(),
            name => format!("kubectl purge {name} [flags]"),
        };
        arrange(subcommand.before_help(MORE).before_long_help("")).override_usage(usage)
    })
}

fn arrange(command: Command) -> Command {
    command.help_template(TEMPLATE).mut_args(|argument| {
        let id = argument.get_id().as_str().to_owned();
        let heading = HEADINGS.iter().find(|(_, ids)| ids.contains(&id.as_str())).map(|(heading, _)| *heading);
        let is_everyday = EVERYDAY.contains(&id.as_str());
        let argument = argument.hide_short_help(!is_everyday).hide_possible_values(id == "shell");
        match heading {
            Some(heading) => argument.help_heading(heading),
            None => argument,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn built() -> Command {
        let mut command = command();
        command.build();
        command
    }

    #[test]
    fn every_flag_stands_under_a_heading() {
        for subcommand in built().get_subcommands() {
            for argument in subcommand.get_opts().filter(|argument| !argument.is_hide_set()) {
                let heading = argument.get_help_heading();
                assert!(heading.is_some(), "{} of {}", argument.get_id(), subcommand.get_name());
            }
        }
    }

    #[test]
    fn every_command_line_of_ours_can_be_parsed() {
        built().debug_assert();
    }

    #[test]
    fn the_short_help_fits_one_screen() {
        for arguments in
            [&["kubectl-purge", "-h"][..], &["kubectl-purge", "app", "-h"], &["kubectl-purge", "list", "-h"]]
        {
            let help = command().term_width(80).try_get_matches_from(arguments).unwrap_err().to_string();
            assert!(help.lines().count() <= 34, "{} lines\n{help}", help.lines().count());
            assert!(help.lines().all(|line| line.chars().count() <= 80), "{help}");
        }
    }
}
