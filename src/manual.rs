//! `purge man`: the manual page, made from the same declarations as the help.

use std::io;

use clap::Command;
use clap_mangen::Man;

use crate::{help, output::stream};

/// Prints the page as roff.
pub(crate) fn print() -> io::Result<()> {
    stream::to_stdout(&page()?)
}

/// One page for all commands: each has a section of its own.
fn page() -> io::Result<String> {
    let mut command = help::command().name("kubectl-purge").mut_args(|argument| argument.hide_short_help(false));
    command.build();
    let mut page = Vec::new();
    let man = Man::new(command.clone()).section("1").manual("kubectl plugins");
    man.render_title(&mut page)?;
    man.render_name_section(&mut page)?;
    man.render_synopsis_section(&mut page)?;
    man.render_description_section(&mut page)?;
    let mut page = text(page);
    for subcommand in command.get_subcommands().filter(|subcommand| !subcommand.is_hide_set()) {
        page.push_str(&section(subcommand)?);
    }
    let mut global = Vec::new();
    Man::new(command.clone()).render_options_section(&mut global)?;
    page.push_str(&text(global));
    page.push_str(&examples(&command));
    page.push_str(EXIT_STATUS);
    Ok(page)
}

const EXIT_STATUS: &str = "\
.SH \"EXIT STATUS\"
.TP
0
purged, and verified; or nothing to purge; or a dry run with nothing in the way
.TP
1
error: could not connect, forbidden, bad kubeconfig
.TP
2
usage
.TP
3
refused or declined
.TP
4
incomplete: something of the plan is still there, came back, or a quota did not go down
.TP
5
done, but some API could not be read, so absence is not proven
.TP
130
interrupted
";

fn section(command: &Command) -> io::Result<String> {
    let mut flags = Vec::new();
    let own = command.clone().mut_args(|argument| {
        let is_global = argument.is_global_set();
        // The page is no short help.
        argument.hide(is_global).hide_short_help(false)
    });
    Man::new(own).render_options_section(&mut flags)?;
    let about = command.get_long_about().or_else(|| command.get_about()).map(ToString::to_string).unwrap_or_default();
    let title = format!(".SH \"KUBECTL PURGE {}\"\n", command.get_name().to_uppercase());
    let flags = text(flags).replace("\n.SH ", "\n.SS ");
    let flags = flags.strip_prefix(".SH ").map_or(flags.clone(), |rest| format!(".SS {rest}"));
    Ok(format!("{title}{}\n{flags}{}", escaped(&about), examples(command).replace(".SH ", ".SS ")))
}

/// The examples, line for line.
fn examples(command: &Command) -> String {
    let text = command.get_after_long_help().or_else(|| command.get_after_help()).map(ToString::to_string);
    let text = text.unwrap_or_default();
    let lines = text.strip_prefix("Examples:\n").unwrap_or(&text);
    if lines.is_empty() { String::new() } else { format!(".SH EXAMPLES\n.nf\n{}\n.fi\n", escaped(lines)) }
}

/// Text that roff takes for nothing but text.
fn escaped(text: &str) -> String {
    let lines = text.lines().map(|line| {
        let line = line.replace('\\', "\\e").replace('-', "\\-");
        if line.starts_with(['.', '\'']) { format!("\\&{line}") } else { line }
    });
    lines.collect::<Vec<_>>().join("\n")
}

fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_tells_every_flag_of_every_command_once() {
        let page = page().unwrap();
        let mut command = help::command();
        command.build();
        for subcommand in command.get_subcommands().filter(|subcommand| !subcommand.is_hide_set()) {
            let flags =
                subcommand.get_arguments().filter(|flag| !flag.is_hide_set()).filter_map(|flag| flag.get_long());
            for flag in flags {
                let written = format!("\\-\\-{}", flag.replace('-', "\\-"));
                assert!(page.contains(&written), "{flag} of {}", subcommand.get_name());
            }
        }
        assert_eq!(page.matches("\\-\\-kubeconfig\\fR").count(), 1, "{page}");
    }
}
