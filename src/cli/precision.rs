//! The types of values that the command accepts.

use clap::ValueEnum;
use warp_spmv::{Complex, Scalar};

/// The type of all values, real.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum Precision {
    Float32,
    Float64,
}

/// The type of all values, real or complex.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum AnyPrecision {
    Float32,
    Float64,
    Complex64,
    Complex128,
}

impl AnyPrecision {
    /// The name used in results.
    pub fn name(self) -> &'static str {
        match self {
            Self::Float32 => f32::NAME,
            Self::Float64 => f64::NAME,
            Self::Complex64 => Complex::<f32>::NAME,
            Self::Complex128 => Complex::<f64>::NAME,
        }
    }

    /// Whether the values are complex.
    pub fn is_complex(self) -> bool {
        matches!(self, Self::Complex64 | Self::Complex128)
    }
}

/// Calls a function with one type parameter, that of the values.
macro_rules! in_precision {
    ($precision:expr, $function:ident $arguments:tt) => {
        match $precision {
            $crate::cli::precision::AnyPrecision::Float32 => $function::<f32> $arguments,
            $crate::cli::precision::AnyPrecision::Float64 => $function::<f64> $arguments,
            $crate::cli::precision::AnyPrecision::Complex64 => $function::<warp_spmv::Complex<f32>> $arguments,
            $crate::cli::precision::AnyPrecision::Complex128 => $function::<warp_spmv::Complex<f64>> $arguments,
        }
    };
}
pub(crate) use in_precision;
