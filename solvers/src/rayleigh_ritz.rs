//! The small eigenproblem of LOBPCG.

use nalgebra::{ComplexField, DMatrix, SymmetricEigen};

/// An end of the spectrum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpectrumEnd {
    /// The smallest eigenvalues, smallest first.
    Smallest,
    /// The largest eigenvalues, largest first.
    Largest,
}

/// The coefficients of the best approximations in a space.
pub(super) struct RitzPairs<N> {
    /// The Ritz values, in the order of the wanted end.
    pub(super) values: Vec<f64>,
    /// The coefficients of the Ritz vectors, which are orthonormal.
    pub(super) vectors: DMatrix<N>,
    /// The coefficients of the Ritz vectors without their part in the first columns, orthogonal to the vectors.
    pub(super) directions: DMatrix<N>,
    /// The largest magnitude of a Ritz value, wanted or not.
    pub(super) magnitude: f64,
}

/// Eigenvalues and eigenvectors; `None` if they are not found.
fn eigen<N: ComplexField<RealField = f64>>(matrix: DMatrix<N>) -> Option<SymmetricEigen<N, nalgebra::Dyn>> {
    /// Far more than are ever needed.
    const MOST_SWEEPS: usize = 10_000;
    if !matrix.iter().all(ComplexField::is_finite) {
        return None;
    }
    let hermitian = (&matrix + matrix.adjoint()) * N::from_real(0.5);
    SymmetricEigen::try_new(hermitian, f64::EPSILON, MOST_SWEEPS)
}

/// Returns the best `pairs` pairs in the span of columns S with Gram matrix `gram`, SᴴS, and products `products`, SᴴAS.
/// Omits directions in which the scaled columns extend less than the root of `least` times the maximum. Returns `None` if
/// fewer than `pairs` directions remain. O(columns³).
pub(super) fn rayleigh_ritz<N: ComplexField<RealField = f64>>(
    gram: &DMatrix<N>,
    products: &DMatrix<N>,
    pairs: usize,
    end: SpectrumEnd,
    least: f64,
) -> Option<RitzPairs<N>> {
    let columns = gram.nrows();
    let length = |square: N| square.real().sqrt();
    let scale = gram.diagonal().map(|square| if square.clone().real() > 0.0 { 1.0 / length(square) } else { 0.0 });
    let scaled = DMatrix::from_fn(columns, columns, |row, column| {
        gram[(row, column)].clone().scale(scale[row]).scale(scale[column])
    });
    let extents = eigen(scaled)?;
    let most = extents.eigenvalues.max();
    let kept: Vec<usize> = (0..columns).filter(|&number| extents.eigenvalues[number] > least * most).collect();
    if kept.len() < pairs {
        return None;
    }
    let basis = DMatrix::from_fn(columns, kept.len(), |row, column| {
        let number = kept[column];
        extents.eigenvectors[(row, number)].clone().scale(scale[row]).unscale(extents.eigenvalues[number].sqrt())
    });
    let ritz = eigen(basis.adjoint() * products * &basis)?;
    let mut order: Vec<usize> = (0..kept.len()).collect();
    order.sort_by(|&a, &b| ritz.eigenvalues[a].total_cmp(&ritz.eigenvalues[b]));
    if end == SpectrumEnd::Largest {
        order.reverse();
    }
    order.truncate(pairs);
    let vectors = &basis * ritz.eigenvectors.select_columns(&order);
    let mut directions = vectors.clone();
    directions.rows_mut(0, pairs).fill(N::zero());
    let overlap = vectors.adjoint() * gram * &directions;
    directions -= &vectors * overlap;
    Some(RitzPairs {
        values: order.iter().map(|&number| ritz.eigenvalues[number]).collect(),
        vectors,
        directions,
        magnitude: ritz.eigenvalues.amax(),
    })
}
