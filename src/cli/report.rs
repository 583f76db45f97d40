//! `warp-spmv report`: results as a page, as figures and as a table.

use std::io::Write;
use std::path::{Path, PathBuf};

use lab::report::{self, Report};
use warp_spmv::io::replace_file;

use super::error::Error;
use super::figures::{self, Asked};
use super::output::{self, printable};

pub const EXAMPLES: &str = "\
Examples:
  warp-spmv report results.json -o report.html
  warp-spmv report gpu.json cpu.json -o report.html --svg figures
  warp-spmv report results.json --figure bg-13 --figure cmrs-7 --svg figures
  warp-spmv report results.json --import ginkgo=ginkgo.json -o report.html
  warp-spmv report results.json --table
  warp-spmv report --document README.md --document docs/results/real.md --check";

#[derive(Debug, clap::Args)]
#[command(group = clap::ArgGroup::new("outputs").required(true).multiple(true))]
pub struct Arguments {
    /// Files of results; their entries are shown together
    #[arg(required_unless_present = "document", value_name = "FILE")]
    inputs: Vec<PathBuf>,
    /// Write a self-contained page for the browser
    #[arg(short, long, value_name = "HTML", group = "outputs")]
    output: Option<PathBuf>,
    /// Write each figure as an SVG file into this folder
    #[arg(long, value_name = "FOLDER", group = "outputs")]
    svg: Option<PathBuf>,
    /// A figure of a paper from these results, instead of the report's; may be given several times. `bench --figure`
    /// measures what it needs
    #[arg(long, value_name = "NAME", value_parser = figures::parser(), requires = "svg", hide_possible_values = true)]
    figure: Vec<Asked>,
    /// Print a table in Markdown: our fastest format against the fastest peer, by family and precision; if `bench
    /// --format auto` measured the choice, another one rates it, and if `bench --vectors` multiplied several vectors at
    /// once, two compare that with the fastest peer and with as many single products
    #[arg(long, group = "outputs")]
    table: bool,
    /// Update the tables of a Markdown document; may be given several times. Each table stands between two comments, of which
    /// the first names the kind of table, the files of results and the rows; docs/guide/benchmarks.md describes them
    #[arg(long, value_name = "MARKDOWN", group = "outputs", conflicts_with_all = ["inputs", "import", "format", "matrix"])]
    document: Vec<PathBuf>,
    /// Do not update documents: fail if a table differs from its results, and name the first line that does
    #[arg(long, requires = "document", conflicts_with = "inputs")]
    check: bool,
    /// Add another library's results next to ours, for the same matrix, precision and executor; Ginkgo's benchmarks
    /// write such a file
    #[arg(long, value_name = "NAME=FILE", value_parser = parse_import)]
    import: Vec<(String, PathBuf)>,
    /// The format that is compared with the peers, besides the fastest [default: the one nearest to the fastest
    /// everywhere]
    #[arg(long)]
    format: Option<String>,
    /// The matrix whose row lengths are drawn [default: the one whose rows differ most]
    #[arg(long)]
    matrix: Option<String>,
}

fn parse_import(text: &str) -> Result<(String, PathBuf), String> {
    match text.split_once('=') {
        Some((name, file)) if !name.is_empty() && !file.is_empty() => Ok((name.into(), file.into())),
        _ => Err("expected NAME=FILE".into()),
    }
}

pub fn report(arguments: &Arguments) -> Result<(), Error> {
    if !arguments.document.is_empty() {
        return arguments.document.iter().try_for_each(|path| update(path, arguments.check));
    }
    let inputs = arguments.inputs.iter().chain(arguments.import.iter().map(|(_, file)| file));
    output::check_files(&arguments.output, inputs.map(PathBuf::as_path))?;
    if let Some(folder) = &arguments.svg {
        figures::check_folder(folder)?;
    }
    let mut entries = report::read(&arguments.inputs)?;
    for (library, file) in &arguments.import {
        let theirs = report::read([file])?;
        let count = theirs.len();
        let left_out = report::import(&mut entries, library, theirs)?;
        if left_out > 0 {
            let file = file.display();
            output::say(&format!(
                "{file}: {left_out} of {count} entries left out: no result here has their matrix, precision and executor"
            ));
        }
    }
    let report = Report::new(entries, arguments.format.as_deref(), arguments.matrix.as_deref())?;
    if let Some(folder) = &arguments.svg {
        let drawn = match figures::experiments(&arguments.figure) {
            none if none.is_empty() => report.figures()?,
            asked => asked.iter().map(|figure| figure.draw(report.entries())).collect::<Result<_, _>>()?,
        };
        figures::write(drawn, folder)?;
    }
    if let Some(path) = &arguments.output {
        let page = report.page();
        replace_file(path, |file| file.write_all(page.as_bytes()))?;
    }
    if arguments.table { output::print(&report.table()) } else { output::print(&summary(arguments, &report)) }
}

/// Updates the tables of a document, or only checks them.
fn update(path: &Path, check: bool) -> Result<(), Error> {
    let file = |source| lab::Error::File { path: path.into(), source };
    let text = std::fs::read_to_string(path).map_err(file)?;
    let made = report::document(path, &text)?;
    let name = printable(&path.to_string_lossy());
    match report::first_difference(&text, &made) {
        None => output::print(&format!("{name}: unchanged\n")),
        Some(line) if check => Err(Error::OutdatedDocument { document: name, line }),
        Some(_) => {
            replace_file(path, |file| file.write_all(made.as_bytes()))?;
            output::print(&format!("{name}: updated\n"))
        }
    }
}

/// The files written, one line each.
fn summary(arguments: &Arguments, report: &Report) -> String {
    let peers = report.series().iter().filter(|series| series.peer).count();
    let formats = report.series().iter().filter(|series| series.format).count();
    let entries = report.entries().len();
    let places = [arguments.output.as_ref(), arguments.svg.as_ref()].into_iter().flatten();
    let lines = places.map(|place| {
        format!("{}: {entries} entries, {formats} formats, {peers} peers\n", printable(&place.to_string_lossy()))
    });
    lines.collect()
}
