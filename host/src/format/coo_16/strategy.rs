//! COO-16: all products before the sums.

use cuda_std::launch::Launch;

use super::product;
use super::{Panels, predicted_bytes};
use crate::device::Device;
use crate::error::Error;
use crate::executor::operation::KernelExecutor;
use crate::format::narrow::{HostValues, StoredAs, Values};
use crate::format::storage::ArraySource;
use crate::format::strategy::{self, HostStorage, Storage};
use crate::format::{Coo16, Csr, FillLimit};
use crate::memory::{Buffer, Memory};
use crate::real::Scalar;
use crate::spmv::{HostOperands, Room, Vectors};

/// COO-16: all products before the sums.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Strategy;

impl strategy::Strategy for Strategy {
    type Matrix<T: Scalar, M: Memory> = Coo16<T, M>;

    const ALL: &'static [Self] = &[Self];

    fn name(self) -> &'static str {
        "coo-16"
    }

    fn storage(self) -> &'static str {
        "COO-16"
    }

    fn sorts_rows(self) -> bool {
        true
    }

    fn bytes<T: Scalar, V: Scalar>(self, matrix: &Csr<T>) -> Result<u128, Error> {
        Ok(predicted_bytes::<T, V>(matrix))
    }

    fn convert<T: Scalar>(self, matrix: Csr<T>, limit: FillLimit) -> Result<Coo16<T>, Error> {
        Coo16::try_from_csr(matrix, limit)
    }

    fn convert_by_kernels<T: Scalar, K: KernelExecutor>(
        self,
        executor: &K,
        matrix: Csr<T, K::Memory>,
        limit: FillLimit,
    ) -> Result<Coo16<T, K::Memory>, Error> {
        super::by_kernels::from_csr(executor, matrix, limit)
    }

    fn is_chosen_for<T: Scalar>(self, matrix: &Coo16<T>) -> Result<bool, Error> {
        Ok(matrix.panels() == Panels::chosen::<T>(matrix.columns(), matrix.slots()))
    }

    fn launches<T: Scalar, M: Memory>(
        self,
        matrix: &Coo16<T, M>,
        vectors: Vectors<T>,
        room: &mut Room<'_, T, M>,
        device: &Device,
    ) -> Result<Vec<Launch>, Error> {
        self.narrow_launches(matrix, Values::as_they_are(matrix.values().global()), vectors, room, device)
    }

    fn multiplies_narrow(self) -> bool {
        true
    }

    fn narrow_launches<V: StoredAs<T>, T: Scalar, M: Memory>(
        self,
        matrix: &Coo16<T, M>,
        values: Values<V, T>,
        vectors: Vectors<T>,
        room: &mut Room<'_, T, M>,
        device: &Device,
    ) -> Result<Vec<Launch>, Error> {
        product::coo_16(matrix, values, vectors, room, device)
    }

    fn multiply_narrow_on_cpu<V: StoredAs<T>, T: Scalar>(
        self,
        matrix: &Coo16<T>,
        values: HostValues<'_, V, T>,
        operands: HostOperands<'_, T>,
    ) -> Result<(), Error> {
        product::multiply_on_cpu(matrix, values, operands)
    }

    fn multiply_on_cpu<T: Scalar>(self, matrix: &Coo16<T>, operands: HostOperands<'_, T>) -> Result<(), Error> {
        product::multiply_on_cpu(matrix, HostValues::as_they_are(matrix.values()), operands)
    }
}

impl<T: Scalar, M: Memory> Storage<T, M> for Coo16<T, M> {
    const CONTAINER_NAME: &'static str = "COO-16";

    fn bytes_moved(&self) -> u128 {
        // The products are written and read again.
        self.bytes() + 2 * size_of::<T>() as u128 * self.nnz() as u128
    }

    fn into_csr_by_kernels<K: KernelExecutor<Memory = M>>(self, executor: &K) -> Result<Csr<T, M>, Error> {
        super::by_kernels::into_csr(executor, self)
    }
}

impl<T: Scalar> HostStorage<T> for Coo16<T> {
    fn for_each_entry(&self, visit: &mut dyn FnMut(usize, u32, T)) -> Result<(), Error> {
        HostStorage::for_each_entry(&self.to_csr()?, visit)
    }

    fn into_csr(self) -> Result<Csr<T>, Error> {
        self.to_csr()
    }

    fn read<S: ArraySource<T>>(rows: usize, columns: usize, source: &mut S) -> Result<Self, String> {
        let [columns_of_panel, slots] = source.sizes()?;
        let panels = Panels { columns: columns_of_panel, slots };
        let (slot_begins, panel_rows) = (source.elements("slot_begins")?, source.elements("panel_rows")?);
        let (begins, words) = (source.elements("tile_begins")?, source.elements("tile_words")?);
        let (column_offsets, offsets) = (source.elements("column_offsets")?, source.elements("slot_offsets")?);
        let values = source.values()?;
        Self::try_new(rows, columns, panels, slot_begins, panel_rows, begins, words, column_offsets, offsets, values)
            .map_err(|error| error.to_string())
    }
}
