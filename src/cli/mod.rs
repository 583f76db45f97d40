//! The command line: one file per subcommand. Every failure is reported in one line on standard error.

mod bench;
mod choosing;
mod completions;
mod convert;
mod distributed;
mod doctor;
mod error;
mod factor;
mod figures;
mod formats;
mod grids;
mod info;
mod input;
mod interrupt;
mod looks;
mod multigrid;
mod output;
mod pace;
mod pagerank;
mod pattern;
mod precision;
mod prepared;
mod progress;
mod ranks;
mod record;
mod refined;
mod report;
mod rivals;
mod run;
mod run_all;
mod scaling;
mod solution;
mod solve;
mod system;
mod threads;
mod tune;
mod units;
mod values;

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use warp_spmv::synthetic::Generator;

use error::Error;

const EXAMPLES: &str = "\
Examples:
  warp-spmv info 1138_bus.mtx
  warp-spmv run stencil:27:100 --format ell
  warp-spmv run 1138_bus.mtx --precision float32 --json
  warp-spmv run 1138_bus.mtx --format all
  warp-spmv run 1138_bus.mtx --format auto
  warp-spmv convert 1138_bus.mtx 1138_bus.wspmv --format sell-p
  warp-spmv solve stencil:7:100 --method cg --tolerance 1e-8
  warp-spmv pagerank rmat:scale=16 --unweighted
  warp-spmv bench --suite paper --out results.json
  warp-spmv report results.json -o report.html

Exit codes: 0 the answer is right, 1 it is wrong, 2 there is none: bad usage, bad input, or something failed,
3 a solver did not converge, 130 it was interrupted by Ctrl-C.";

/// Sparse matrix-vector multiplication (SpMV) on GPU and CPU
#[derive(Debug, Parser)]
#[command(name = "warp-spmv", version, after_help = EXAMPLES, arg_required_else_help = false)]
struct CommandLine {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Describe a matrix: shape, row lengths, and its size in each format
    #[command(after_help = with_generators(info::EXAMPLES))]
    Info(info::Arguments),
    /// Multiply a matrix by a vector, check the answer, and time it
    #[command(after_help = with_generators(&formats::with_parameters(run::EXAMPLES)))]
    Run(run::Arguments),
    /// Solve A x = b by an iterative method
    #[command(after_help = with_generators(&formats::with_parameters(solve::EXAMPLES)))]
    Solve(solve::Arguments),
    /// Rank the vertices of a graph
    #[command(after_help = with_generators(&formats::with_parameters(pagerank::EXAMPLES)))]
    Pagerank(pagerank::Arguments),
    /// Measure many matrices in many formats, and keep the results
    #[command(after_help = with_generators(&formats::with_parameters(bench::EXAMPLES)))]
    Bench(bench::Arguments),
    /// Calibrate the choice of a format (`--format auto`) on this machine, and report its quality
    #[command(after_help = tune::EXAMPLES)]
    Tune(tune::Arguments),
    /// Predict the time of products and solver iterations on many GPUs
    #[command(after_help = with_generators(scaling::EXAMPLES))]
    Scaling(scaling::Arguments),
    /// Write a matrix to a file of another kind, or in another storage format
    #[command(after_help = with_generators(&formats::with_parameters(convert::EXAMPLES)))]
    Convert(convert::Arguments),
    /// Show results: a page for the browser, figures as SVG, a table in Markdown
    #[command(after_help = report::EXAMPLES)]
    Report(report::Arguments),
    /// Report what works on this machine, and what to do about the rest
    #[command(after_help = doctor::EXAMPLES)]
    Doctor(doctor::Arguments),
    /// Print a script with which a shell completes subcommands and options
    #[command(after_help = completions::EXAMPLES)]
    Completions(completions::Arguments),
    /// Write a manual page for each subcommand
    #[command(after_help = completions::MANUAL_EXAMPLES)]
    Manual(completions::ManualArguments),
}

/// A subcommand's examples, preceded by the syntax of each generator.
fn with_generators(examples: &str) -> String {
    let mut text = String::from("Generators:");
    for help in Generator::HELP {
        text += &format!("\n  {}\n      {}", help.form, help.about);
    }
    text += "\nThe option times=N of any generator makes rows and nonzeros about N times as many.";
    format!("{text}\n\n{examples}")
}

/// Runs the command with the process's arguments.
pub fn main() -> ExitCode {
    let _threads = threads::begin();
    match parse_and_run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            if !distributed::is_silent(&error) {
                output::say(&format!("error: {error}"));
            }
            ExitCode::from(error.exit_code())
        }
    }
}

fn parse_and_run() -> Result<(), Error> {
    let parsed = CommandLine::try_parse();
    if let Ok(CommandLine { command }) = &parsed
        && !matches!(command, Command::Run(_) | Command::Solve(_) | Command::Convert(_) | Command::Pagerank(_))
    {
        distributed::World::refuse()?;
    }
    match parsed {
        Ok(CommandLine { command: Command::Info(arguments) }) => info::info(&arguments),
        Ok(CommandLine { command: Command::Run(arguments) }) => run::run(&arguments),
        Ok(CommandLine { command: Command::Solve(arguments) }) => solve::solve(&arguments),
        Ok(CommandLine { command: Command::Pagerank(arguments) }) => pagerank::pagerank(&arguments),
        Ok(CommandLine { command: Command::Bench(arguments) }) => bench::bench(&arguments),
        Ok(CommandLine { command: Command::Tune(arguments) }) => tune::tune(&arguments),
        Ok(CommandLine { command: Command::Scaling(arguments) }) => scaling::scaling(&arguments),
        Ok(CommandLine { command: Command::Convert(arguments) }) => convert::convert(&arguments),
        Ok(CommandLine { command: Command::Report(arguments) }) => report::report(&arguments),
        Ok(CommandLine { command: Command::Doctor(arguments) }) => doctor::doctor(&arguments),
        Ok(CommandLine { command: Command::Completions(arguments) }) => completions::completions(&arguments),
        Ok(CommandLine { command: Command::Manual(arguments) }) => completions::manual(&arguments),
        // `--help` and `--version`.
        Err(error) if !error.use_stderr() => output::ignore_broken_pipe(error.print()),
        Err(error) => Err(Error::Usage(one_line(&error.render().to_string()))),
    }
}

/// clap's explanation without the usage that follows it, in one line.
fn one_line(explanation: &str) -> String {
    let paragraphs = explanation.split("\n\n").map(|paragraph| {
        let lines: Vec<_> = paragraph.lines().map(str::trim).collect();
        lines.join(" ")
    });
    let told: Vec<_> =
        paragraphs.take_while(|told| !told.starts_with("Usage:") && !told.starts_with("For more")).collect();
    let line = told.join("; ");
    format!("{}; try --help", line.strip_prefix("error: ").unwrap_or(&line))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        use clap::CommandFactory;
        CommandLine::command().debug_assert();
    }

    #[test]
    fn explanations_become_one_line() {
        for (arguments, says) in [
            (&["run"] as &[&str], "the following required arguments were not provided: <FILE|GENERATOR>; try --help"),
            (
                &["info", "--jsn"],
                "unexpected argument '--jsn' found; tip: a similar argument exists: '--json'; try --help",
            ),
            (
                &["run", "a", "--precision", "half"],
                "invalid value 'half' for '--precision <PRECISION>' [possible values: float32, float64, complex64, complex128]; try --help",
            ),
        ] {
            let arguments = ["warp-spmv"].iter().chain(arguments);
            let error = CommandLine::try_parse_from(arguments).unwrap_err();
            assert_eq!(one_line(&error.render().to_string()), says);
        }
    }
}
