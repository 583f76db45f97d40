//! CSR in sections.

use super::{Section, Sections, Stored, Summary};
use crate::format::{Csr, Offsets};
use crate::io::binary::ElementType;
use crate::real::Real;

impl<T: Real> Stored for Csr<T> {
    const NAME: &'static str = "CSR";

    fn summary(&self) -> Summary {
        Summary {
            rows: self.rows(),
            columns: self.columns(),
            stored: self.nnz(),
            values: ElementType::of_values::<T>(),
            offset_width: self.row_offsets().width(),
        }
    }

    fn sections(&self) -> Vec<Section<'_>> {
        let row_offsets = match self.row_offsets() {
            Offsets::Narrow(offsets) => Section::of_u32("row_offsets", offsets),
            Offsets::Wide(offsets) => Section::of_u64("row_offsets", offsets),
        };
        vec![
            row_offsets,
            Section::of_u32("column_indices", self.column_indices()),
            Section::of_values("values", self.values()),
        ]
    }

    fn from_sections(summary: &Summary, sections: &mut Sections<'_>) -> Result<Self, String> {
        let row_offsets = sections.take("row_offsets", &[ElementType::Uint32, ElementType::Uint64])?;
        let column_indices = sections.take("column_indices", &[ElementType::Uint32])?;
        let values = sections.take("values", &[summary.values])?;
        if row_offsets.element.width() != summary.offset_width {
            return Err(format!(
                "the header says offsets of {} bytes, section 'row_offsets' has {}",
                summary.offset_width,
                row_offsets.element.width()
            ));
        }
        // Before anything is allocated, so that the message names the header.
        if values.len() != summary.stored {
            return Err(format!("the header says {} entries, section 'values' has {}", summary.stored, values.len()));
        }
        Self::try_new(
            summary.rows,
            summary.columns,
            row_offsets.offsets()?,
            column_indices.indices()?,
            values.values()?,
        )
        .map_err(|error| error.to_string())
    }
}
