//! Several eigenpairs at one end of the spectrum.

use cuda_std::GpuScalar;
use host::complex::Complex;
use host::error::{Error, check_length};
use host::executor::{Cpu, Executor};
use host::memory::with_capacity;
use host::plan::Vector;
use host::real::{Real, Scalar};
use nalgebra::{ComplexField, DMatrix};

use super::operator::{Multiple, Operator, check_square, place_of_part};
use super::options::Options;
use super::range::{Ranger, Scale, exponent_for_norm};
use super::rayleigh_ritz::{SpectrumEnd, rayleigh_ritz};
use super::report::{EigenReport, Outcome};
use super::watch::{Callback, NO_NUMBER, Watch};
use crate::dense::{Blocks, FIRST_SLOT, Multicolumn, ONE, Part, PartMut, Program, PseudoRandom, Scaled, Space};

/// The locally optimal block preconditioned conjugate gradient method (Knyazev 2001, §4). It computes one eigenpair at an
/// end of the spectrum of a symmetric or Hermitian matrix per column of X, at most [`Lobpcg::MOST_PAIRS`] and a third of
/// the number of rows. A few more columns than wanted make the last ones converge sooner. The preconditioner must be
/// positive definite.
///
/// The directions are made orthogonal to the new X (Hetmaniuk & Lehoucq 2006, §4), and linearly dependent ones are omitted
/// from the small eigenproblem, which the host solves. An iteration for k pairs takes two products of the operator with k
/// vectors, for the new directions and the last ones, one of the preconditioner, and O(rows · k²) for products and
/// combinations of blocks. Operators that support only single vectors are applied to one at a time. Vectors besides
/// X: 11 k + 2, or 23 k + 8 for complex numbers.
///
/// ```
/// use solvers::dense::Multicolumn;
/// use host::executor::Cpu;
/// use solvers::{Lobpcg, Options, Outcome, SpectrumEnd};
/// use host::select::Selection;
/// use host::{Csr, Plan};
///
/// # fn main() -> Result<(), host::Error> {
/// // Second differences on a line of 60 points: the eigenvalues are 2 − 2 cos(k π / 61).
/// let neighbours = (0..59).flat_map(|point| [(point, point + 1, -1.0), (point + 1, point, -1.0)]);
/// let entries: Vec<(u32, u32, f64)> = (0..60).map(|point| (point, point, 2.0)).chain(neighbours).collect();
/// let [rows, columns] = [0, 1].map(|side| entries.iter().map(|&(row, column, _)| [row, column][side]).collect::<Vec<_>>());
/// let values: Vec<f64> = entries.iter().map(|&(.., value)| value).collect();
///
/// let cpu = Cpu::new();
/// // A format that multiplies all columns of X at once.
/// let selection = Selection { multivectors: true, ..Selection::default() };
/// let matrix = Csr::try_from_triplets(60, 60, &rows, &columns, &values)?;
/// let mut plan = Plan::automatic(&cpu, matrix, &selection)?;
/// let mut x = Multicolumn::zeros(&cpu, 60, 10)?;
/// let method = Lobpcg { end: SpectrumEnd::Smallest, options: Options::default() };
/// let report = method.solve(&cpu, &mut plan, None, &mut x, None)?;
/// assert_eq!(report.outcome, Outcome::Converged);
/// for (k, eigenvalue) in (1..).zip(report.eigenvalues) {
///     assert!((eigenvalue - (2.0 - 2.0 * (f64::from(k) * std::f64::consts::PI / 61.0).cos())).abs() < 1e-5);
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Lobpcg {
    /// The end of the spectrum.
    pub end: SpectrumEnd,
    /// When to stop. A pair has converged when ‖A x − λ x‖ is at most the absolute tolerance, or the relative one times the
    /// largest |λ| of all Ritz values so far, which is about ‖A‖; all pairs must converge. The host checks each iteration.
    pub options: Options,
}

/// The first slot of the small matrices.
const ARRAY: u32 = FIRST_SLOT;

impl Lobpcg {
    /// The largest number of pairs.
    pub const MOST_PAIRS: usize = 32;

    /// Finds the eigenpairs, starting from the columns of X; X = 0 selects fixed starting vectors. On return the columns of
    /// X are the eigenvectors, orthonormal.
    ///
    /// # Errors
    /// When A is not square, X or the preconditioner does not fit it, X has no columns or too many, an option is invalid,
    /// memory runs out, or the device fails.
    pub fn solve<T: Scalar, E: Executor>(
        &self,
        executor: &E,
        operator: &mut dyn Operator<T, E>,
        preconditioner: Option<&mut dyn Operator<T, E>>,
        x: &mut Multicolumn<T, E::Memory>,
        callback: Option<Callback<'_>>,
    ) -> Result<EigenReport, Error> {
        self.options.check()?;
        let (rows, pairs) = (check_square(operator, preconditioner.as_deref())?, x.columns());
        check_length("a column of X", x.rows(), rows)?;
        let (first, all_rows) = place_of_part(operator);
        if pairs == 0 || pairs > Self::MOST_PAIRS.min(all_rows / 3) {
            let expected = "from 1 to 32, and a third of the rows at most";
            return Err(Error::Setting { what: "the number of pairs", value: pairs.to_string(), expected });
        }
        let mut ranger = Ranger::new(executor, operator.ranks())?;
        let length = ranger.norm(x.array())?;
        let begin = ranger.scaled(x.array(), exponent_for_norm(length))?;
        let begin = Multicolumn::from_array(begin, rows, pairs)?;
        // Scale A so that squares of products are in range, and M inversely so that its results keep their size.
        let scale = Scale::new(ranger.exponent_for(operator, &executor.run::<PseudoRandom<T>>((first, rows))?)?);
        let operator = &mut Multiple::new(T::from_f64(scale.factor), operator);
        let multiple_of_m = |preconditioner| Multiple::new(T::from_f64(scale.inverse), preconditioner);
        let mut preconditioner = preconditioner.map(multiple_of_m);
        let scaled = Self { options: scale.options(&self.options), ..*self };
        let mut tell = scale.callback(callback);
        let sums = 9 * pairs * pairs * T::PARTS;
        let space = Space::new(executor, ARRAY + 2 * sums as u32, sums)?.across(operator.ranks())?;
        let columns = |count| Multicolumn::zeros(executor, rows, count);
        let mut search = Search {
            nothing: space.program(&[])?,
            space,
            operator,
            preconditioner: preconditioner.as_mut().map(|preconditioner| preconditioner as _),
            pairs,
            blocks: Blocks::new(executor, rows, &[pairs, 2 * pairs, 3 * pairs])?,
            basis: columns(3 * pairs)?,
            products: columns(3 * pairs)?,
            next: columns(2 * pairs)?,
            block: columns(pairs)?,
            block_product: columns(pairs)?,
            single: [executor.zeros(rows)?, executor.zeros(rows)?],
        };
        let mut watch = Watch::new(scaled.options, Some(&mut tell), (0, 1), 1);
        search.begin(&begin)?;
        let (outcome, mut eigenvalues) = scaled.search(&mut search, &mut watch)?;
        // For products that were computed, not combined.
        search.multiply()?;
        let mut residual_norms = search.residuals(&eigenvalues)?;
        copy(&mut search.space, search.basis.range(0..pairs).part(), x.all_mut().part())?;
        let Watch { iterations, mut history, begin, .. } = watch;
        scale.bring_back(eigenvalues.iter_mut().chain(&mut residual_norms).chain(&mut history));
        Ok(EigenReport { outcome, iterations, eigenvalues, residual_norms, history, elapsed: begin.elapsed() })
    }

    /// Returns the outcome and the eigenvalues.
    fn search<T: Scalar, E: Executor>(
        &self,
        search: &mut Search<'_, T, E>,
        watch: &mut Watch<'_>,
    ) -> Result<(Outcome, Vec<f64>), Error> {
        let mut values = vec![f64::NAN; search.pairs];
        let mut magnitude = 0.0f64;
        loop {
            match search.improve(self.end)? {
                Some((new, new_magnitude)) => (values, magnitude) = (new, magnitude.max(new_magnitude)),
                None => return Ok((Outcome::Breakdown(DEPENDENT), values)),
            }
            let tolerance = self.options.absolute_tolerance.max(self.options.relative_tolerance * magnitude);
            let mut norm = largest(&search.residuals(&values)?);
            if norm <= tolerance {
                // Errors from combining the products of X must not count.
                search.multiply()?;
                norm = largest(&search.residuals(&values)?);
            }
            let stops = watch.iterations > 0 && watch.take(watch.iterations, norm, watch.begin.elapsed(), false)?;
            let stops = search.space.any(stops)?;
            let outcome = if !norm.is_finite() {
                Some(Outcome::Breakdown(NO_NUMBER))
            } else if norm <= tolerance {
                Some(Outcome::Converged)
            } else if watch.iterations >= self.options.iteration_limit as usize {
                Some(Outcome::IterationLimit)
            } else if stops {
                Some(Outcome::Stopped)
            } else {
                watch.limit(&search.space)?
            };
            if let Some(outcome) = outcome {
                return Ok((outcome, values));
            }
            search.expand()?;
            watch.iterations += 1;
        }
    }
}

/// Solution of the small eigenproblem of an iteration on the host.
struct Ritz {
    /// The coefficients of X and P, with their slots.
    coefficients: Vec<(u32, f64)>,
    values: Vec<f64>,
    /// The largest magnitude of a Ritz value.
    magnitude: f64,
}

impl Ritz {
    /// Solves the eigenproblem of SᴴS and SᴴAS for `columns` columns of S, in the order of [`Blocks::inner`]. Returns
    /// `None` if the rank of S is less than the number of pairs.
    fn of<N: ComplexField<RealField = f64> + Scalar>(
        (gram, products): (&[f64], &[f64]),
        columns: usize,
        pairs: usize,
        end: SpectrumEnd,
        least: f64,
    ) -> Result<Option<Self>, Error> {
        let small = |parts: &[f64]| {
            DMatrix::from_fn(columns, columns, |row, column| {
                let part = |part: usize| parts[(N::PARTS * column + part) * columns + row];
                N::from_parts(part(0), if N::COMPLEX { part(1) } else { 0.0 })
            })
        };
        let Some(ritz) = rayleigh_ritz::<N>(&small(gram), &small(products), pairs, end, least) else {
            return Ok(None);
        };
        let mut coefficients = with_capacity((ritz.vectors.len() + ritz.directions.len()) * N::PARTS)?;
        for column in ritz.vectors.column_iter().chain(ritz.directions.column_iter()) {
            for part in 0..N::PARTS {
                let first = ARRAY + coefficients.len() as u32;
                coefficients.extend((first..).zip(column.iter().map(|number| number.parts()[part])));
            }
        }
        Ok(Some(Self { coefficients, values: ritz.values, magnitude: ritz.magnitude }))
    }
}

/// Why fewer directions than pairs remain.
const DEPENDENT: &str = "the columns of X are linearly dependent, or a number is not finite";

/// Returns the largest of some norms; NaN if one is.
fn largest(norms: &[f64]) -> f64 {
    norms.iter().fold(0.0, |largest: f64, &norm| if norm.is_nan() || norm > largest { norm } else { largest })
}

/// The vectors of a search. The basis consists of the blocks X, the last directions P, and the preconditioned residuals W.
struct Search<'a, T: Scalar, E: Executor> {
    space: Space<E>,
    nothing: Program<E::Memory>,
    operator: &'a mut dyn Operator<T, E>,
    preconditioner: Option<&'a mut dyn Operator<T, E>>,
    pairs: usize,
    blocks: Blocks<T, E>,
    basis: Multicolumn<T, E::Memory>,
    /// A times the basis.
    products: Multicolumn<T, E::Memory>,
    next: Multicolumn<T, E::Memory>,
    block: Multicolumn<T, E::Memory>,
    block_product: Multicolumn<T, E::Memory>,
    single: [Vector<T, E>; 2],
}

/// Copies columns.
fn copy<'v, T: Scalar, E: Executor>(
    space: &mut Space<E>,
    from: Part<'v, T, E::Memory>,
    to: PartMut<'v, T, E::Memory>,
) -> Result<(), Error> {
    space.pass_over_parts(Scaled, [ONE], [from], [to])
}

/// Y ← A X, one vector at a time if the operator does not support several.
fn apply<T: Scalar, E: Executor>(
    space: &mut Space<E>,
    operator: &mut dyn Operator<T, E>,
    [x, y]: &mut [Vector<T, E>; 2],
    from: &Multicolumn<T, E::Memory>,
    to: &mut Multicolumn<T, E::Memory>,
) -> Result<(), Error> {
    match to.write(|to| operator.apply_columns(from.columns(), T::ONE, from.array(), T::ZERO, to)) {
        Err(Error::Operator { .. } | Error::Unsupported { .. }) => (0..from.columns()).try_for_each(|column| {
            copy(space, from.column(column), PartMut::whole(x))?;
            operator.apply(T::ONE, x, T::ZERO, y)?;
            copy(space, Part::whole(y), to.column_mut(column))
        }),
        done => done,
    }
}

impl<T: Scalar, E: Executor> Search<'_, T, E> {
    /// Stores X in the basis, and A X in the products.
    fn begin(&mut self, x: &Multicolumn<T, E::Memory>) -> Result<(), Error> {
        copy(&mut self.space, x.all().part(), self.block.all_mut().part())?;
        if largest(&self.norms_of_block()?) == 0.0 {
            let (rows, columns) = (x.rows(), x.columns());
            let (first, all_rows) = place_of_part(&*self.operator);
            let mut numbers = with_capacity(rows * columns)?;
            let cpu = Cpu::new();
            for column in 0..columns {
                numbers.extend(cpu.run::<PseudoRandom<T>>((column * all_rows + first, rows))?);
            }
            let array = self.space.executor().upload(numbers)?;
            self.block = Multicolumn::from_array(array, rows, columns)?;
        }
        copy(&mut self.space, self.block.all().part(), self.basis.range_mut(0..self.pairs).part())?;
        self.multiply()
    }

    /// Computes A X.
    fn multiply(&mut self) -> Result<(), Error> {
        let Self { space, operator, pairs, basis, products, block, block_product, single, .. } = self;
        copy(space, basis.range(0..*pairs).part(), block.all_mut().part())?;
        apply(space, &mut **operator, single, block, block_product)?;
        copy(space, block_product.all().part(), products.range_mut(0..*pairs).part())
    }

    /// Replaces X by the best approximation in the span of the basis, and P by its components along P and W. Returns the
    /// Ritz values and the largest magnitude of any, or `None` if the rank of the basis is too small.
    fn improve(&mut self, end: SpectrumEnd) -> Result<Option<(Vec<f64>, f64)>, Error> {
        let Self { space, nothing, pairs, blocks, basis, products, next, .. } = self;
        let (pairs, columns) = (*pairs, basis.columns());
        let entries = columns * columns * T::PARTS;
        blocks.inner(space, basis.all(), (columns, basis.array()))?;
        space.finish(ARRAY, nothing)?;
        blocks.inner(space, basis.all(), (columns, products.array()))?;
        space.finish(ARRAY + entries as u32, nothing)?;
        let scalars = space.scalars()?;
        let small = scalars[ARRAY as usize..][..2 * entries].split_at(entries);
        // Between the rounding error of a direction and that of a Ritz value.
        let least = T::Real::UNIT_ROUNDOFF.sqrt();
        let ritz = match T::COMPLEX {
            true => Ritz::of::<Complex<f64>>(small, columns, pairs, end, least)?,
            false => Ritz::of::<f64>(small, columns, pairs, end, least)?,
        };
        let Some(Ritz { coefficients, values, magnitude }) = ritz else {
            return Ok(None);
        };
        space.set(&coefficients)?;
        for vectors in [basis, products] {
            next.write(|next| {
                blocks.combine(space, T::Real::ONE, vectors.all(), ARRAY, T::Real::ZERO, (2 * pairs, next))
            })?;
            copy(space, next.all().part(), vectors.range_mut(0..2 * pairs).part())?;
        }
        Ok(Some((values, magnitude)))
    }

    /// Stores A X − X Λ in the block, and returns the norms of its columns.
    fn residuals(&mut self, values: &[f64]) -> Result<Vec<f64>, Error> {
        let Self { space, pairs, basis, products, block, .. } = self;
        let place = |(pair, &value): (usize, &f64)| (ARRAY + (pair * (*pairs + 1)) as u32, value);
        space.set(&values.iter().enumerate().map(place).collect::<Vec<_>>())?;
        copy(space, products.range(0..*pairs).part(), block.all_mut().part())?;
        space.combine(-T::Real::ONE, basis.range(0..*pairs), ARRAY, T::Real::ONE, block.all_mut())?;
        self.norms_of_block()
    }

    fn norms_of_block(&mut self) -> Result<Vec<f64>, Error> {
        let Self { space, nothing, pairs, block, .. } = self;
        space.gram(block.all(), block.all())?;
        space.finish(ARRAY, nothing)?;
        let scalars = space.scalars()?;
        Ok((0..*pairs).map(|pair| scalars[ARRAY as usize + pair * (*pairs + 1)].sqrt()).collect())
    }

    /// Makes W from the residuals in the block: preconditioned, and orthogonal to X.
    fn expand(&mut self) -> Result<(), Error> {
        let Self { space, nothing, pairs, blocks, basis, products, block, block_product, single, .. } = self;
        if let Some(preconditioner) = &mut self.preconditioner {
            apply(space, &mut **preconditioner, single, block, block_product)?;
            std::mem::swap(block, block_product);
        }
        blocks.inner(space, basis.range(0..*pairs), (*pairs, block.array()))?;
        space.finish(ARRAY, nothing)?;
        let of_x = basis.range(0..*pairs);
        block.write(|block| blocks.combine(space, -T::Real::ONE, of_x, ARRAY, T::Real::ONE, (*pairs, block)))?;
        apply(space, &mut *self.operator, single, block, block_product)?;
        let last = 2 * *pairs..3 * *pairs;
        copy(space, block.all().part(), basis.range_mut(last.clone()).part())?;
        copy(space, block_product.all().part(), products.range_mut(last).part())?;
        // The next P consists of small differences of P and W: combined products would soon drift away from A P.
        let directions = *pairs..2 * *pairs;
        copy(space, basis.range(directions.clone()).part(), block.all_mut().part())?;
        apply(space, &mut *self.operator, single, block, block_product)?;
        copy(space, block_product.all().part(), products.range_mut(directions).part())
    }
}
