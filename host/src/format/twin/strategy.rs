//! One thread per row.

use cuda_std::launch::{Call, Launch};
use gpu_kernels::csr::CsrScalar;

use super::Twin;
use crate::device::Device;
use crate::error::Error;
use crate::executor::operation::KernelExecutor;
use crate::format::narrow::Values;
use crate::format::storage::ArraySource;
use crate::format::strategy::{self, HostStorage, Storage};
use crate::format::{Csr, FillLimit, Offsets};
use crate::memory::{Buffer, Memory};
use crate::real::Scalar;
use crate::spmv::{HostOperands, Room, Vectors, update};

/// One thread per row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Strategy;

impl strategy::Strategy for Strategy {
    type Matrix<T: Scalar, M: Memory> = Twin<T, M>;

    const ALL: &'static [Self] = &[Self];

    fn name(self) -> &'static str {
        "twin"
    }

    fn storage(self) -> &'static str {
        "Twin"
    }

    fn bytes<T: Scalar, V: Scalar>(self, matrix: &Csr<T>) -> Result<u128, Error> {
        Ok(matrix.bytes_with::<V>())
    }

    fn convert<T: Scalar>(self, matrix: Csr<T>, _: FillLimit) -> Result<Twin<T>, Error> {
        Ok(Twin::from_csr(matrix))
    }

    // Copies the arrays, because most formats have their own.
    fn convert_by_kernels<T: Scalar, K: KernelExecutor>(
        self,
        executor: &K,
        matrix: Csr<T, K::Memory>,
        _: FillLimit,
    ) -> Result<Twin<T, K::Memory>, Error> {
        Ok(Twin::from_csr(matrix.duplicate(executor)?))
    }

    fn launches<T: Scalar, M: Memory>(
        self,
        matrix: &Twin<T, M>,
        vectors: Vectors<T>,
        _: &mut Room<'_, T, M>,
        device: &Device,
    ) -> Result<Vec<Launch>, Error> {
        let Vectors { alpha, x, beta, y } = vectors;
        let (rows, column_indices, values) =
            (matrix.rows() as u32, matrix.column_indices().global(), matrix.values().global());
        let Values { stored: values, table } = Values::as_they_are(values);
        let call = match matrix.row_offsets() {
            Offsets::Narrow(offsets) => {
                let row_offsets = offsets.global();
                Call::new(CsrScalar { rows, row_offsets, column_indices, values, table, alpha, x, beta, y })
            }
            Offsets::Wide(offsets) => {
                let row_offsets = offsets.global();
                Call::new(CsrScalar { rows, row_offsets, column_indices, values, table, alpha, x, beta, y })
            }
        };
        Ok(vec![Launch { grid: device.grid(matrix.rows() as u64), call }])
    }

    fn multiply_on_cpu<T: Scalar>(self, matrix: &Twin<T>, operands: HostOperands<'_, T>) -> Result<(), Error> {
        let HostOperands { alpha, x, beta, y } = operands;
        for (row, y) in y.iter_mut().enumerate() {
            let entries = matrix.row_offsets().get(row)..matrix.row_offsets().get(row + 1);
            let products = matrix.column_indices()[entries.clone()].iter().zip(&matrix.values()[entries]);
            let sum = products.fold(T::ZERO, |sum, (&column, &value)| sum + value * x[column as usize]);
            update(y, alpha, sum, beta);
        }
        Ok(())
    }
}

impl<T: Scalar, M: Memory> Storage<T, M> for Twin<T, M> {
    const CONTAINER_NAME: &'static str = "Twin";

    fn offset_width(&self) -> usize {
        self.row_offsets().width()
    }

    fn bytes_moved(&self) -> u128 {
        self.bytes()
    }

    fn into_csr_by_kernels<K: KernelExecutor<Memory = M>>(self, _: &K) -> Result<Csr<T, M>, Error> {
        Ok(self.into_csr())
    }
}

impl<T: Scalar> HostStorage<T> for Twin<T> {
    fn for_each_entry(&self, visit: &mut dyn FnMut(usize, u32, T)) -> Result<(), Error> {
        HostStorage::for_each_entry(&self.try_clone()?.into_csr(), visit)
    }

    fn into_csr(self) -> Result<Csr<T>, Error> {
        Ok(Twin::into_csr(self))
    }

    fn read<S: ArraySource<T>>(rows: usize, columns: usize, source: &mut S) -> Result<Self, String> {
        let (offsets, column_indices) = (source.offsets("row_offsets")?, source.elements("column_indices")?);
        Self::try_new(rows, columns, offsets, column_indices, source.values()?).map_err(|error| error.to_string())
    }
}
