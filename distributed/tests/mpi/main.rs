//! Ranks as processes of MPI: `mpirun -n 4 PROGRAM [FAULT]`. Without a fault, every scenario must pass. With one, all ranks
//! must end with an error that names the faulty rank; a rank that has not heard of it from another prints it.
//!
//! With the feature `cuda`, `mpirun -n 2 PROGRAM gpus [WAY ...]` multiplies and solves on GPUs, a different one per rank if
//! there are enough, with exchanges by each of the given routes; unavailable routes are named.

#[path = "../../../tests/scenarios"]
#[allow(dead_code, reason = "the tests of the whole take the rest")]
mod shared {
    pub mod matrices;
    mod numbers;
    #[path = "../solvers/solver.rs"]
    pub mod solver;

    pub use numbers::Numbers;
}
#[cfg(feature = "cuda")]
mod gpus;
#[path = "../scenarios/mod.rs"]
mod scenarios;

use std::io::Write;
use std::process::ExitCode;
use std::time::Duration;

use warp_spmv_distributed::{Communicator, Error, Options, mpi};

use scenarios::SCENARIOS;

fn main() -> ExitCode {
    let fault = std::env::args().nth(1);
    let options = Options { timeout: Some(Duration::from_secs(if fault.is_some() { 1 } else { 60 })) };
    let result = mpi::run_with(options, |communicator| match &fault {
        #[cfg(feature = "cuda")]
        Some(what) if what == "gpus" => gpus::gpus(communicator),
        Some(fault) => {
            communicator.barrier()?;
            faulty(communicator, fault)
        }
        None => SCENARIOS.iter().try_for_each(|(name, scenario)| {
            scenario(communicator)?;
            if communicator.rank() == 0 {
                println!("{name} on {} ranks: right", communicator.ranks());
            }
            Ok(())
        }),
    });
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(Error::Rank { heard: true, .. }) => ExitCode::FAILURE,
        Err(error) => {
            // In a single write, because all processes write to the same stream.
            let written = std::io::stderr().write_all(format!("{error}\n").as_bytes());
            written.expect("stderr is there");
            ExitCode::FAILURE
        }
    }
}

/// The fault of the last rank while others wait for it.
fn faulty(communicator: &Communicator, fault: &str) -> Result<(), Error> {
    if communicator.rank() + 1 < communicator.ranks() {
        return communicator.barrier();
    }
    match fault {
        "error" => Err(Error::Rows { row: 17, reason: "planted".into() }),
        "panic" => panic!("planted"),
        "else" => communicator.sum(&mut [1.0]),
        "end" => Ok(()),
        "silent" => {
            std::thread::sleep(Duration::from_secs(3));
            Ok(())
        }
        // Without a message.
        _ => std::process::abort(),
    }
}
