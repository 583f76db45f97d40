//! Each storage format by its name in the header, with its parameters and arrays.

use super::sections::Sections;
use super::{Layout, Summary};
use crate::format::{
    Bcsr, Bellpack, BlockSize, Cmrs, CmrsPadded, Coo, Coo16, Csr, Dia, Ell, Hyb, Matrix, Panels, PartitionRows, Sell16,
    SellP, Slicing,
};
use crate::real::Real;

pub(super) const CSR: &str = "CSR";
const DIA: &str = "DIA";
const ELL: &str = "ELL";
const SELL_P: &str = "SELL-P";
const SELL_16: &str = "SELL-16";
const BCSR: &str = "BCSR";
const BELLPACK: &str = "BELLPACK";
const COO: &str = "COO";
const COO_16: &str = "COO-16";
const HYB: &str = "HYB";
const CMRS: &str = "CMRS";
const CMRS_PADDED: &str = "CMRS-padded";

/// The name of a matrix's format, and the bytes of its offsets, or 0.
pub(super) fn name_and_offset_width<T: Real>(matrix: &Matrix<T>) -> (&'static str, usize) {
    match matrix {
        Matrix::Csr(matrix) => (CSR, matrix.row_offsets().width()),
        Matrix::Dia(_) => (DIA, 0),
        Matrix::Ell(_) => (ELL, 0),
        Matrix::SellP(_) => (SELL_P, 0),
        Matrix::Sell16(_) => (SELL_16, 0),
        Matrix::Bcsr(_) => (BCSR, 0),
        Matrix::Bellpack(_) => (BELLPACK, 0),
        Matrix::Coo(_) => (COO, 0),
        Matrix::Coo16(_) => (COO_16, 0),
        Matrix::Hyb(_) => (HYB, 0),
        Matrix::Cmrs(matrix) => (CMRS, matrix.strip_offsets().width()),
        Matrix::CmrsPadded(matrix) => (CMRS_PADDED, matrix.strip_offsets().width()),
    }
}

/// The matrix that a file with this layout holds, every invariant checked.
pub(super) fn read<T: Real>(layout: &Layout, bytes: &[u8]) -> Result<Matrix<T>, String> {
    let Summary { rows, columns, stored, .. } = layout.summary;
    let mut sections = Sections::new(layout.format(), layout.summary, layout.arrays(bytes)?);
    let s = &mut sections;
    let matrix = match layout.format() {
        CSR => Csr::try_new(rows, columns, s.offsets("row_offsets")?, s.elements("column_indices")?, s.values()?)
            .map(Matrix::Csr),
        DIA => {
            let [stride, diagonals] = sizes(s)?;
            let offsets: Vec<i32> = s.elements("offsets")?;
            if offsets.len() != diagonals {
                return Err(format!("{} offsets for {diagonals} diagonals", offsets.len()));
            }
            Dia::try_new(rows, columns, stride, offsets, s.values()?).map(Matrix::Dia)
        }
        ELL => Ok(Matrix::Ell(read_ell(rows, columns, s)?)),
        SELL_P => {
            let [slice_size, stride_factor, sigma] = sizes(s)?;
            let slicing = Slicing { slice_size, stride_factor, sigma };
            let (begins, row_indices) = (s.elements("slice_begins")?, s.elements("row_indices")?);
            SellP::try_new(rows, columns, slicing, begins, row_indices, s.elements("column_indices")?, s.values()?)
                .map(Matrix::SellP)
        }
        SELL_16 => {
            let (begins, bases) = (s.elements("slice_begins")?, s.elements("bases")?);
            Sell16::try_new(rows, columns, begins, bases, s.elements("column_offsets")?, s.values()?)
                .map(Matrix::Sell16)
        }
        BCSR => {
            let [height, width] = sizes(s)?;
            let size = block_size(height, width)?;
            let (offsets, first_columns) = (s.elements("block_offsets")?, s.elements("first_columns")?);
            Bcsr::try_new(rows, columns, size, offsets, first_columns, s.values()?).map(Matrix::Bcsr)
        }
        BELLPACK => {
            let [height, width, partition] = sizes(s)?;
            let size = block_size(height, width)?;
            let partition_rows = PartitionRows::from_rows(partition)
                .ok_or_else(|| format!("partitions of {partition} block rows, expected 32, 64, 128 or 256"))?;
            let (offsets, block_rows) = (s.elements("partition_offsets")?, s.elements("block_rows")?);
            let (first_columns, values) = (s.elements("first_columns")?, s.values()?);
            Bellpack::try_new(rows, columns, size, partition_rows, offsets, block_rows, first_columns, values)
                .map(Matrix::Bellpack)
        }
        COO => Ok(Matrix::Coo(read_coo(rows, columns, s)?)),
        COO_16 => {
            let [columns_of_panel, slots] = sizes(s)?;
            let panels = Panels { columns: columns_of_panel, slots };
            let (slot_begins, panel_rows) = (s.elements("slot_begins")?, s.elements("panel_rows")?);
            let (begins, words) = (s.elements("tile_begins")?, s.elements("tile_words")?);
            let (column_offsets, offsets) = (s.elements("column_offsets")?, s.elements("slot_offsets")?);
            let values = s.values()?;
            Coo16::try_new(
                rows,
                columns,
                panels,
                slot_begins,
                panel_rows,
                begins,
                words,
                column_offsets,
                offsets,
                values,
            )
            .map(Matrix::Coo16)
        }
        HYB => {
            s.part("ell.");
            let ell = read_ell(rows, columns, s)?;
            s.part("coo.");
            let coo = read_coo(rows, columns, s)?;
            Hyb::try_new(ell, coo).map(Matrix::Hyb)
        }
        CMRS => {
            let [height] = sizes(s)?;
            Cmrs::try_new(rows, columns, height, s.offsets("strip_offsets")?, s.elements("words")?, s.values()?)
                .map(Matrix::Cmrs)
        }
        CMRS_PADDED => {
            CmrsPadded::try_new(rows, columns, s.offsets("strip_offsets")?, s.elements("words")?, s.values()?)
                .map(Matrix::CmrsPadded)
        }
        format => return Err(format!("holds a matrix in the format '{format}', which is not known")),
    };
    let matrix = matrix.map_err(|error| error.to_string())?;
    sections.finish()?;
    if matrix.nnz() != stored {
        return Err(format!("the header says {stored} entries, the arrays have {}", matrix.nnz()));
    }
    Ok(matrix)
}

fn read_ell<T: Real>(rows: usize, columns: usize, s: &mut Sections<'_>) -> Result<Ell<T>, String> {
    let [stride, width] = sizes(s)?;
    Ell::try_new(rows, columns, stride, width, s.elements("column_indices")?, s.values()?)
        .map_err(|error| error.to_string())
}

fn read_coo<T: Real>(rows: usize, columns: usize, s: &mut Sections<'_>) -> Result<Coo<T>, String> {
    Coo::try_new(rows, columns, s.elements("row_indices")?, s.elements("column_indices")?, s.values()?)
        .map_err(|error| error.to_string())
}

/// The parameters as numbers of another type.
fn sizes<N: TryFrom<u64> + Copy + Default, const COUNT: usize>(s: &mut Sections<'_>) -> Result<[N; COUNT], String> {
    let mut sizes = [N::default(); COUNT];
    for (size, number) in sizes.iter_mut().zip(s.parameters::<COUNT>()?) {
        *size = number.try_into().map_err(|_| format!("a parameter is {number}, which is too large"))?;
    }
    Ok(sizes)
}

fn block_size(rows: usize, columns: usize) -> Result<BlockSize, String> {
    BlockSize::from_sides(rows, columns)
        .ok_or_else(|| format!("blocks of {rows} x {columns}, which is no size of them"))
}
