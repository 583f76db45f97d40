//! Column panels: the sums of all pieces, then those of the rows.

use cuda_std::launch::Launch;

use super::{NAME, PanelSize, by_kernels, on_host, product};
use crate::device::Device;
use crate::error::Error;
use crate::executor::operation::KernelExecutor;
use crate::executor::transfer::{Download, Upload};
use crate::format::narrow::{HostValues, StoredAs, Values};
use crate::format::storage::ArraySource;
use crate::format::strategy::{self, HostStorage, Storage};
use crate::format::text::{Key, Parameter, number};
use crate::format::{ColumnPanels, Csr, FillLimit, Format};
use crate::memory::{Buffer, Memory};
use crate::real::Scalar;
use crate::spmv::{HostOperands, Room, Vectors};

impl Format {
    /// Column panels of [`PanelSize::DEFAULT`].
    pub const COLUMN_PANELS: Self = Self::ColumnPanels(PanelSize::DEFAULT);
}

/// Column panels: the sums of all pieces, then those of the rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Strategy(pub PanelSize);

const KEYS: &[Key<Strategy>] = &[Key {
    parameter: Parameter {
        name: "kilobytes",
        about: "shared memory for the elements of x of a panel, in KiB",
        expected: "a number from 1 to 256",
    },
    get: |strategy| Some(strategy.0.kilobytes.to_string()),
    set: |_, text| Some(Strategy(PanelSize { kilobytes: number(text, 1, 256)? })),
}];

impl strategy::Strategy for Strategy {
    type Matrix<T: Scalar, M: Memory> = ColumnPanels<T, M>;

    const ALL: &'static [Self] = &[Self(PanelSize::DEFAULT)];

    fn name(self) -> &'static str {
        "column-panels"
    }

    fn keys(self) -> &'static [Key<Self>] {
        KEYS
    }

    fn storage(self) -> &'static str {
        NAME
    }

    fn shares_arrays(self, other: Self) -> bool {
        self == other
    }

    fn sorts_rows(self) -> bool {
        true
    }

    fn bytes<T: Scalar, V: Scalar>(self, matrix: &Csr<T>) -> Result<u128, Error> {
        on_host::predicted_bytes::<T, V>(matrix, self.0)
    }

    fn convert<T: Scalar>(self, matrix: Csr<T>, limit: FillLimit) -> Result<ColumnPanels<T>, Error> {
        ColumnPanels::try_from_csr(matrix, self.0, limit)
    }

    fn convert_by_kernels<T: Scalar, K: KernelExecutor>(
        self,
        executor: &K,
        matrix: Csr<T, K::Memory>,
        limit: FillLimit,
    ) -> Result<ColumnPanels<T, K::Memory>, Error> {
        by_kernels::from_csr(executor, matrix, self.0, limit)
    }

    fn is_chosen_for<T: Scalar>(self, matrix: &ColumnPanels<T>) -> Result<bool, Error> {
        Ok(matrix.panel_columns() == self.0.columns::<T>(matrix.columns()))
    }

    fn launches<T: Scalar, M: Memory>(
        self,
        matrix: &ColumnPanels<T, M>,
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
        matrix: &ColumnPanels<T, M>,
        values: Values<V, T>,
        vectors: Vectors<T>,
        room: &mut Room<'_, T, M>,
        device: &Device,
    ) -> Result<Vec<Launch>, Error> {
        product::column_panels(matrix, values, vectors, room, device)
    }

    fn multiply_narrow_on_cpu<V: StoredAs<T>, T: Scalar>(
        self,
        matrix: &ColumnPanels<T>,
        values: HostValues<'_, V, T>,
        operands: HostOperands<'_, T>,
    ) -> Result<(), Error> {
        product::multiply_on_cpu(matrix, values, operands)
    }

    fn multiply_on_cpu<T: Scalar>(self, matrix: &ColumnPanels<T>, operands: HostOperands<'_, T>) -> Result<(), Error> {
        product::multiply_on_cpu(matrix, HostValues::as_they_are(matrix.values()), operands)
    }
}

impl<T: Scalar, M: Memory> Storage<T, M> for ColumnPanels<T, M> {
    const CONTAINER_NAME: &'static str = "ColumnPanels";

    fn bytes_moved(&self) -> u128 {
        // The sums of the pieces are written and read again.
        self.bytes() + 2 * (size_of::<T>() * self.piece_numbers().len()) as u128
    }

    fn into_csr_by_kernels<K: KernelExecutor<Memory = M>>(self, executor: &K) -> Result<Csr<T, M>, Error> {
        self.transfer(&Download(executor))?.to_csr()?.transfer(&Upload(executor))
    }
}

impl<T: Scalar> HostStorage<T> for ColumnPanels<T> {
    fn for_each_entry(&self, visit: &mut dyn FnMut(usize, u32, T)) -> Result<(), Error> {
        let begins = self.piece_begins()?;
        for row in 0..self.rows() {
            self.entries_of(&begins, row).for_each(|(column, value)| visit(row, column, value));
        }
        Ok(())
    }

    fn into_csr(self) -> Result<Csr<T>, Error> {
        self.to_csr()
    }

    fn read<S: ArraySource<T>>(rows: usize, columns: usize, source: &mut S) -> Result<Self, String> {
        let [panel_columns] = source.sizes()?;
        let (panel_tiles, tile_pieces) = (source.elements("panel_tiles")?, source.elements("tile_pieces")?);
        let (lane_words, column_offsets) = (source.elements("lane_words")?, source.elements("column_offsets")?);
        let values = source.values()?;
        let (row_begins, piece_numbers) = (source.elements("row_begins")?, source.elements("piece_numbers")?);
        Self::try_new(
            rows,
            columns,
            panel_columns,
            panel_tiles,
            tile_pieces,
            lane_words,
            column_offsets,
            values,
            row_begins,
            piece_numbers,
        )
        .map_err(|error| error.to_string())
    }
}
