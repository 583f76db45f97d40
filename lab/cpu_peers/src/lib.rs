//! The products of sprs and faer, which are generic, compiled for float32 and float64.
//!
//! They are compiled only here, because the release profile optimises this crate as a whole: their loops need that, and
//! their times must be those of a separate program, however the rest is built.
#![forbid(unsafe_code)]
#![cfg(feature = "libraries")]

use faer::sparse::SparseRowMatRef;
use faer::sparse::linalg::matmul::sparse_dense_matmul;
use faer::{Accum, MatMut, MatRef, Par};
use sprs::CsMatViewI;

/// A matrix in sprs, with offsets of type `O`.
pub type SprsView<'a, T, O> = CsMatViewI<'a, T, u32, O>;

/// The functions of sprs with offsets of type `O`.
pub struct Sprs<T: 'static, O: sprs::SpIndex + 'static> {
    /// Makes a matrix from its shape, row offsets, column indices and values, which are checked; otherwise returns what is
    /// wrong.
    #[expect(clippy::type_complexity, reason = "it is the list of arrays")]
    pub view: for<'a> fn((usize, usize), &'a [O], &'a [u32], &'a [T]) -> Result<SprsView<'a, T, O>, String>,
    /// y ← y + A x; it panics when a vector does not fit.
    pub add_product: fn(SprsView<'_, T, O>, &[T], &mut [T]),
}

/// A number type that both libraries support.
pub trait Number: Copy + 'static {
    /// sprs with offsets of 32 bits.
    const SPRS_NARROW: Sprs<Self, u32>;

    /// sprs with offsets of 64 bits.
    const SPRS_WIDE: Sprs<Self, u64>;

    /// faer: y ← α A x, or y ← y + α A x.
    ///
    /// # Panics
    /// When a vector does not fit.
    fn faer(matrix: SparseRowMatRef<'_, u32, Self>, alpha: Self, x: &[Self], accumulate: Accum, y: &mut [Self]);
}

macro_rules! sprs_with {
    ($number:ty, $offset:ty) => {{
        fn view<'a>(
            shape: (usize, usize),
            offsets: &'a [$offset],
            columns: &'a [u32],
            values: &'a [$number],
        ) -> Result<SprsView<'a, $number, $offset>, String> {
            CsMatViewI::try_new(shape, offsets, columns, values).map_err(|(.., error)| error.to_string())
        }
        fn add_product(matrix: SprsView<'_, $number, $offset>, x: &[$number], y: &mut [$number]) {
            sprs::prod::mul_acc_mat_vec_csr(matrix, x, y);
        }
        Sprs { view, add_product }
    }};
}

macro_rules! numbers {
    ($($number:ty)*) => {$(
        impl Number for $number {
            const SPRS_NARROW: Sprs<Self, u32> = sprs_with!($number, u32);
            const SPRS_WIDE: Sprs<Self, u64> = sprs_with!($number, u64);

            fn faer(
                matrix: SparseRowMatRef<'_, u32, Self>,
                alpha: Self,
                x: &[Self],
                accumulate: Accum,
                y: &mut [Self],
            ) {
                let (rows, columns) = (y.len(), x.len());
                let y = MatMut::from_column_major_slice_mut(y, rows, 1);
                let x = MatRef::from_column_major_slice(x, columns, 1);
                sparse_dense_matmul(y, accumulate, matrix, x, alpha, Par::Seq);
            }
        }
    )*};
}

numbers!(f32 f64);
