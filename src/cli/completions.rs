//! `warp-spmv completions` and `warp-spmv manual`: shell completions and manual pages of the command.

use std::path::{Path, PathBuf};

use clap::{Command, CommandFactory};
use clap_complete::Shell;
use clap_mangen::Man;
use warp_spmv::io::replace_file;

use super::error::Error;
use super::{CommandLine, output};

/// The name of the command.
const NAME: &str = "warp-spmv";

pub const EXAMPLES: &str = "\
Examples:
  warp-spmv completions bash > ~/.local/share/bash-completion/completions/warp-spmv
  warp-spmv completions zsh > ~/.zfunc/_warp-spmv
  warp-spmv completions fish > ~/.config/fish/completions/warp-spmv.fish";

pub const MANUAL_EXAMPLES: &str = "\
Examples:
  warp-spmv manual ~/.local/share/man/man1
  man warp-spmv-run";

#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// The shell
    shell: Shell,
}

#[derive(Debug, clap::Args)]
pub struct ManualArguments {
    /// The folder of the pages, one per subcommand; it is created if missing
    folder: PathBuf,
}

pub fn completions(arguments: &Arguments) -> Result<(), Error> {
    let mut text = Vec::new();
    clap_complete::generate(arguments.shell, &mut CommandLine::command(), NAME, &mut text);
    output::print(&String::from_utf8_lossy(&text))
}

pub fn manual(ManualArguments { folder }: &ManualArguments) -> Result<(), Error> {
    std::fs::create_dir_all(folder).map_err(|source| warp_spmv::Error::File { path: folder.clone(), source })?;
    let mut command = CommandLine::command();
    // Gives subcommands their own names, such as warp-spmv-run.
    command.build();
    write_pages(folder, &command)
}

/// Writes the page of a command and those of its subcommands.
fn write_pages(folder: &Path, command: &Command) -> Result<(), Error> {
    let man = Man::new(command.clone());
    replace_file(&folder.join(man.get_filename()), |file| man.render(file))?;
    let mut subcommands = command.get_subcommands().filter(|subcommand| subcommand.get_name() != "help");
    subcommands.try_for_each(|subcommand| write_pages(folder, subcommand))
}
