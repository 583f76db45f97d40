//! HYB: the ELL part by several threads per row where rows are few and long, as in Anzt et al. 2020, §4, then the COO
//! part: added atomically in one launch, as in that paper, or by the reproducible kernels of COO in two.

use cuda_std::launch::Launch;

use crate::device::Device;
use crate::error::Error;
use crate::format::narrow::{HostValues, Values};
use crate::format::{CooStrategy, Hyb, coo, ell};
use crate::memory::{Buffer, Memory};
use crate::real::Scalar;
use crate::spmv::multivector::Tiles;
use crate::spmv::{HostOperands, Room, Vectors};

pub(crate) fn hyb<T: Scalar, M: Memory>(
    strategy: CooStrategy,
    matrix: &Hyb<T, M>,
    vectors: Vectors<T>,
    room: &mut Room<'_, T, M>,
    device: &Device,
) -> Result<Vec<Launch>, Error> {
    let mut launches =
        vec![ell::product::subwarp(matrix.ell(), Values::as_they_are(matrix.ell().values().global()), vectors, device)];
    match strategy {
        CooStrategy::Segmented => launches.extend(coo::product::add_product(matrix.coo(), vectors, room, device)?),
        strategy => launches.push(coo::product::add_product_atomically(matrix.coo(), strategy, vectors, device)),
    }
    Ok(launches)
}

/// Returns the launches of Y ← α A X + β Y.
///
/// # Errors
/// When memory runs out.
pub(super) fn multivector<T: Scalar, M: Memory>(
    matrix: &Hyb<T, M>,
    tiles: &Tiles<T>,
    room: &mut Room<'_, T, M>,
    device: &Device,
) -> Result<Vec<Launch>, Error> {
    let mut launches: Vec<_> =
        tiles.arguments().map(|arguments| ell::multivector::launch(matrix.ell(), arguments, device)).collect();
    launches.extend(coo::multivector::add_products(matrix.coo(), tiles, room, device)?);
    Ok(launches)
}

/// Multiplies with several vectors in row-major layout on the CPU, in parallel.
///
/// # Errors
/// When memory runs out.
pub(super) fn multiply_rows_on_cpu<T: Scalar>(
    matrix: &Hyb<T>,
    vectors: usize,
    operands: HostOperands<'_, T>,
) -> Result<(), Error> {
    let HostOperands { alpha, x, beta, y } = operands;
    // Before the ELL part writes y, so that y is intact if memory runs out.
    let pieces = coo::product::Pieces::new(matrix.coo(), vectors)?;
    ell::multivector::multiply_on_cpu(matrix.ell(), vectors, HostOperands { alpha, x, beta, y: &mut *y });
    coo::multivector::add_on_cpu(matrix.coo(), &pieces, vectors, (alpha, x), y, |_| ());
    Ok(())
}

pub(crate) fn multiply_on_cpu<T: Scalar>(matrix: &Hyb<T>, operands: HostOperands<'_, T>) -> Result<(), Error> {
    let HostOperands { alpha, x, beta, y } = operands;
    // Before the ELL part writes y, so that y is intact if memory runs out.
    let pieces = coo::product::Pieces::new(matrix.coo(), 1)?;
    let values = HostValues::as_they_are(matrix.ell().values());
    ell::product::multiply_on_cpu(matrix.ell(), values, HostOperands { alpha, x, beta, y: &mut *y });
    if matrix.coo().nnz() > 0 {
        coo::product::add_on_cpu(matrix.coo(), &pieces, (alpha, x), y, |_| ());
    }
    Ok(())
}
