//! The largest eigenvalue of a matrix, or an upper bound.

use cuda_std::GpuScalar;
use host::error::Error;
use host::format::Csr;
use host::memory::collect;
use host::parallel;
use host::real::Scalar;

/// Factor of the estimate by power steps, which is a lower estimate.
const SAFETY: f64 = 1.1;

/// The method of bounding the largest magnitude of an eigenvalue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpectralBound {
    /// By the largest sum of magnitudes of a row (Gershgorin).
    Gershgorin,
    /// By the given number of products with the matrix, starting from a fixed vector: 1.1 times the growth in the last one,
    /// at most Gershgorin's bound. In parallel on the host.
    PowerSteps(u32),
}

impl Default for SpectralBound {
    /// Gershgorin's bound, which is never too small.
    fn default() -> Self {
        Self::Gershgorin
    }
}

impl SpectralBound {
    /// Returns the bound for a square matrix; 1 if it has no rows.
    ///
    /// # Errors
    /// When it is not finite and greater than 0, or memory runs out.
    pub(crate) fn largest_eigenvalue<T: Scalar>(self, matrix: &Csr<T>) -> Result<f64, Error> {
        if matrix.rows() == 0 {
            return Ok(1.0);
        }
        let sum = |row| matrix.row(row).map(|(_, value)| value.magnitude()).sum::<f64>();
        // Not by `f64::max`, which ignores NaN.
        let larger = |a: f64, b: f64| if a >= b || a.is_nan() { a } else { b };
        let gershgorin = (0..matrix.rows()).map(sum).fold(0.0, larger);
        let bound = match self {
            Self::Gershgorin => gershgorin,
            Self::PowerSteps(steps) => match power_steps(matrix, steps)? {
                growth if growth > 0.0 => gershgorin.min(SAFETY * growth),
                _ => gershgorin,
            },
        };
        if bound > 0.0 && bound.is_finite() {
            return Ok(bound);
        }
        let what = "the bound of the eigenvalues of the matrix scaled by its diagonal";
        Err(Error::Setting { what, value: bound.to_string(), expected: "a finite number greater than 0" })
    }
}

/// Returns the growth of a vector's norm in the last of `steps` products with the matrix; 0 if the vector has become 0.
///
/// # Errors
/// When memory runs out.
fn power_steps<T: Scalar>(matrix: &Csr<T>, steps: u32) -> Result<f64, Error> {
    let square = |value: &T::Wide| value.parts().into_iter().map(|part| part * part).sum::<f64>();
    let norm = |vector: &[T::Wide]| vector.iter().map(square).sum::<f64>().sqrt();
    // Irregular, so that no eigenvector is likely to be orthogonal to it: Weyl's sequence, in [-0.5, 0.5).
    let element = |row: usize| T::Wide::from_f64((row as f64 * 0.618_033_988_749_895).fract() - 0.5);
    let mut vector = collect((0..matrix.rows()).map(element))?;
    let mut growth = 0.0;
    for _ in 0..steps {
        let before = norm(&vector);
        if before == 0.0 {
            return Ok(0.0);
        }
        let scale = T::Wide::from_f64(1.0 / before);
        let term = |sum, (column, value): (u32, T)| sum + value.to_wide() * vector[column as usize] * scale;
        let product = |row| matrix.row(row).fold(T::Wide::ZERO, term);
        vector = parallel::map(matrix.rows(), 1, &product)?;
        growth = norm(&vector);
    }
    Ok(growth)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_are_between_the_eigenvalue_and_gershgorins() {
        // Eigenvalues 1 and 3, and rows with sum 3.
        let matrix = Csr::try_from_triplets(2, 2, &[0, 0, 1, 1], &[0, 1, 0, 1], &[2.0, -1.0, -1.0, 2.0]).unwrap();
        assert_eq!(SpectralBound::Gershgorin.largest_eigenvalue(&matrix).unwrap(), 3.0);
        assert_eq!(SpectralBound::PowerSteps(30).largest_eigenvalue(&matrix).unwrap(), 3.0);
        // Eigenvalues 1 and 2, and a row with sum 6.
        let matrix = Csr::try_from_triplets(2, 2, &[0, 0, 1], &[0, 1, 1], &[1.0, 5.0, 2.0]).unwrap();
        let bound = SpectralBound::PowerSteps(30).largest_eigenvalue(&matrix).unwrap();
        assert!((bound - 2.2).abs() < 1e-6, "{bound}");
        assert_eq!(SpectralBound::PowerSteps(0).largest_eigenvalue(&matrix).unwrap(), 6.0);
        let broken = Csr::try_from_triplets(2, 2, &[0, 1], &[0, 1], &[f64::NAN, 1.0]).unwrap();
        for bound in [SpectralBound::Gershgorin, SpectralBound::PowerSteps(3)] {
            assert!(bound.largest_eigenvalue(&broken).is_err());
        }
    }
}
