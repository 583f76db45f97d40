//! Padded CMRS: one warp per strip of rows.

use cuda_std::launch::Launch;
use gpu_kernels::cmrs::PADDED_HEIGHT;

use super::padded_bytes;
use super::product;
use crate::device::Device;
use crate::error::Error;
use crate::executor::operation::KernelExecutor;
use crate::format::cmrs::multivector::{self, Strips};
use crate::format::storage::ArraySource;
use crate::format::strategy::{self, HostStorage, Storage};
use crate::format::{CmrsPadded, Csr, FillLimit};
use crate::memory::Memory;
use crate::real::Scalar;
use crate::spmv::multivector::Tiles;
use crate::spmv::{HostOperands, Room, Vectors};

/// Padded CMRS: one warp per strip of rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Strategy;

impl strategy::Strategy for Strategy {
    type Matrix<T: Scalar, M: Memory> = CmrsPadded<T, M>;

    const ALL: &'static [Self] = &[Self];

    fn name(self) -> &'static str {
        "cmrs-padded"
    }

    fn storage(self) -> &'static str {
        "CMRS, padded"
    }

    fn longest_chain(self, length: usize) -> usize {
        product::longest_padded_chain(length)
    }

    fn multiplies_multivectors(self) -> bool {
        true
    }

    fn bytes<T: Scalar, V: Scalar>(self, matrix: &Csr<T>) -> Result<u128, Error> {
        Ok(padded_bytes::<T, V>(matrix))
    }

    fn convert<T: Scalar>(self, matrix: Csr<T>, limit: FillLimit) -> Result<CmrsPadded<T>, Error> {
        CmrsPadded::try_from_csr(&matrix, limit)
    }

    fn convert_by_kernels<T: Scalar, K: KernelExecutor>(
        self,
        executor: &K,
        matrix: Csr<T, K::Memory>,
        limit: FillLimit,
    ) -> Result<CmrsPadded<T, K::Memory>, Error> {
        super::by_kernels::from_csr(executor, &matrix, limit)
    }

    fn launches<T: Scalar, M: Memory>(
        self,
        matrix: &CmrsPadded<T, M>,
        vectors: Vectors<T>,
        _: &mut Room<'_, T, M>,
        device: &Device,
    ) -> Result<Vec<Launch>, Error> {
        Ok(vec![product::padded(matrix, vectors, device)])
    }

    fn multiply_on_cpu<T: Scalar>(self, matrix: &CmrsPadded<T>, operands: HostOperands<'_, T>) -> Result<(), Error> {
        product::multiply_padded_on_cpu(matrix, operands);
        Ok(())
    }

    fn multivector_launches<T: Scalar, M: Memory>(
        self,
        matrix: &CmrsPadded<T, M>,
        tiles: &Tiles<T>,
        _: &mut Room<'_, T, M>,
        device: &Device,
    ) -> Result<Vec<Launch>, Error> {
        Ok(tiles.arguments().map(|arguments| multivector::launch(strips(matrix), arguments, device)).collect())
    }

    fn multiply_rows_on_cpu<T: Scalar>(
        self,
        matrix: &CmrsPadded<T>,
        vectors: usize,
        operands: HostOperands<'_, T>,
    ) -> Result<(), Error> {
        multivector::multiply_on_cpu(PADDED_HEIGHT as usize, vectors, operands, |strip| matrix.entries(strip));
        Ok(())
    }
}

fn strips<T: Scalar, M: Memory>(matrix: &CmrsPadded<T, M>) -> Strips<'_, T, M> {
    let (offsets, words, values) = (matrix.strip_offsets(), matrix.words(), matrix.values());
    Strips { height: PADDED_HEIGHT as usize, padded: true, offsets, words, values }
}

impl<T: Scalar, M: Memory> Storage<T, M> for CmrsPadded<T, M> {
    const CONTAINER_NAME: &'static str = "CMRS-padded";

    fn offset_width(&self) -> usize {
        self.strip_offsets().width()
    }

    fn bytes_moved(&self) -> u128 {
        self.bytes()
    }

    fn into_csr_by_kernels<K: KernelExecutor<Memory = M>>(self, executor: &K) -> Result<Csr<T, M>, Error> {
        super::by_kernels::into_csr(executor, self)
    }
}

impl<T: Scalar> HostStorage<T> for CmrsPadded<T> {
    fn for_each_entry(&self, visit: &mut dyn FnMut(usize, u32, T)) -> Result<(), Error> {
        self.for_each_entry(visit);
        Ok(())
    }

    fn into_csr(self) -> Result<Csr<T>, Error> {
        self.to_csr()
    }

    fn read<S: ArraySource<T>>(rows: usize, columns: usize, source: &mut S) -> Result<Self, String> {
        let (offsets, words) = (source.offsets("strip_offsets")?, source.elements("words")?);
        Self::try_new(rows, columns, offsets, words, source.values()?).map_err(|error| error.to_string())
    }
}
