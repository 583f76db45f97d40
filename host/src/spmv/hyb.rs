//! HYB: the ELL part, then the COO part on top of it.

use cuda_std::launch::Launch;

use super::{Device, HostOperands, Operands, Workspace, coo, ell};
use crate::format::Hyb;
use crate::memory::Memory;
use crate::real::Real;

pub(super) fn hyb<T: Real, M: Memory>(
    matrix: &Hyb<T, M>,
    operands: Operands<'_, T, M>,
    workspace: &mut Workspace<T, M>,
    device: &Device,
) -> Vec<Launch> {
    let Operands { alpha, x, beta, y } = operands;
    let mut launches = vec![ell::ell(matrix.ell(), Operands { alpha, x, beta, y: &mut *y }, device)];
    launches.extend(coo::add_product(matrix.coo(), alpha, x, y, workspace, device));
    launches
}

pub(super) fn multiply_on_cpu<T: Real>(matrix: &Hyb<T>, operands: HostOperands<'_, T>) {
    let HostOperands { alpha, x, beta, y } = operands;
    ell::multiply_on_cpu(matrix.ell(), HostOperands { alpha, x, beta, y: &mut *y });
    if matrix.coo().nnz() > 0 {
        coo::multiply_on_cpu(matrix.coo(), HostOperands { alpha, x, beta: T::ONE, y });
    }
}
