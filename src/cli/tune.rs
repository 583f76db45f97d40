//! `warp-spmv tune`: calibrates the choice of a format.

use std::path::{Path, PathBuf};

use lab::calibrate::{Sample, ask, measure_dense};
use lab::record::Entry;
use lab::subject::{self, Subject, SubjectVisitor};
use lab::{report, results};
use warp_spmv::executor::ExecutorName;
use warp_spmv::select::{Calibration, Store};

use super::bench;
use super::error::Error;
use super::output::{self, printable};
use super::run::executor_parser;

pub const EXAMPLES: &str = "\
Examples:
  warp-spmv tune
  warp-spmv tune --records tuning.json
  warp-spmv tune --from tuning.json --from large.json --out calibration.json
  warp-spmv tune --from large.json --check
  warp-spmv tune --records tuning.json --dense --check";

#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// A file of results written by `bench` or `tune`, instead of measuring; may be given several times
    #[arg(long, value_name = "FILE")]
    from: Vec<PathBuf>,
    /// Where to multiply [default: cuda if there is a GPU that this program can use, otherwise cpu]
    #[arg(long, value_parser = executor_parser(), conflicts_with = "from")]
    executor: Option<ExecutorName>,
    /// Keep the measurements in this file, and continue what it contains
    #[arg(long, value_name = "FILE", conflicts_with = "from")]
    records: Option<PathBuf>,
    /// Also measure dense matrices in BELLPACK and BCSR: they provide the model by which Choi, Singh & Vuduc 2010, §6,
    /// choose blocks, which --check compares with the choice
    #[arg(long, conflicts_with = "from")]
    dense: bool,
    /// Write the calibration to this file [default: one for the device in the user's data folder, where `--format auto`
    /// looks]
    #[arg(long, value_name = "FILE", conflicts_with = "check")]
    out: Option<PathBuf>,
    /// Only report the quality of the choices, and write no calibration
    #[arg(long)]
    check: bool,
    /// Report the quality of this calibration's choices, rather than of a new one's
    #[arg(long, value_name = "FILE", requires = "check")]
    calibration: Option<PathBuf>,
    /// Fit the calibration to all matrices: otherwise a third is held out, to test it where it was not fitted
    #[arg(long, conflicts_with = "calibration")]
    all: bool,
}

/// Asks the device for the resources of its kernels.
struct Ask<'a>(&'a mut Calibration);

impl SubjectVisitor for Ask<'_> {
    type Output = ();

    fn visit<S: Subject>(self, subject: &S) {
        ask(self.0, subject);
    }
}

/// Measures the dense matrices that are missing in the entries.
struct Dense<'a> {
    entries: &'a mut Vec<Entry>,
    records: Option<&'a Path>,
}

impl SubjectVisitor for Dense<'_> {
    type Output = Result<(), lab::Error>;

    fn visit<S: Subject>(self, subject: &S) -> Self::Output {
        let mut calibration = Calibration::shipped(subject.device());
        ask(&mut calibration, subject);
        measure_dense(subject, &calibration, bench::TUNING_EFFORT, self.entries, &mut |entries| {
            self.records.map_or(Ok(()), |records| results::write(records, entries))
        })
    }
}

/// The measurements, new or already in the records.
fn measure(arguments: &Arguments) -> Result<Vec<Entry>, Error> {
    let records = arguments.records.as_deref();
    let mut entries = Vec::new();
    if arguments.dense {
        if let Some(records) = records.filter(|records| records.exists()) {
            entries = results::read(records)?;
        }
        let dense = Dense { entries: &mut entries, records };
        subject::with(arguments.executor.unwrap_or(ExecutorName::Cuda), dense)??;
    }
    let all = bench::measure(&bench::Arguments::of_tuning(arguments.executor, arguments.records.clone()))?;
    // The records, if any, contain all of them.
    if records.is_some() {
        entries.clear();
    }
    entries.extend(all);
    Ok(entries)
}

pub fn tune(arguments: &Arguments) -> Result<(), Error> {
    let read = arguments.from.iter().chain(&arguments.calibration).chain(&arguments.records);
    output::check_files(&arguments.out, read.map(PathBuf::as_path))?;
    let given = arguments.calibration.as_deref().map(Calibration::read).transpose()?;
    let entries = if arguments.from.is_empty() { measure(arguments)? } else { report::read(&arguments.from)? };
    let sample = Sample::new(&entries)?;
    if sample.left_out > 0 {
        let (left_out, count) = (sample.left_out, entries.len());
        output::say(&format!("{left_out} of {count} entries left out: they lack the properties of the matrix"));
    }
    let fit = || {
        let mut calibration = sample.calibration(arguments.all);
        if arguments.from.is_empty() {
            // Without a GPU, there is nothing to ask.
            let name = arguments.executor.unwrap_or(ExecutorName::Cuda);
            let _ = subject::with(name, Ask(&mut calibration));
        }
        calibration
    };
    let calibration = given.unwrap_or_else(fit);
    output::print(&sample.accuracy(&calibration).to_string())?;
    output::print(&sample.blocked(&calibration).to_string())?;
    if arguments.check {
        return Ok(());
    }
    let path = match (&arguments.out, Store::of_user()) {
        (Some(out), _) => {
            calibration.write(out)?;
            out.clone()
        }
        (None, Some(store)) => store.keep_calibration(&calibration)?,
        (None, None) => return Err(Error::Usage("the user's data folder is not known: give --out".into())),
    };
    output::print(&format!("\n{}\n", printable(&path.to_string_lossy())))
}
