//! The small eigenproblem of LOBPCG.

use nalgebra::{DMatrix, SymmetricEigen};

/// An end of the spectrum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpectrumEnd {
    /// The smallest eigenvalues, smallest first.
    Smallest,
    /// The largest eigenvalues, largest first.
    Largest,
}

/// What the best approximations in a space are made of.
pub(super) struct RitzPairs {
    /// The Ritz values, in the order of the wanted end.
    pub(super) values: Vec<f64>,
    /// The coefficients of the Ritz vectors, which are orthonormal.
    pub(super) vectors: DMatrix<f64>,
    /// The coefficients of what the Ritz vectors have besides their part in the first columns, orthogonal to the vectors.
    pub(super) directions: DMatrix<f64>,
    /// The largest magnitude of a Ritz value, wanted or not.
    pub(super) magnitude: f64,
}

/// Eigenvalues and eigenvectors, if they are found.
fn eigen(matrix: DMatrix<f64>) -> Option<SymmetricEigen<f64, nalgebra::Dyn>> {
    /// Far more than it ever takes.
    const MOST_SWEEPS: usize = 10_000;
    if !matrix.iter().all(|value| value.is_finite()) {
        return None;
    }
    let symmetric = (&matrix + matrix.transpose()) * 0.5;
    SymmetricEigen::try_new(symmetric, f64::EPSILON, MOST_SWEEPS)
}

/// The best `pairs` pairs in the span of columns S with gram matrix `gram`, SᵀS, and products `products`, SᵀAS. Directions
/// in which the scaled columns extend less than the root of `least` times the most are left out. `None` if fewer than
/// `pairs` are left. O(columns³).
pub(super) fn rayleigh_ritz(
    gram: &DMatrix<f64>,
    products: &DMatrix<f64>,
    pairs: usize,
    end: SpectrumEnd,
    least: f64,
) -> Option<RitzPairs> {
    let columns = gram.nrows();
    let scale = gram.diagonal().map(|square| if square > 0.0 { 1.0 / square.sqrt() } else { 0.0 });
    let scaled = DMatrix::from_fn(columns, columns, |row, column| gram[(row, column)] * scale[row] * scale[column]);
    let extents = eigen(scaled)?;
    let most = extents.eigenvalues.max();
    let kept: Vec<usize> = (0..columns).filter(|&number| extents.eigenvalues[number] > least * most).collect();
    if kept.len() < pairs {
        return None;
    }
    let basis = DMatrix::from_fn(columns, kept.len(), |row, column| {
        let number = kept[column];
        scale[row] * extents.eigenvectors[(row, number)] / extents.eigenvalues[number].sqrt()
    });
    let ritz = eigen(basis.transpose() * products * &basis)?;
    let mut order: Vec<usize> = (0..kept.len()).collect();
    order.sort_by(|&a, &b| ritz.eigenvalues[a].total_cmp(&ritz.eigenvalues[b]));
    if end == SpectrumEnd::Largest {
        order.reverse();
    }
    order.truncate(pairs);
    let vectors = &basis * ritz.eigenvectors.select_columns(&order);
    let mut directions = vectors.clone();
    directions.rows_mut(0, pairs).fill(0.0);
    let overlap = vectors.transpose() * gram * &directions;
    directions -= &vectors * overlap;
    Some(RitzPairs {
        values: order.iter().map(|&number| ritz.eigenvalues[number]).collect(),
        vectors,
        directions,
        magnitude: ritz.eigenvalues.amax(),
    })
}
