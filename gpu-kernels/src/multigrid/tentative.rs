//! The tentative prolongation: the near-null-space vectors, restricted to aggregates and made orthonormal in each.

use cuda_std::thread::{grid_threads, index_1d};
use cuda_std::{Global, GlobalMut, GpuScalar, kernel, square_root};

use crate::search::first_in_range;

/// Computes the sort keys of the nodes, the largest first: in the order of their aggregates, with those in none last.
///
/// # Safety
/// `of_node` and `keys` have an element for each node; the aggregates are below `aggregates`, or 2^32 - 1 for none.
#[kernel]
pub unsafe fn aggregate_keys(
    /// Number of nodes.
    nodes: u32,
    /// Number of aggregates.
    aggregates: u32,
    /// The aggregate of each node.
    of_node: Global<u32>,
    /// The key of each node: 0 if it is in no aggregate.
    keys: GlobalMut<u32>,
) {
    let mut node = index_1d();
    while node < nodes {
        let aggregate = of_node.load_streaming(node);
        keys.store(node, if aggregate == u32::MAX { 0 } else { aggregates - aggregate });
        node += grid_threads();
    }
}

/// Computes the number of unknowns of each node, in a given order.
///
/// # Safety
/// `order` has each of the numbers below `nodes` once; `first` has one element more and never decreases, and `sizes`
/// has one for each node.
#[kernel]
pub unsafe fn node_sizes(
    /// Number of nodes.
    nodes: u32,
    /// The nodes in their order.
    order: Global<u32>,
    /// Where each node begins, and where the last one ends.
    first: Global<u32>,
    /// The number of unknowns of each node, in the order of the nodes.
    sizes: GlobalMut<u32>,
) {
    let mut place = index_1d();
    while place < nodes {
        let node = order.load_streaming(place);
        sizes.store(place, first.load(node + 1) - first.load(node));
        place += grid_threads();
    }
}

/// Computes where each node begins among the unknowns in the order of aggregates.
///
/// # Safety
/// As for [`node_sizes`]; `begins` has an element for each of the nodes in their order, and `places` for each node.
#[kernel]
pub unsafe fn node_places(
    /// Number of nodes.
    nodes: u32,
    /// The nodes in their order.
    order: Global<u32>,
    /// Where each node begins, in the order of the nodes.
    begins: Global<u32>,
    /// Where each node begins, by its number.
    places: GlobalMut<u32>,
) {
    let mut place = index_1d();
    while place < nodes {
        places.store(order.load_streaming(place), begins.load_streaming(place));
        place += grid_threads();
    }
}

/// Position of an unknown among those in the order of aggregates.
///
/// # Safety
/// `node` is that of the unknown, and both other arrays have an element for it.
#[inline(always)]
unsafe fn place_of(unknown: u32, node: u32, first: Global<u32>, places: Global<u32>) -> u64 {
    u64::from(places.load(node)) + u64::from(unknown - first.load(node))
}

/// Moves the rows of the vectors into the order of aggregates.
///
/// # Safety
/// `elements` and `basis` have `vectors` elements for each of `unknowns` unknowns, `vectors` is not 0, and `of_unknown`
/// has the node of each. `first` and `places` are those of the nodes, which contain every unknown exactly once.
#[kernel(W: wide)]
pub unsafe fn tentative_basis<W: GpuScalar>(
    /// Number of unknowns.
    unknowns: u32,
    /// Number of vectors.
    vectors: u32,
    /// The node of each unknown.
    of_unknown: Global<u32>,
    /// Where each node begins.
    first: Global<u32>,
    /// Where each node begins in the order of aggregates.
    places: Global<u32>,
    /// The vectors, row by row.
    elements: Global<W>,
    /// The same in the order of aggregates.
    basis: GlobalMut<W>,
) {
    let (count, vectors) = (u64::from(unknowns) * u64::from(vectors), u64::from(vectors));
    let mut element = u64::from(index_1d());
    while element < count {
        let unknown = (element / vectors) as u32;
        let place = place_of(unknown, of_unknown.load(unknown), first, places);
        basis.store(place * vectors + element % vectors, elements.load_streaming(element));
        element += u64::from(grid_threads());
    }
}

/// The rows of the vectors in an aggregate, which become orthonormal, and the factor that recovers the original ones.
#[derive(Clone, Copy)]
struct Part<W> {
    basis: GlobalMut<W>,
    factors: GlobalMut<W>,
    /// The first row, and the end of the last one.
    rows: [u64; 2],
    /// Offset of the factor.
    factor: u64,
    vectors: u32,
}

impl<W: GpuScalar> Part<W> {
    /// Offset of an element from the first row.
    #[inline(always)]
    fn place(self, row: u64, vector: u32) -> u64 {
        row * u64::from(self.vectors) + u64::from(vector)
    }

    /// The length of a vector.
    ///
    /// # Safety
    /// The basis has the rows, and no other thread writes them.
    #[inline(always)]
    unsafe fn norm(self, vector: u32) -> f64 {
        let [mut row, end] = self.rows;
        let mut sum = 0.0;
        while row < end {
            let [re, im] = self.basis.load(self.place(row, vector)).wide_parts();
            sum += re * re;
            sum += im * im;
            row += 1;
        }
        square_root(sum)
    }

    /// Subtracts the component along an earlier vector.
    ///
    /// # Safety
    /// As for [`norm`](Self::norm), and no other thread accesses the factor.
    #[inline(always)]
    unsafe fn take_out(self, before: u32, vector: u32) {
        let [begin, end] = self.rows;
        let mut product = W::ZERO;
        let mut row = begin;
        while row < end {
            let [one, other] = [before, vector].map(|vector| self.basis.load(self.place(row, vector)));
            product = product + one.conjugate() * other;
            row += 1;
        }
        row = begin;
        while row < end {
            let place = self.place(row, vector);
            let taken = self.basis.load(self.place(row, before)) * product;
            self.basis.store(place, self.basis.load(place) - taken);
            row += 1;
        }
        let place = self.factor + self.place(before.into(), vector);
        self.factors.store(place, self.factors.load(place) + product);
    }

    /// Multiplies a vector by a number.
    ///
    /// # Safety
    /// As for [`norm`](Self::norm).
    #[inline(always)]
    unsafe fn scale(self, vector: u32, scale: f64) {
        let scale = W::from_wide_parts([scale, 0.0]);
        let [mut row, end] = self.rows;
        while row < end {
            let place = self.place(row, vector);
            self.basis.store(place, scale * self.basis.load(place));
            row += 1;
        }
    }
}

/// B = Q R for the rows of each aggregate, by modified Gram–Schmidt: B becomes Q. A vector that depends on those before
/// it is left out: it has zeros in Q and a row of zeros in R. One thread per aggregate.
///
/// # Safety
/// `keys` are those of [`aggregate_keys`] for `nodes` nodes, sorted, the largest first; `begins` has one element more
/// and never decreases. `basis` has `vectors` elements, 1 to 32, for each row, and the last of `begins` is the number
/// of rows. For each aggregate `factors` has `vectors`² zeros, and `counts` and `kept` one element.
#[kernel(W: wide)]
pub unsafe fn orthonormal_vectors<W: GpuScalar>(
    /// Number of aggregates.
    aggregates: u32,
    /// Number of nodes.
    nodes: u32,
    /// Number of vectors.
    vectors: u32,
    /// A vector depends on those before it if at most this fraction of it is left.
    dependent: f64,
    /// The keys by which the nodes are sorted.
    keys: Global<u32>,
    /// Where each of the nodes begins in the order of aggregates, and where the last one ends.
    begins: Global<u32>,
    /// The rows of the vectors in the order of aggregates.
    basis: GlobalMut<W>,
    /// The factor of each aggregate, row by row.
    factors: GlobalMut<W>,
    /// The number of vectors of each aggregate that are not left out.
    counts: GlobalMut<u32>,
    /// A bit for each of these vectors.
    kept: GlobalMut<u32>,
) {
    let mut aggregate = index_1d();
    while aggregate < aggregates {
        let begin_of = |key: u32| {
            let place = first_in_range(0, nodes.into(), |place| keys.load(place) <= key);
            u64::from(begins.load(place))
        };
        let key = aggregates - aggregate;
        let factor = u64::from(aggregate) * u64::from(vectors * vectors);
        let part = Part { basis, factors, rows: [begin_of(key), begin_of(key - 1)], factor, vectors };
        let (mut vector, mut bits) = (0, 0_u32);
        while vector < vectors {
            let whole = part.norm(vector);
            let mut pass = 0;
            // The second pass removes the rounding errors of the first.
            while pass < 2 {
                let mut before = 0;
                while before < vector {
                    part.take_out(before, vector);
                    before += 1;
                }
                pass += 1;
            }
            let left = part.norm(vector);
            // The comparison is written so that NaN is left out.
            let scale = if left > dependent * whole { 1.0 / left } else { 0.0 };
            let scale = if scale.is_finite() { scale } else { 0.0 };
            part.scale(vector, scale);
            if scale > 0.0 {
                factors.store(factor + part.place(vector.into(), vector), W::from_wide_parts([left, 0.0]));
                bits |= 1 << vector;
            }
            vector += 1;
        }
        counts.store(aggregate, bits.count_ones());
        kept.store(aggregate, bits);
        aggregate += grid_threads();
    }
}

/// Computes the number of entries of each row of the prolongation.
///
/// # Safety
/// `of_unknown` has the node of each row, `of_node` the aggregate of each node or 2^32 - 1 for none, `counts` an
/// element for each aggregate, and `lengths` one for each row.
#[kernel]
pub unsafe fn tentative_lengths(
    /// Number of rows.
    rows: u32,
    /// The node of each row.
    of_unknown: Global<u32>,
    /// The aggregate of each node.
    of_node: Global<u32>,
    /// The number of coarse unknowns of each aggregate.
    counts: Global<u32>,
    /// The number of entries of each row.
    lengths: GlobalMut<u32>,
) {
    let mut row = index_1d();
    while row < rows {
        let aggregate = of_node.load(of_unknown.load_streaming(row));
        lengths.store(row, if aggregate == u32::MAX { 0 } else { counts.load(aggregate) });
        row += grid_threads();
    }
}

/// Calls `visit` with each vector whose bit is set, and with the number of such vectors before it.
#[inline(always)]
fn for_each_kept(mut bits: u32, visit: impl Fn(u32, u32)) {
    let mut number = 0;
    while bits != 0 {
        visit(bits.trailing_zeros(), number);
        bits &= bits - 1;
        number += 1;
    }
}

/// Writes the entries of the prolongation.
///
/// # Safety
/// As for [`tentative_lengths`], which has counted the entries, and for [`tentative_basis`]; `offsets` are the sums of
/// the lengths, `kept` has as many bits for each aggregate as `counts` had, below `vectors`, and `first_unknowns` are
/// the sums of these. The last of `offsets` is the length of `columns` and `values`.
#[kernel(W: wide)]
pub unsafe fn tentative_entries<W: GpuScalar>(
    /// Number of rows.
    rows: u32,
    /// Number of vectors.
    vectors: u32,
    /// The node of each row.
    of_unknown: Global<u32>,
    /// Where each node begins.
    first: Global<u32>,
    /// Where each node begins in the order of aggregates.
    places: Global<u32>,
    /// The aggregate of each node.
    of_node: Global<u32>,
    /// The vectors of each aggregate that are not left out.
    kept: Global<u32>,
    /// The first coarse unknown of each aggregate.
    first_unknowns: Global<u32>,
    /// The rows of the orthonormal vectors in the order of aggregates.
    basis: Global<W>,
    /// Where each row begins.
    offsets: Global<u64>,
    /// The column of each entry.
    columns: GlobalMut<u32>,
    /// The value of each entry.
    values: GlobalMut<W>,
) {
    let mut row = index_1d();
    while row < rows {
        let node = of_unknown.load_streaming(row);
        let aggregate = of_node.load(node);
        if aggregate != u32::MAX {
            let begin = offsets.load(row);
            let column = first_unknowns.load(aggregate);
            let place = place_of(row, node, first, places) * u64::from(vectors);
            for_each_kept(kept.load(aggregate), |vector, number| {
                columns.store(begin + u64::from(number), column + number);
                values.store(begin + u64::from(number), basis.load(place + u64::from(vector)));
            });
        }
        row += grid_threads();
    }
}

/// Writes the nodes and the near-null-space vectors of the coarse level: an aggregate's coarse unknowns are a node, and
/// their rows of the vectors are those of the factor.
///
/// # Safety
/// `kept`, `first_unknowns` and `factors` are as for [`tentative_entries`] and [`orthonormal_vectors`]; `of_unknown`
/// has an element for each coarse unknown, and `elements` has `vectors`.
#[kernel(W: wide)]
pub unsafe fn coarse_vectors<W: GpuScalar>(
    /// Number of aggregates.
    aggregates: u32,
    /// Number of vectors.
    vectors: u32,
    /// The vectors of each aggregate that are not left out.
    kept: Global<u32>,
    /// The first coarse unknown of each aggregate.
    first_unknowns: Global<u32>,
    /// The factor of each aggregate, row by row.
    factors: Global<W>,
    /// The node of each coarse unknown.
    of_unknown: GlobalMut<u32>,
    /// The coarse vectors, row by row.
    elements: GlobalMut<W>,
) {
    let width = u64::from(vectors);
    let mut aggregate = index_1d();
    while aggregate < aggregates {
        let unknown = first_unknowns.load(aggregate);
        for_each_kept(kept.load(aggregate), |vector, number| {
            of_unknown.store(unknown + number, aggregate);
            let from = (u64::from(aggregate) * width + u64::from(vector)) * width;
            let to = u64::from(unknown + number) * width;
            let mut place = 0;
            while place < width {
                elements.store(to + place, factors.load(from + place));
                place += 1;
            }
        });
        aggregate += grid_threads();
    }
}
