//! `warp-spmv doctor`: reports what works on this machine, and advises on what does not.

use std::fmt::{self, Display};

use serde::Serialize;
use warp_spmv::executor::{Cpu, Executor};
use warp_spmv::select::Store;
use warp_spmv::synthetic::Generator;
use warp_spmv::verify::{exact, verify};
use warp_spmv::{Csr, Format, Plan};

use super::error::Error;
use super::output;

pub const EXAMPLES: &str = "\
Examples:
  warp-spmv doctor
  warp-spmv doctor --json";

#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Print one JSON object instead of a table
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
enum State {
    Works,
    /// It does not exist here, or this program was built without it.
    Missing,
    /// It exists but fails.
    Broken,
}

/// The result of one check.
#[derive(Debug, Serialize)]
struct Finding {
    what: String,
    state: State,
    /// Its description, or the reason why it does not work.
    found: String,
    /// Advice for the user.
    #[serde(skip_serializing_if = "Option::is_none")]
    advice: Option<String>,
}

impl Finding {
    fn works(what: impl Into<String>, found: impl Into<String>) -> Self {
        Self { what: what.into(), state: State::Works, found: found.into(), advice: None }
    }

    fn missing(what: impl Into<String>, found: impl Into<String>, advice: impl Into<String>) -> Self {
        Self { what: what.into(), state: State::Missing, found: found.into(), advice: Some(advice.into()) }
    }

    fn broken(what: impl Into<String>, found: impl Display, advice: impl Into<String>) -> Self {
        Self { what: what.into(), state: State::Broken, found: found.to_string(), advice: Some(advice.into()) }
    }

    /// A part of the program that requires a feature.
    #[allow(dead_code, reason = "a program may have all features")]
    fn without(what: &str, feature: &str) -> Self {
        Self::missing(what, "this program was built without it", format!("build with --features {feature}"))
    }
}

#[derive(Debug, Serialize)]
struct Findings {
    findings: Vec<Finding>,
}

impl Display for Findings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for Finding { what, state, found, advice } in &self.findings {
            let state = match state {
                State::Works => "works",
                State::Missing => "missing",
                State::Broken => "BROKEN",
            };
            writeln!(f, "{what:<13} {state:<8} {}", output::printable(found))?;
            if let Some(advice) = advice {
                writeln!(f, "{:23}{}", "", output::printable(advice))?;
            }
        }
        Ok(())
    }
}

pub fn doctor(arguments: &Arguments) -> Result<(), Error> {
    let mut findings = vec![Finding::works("program", format!("{}{}", env!("CARGO_PKG_VERSION"), built_with()))];
    let cpu = Cpu::new();
    findings.push(multiplies("cpu", &cpu));
    findings.push(calibration("cpu choice", cpu.device()));
    look_at_gpus(&mut findings);
    look_at_nccl(&mut findings);
    look_at_mpi(&mut findings);
    let findings = Findings { findings };
    output::print(&match arguments.json {
        true => output::json(&findings),
        false => findings.to_string(),
    })?;
    let broken: Vec<_> = findings.findings.iter().filter(|finding| finding.state == State::Broken).collect();
    match broken.is_empty() {
        true => Ok(()),
        false => Err(Error::Broken(broken.iter().map(|finding| finding.what.clone()).collect())),
    }
}

/// The optional features of this program.
fn built_with() -> String {
    let features = [
        (cfg!(feature = "cuda"), "cuda"),
        (cfg!(feature = "peers"), "peers"),
        (cfg!(feature = "nccl"), "nccl"),
        (cfg!(feature = "mpi"), "mpi"),
        (cfg!(feature = "metis"), "metis"),
    ];
    let has: Vec<_> = features.into_iter().filter(|feature| feature.0).map(|feature| feature.1).collect();
    if has.is_empty() { " without optional features".into() } else { format!(" with {}", has.join(", ")) }
}

/// Checks whether a product on an executor is right.
fn multiplies<E: Executor>(what: &str, executor: &E) -> Finding {
    let check = || -> Result<bool, Error> {
        let generator: Generator = "stencil:27:12".parse()?;
        let matrix: Csr<f64> = generator.generate()?;
        let x: Vec<f64> = (0..matrix.columns()).map(|column| 1.0 / (column + 1) as f64).collect();
        let zeros = vec![0.0; matrix.rows()];
        let expected = exact(&matrix, 1.0, &x, 0.0, &zeros)?;
        let mut plan = Plan::with_format(executor, matrix, Format::SELL_P)?;
        let (x, mut y) = (executor.upload(x)?, executor.upload(zeros)?);
        plan.apply(1.0, &x, 0.0, &mut y)?;
        Ok(verify(&executor.download(&y)?, &expected, Format::SELL_P)?.passed())
    };
    let name = &executor.device().name;
    match check() {
        Ok(true) => Finding::works(what, format!("{name}; a product is right")),
        Ok(false) => Finding::broken(what, format!("{name}; a product is wrong"), "please report it: see SECURITY.md"),
        Err(error) => {
            Finding::broken(what, format!("{name}; {error}"), "run the tests of this device: see CONTRIBUTING.md")
        }
    }
}

/// Checks whether the choice of a format is calibrated for a device.
fn calibration(what: &str, device: &warp_spmv::device::Device) -> Finding {
    let Some(store) = Store::of_user() else {
        return Finding::missing(what, "this system has no data folder", "set HOME or XDG_DATA_HOME");
    };
    let path = store.calibration_path(&device.name);
    match store.calibration(device) {
        Ok(Some(_)) => Finding::works(what, format!("calibrated: {}", path.display())),
        Ok(None) => {
            let found = "--format auto uses the calibration that comes with the program";
            Finding::missing(what, found, "calibrate it for this machine with warp-spmv tune")
        }
        Err(error) => Finding::broken(what, error, format!("remove {}, or run warp-spmv tune", path.display())),
    }
}

#[cfg(not(feature = "cuda"))]
fn look_at_gpus(findings: &mut Vec<Finding>) {
    findings.push(Finding::without("gpu", "cuda"));
}

#[cfg(feature = "cuda")]
fn look_at_gpus(findings: &mut Vec<Finding>) {
    use warp_spmv::executor::Cuda;

    const ADVICE: &str = "GPUs need NVIDIA's driver: check the output of nvidia-smi";
    let count = match Cuda::count() {
        Ok(count) => count,
        Err(error) => return findings.push(Finding::missing("gpu", error.to_string(), ADVICE)),
    };
    for number in 0..count {
        let what = format!("gpu {number}");
        match Cuda::new(number) {
            Err(error) => findings.push(Finding::broken(what, error, ADVICE)),
            Ok(gpu) => {
                let Finding { found, state, advice, .. } = multiplies(&what, &gpu);
                let found = format!("{found}; kernels for sm_{}", gpu.ptx_architecture());
                findings.push(Finding { what, state, found, advice });
                findings.push(calibration(&format!("gpu {number} choice"), gpu.device()));
                if number == 0 {
                    findings.push(cusparse(&gpu));
                }
            }
        }
    }
}

#[cfg(all(feature = "cuda", not(feature = "peers")))]
fn cusparse(_: &warp_spmv::executor::Cuda) -> Finding {
    Finding::without("cuSPARSE", "peers")
}

#[cfg(all(feature = "cuda", feature = "peers"))]
fn cusparse(gpu: &warp_spmv::executor::Cuda) -> Finding {
    match lab::peers::cusparse_name(gpu) {
        Ok(name) => Finding::works("cuSPARSE", name),
        Err(reason) => {
            let advice = "bench --peers compares with it: add the folder of libcusparse.so to LD_LIBRARY_PATH";
            Finding::missing("cuSPARSE", reason, advice)
        }
    }
}

#[cfg(not(feature = "nccl"))]
fn look_at_nccl(findings: &mut Vec<Finding>) {
    findings.push(Finding::without("NCCL", "cuda,nccl"));
}

#[cfg(feature = "nccl")]
fn look_at_nccl(findings: &mut Vec<Finding>) {
    findings.push(match warp_spmv::distributed::nccl_version() {
        Ok(version) => Finding::works("NCCL", version),
        Err(reason) => Finding::missing("NCCL", reason, "only GPUs of several processes need it: install libnccl2"),
    });
}

#[cfg(not(feature = "mpi"))]
fn look_at_mpi(findings: &mut Vec<Finding>) {
    findings.push(Finding::without("MPI", "mpi"));
}

#[cfg(feature = "mpi")]
fn look_at_mpi(findings: &mut Vec<Finding>) {
    findings.push(match warp_spmv::distributed::mpi::library_version() {
        Ok(version) => Finding::works("MPI", version),
        Err(reason) => Finding::broken("MPI", reason, "rebuild the program with the MPI to which mpirun belongs"),
    });
}
