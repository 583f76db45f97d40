//! HYB: the ELL part by several threads a row where rows are few and long, as Anzt et al. 2020, §4 have it, then the COO
//! part on top of it. Theirs adds that part atomically, in one launch; ours takes the reproducible kernels of COO, two.

use cuda_std::launch::Launch;

use crate::device::Device;
use crate::error::Error;
use crate::format::Hyb;
use crate::format::{coo, ell};
use crate::memory::Memory;
use crate::real::Scalar;
use crate::spmv::{HostOperands, Room, Vectors};

pub(crate) fn hyb<T: Scalar, M: Memory>(
    matrix: &Hyb<T, M>,
    vectors: Vectors<T>,
    room: &mut Room<'_, T, M>,
    device: &Device,
) -> Result<Vec<Launch>, Error> {
    let mut launches = vec![ell::product::subwarp(matrix.ell(), vectors, device)];
    launches.extend(coo::product::add_product(matrix.coo(), vectors, room, device)?);
    Ok(launches)
}

pub(crate) fn multiply_on_cpu<T: Scalar>(matrix: &Hyb<T>, operands: HostOperands<'_, T>) -> Result<(), Error> {
    let HostOperands { alpha, x, beta, y } = operands;
    ell::product::multiply_on_cpu(matrix.ell(), HostOperands { alpha, x, beta, y: &mut *y });
    if matrix.coo().nnz() > 0 {
        coo::product::multiply_on_cpu(matrix.coo(), HostOperands { alpha, x, beta: T::ONE, y })?;
    }
    Ok(())
}
