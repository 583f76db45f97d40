//! The vectors that a matrix is multiplied by, and the exact results.

use host::executor::Executor;
use host::memory::{collect, filled};
use host::verify::{Verification, exact, verify};
use host::{Csr, Error, Format, Layout, Multivector, Scalar, Vector, parallel};

use crate::vectors::random_vector;

/// The seed of x; the following vectors have the following seeds.
pub const SEED: u64 = 1;

/// Largest number of different vectors, which repeat beyond it: their exact results are computed on the host and take much
/// more memory than the vectors. Neither a power of two nor three times one is a multiple of this number, so that a kernel
/// that confuses vectors of different tiles or lanes is detected.
const MOST_DIFFERENT: usize = 5;

/// A single vector.
pub const ONE: Multivector = Multivector { vectors: 1, layout: Layout::ColumnMajor };

/// Different vectors, with the exact product of each.
pub struct Columns<'a, T: Scalar> {
    matrix: &'a Csr<T>,
    vectors: Vec<Vec<T>>,
    exact: Vec<Vec<T::Exact>>,
}

impl<'a, T: Scalar> Columns<'a, T> {
    /// Makes enough vectors for any of these shapes, and for [one](ONE).
    ///
    /// # Errors
    /// When memory runs out.
    pub fn new(matrix: &'a Csr<T>, shapes: &[Multivector]) -> Result<Self, Error> {
        let most = shapes.iter().map(|shape| shape.vectors).max().unwrap_or(1);
        let seeds = SEED..=SEED + (most.clamp(1, MOST_DIFFERENT) - 1) as u64;
        let vectors = seeds.map(|seed| random_vector(matrix.columns(), seed)).collect::<Result<Vec<Vec<T>>, _>>()?;
        let zeros = vec![T::ZERO; matrix.rows()];
        let exact = vectors.iter().map(|x| exact(matrix, T::ONE, x, T::ZERO, &zeros)).collect::<Result<_, _>>()?;
        Ok(Self { matrix, vectors, exact })
    }

    /// Returns X of the given shape.
    ///
    /// # Errors
    /// When memory runs out, or the device fails.
    pub fn x<E: Executor>(&self, executor: &E, shape: Multivector) -> Result<Vector<T, E>, Error> {
        let length = self.matrix.columns();
        let mut x = filled(shape.vectors.saturating_mul(length), T::ZERO)?;
        let of = |vector: usize| &self.vectors[vector % self.vectors.len()];
        match shape.layout {
            Layout::RowMajor => parallel::chunks_mut(&mut x, shape.vectors.max(1), 1, &|(element, x)| {
                x.iter_mut().enumerate().for_each(|(vector, x)| *x = of(vector)[element]);
            }),
            Layout::ColumnMajor => {
                x.chunks_mut(length.max(1)).enumerate().for_each(|(vector, x)| x.copy_from_slice(of(vector)));
            }
        }
        executor.upload(x)
    }

    /// Returns Y of the given shape before a product, filled with NaN so that unwritten elements are detected.
    ///
    /// # Errors
    /// When memory runs out, or the device fails.
    pub fn poison<E: Executor>(&self, executor: &E, shape: Multivector) -> Result<Vector<T, E>, Error> {
        executor.upload(filled(shape.vectors.saturating_mul(self.matrix.rows()), T::from_f64(f64::NAN))?)
    }

    /// Compares Y of the given shape with the exact products. Returns the number of wrong elements of all vectors, and the
    /// errors of the worst.
    ///
    /// # Errors
    /// When memory runs out.
    pub fn verify(&self, shape: Multivector, computed: &[T], bound: Format) -> Result<Verification, Error> {
        let rows = self.matrix.rows();
        // If no element is finite, the relative error is a NaN, whose maximum with any number is that number.
        let mut whole = Verification { wrong: 0, worst: 0.0, worst_row: None, relative_error: f64::NAN };
        for vector in 0..shape.vectors {
            let exact = &self.exact[vector % self.exact.len()];
            let found = match shape.layout {
                Layout::RowMajor => {
                    verify(&collect((0..rows).map(|row| computed[row * shape.vectors + vector]))?, exact, bound)
                }
                Layout::ColumnMajor => verify(&computed[vector * rows..][..rows], exact, bound),
            }?;
            whole.wrong += found.wrong;
            if whole.worst_row.is_none() || found.worst > whole.worst {
                (whole.worst, whole.worst_row) = (found.worst, found.worst_row);
            }
            whole.relative_error = whole.relative_error.max(found.relative_error);
        }
        Ok(whole)
    }
}

#[cfg(test)]
mod tests {
    use host::executor::Cpu;
    use host::verify::exact;
    use synthetic::Generator;

    use super::*;

    #[test]
    fn a_vector_in_the_place_of_another_is_wrong_in_both_layouts() {
        let matrix = "rectangle:rows=30,columns=20,per-row=3".parse::<Generator>().unwrap().generate::<f64>().unwrap();
        for layout in [Layout::RowMajor, Layout::ColumnMajor] {
            let shape = Multivector { vectors: 70, layout };
            let columns = Columns::new(&matrix, &[shape]).unwrap();
            let x = columns.x(&Cpu::new(), shape).unwrap();
            let mut y = columns.poison(&Cpu::new(), shape).unwrap();
            assert_eq!((x.len(), y.len()), (70 * 20, 70 * 30));
            for vector in 0..70 {
                let x: Vec<f64> = (0..20).map(|element| x[shape.place(20, element, vector)]).collect();
                let product = exact(&matrix, 1.0, &x, 0.0, &[0.0; 30]).unwrap();
                (0..30).for_each(|row| y[shape.place(30, row, vector)] = product[row].value());
            }
            let verification = columns.verify(shape, &y, Format::CSR_SCALAR).unwrap();
            assert!(verification.passed() && verification.relative_error < 1e-15, "{verification:?}");
            for other in [1, 2, 4, 8, 16, 32, 64] {
                let mut y = y.clone();
                (0..30).for_each(|row| y[shape.place(30, row, 0)] = y[shape.place(30, row, other)]);
                let verification = columns.verify(shape, &y, Format::CSR_SCALAR).unwrap();
                assert_eq!(verification.wrong, 30, "{other}");
            }
            let one = y[shape.place(30, 7, 33)];
            y[shape.place(30, 7, 33)] = 1.001 * one;
            let verification = columns.verify(shape, &y, Format::CSR_SCALAR).unwrap();
            assert_eq!((verification.wrong, verification.worst_row), (1, Some(7)));
        }
    }
}
