//! The size of a matrix in each storage format.

use std::fmt::{self, Display};

use serde::Serialize;
use warp_spmv::format::FillLimit;
use warp_spmv::io::Number;
use warp_spmv::{Complex, Csr, Format, Scalar};

use crate::cli::error::Error;
use crate::cli::units;

/// Storage formats of one kind in the text, unless all are requested.
const MOST_VARIANTS: usize = 3;

/// The size in a storage format.
#[derive(Debug, Serialize)]
pub struct Storage {
    /// The name of the storage format.
    pub storage: &'static str,
    /// The formats of `run --format` with this storage.
    pub formats: Vec<&'static str>,
    #[serde(flatten)]
    pub sizes: Sizes,
}

/// The size in each precision.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub enum Sizes {
    Real { float64: Size, float32: Size },
    Complex { complex128: Size, complex64: Size },
}

/// The size of the arrays of a matrix.
#[derive(Debug, Serialize)]
pub struct Size {
    /// Bytes of the arrays; null if the format cannot hold the matrix.
    pub bytes: Option<u128>,
    /// The same as a multiple of the CSR arrays.
    pub times_csr: Option<f64>,
    /// Whether `run` would refuse to convert the matrix, because the size is out of proportion or the format cannot
    /// hold it.
    pub refused: bool,
}

/// Returns the sizes in all storage formats, CSR first.
pub fn storage<T: Number>(matrix: &Csr<T>) -> Result<Vec<Storage>, Error> {
    let mut storage: Vec<Storage> = Vec::new();
    for &format in Format::ALL {
        match storage.iter_mut().find(|known| known.storage == format.storage()) {
            Some(known) => known.formats.push(format.name()),
            None => storage.push(Storage {
                storage: format.storage(),
                formats: vec![format.name()],
                sizes: Sizes::new(format, matrix)?,
            }),
        }
    }
    Ok(storage)
}

impl Sizes {
    /// The sizes in both precisions of the matrix's kind.
    fn new<T: Number>(format: Format, matrix: &Csr<T>) -> Result<Self, Error> {
        Ok(if T::COMPLEX {
            let complex128 = Size::new::<Complex<f64>, T>(format, matrix)?;
            Self::Complex { complex128, complex64: Size::new::<Complex<f32>, T>(format, matrix)? }
        } else {
            Self::Real { float64: Size::new::<f64, T>(format, matrix)?, float32: Size::new::<f32, T>(format, matrix)? }
        })
    }

    /// The sizes in the wide and the narrow precision, with their names.
    pub fn both(&self) -> [(&'static str, &Size); 2] {
        match self {
            Self::Real { float64, float32 } => [(f64::NAME, float64), (f32::NAME, float32)],
            Self::Complex { complex128, complex64 } => {
                [(Complex::<f64>::NAME, complex128), (Complex::<f32>::NAME, complex64)]
            }
        }
    }
}

impl Size {
    /// The size with values of `V`.
    fn new<V: Scalar, T: Number>(format: Format, matrix: &Csr<T>) -> Result<Self, Error> {
        let bytes = match format.bytes::<_, V>(matrix) {
            Err(warp_spmv::Error::TooLarge { .. }) => None,
            bytes => Some(bytes?),
        };
        let csr = Format::CSR_SCALAR.bytes::<_, V>(matrix)?;
        let refused = bytes.is_none_or(|bytes| !FillLimit::default().allows(bytes, csr));
        Ok(Self { bytes, times_csr: bytes.map(|bytes| bytes as f64 / csr as f64), refused })
    }
}

impl Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mark = if self.refused { '*' } else { ' ' };
        match (self.bytes, self.times_csr) {
            (Some(bytes), Some(times)) => write!(f, "{:>11} {times:>9.2}{mark}", units::bytes(bytes)),
            _ => write!(f, "{:>11} {:>9} ", "-", "-"),
        }
    }
}

/// Which storage formats are listed: those of each kind, such as BCSR, that take the fewest bytes.
pub fn shown(storage: &[Storage], all: bool) -> Vec<bool> {
    let kind = |storage: &Storage| storage.storage.split([' ', ',']).next().unwrap_or_default();
    let bytes = |storage: &Storage| storage.sizes.both()[0].1.bytes.unwrap_or(u128::MAX);
    let smaller = |(place, of): (usize, &Storage)| {
        let before =
            |&(other, than): &(usize, &Storage)| kind(than) == kind(of) && (bytes(than), other) < (bytes(of), place);
        storage.iter().enumerate().filter(before).count()
    };
    storage.iter().enumerate().map(|storage| all || smaller(storage) < MOST_VARIANTS).collect()
}
