//! Products and solvers on GPUs.

use host::executor::Cuda;
use warp_spmv::Complex;
use warp_spmv_distributed::{Communicator, DistributedMatrix, Distribution, Error, MatrixOptions, Ranges, Route, Rows};

use crate::scenarios::{products, solvers};
use crate::shared::solver::laplacian;

/// By all routes named on the command line, or by all routes.
pub fn gpus(communicator: &Communicator) -> Result<(), Error> {
    let named: Vec<Route> = std::env::args().skip(2).map(|name| name.parse()).collect::<Result<_, _>>()?;
    let routes = if named.is_empty() { Route::ALL.to_vec() } else { named };
    let gpu = Cuda::new(communicator.rank() as u32 % Cuda::count()?)?;
    let first = communicator.rank() == 0;
    for route in routes {
        let engine = match engine(communicator, &gpu, route) {
            Err(Error::Exchange { way, reason }) => {
                if first {
                    println!("exchange by {way}: not checked: {reason}");
                }
                continue;
            }
            engine => engine?,
        };
        products::on_gpus::<f64>(communicator, &gpu, route)?;
        products::on_gpus::<f32>(communicator, &gpu, route)?;
        products::on_gpus::<Complex<f64>>(communicator, &gpu, route)?;
        if first {
            println!("products on {} ranks, {engine}: right", communicator.ranks());
        }
    }
    solvers::on_gpus(communicator, &gpu)?;
    if first {
        println!("methods on {} ranks: right", communicator.ranks());
    }
    Ok(())
}

/// The engine that is used when this route is requested.
fn engine(communicator: &Communicator, gpu: &Cuda, route: Route) -> Result<String, Error> {
    let matrix = laplacian::<f64>(&[6, 5]);
    let ranges = Ranges::even(30, communicator.ranks())?;
    let rows = Rows::of(&matrix, ranges.of(communicator.rank()))?;
    let options = MatrixOptions { route, ..MatrixOptions::default() };
    Ok(DistributedMatrix::new(communicator, gpu, Distribution::square(ranges), rows, &options)?.engine().to_string())
}
