//! The arrays of a matrix as sections, for writing and reading.

use std::borrow::Cow;

use super::summary::Summary;
use crate::binary::{Array, ElementType, little_endian};
use crate::number::Number;
use host::format::{ArraySource, ArrayVisitor, Csr, Matrix, Offsets};
use host::memory::{Element, HostMemory};

/// The name of the section with the parameters.
const PARAMETERS: &str = "parameters";

/// An array to be written to a container.
pub(super) struct Section<'a> {
    pub name: String,
    pub element: ElementType,
    /// The elements in little-endian order.
    pub bytes: Cow<'a, [u8]>,
}

/// The sections of a matrix.
#[derive(Default)]
struct Collector<'a> {
    /// The prefix of the names.
    part: String,
    sections: Vec<Section<'a>>,
}

impl<'a> ArrayVisitor<'a, HostMemory> for Collector<'a> {
    fn part(&mut self, name: &'static str) {
        self.part = format!("{name}.");
    }

    fn parameters(&mut self, numbers: Vec<u64>) {
        if !numbers.is_empty() {
            let name = self.part.clone() + PARAMETERS;
            let bytes = numbers.into_iter().flat_map(u64::to_le_bytes).collect();
            self.sections.push(Section { name, element: ElementType::Uint64, bytes: Cow::Owned(bytes) });
        }
    }

    fn visit<E: Element>(&mut self, name: &'static str, array: &'a Vec<E>) {
        let bytes = little_endian(bytemuck::cast_slice(array), E::TYPE.part_width());
        self.sections.push(Section { name: self.part.clone() + name, element: E::TYPE, bytes });
    }
}

/// The sections of a matrix in CSR.
pub(super) fn of_csr<T: Number>(matrix: &Csr<T>) -> Vec<Section<'_>> {
    let mut collector = Collector::default();
    matrix.for_each_array(&mut collector);
    collector.sections
}

/// The sections of a matrix.
pub(super) fn of_matrix<T: Number>(matrix: &Matrix<T>) -> Vec<Section<'_>> {
    let mut collector = Collector::default();
    matrix.for_each_array(&mut collector);
    collector.sections
}

/// The arrays of a container that have not been requested yet.
pub(super) struct Sections<'a> {
    format: &'a str,
    summary: Summary,
    arrays: Vec<Array<'a>>,
    /// The prefix of the names of sections, while a part of the matrix is read.
    part: &'static str,
    offsets: Option<&'a str>,
}

impl<'a> Sections<'a> {
    pub fn new(format: &'a str, summary: Summary, arrays: Vec<Array<'a>>) -> Self {
        Self { format, summary, arrays, part: "", offsets: None }
    }

    /// The array with a name, which must be of one of these types.
    fn take(&mut self, name: &str, types: &[ElementType]) -> Result<Array<'a>, String> {
        let name = format!("{}{name}", self.part);
        let place = self.arrays.iter().position(|array| array.name == name);
        let array = self.arrays.swap_remove(place.ok_or_else(|| format!("there is no section '{name}'"))?);
        if types.contains(&array.element) {
            return Ok(array);
        }
        let types: Vec<_> = types.iter().map(|element| element.name()).collect();
        Err(format!("section '{name}' is of type {}, expected {}", array.element.name(), types.join(" or ")))
    }

    /// Checks that no arrays are left.
    pub fn finish(self) -> Result<(), String> {
        let Self { format, summary, arrays, offsets, .. } = self;
        if let Some(surplus) = arrays.first() {
            return Err(format!("section '{}' is not part of the format {format}", surplus.name));
        }
        if offsets.is_none() && summary.offset_width != 0 {
            let width = summary.offset_width;
            return Err(format!("the header has offsets of {width} bytes, but the format {format} has none"));
        }
        Ok(())
    }
}

impl<T: Number> ArraySource<T> for Sections<'_> {
    fn part(&mut self, name: &'static str) {
        self.part = name;
    }

    /// The parameters.
    fn parameters<const N: usize>(&mut self) -> Result<[u64; N], String> {
        let numbers = ArraySource::<T>::elements(self, PARAMETERS)?;
        let found = numbers.len();
        numbers.try_into().map_err(|_| format!("section '{}{PARAMETERS}' has {found} numbers, expected {N}", self.part))
    }

    /// An array of this type.
    fn elements<E: Element>(&mut self, name: &'static str) -> Result<Vec<E>, String> {
        self.take(name, &[E::TYPE])?.exact()
    }

    /// The values, of the type given in the header.
    fn values(&mut self) -> Result<Vec<T>, String> {
        self.take("values", &[self.summary.values])?.values()
    }

    /// The offsets, of the width given in the header.
    fn offsets(&mut self, name: &'static str) -> Result<Offsets, String> {
        let array = self.take(name, &[ElementType::Uint32, ElementType::Uint64])?;
        self.offsets = Some(array.name);
        let (found, expected) = (array.element.width(), self.summary.offset_width);
        if found != expected {
            return Err(format!("the header has offsets of {expected} bytes, but section '{name}' has {found}"));
        }
        array.offsets()
    }
}
