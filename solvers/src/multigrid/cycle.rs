//! The cycle over the levels, on an executor.

use std::any::Any;
use std::time::Instant;

use host::error::Error;
use host::executor::Executor;
use host::format::{Csr, Format, ValueStorage};
use host::plan::{Plan, Vector};
use host::real::Scalar;

use super::hierarchy::{Hierarchy, Level, SetupTimes, Smoothed, Solved, Transfers};
use super::k_cycle::{INNER_SLOTS, Inner};
use super::near_null_space::NearNullSpace;
use super::options::{Cycle, Multigrid, Smoother};
use super::report::{LevelReport, MultigridReport};
use super::rounding::{rounded_matrix, rounded_vector};
use super::smoother::{Smoothing, Start};
use crate::dense::{FIRST_SLOT, ONE, Scaled, Space};
use crate::preconditioner::{Diagonal, Inverse, PreconditionerOptions, Recipe, plan_in_memory};

/// Multigrid on an executor.
pub(crate) struct Amg<T: Scalar, E: Executor> {
    settings: Settings<T>,
    made: Made<T, E>,
}

/// The settings of the setup.
struct Settings<T> {
    multigrid: Multigrid,
    options: PreconditionerOptions,
    near_null_space: NearNullSpace<T>,
}

/// The result of the setup.
struct Made<T: Scalar, E: Executor> {
    levels: Vec<Placed<T, E>>,
    space: Space<E>,
    report: MultigridReport,
}

/// Sets up the levels on the executor. Takes their matrices there, and 5 vectors per level, or 10 for K-cycles; during the
/// setup, the matrices in 64 bits and three times the largest product. On the host it takes the matrix in 64 bits, unless
/// it already has 64 bits.
///
/// # Errors
/// Those of [`Hierarchy::new`]; when an option is invalid, memory runs out, or the device fails.
pub(crate) fn recipe<T: Scalar, E: Executor>(
    executor: &E,
    matrix: &Csr<T>,
    multigrid: Multigrid,
    near_null_space: Option<NearNullSpace<T>>,
    options: PreconditionerOptions,
) -> Result<Recipe<T, E>, Error> {
    let inverse = match near_null_space {
        Some(near_null_space) => Amg::new(executor, matrix, Settings { multigrid, options, near_null_space })?,
        None => Amg::with_constants(executor, matrix, multigrid, options)?,
    };
    Ok(Recipe { inverse: Box::new(inverse), symmetric: false, scalars: vec![] })
}

/// A level in the form that a cycle uses.
pub(super) enum Placed<T: Scalar, E: Executor> {
    Smoothed(Box<PlacedSmoothed<T, E>>),
    /// The inverse of the last level.
    Inverse(Box<Plan<T, E>>),
}

/// A level that is smoothed.
pub(super) struct PlacedSmoothed<T: Scalar, E: Executor> {
    pub(super) matrix: Plan<T, E>,
    smoother: Smoothing<T, E>,
    below: Option<Below<T, E>>,
    /// The residual.
    residual: Vector<T, E>,
    /// The last step of x.
    step: Vector<T, E>,
}

/// The transfers to and from a coarser level, and its right-hand side and solution.
struct Below<T: Scalar, E: Executor> {
    prolongation: Plan<T, E>,
    restriction: Plan<T, E>,
    b: Vector<T, E>,
    x: Vector<T, E>,
    /// For K-cycles.
    inner: Option<Inner<T, E>>,
}

impl<T: Scalar, E: Executor> Amg<T, E> {
    /// Creates multigrid whose coarse levels represent the constants of each unknown of a node.
    ///
    /// # Errors
    /// As for [`recipe`].
    pub(crate) fn with_constants(
        executor: &E,
        matrix: &Csr<T>,
        multigrid: Multigrid,
        options: PreconditionerOptions,
    ) -> Result<Self, Error> {
        multigrid.check()?;
        let near_null_space = NearNullSpace::constants(matrix.rows(), multigrid.node as usize)?;
        Self::new(executor, matrix, Settings { multigrid, options, near_null_space })
    }

    fn new(executor: &E, matrix: &Csr<T>, settings: Settings<T>) -> Result<Self, Error> {
        Ok(Self { made: Made::new(executor, matrix, &settings)?, settings })
    }
}

impl<T: Scalar, E: Executor> Made<T, E> {
    fn new(executor: &E, matrix: &Csr<T>, settings: &Settings<T>) -> Result<Self, Error> {
        let Settings { multigrid, options, near_null_space } = settings;
        multigrid.check()?;
        if multigrid.cycle == Cycle::K && T::COMPLEX {
            let (what, value) = ("the cycle of a complex matrix", "k".to_string());
            return Err(Error::Setting { what, value, expected: "v or w" });
        }
        let begin = Instant::now();
        let same = matrix.columns_ascend().then_some(matrix);
        let (widened, near_null_space) = (widened(executor, matrix, same)?, near_null_space.widened(executor)?);
        executor.synchronize()?;
        let copies = begin.elapsed();
        let Hierarchy { levels, times } = Hierarchy::new(executor, widened, near_null_space, *multigrid)?;
        let begin = Instant::now();
        let rows: Vec<_> = levels.iter().map(|level| level.matrix.rows()).collect();
        let of_smoothers = 2 * multigrid.smoother.steps() * rows.len() as u32;
        let inner = |level: usize| FIRST_SLOT + of_smoothers + INNER_SLOTS * level as u32;
        let mut space = Space::new(executor, inner(rows.len()), 1)?;
        let format = options.format.or(executor.device().has_kernels().then_some(Format::Auto));
        // An update sets everything up again.
        let mut options = PreconditionerOptions { format, updates: false, ..*options };
        if multigrid.values != ValueStorage::Full {
            options.values = multigrid.values;
        }
        let mut reports = host::memory::with_capacity(rows.len())?;
        let (mut placed, mut scalars) = (host::memory::with_capacity(rows.len())?, vec![]);
        for (number, Level { matrix, solved }) in levels.into_iter().enumerate() {
            let mut of_level = LevelReport {
                rows: rows[number],
                nnz: matrix.nnz(),
                format: Format::Auto,
                prolongation_nnz: 0,
                largest_eigenvalue: None,
                coarsest: None,
            };
            let level = match solved {
                Solved::Inverse(inverse) => {
                    of_level.coarsest = Some("directly, by its inverse");
                    let inverse = plan_in_memory(executor, rounded_matrix::<T, E>(executor, inverse)?, options)?;
                    of_level.format = inverse.format();
                    Placed::Inverse(Box::new(inverse))
                }
                Solved::Smoothed(smoothed) => {
                    match &smoothed.transfers {
                        Some(transfers) => of_level.prolongation_nnz = transfers.prolongation.nnz(),
                        None => of_level.coarsest = Some("by smoothing, because it cannot be coarsened"),
                    }
                    if !matches!(multigrid.smoother, Smoother::L1Jacobi(_)) {
                        of_level.largest_eigenvalue = Some(smoothed.largest);
                    }
                    let slots = FIRST_SLOT + 2 * multigrid.smoother.steps() * number as u32;
                    let factors = multigrid.smoother.factors(smoothed.largest);
                    scalars.extend((slots..).zip(factors.into_iter().flatten()));
                    // A level that is solved directly needs no second step.
                    let below_is_level = number + 2 < rows.len();
                    let place = Place {
                        slots,
                        steps: multigrid.smoother.steps(),
                        below: rows.get(number + 1).copied().unwrap_or(0),
                        inner: (multigrid.cycle == Cycle::K && below_is_level).then(|| inner(number)),
                    };
                    let level = PlacedSmoothed::new(&space, matrix, smoothed, place, options)?;
                    of_level.format = level.matrix.format();
                    Placed::Smoothed(Box::new(level))
                }
            };
            placed.push(level);
            reports.push(of_level);
        }
        space.set(&scalars)?;
        executor.synchronize()?;
        let times = times_of(SetupTimes { copies, formats: begin.elapsed(), ..times });
        Ok(Self { levels: placed, space, report: MultigridReport { levels: reports, times } })
    }
}

/// Returns the matrix in 64 bits in the executor's memory, with sorted rows without duplicate columns: a copy of `same`, if
/// it is in this form already.
fn widened<T: Scalar, E: Executor>(
    executor: &E,
    matrix: &Csr<T>,
    same: Option<&Csr<T>>,
) -> Result<Csr<T::Wide, E::Memory>, Error> {
    if let Some(wide) = same.and_then(|same| (same as &dyn Any).downcast_ref::<Csr<T::Wide>>()) {
        return wide.upload_copy(executor);
    }
    let mut wide = matrix.cast::<T::Wide>()?;
    wide.sort_and_sum()?;
    wide.upload(executor)
}

fn times_of(times: SetupTimes) -> Vec<(&'static str, std::time::Duration)> {
    let SetupTimes { copies, connections, aggregates, prolongation, products, eigenvalues, coarsest, formats } = times;
    vec![
        ("copy to the executor", copies),
        ("eigenvalues", eigenvalues),
        ("strong connections", connections),
        ("aggregates", aggregates),
        ("prolongation", prolongation),
        ("Galerkin products", products),
        ("inverse of the coarsest level", coarsest),
        ("formats of all levels", formats),
    ]
}

/// The data that a smoothed level needs from the others.
struct Place {
    /// The first slot for the smoother's factors.
    slots: u32,
    /// Steps of the smoother.
    steps: u32,
    /// Rows of the next coarser level.
    below: usize,
    /// The first slot of a K-cycle's inner iteration.
    inner: Option<u32>,
}

impl<T: Scalar, E: Executor> PlacedSmoothed<T, E> {
    fn new(
        space: &Space<E>,
        matrix: Csr<T::Wide, E::Memory>,
        smoothed: Smoothed<T::Wide, E::Memory>,
        Place { slots, steps, below, inner }: Place,
        options: PreconditionerOptions,
    ) -> Result<Self, Error> {
        let (executor, rows) = (space.executor(), matrix.rows());
        let plan = |matrix| plan_in_memory(executor, rounded_matrix::<T, E>(executor, matrix)?, options);
        let below = |Transfers { prolongation, restriction }| {
            Ok::<_, Error>(Below {
                prolongation: plan(prolongation)?,
                restriction: plan(restriction)?,
                b: executor.zeros(below)?,
                x: executor.zeros(below)?,
                inner: inner.map(|slots| Inner::new(space, below, slots)).transpose()?,
            })
        };
        let inverse_diagonal = rounded_vector::<T, E>(executor, smoothed.inverse_diagonal)?;
        Ok(Self {
            matrix: plan(matrix)?,
            smoother: Smoothing {
                inverse_diagonal: Diagonal::in_memory(executor, inverse_diagonal)?,
                scaled: if T::COMPLEX { Some(executor.zeros(rows)?) } else { None },
                slots,
                steps,
            },
            below: smoothed.transfers.map(below).transpose()?,
            residual: executor.zeros(rows)?,
            step: executor.zeros(rows)?,
        })
    }

    /// Takes all steps of the smoother. Afterwards x is complete, and the residual lacks the last step.
    fn smooth(
        &mut self,
        space: &mut Space<E>,
        start: Start,
        b: &Vector<T, E>,
        x: &mut Vector<T, E>,
    ) -> Result<(), Error> {
        let Self { matrix, smoother, residual, step, .. } = self;
        smoother.first(space, start, b, [residual, step, x])?;
        for number in 1..smoother.steps {
            matrix.apply(-T::ONE, step, T::ONE, residual)?;
            smoother.next(space, number, residual, [step, x])?;
        }
        Ok(())
    }

    /// Updates the residual for the last step.
    fn update_residual(&mut self) -> Result<(), Error> {
        self.matrix.apply(-T::ONE, &self.step, T::ONE, &mut self.residual)
    }
}

/// x ← x + M (b − A x) for the first of the levels, starting from x = 0 if there is no guess.
pub(super) fn visit<T: Scalar, E: Executor>(
    levels: &mut [Placed<T, E>],
    space: &mut Space<E>,
    cycle: Cycle,
    guess: bool,
    b: &Vector<T, E>,
    x: &mut Vector<T, E>,
) -> Result<(), Error> {
    let Some((level, coarser)) = levels.split_first_mut() else { return Ok(()) };
    let level = match level {
        Placed::Smoothed(level) => level,
        Placed::Inverse(inverse) => return inverse.apply(T::ONE, b, T::ZERO, x),
    };
    if guess {
        space.pass(Scaled, [ONE], [b], [&mut level.residual])?;
        level.matrix.apply(-T::ONE, x, T::ONE, &mut level.residual)?;
        level.smooth(space, Start::Guess, b, x)?;
    } else {
        level.smooth(space, Start::Zero, b, x)?;
    }
    level.update_residual()?;
    let Some(below) = &mut level.below else {
        return level.smooth(space, Start::Guess, b, x);
    };
    let Below { prolongation, restriction, b: coarse_b, x: coarse_x, inner } = below;
    restriction.apply(T::ONE, &level.residual, T::ZERO, coarse_b)?;
    match inner {
        Some(inner) => inner.solve(coarser, space, cycle, coarse_b, coarse_x)?,
        None => {
            visit(coarser, space, cycle, false, coarse_b, coarse_x)?;
            if cycle == Cycle::W && !matches!(coarser, [Placed::Inverse(_)]) {
                visit(coarser, space, cycle, true, coarse_b, coarse_x)?;
            }
        }
    }
    prolongation.apply(T::ONE, coarse_x, T::ZERO, &mut level.step)?;
    level.update_residual()?;
    level.smooth(space, Start::Correction, b, x)
}

impl<T: Scalar, E: Executor> Inverse<T, E> for Amg<T, E> {
    fn apply(&mut self, _: &mut Space<E>, r: &Vector<T, E>, z: &mut Vector<T, E>) -> Result<(), Error> {
        let Made { levels, space, .. } = &mut self.made;
        visit(levels, space, self.settings.multigrid.cycle, false, r, z)
    }

    fn update(&mut self, space: &mut Space<E>, matrix: &mut Csr<T>) -> Result<(), Error> {
        self.made = Made::new(space.executor(), matrix, &self.settings)?;
        Ok(())
    }

    /// A cycle takes about ten times as long as a check by the host.
    fn iterations_between_looks(&self) -> Option<u32> {
        Some(2)
    }

    fn report(&self) -> Option<&MultigridReport> {
        Some(&self.made.report)
    }
}
