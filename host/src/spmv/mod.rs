//! How each format is multiplied: which kernels on which grids, and the same on the CPU. One file a format.

mod bcsr;
mod bcsr_cpu;
mod bellpack;
mod block;
mod cmrs;
mod coo;
mod coo_16;
mod csr;
mod csr_balanced;
mod csr_cpu;
mod dia;
mod dia_cpu;
mod ell;
mod hyb;
mod intervals;
mod lanes;
mod multivector;
mod on_cpu;
mod product;
mod reference;
mod sell_16;
mod sell_p;
mod transposed;

use cuda_std::launch::Launch;
use gpu_kernels::vector::Scale;

use crate::device::Device;
use crate::error::{Error, check_length};
use crate::format::{Format, Matrix};
use crate::memory::{Buffer, HostMemory, Memory};
use crate::real::Real;

pub(crate) use bcsr::lanes_for as bcsr_lanes;
pub(crate) use bellpack::entry as bellpack_entry;
pub use csr::lanes_for;
pub(crate) use ell::threads_per_row as ell_threads_per_row;
pub(crate) use intervals::Intervals;
pub(crate) use multivector::multivector_carries;
pub use multivector::{Layout, Multivector, MultivectorOperands};
use multivector::{multiply_multivector_on_cpu, multivector_launches};
pub(crate) use product::{MultivectorProduct, Product, ProductOperands, TransposedProduct};
use transposed::{multiply_transposed_on_cpu, transposed_launches};

/// The operands of y ← α A x + β y. With β = 0, y is overwritten and never read.
pub struct Operands<'a, T: Real, M: Memory> {
    /// The factor of A x. Finite: the kernels that share a row among warps multiply its parts with it.
    pub alpha: T,
    /// The vector that is multiplied; one element for each column.
    pub x: &'a M::Buffer<T>,
    /// The factor of y.
    pub beta: T,
    /// The result; one element for each row.
    pub y: &'a mut M::Buffer<T>,
}

impl<T: Real, M: Memory> Operands<'_, T, M> {
    /// Checks the vectors against the shape of a matrix.
    pub(crate) fn check(&self, rows: usize, columns: usize) -> Result<(), Error> {
        check_length("x", self.x.len(), columns)?;
        check_length("y", self.y.len(), rows)
    }
}

/// What a kernel needs besides its operands: the sums of rows that several warps share, and products that are added up
/// later.
pub struct Workspace<T: Real, M: Memory> {
    pub(crate) carry_rows: M::Buffer<u32>,
    pub(crate) carry_values: M::Buffer<T>,
    pub(crate) products: M::Buffer<T>,
    /// Whether the rows of the carries are known: some formats find them once.
    pub(crate) carry_rows_known: bool,
}

/// Number of carries that a [`Workspace`] must hold for this matrix and format on this device.
pub(crate) fn carries<T: Real, M: Memory>(matrix: &Matrix<T, M>, format: Format, device: &Device) -> usize {
    let intervals = match (format, matrix) {
        (Format::CsrLoadBalanced, Matrix::Csr(matrix)) => csr_balanced::load_balanced_intervals(matrix, device),
        (Format::CsrMergePath, Matrix::Csr(matrix)) => csr_balanced::merge_path_intervals(matrix, device),
        (Format::CsrTiled, Matrix::Csr(matrix)) => csr_balanced::tiles(matrix, device),
        (Format::Coo, Matrix::Coo(matrix)) => coo::intervals(matrix, device),
        (Format::Hyb(_), Matrix::Hyb(matrix)) => coo::intervals(matrix.coo(), device),
        (Format::Coo16, Matrix::Coo16(matrix)) => return matrix.panel_counts().0,
        _ => return 0,
    };
    intervals.count as usize
}

/// Number of products that a [`Workspace`] must hold for this matrix and format on this device.
///
/// # Errors
/// When the device cannot multiply so.
pub(crate) fn products<T: Real, M: Memory>(
    matrix: &Matrix<T, M>,
    format: Format,
    device: &Device,
) -> Result<usize, Error> {
    match (format, matrix) {
        (Format::Coo16, Matrix::Coo16(matrix)) => coo_16::products(matrix, device),
        _ => Ok(0),
    }
}

/// The launches that multiply `matrix`, in order, for a GPU as for the emulator.
///
/// # Errors
/// When the matrix is not stored as the format says.
pub(crate) fn launches<T: Real, M: Memory>(
    matrix: &Matrix<T, M>,
    format: Format,
    operands: Operands<'_, T, M>,
    workspace: &mut Workspace<T, M>,
    device: &Device,
) -> Result<Vec<Launch>, Error> {
    operands.check(matrix.rows(), matrix.columns())?;
    match (format, matrix) {
        (Format::CsrScalar, Matrix::Csr(matrix)) => Ok(vec![csr::scalar(matrix, operands, device)]),
        (Format::CsrVector(lanes), Matrix::Csr(matrix)) => Ok(vec![csr::vector(matrix, lanes, operands, device)]),
        (Format::CsrLoadBalanced, Matrix::Csr(matrix)) => {
            Ok(csr_balanced::load_balanced(matrix, operands, workspace, device))
        }
        (Format::CsrMergePath, Matrix::Csr(matrix)) => {
            Ok(csr_balanced::merge_path(matrix, operands, workspace, device))
        }
        (Format::CsrTiled, Matrix::Csr(matrix)) => Ok(csr_balanced::tiled(matrix, operands, workspace, device)),
        (Format::CsrAutomatic | Format::Auto, _) => Err(format.stands_for_others()),
        (Format::Dia, Matrix::Dia(matrix)) => Ok(vec![dia::dia(matrix, operands, device)]),
        (Format::Ell, Matrix::Ell(matrix)) => Ok(vec![ell::ell(matrix, operands, device)]),
        (Format::EllSubwarp, Matrix::Ell(matrix)) => Ok(vec![ell::subwarp(matrix, operands, device)]),
        (Format::SellP | Format::SellPSorted, Matrix::SellP(matrix)) => {
            Ok(vec![sell_p::sell_p(matrix, operands, device)])
        }
        (Format::Sell16, Matrix::Sell16(matrix)) => Ok(vec![sell_16::sell_16(matrix, operands, device)]),
        (Format::Bcsr(size), Matrix::Bcsr(matrix)) if size == matrix.block_size() => {
            Ok(vec![bcsr::bcsr(matrix, operands, device)])
        }
        (Format::Bellpack(size), Matrix::Bellpack(matrix)) if size == matrix.block_size() => {
            Ok(vec![bellpack::bellpack(matrix, operands, device)])
        }
        (Format::Coo, Matrix::Coo(matrix)) => Ok(coo::coo(matrix, operands, workspace, device)),
        (Format::CooAtomic, Matrix::Coo(matrix)) => Ok(coo::atomic(matrix, operands, device)),
        (Format::Coo16, Matrix::Coo16(matrix)) => Ok(coo_16::coo_16(matrix, operands, workspace, device)),
        (Format::Hyb(_), Matrix::Hyb(matrix)) => Ok(hyb::hyb(matrix, operands, workspace, device)),
        (Format::Cmrs(_), Matrix::Cmrs(matrix)) => Ok(vec![cmrs::cmrs(matrix, operands, device)]),
        (Format::CmrsPadded, Matrix::CmrsPadded(matrix)) => Ok(vec![cmrs::padded(matrix, operands, device)]),
        (format, _) => Err(not_stored_as(format)),
    }
}

/// [`Operands`] in host memory, as slices.
struct HostOperands<'a, T> {
    alpha: T,
    x: &'a [T],
    beta: T,
    y: &'a mut [T],
}

/// Multiplies `matrix` on the CPU, in parallel.
///
/// # Errors
/// When the matrix is not stored as the format says.
pub(crate) fn multiply_on_cpu<T: Real>(
    matrix: &Matrix<T>,
    format: Format,
    operands: Operands<'_, T, HostMemory>,
) -> Result<(), Error> {
    operands.check(matrix.rows(), matrix.columns())?;
    let Operands { alpha, x, beta, y } = operands;
    multiply_vector_on_cpu(matrix, format, HostOperands { alpha, x, beta, y })
}

/// [`multiply_on_cpu`] with vectors that are known to fit.
fn multiply_vector_on_cpu<T: Real>(
    matrix: &Matrix<T>,
    format: Format,
    operands: HostOperands<'_, T>,
) -> Result<(), Error> {
    match (format, matrix) {
        (
            Format::CsrScalar
            | Format::CsrVector(_)
            | Format::CsrLoadBalanced
            | Format::CsrMergePath
            | Format::CsrTiled
            | Format::CsrAutomatic,
            Matrix::Csr(matrix),
        ) => csr_cpu::multiply_on_cpu(matrix, operands),
        (Format::Dia, Matrix::Dia(matrix)) => dia_cpu::multiply_on_cpu(matrix, operands),
        (Format::Ell | Format::EllSubwarp, Matrix::Ell(matrix)) => ell::multiply_on_cpu(matrix, operands),
        (Format::SellP | Format::SellPSorted, Matrix::SellP(matrix)) => sell_p::multiply_on_cpu(matrix, operands),
        (Format::Sell16, Matrix::Sell16(matrix)) => sell_16::multiply_on_cpu(matrix, operands),
        (Format::Bcsr(size), Matrix::Bcsr(matrix)) if size == matrix.block_size() => {
            bcsr_cpu::multiply_on_cpu(matrix, operands);
        }
        (Format::Bellpack(size), Matrix::Bellpack(matrix)) if size == matrix.block_size() => {
            bellpack::multiply_on_cpu(matrix, operands);
        }
        (Format::Coo | Format::CooAtomic, Matrix::Coo(matrix)) => coo::multiply_on_cpu(matrix, operands),
        (Format::Coo16, Matrix::Coo16(matrix)) => coo_16::multiply_on_cpu(matrix, operands),
        (Format::Hyb(_), Matrix::Hyb(matrix)) => hyb::multiply_on_cpu(matrix, operands),
        (Format::Cmrs(_), Matrix::Cmrs(matrix)) => cmrs::multiply_on_cpu(matrix, operands),
        (Format::CmrsPadded, Matrix::CmrsPadded(matrix)) => cmrs::multiply_padded_on_cpu(matrix, operands),
        (format, _) => return Err(not_stored_as(format)),
    }
    Ok(())
}

/// The longest chain of additions that any product of a row of `length` entries goes through, on any executor:
/// the k of the error bound γ_k, before the roundings of the product itself, of α and of β.
pub fn longest_chain(format: Format, length: usize) -> usize {
    match format {
        // One chain, or on the CPU at least. Duplicates that DIA sums beforehand are links of it as well.
        Format::CsrScalar | Format::Dia | Format::Ell | Format::EllSubwarp => length,
        Format::SellP | Format::SellPSorted | Format::Sell16 => length,
        Format::CsrVector(lanes) => csr::longest_chain(lanes, length),
        Format::CsrLoadBalanced | Format::CsrMergePath | Format::CsrTiled => csr_balanced::longest_chain(length),
        // Any of those that it stands for.
        Format::CsrAutomatic | Format::Auto => length,
        // One chain on the CPU. Duplicates that are summed beforehand are links of it as well.
        Format::Bcsr(_) | Format::Bellpack(_) => length,
        Format::Coo | Format::CooAtomic | Format::Hyb(_) => coo::longest_chain(length),
        // All entries of a row may fall to one lane.
        Format::Cmrs(_) => length,
        // At most one for each of its slots, and each entry.
        Format::Coo16 => length,
        Format::CmrsPadded => cmrs::longest_padded_chain(length),
    }
}

fn not_stored_as(format: Format) -> Error {
    Error::structure(format.storage(), format!("the matrix is not stored as {format} needs it"))
}

/// A launch for y ← β y.
fn scale<T: Real>(count: usize, beta: T, y: cuda_std::GlobalMut<T>, device: &Device) -> Launch {
    let count = count as u64;
    Launch::new(device.grid(count), Scale { count, beta, y })
}

/// α sum + β y, without reading y where β is 0.
#[inline]
fn update<T: Real>(y: &mut T, alpha: T, sum: T, beta: T) {
    *y = if beta == T::ZERO { alpha * sum } else { alpha * sum + beta * *y };
}
