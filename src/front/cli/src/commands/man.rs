//! `foldsym man`: writes a manual page for each command.

use std::path::Path;

use clap::CommandFactory;
use clap_mangen::Man;
use clap_mangen::roff::{Roff, roman};

use crate::args::Cli;
use crate::io::failure::Failure;

/// Writes `foldsym.1`, and `foldsym-COMMAND.1` for each command and each command of a command.
pub(crate) fn run(folder: &Path) -> Result<u8, Failure> {
    std::fs::create_dir_all(folder).map_err(|error| Failure::input(folder, error))?;
    let mut all = Cli::command().disable_help_subcommand(true);
    all.build();
    let mut commands = vec![all];
    while let Some(command) = commands.pop() {
        commands.extend(command.get_subcommands().filter(|command| !command.is_hide_set()).cloned());
        write(command, folder).map_err(|error| Failure::input(folder, format!("cannot write: {error}")))?;
    }
    Ok(0)
}

/// Writes the page of one command: as [`Man::render`], but examples keep their lines.
fn write(command: clap::Command, folder: &Path) -> std::io::Result<()> {
    let after = command.get_after_long_help().or_else(|| command.get_after_help()).map(ToString::to_string);
    let has_options = command.get_arguments().any(|argument| !argument.is_hide_set());
    let has_commands = command.get_subcommands().any(|command| !command.is_hide_set());
    let page = Man::new(command);
    let mut out = Vec::new();
    page.render_title(&mut out)?;
    page.render_name_section(&mut out)?;
    page.render_synopsis_section(&mut out)?;
    page.render_description_section(&mut out)?;
    if has_options {
        page.render_options_section(&mut out)?;
    }
    if has_commands {
        page.render_subcommands_section(&mut out)?;
    }
    if let Some(after) = after {
        notes(&after).to_writer(&mut out)?;
    }
    page.render_version_section(&mut out)?;
    std::fs::write(folder.join(page.get_filename()), out)
}

/// The text after the options: paragraphs are filled, and lines that begin with two spaces stay as they are.
fn notes(text: &str) -> Roff {
    let mut roff = Roff::new();
    let (mut section, mut is_kept) = (None, false);
    for line in text.lines() {
        let keep = line.starts_with("  ");
        if keep != is_kept {
            roff.control(if keep { "nf" } else { "fi" }, []);
            is_kept = keep;
        }
        let own = if line == "Examples:" { "EXAMPLES" } else { "NOTES" };
        if line == "Examples:" || section.is_none() {
            section = Some(own);
            roff.control("SH", [own]);
        }
        match line {
            "Examples:" => {}
            "" => _ = roff.control("PP", []),
            line if keep => _ = roff.text([roman(line)]),
            line => _ = roff.control("PP", []).text([roman(line)]),
        }
    }
    if is_kept {
        roff.control("fi", []);
    }
    roff
}
