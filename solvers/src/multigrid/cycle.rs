//! The cycle over the levels, on an executor.

use host::error::Error;
use host::executor::Executor;
use host::format::{Csr, Format, ValueStorage};
use host::plan::{Plan, Vector};
use host::real::Scalar;

use super::hierarchy::{Coarser, Hierarchy, Level, SetupTimes};
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
    levels: Vec<Placed<T, E>>,
    space: Space<E>,
    report: MultigridReport,
}

/// What it is made with.
struct Settings<T> {
    multigrid: Multigrid,
    options: PreconditionerOptions,
    near_null_space: NearNullSpace<T>,
}

/// Makes the levels on the executor. Takes the matrix in 64 bits on the host; on the executor the levels' matrices, and 5
/// vectors for each level, of K-cycles 10; while it makes them, in 64 bits, and three times the largest product.
///
/// # Errors
/// Those of [`Hierarchy::new`]; when an option means nothing, memory runs out, or the device fails.
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

/// A level in the memory of an executor.
pub(super) struct Placed<T: Scalar, E: Executor> {
    pub(super) matrix: Plan<T, E>,
    smoother: Smoothing<T, E>,
    coarser: PlacedCoarser<T, E>,
    /// The residual.
    residual: Vector<T, E>,
    /// The last step of x.
    step: Vector<T, E>,
}

/// What a level has below it.
enum PlacedCoarser<T: Scalar, E: Executor> {
    Level(Box<Below<T, E>>),
    Inverse(Box<Plan<T, E>>),
    Nothing,
}

/// The way to a coarser level, and its right-hand side and solution.
struct Below<T: Scalar, E: Executor> {
    prolongation: Plan<T, E>,
    restriction: Plan<T, E>,
    b: Vector<T, E>,
    x: Vector<T, E>,
    /// For K-cycles.
    inner: Option<Inner<T, E>>,
}

impl<T: Scalar, E: Executor> Amg<T, E> {
    /// Multigrid whose coarse levels represent constants, of each unknown of a node.
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
        let Settings { multigrid, options, near_null_space } = &settings;
        multigrid.check()?;
        if multigrid.cycle == Cycle::K && T::COMPLEX {
            let (what, value) = ("the cycle of a complex matrix", "k".to_string());
            return Err(Error::Setting { what, value, expected: "v or w" });
        }
        let mut matrix = matrix.cast::<T::Wide>()?;
        matrix.sort_and_sum()?;
        let near_null_space = near_null_space.widened(executor)?;
        let hierarchy = Hierarchy::new(executor, matrix.upload(executor)?, near_null_space, *multigrid)?;
        let mut scalars = vec![];
        for level in &hierarchy.levels {
            scalars.extend(multigrid.smoother.factors(level.largest).into_iter().flatten());
        }
        let of_smoothers = scalars.len() as u32;
        let inner = |level: usize| FIRST_SLOT + of_smoothers + INNER_SLOTS * level as u32;
        let mut space = Space::new(executor, inner(hierarchy.levels.len()), 1)?;
        space.set(&(FIRST_SLOT..).zip(scalars).collect::<Vec<_>>())?;
        let format = options.format.or(executor.device().has_kernels().then_some(Format::Auto));
        // An update makes everything anew.
        let mut options = PreconditionerOptions { format, updates: false, ..*options };
        if multigrid.values != ValueStorage::Full {
            options.values = multigrid.values;
        }
        let mut report = MultigridReport { levels: vec![], times: times(hierarchy.times) };
        let mut levels = host::memory::with_capacity(hierarchy.levels.len())?;
        let rows: Vec<_> = hierarchy.levels.iter().map(|level| level.matrix.rows()).collect();
        for (number, level) in hierarchy.levels.into_iter().enumerate() {
            // Two steps on a level that is solved directly are one too many.
            let below_is_level = number + 2 < rows.len();
            let inner = (multigrid.cycle == Cycle::K && below_is_level).then(|| inner(number));
            let slots = FIRST_SLOT + 2 * multigrid.smoother.steps() * number as u32;
            let below = rows.get(number + 1).copied().unwrap_or(0);
            let (nnz, largest) = (level.matrix.nnz(), level.largest);
            let (prolongation_nnz, coarsest) = match &level.coarser {
                Coarser::Level { prolongation, .. } => (prolongation.nnz(), None),
                Coarser::Inverse(_) => (0, Some("directly, by its inverse")),
                Coarser::Nothing => (0, Some("by smoothing, as it cannot be made coarser")),
            };
            let smoother = multigrid.smoother;
            let placed = Placed::new(&space, level, (smoother, slots), (below, inner), options)?;
            report.levels.push(LevelReport {
                rows: rows[number],
                nnz,
                format: placed.matrix.format(),
                prolongation_nnz,
                largest_eigenvalue: (!matches!(smoother, Smoother::L1Jacobi(_))).then_some(largest),
                coarsest,
            });
            levels.push(placed);
        }
        Ok(Self { settings, levels, space, report })
    }
}

fn times(times: SetupTimes) -> Vec<(&'static str, std::time::Duration)> {
    let SetupTimes { connections, aggregates, prolongation, products, eigenvalues, coarsest } = times;
    vec![
        ("eigenvalues", eigenvalues),
        ("strong connections", connections),
        ("aggregates", aggregates),
        ("prolongation", prolongation),
        ("Galerkin products", products),
        ("inverse of the coarsest level", coarsest),
    ]
}

impl<T: Scalar, E: Executor> Placed<T, E> {
    fn new(
        space: &Space<E>,
        level: Level<T::Wide, E::Memory>,
        (smoother, slots): (Smoother, u32),
        (below, inner): (usize, Option<u32>),
        options: PreconditionerOptions,
    ) -> Result<Self, Error> {
        let executor = space.executor();
        let Level { matrix, inverse_diagonal, coarser, .. } = level;
        let rows = matrix.rows();
        let plan = |matrix| plan_in_memory(executor, rounded_matrix::<T, E>(executor, matrix)?, options);
        let inverse_diagonal = rounded_vector::<T, E>(executor, inverse_diagonal)?;
        let coarser = match coarser {
            Coarser::Level { prolongation, restriction } => PlacedCoarser::Level(Box::new(Below {
                prolongation: plan(prolongation)?,
                restriction: plan(restriction)?,
                b: executor.zeros(below)?,
                x: executor.zeros(below)?,
                inner: inner.map(|slots| Inner::new(space, below, slots)).transpose()?,
            })),
            Coarser::Inverse(inverse) => PlacedCoarser::Inverse(Box::new(plan(inverse)?)),
            Coarser::Nothing => PlacedCoarser::Nothing,
        };
        Ok(Self {
            matrix: plan(matrix)?,
            smoother: Smoothing {
                inverse_diagonal: Diagonal::in_memory(executor, inverse_diagonal)?,
                scaled: if T::COMPLEX { Some(executor.zeros(rows)?) } else { None },
                slots,
                steps: smoother.steps(),
            },
            coarser,
            residual: executor.zeros(rows)?,
            step: executor.zeros(rows)?,
        })
    }
}

impl<T: Scalar, E: Executor> Placed<T, E> {
    /// All steps of the smoother: afterwards x lacks nothing, and the residual the last step.
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

    /// Takes the last step out of the residual.
    fn update_residual(&mut self) -> Result<(), Error> {
        self.matrix.apply(-T::ONE, &self.step, T::ONE, &mut self.residual)
    }
}

/// x ← x + M (b − A x) for the first of the levels, from x = 0 if there is no guess.
pub(super) fn visit<T: Scalar, E: Executor>(
    levels: &mut [Placed<T, E>],
    space: &mut Space<E>,
    cycle: Cycle,
    guess: bool,
    b: &Vector<T, E>,
    x: &mut Vector<T, E>,
) -> Result<(), Error> {
    let Some((level, below)) = levels.split_first_mut() else { return Ok(()) };
    if let PlacedCoarser::Inverse(inverse) = &mut level.coarser {
        return inverse.apply(T::ONE, b, T::ZERO, x);
    }
    if guess {
        space.pass(Scaled, [ONE], [b], [&mut level.residual])?;
        level.matrix.apply(-T::ONE, x, T::ONE, &mut level.residual)?;
        level.smooth(space, Start::Guess, b, x)?;
    } else {
        level.smooth(space, Start::Zero, b, x)?;
    }
    level.update_residual()?;
    let PlacedCoarser::Level(coarser) = &mut level.coarser else {
        return level.smooth(space, Start::Guess, b, x);
    };
    let Below { prolongation, restriction, b: coarse_b, x: coarse_x, inner } = &mut **coarser;
    restriction.apply(T::ONE, &level.residual, T::ZERO, coarse_b)?;
    let is_direct = matches!(below.first(), Some(Placed { coarser: PlacedCoarser::Inverse(_), .. }));
    match inner {
        Some(inner) => inner.solve(below, space, cycle, coarse_b, coarse_x)?,
        None => {
            visit(below, space, cycle, false, coarse_b, coarse_x)?;
            if cycle == Cycle::W && !is_direct {
                visit(below, space, cycle, true, coarse_b, coarse_x)?;
            }
        }
    }
    prolongation.apply(T::ONE, coarse_x, T::ZERO, &mut level.step)?;
    level.update_residual()?;
    level.smooth(space, Start::Correction, b, x)
}

impl<T: Scalar, E: Executor> Inverse<T, E> for Amg<T, E> {
    fn apply(&mut self, _: &mut Space<E>, r: &Vector<T, E>, z: &mut Vector<T, E>) -> Result<(), Error> {
        visit(&mut self.levels, &mut self.space, self.settings.multigrid.cycle, false, r, z)
    }

    fn update(&mut self, space: &mut Space<E>, matrix: &mut Csr<T>) -> Result<(), Error> {
        let Settings { multigrid, options, near_null_space } = &self.settings;
        let near_null_space = near_null_space.try_clone()?;
        let settings = Settings { multigrid: *multigrid, options: *options, near_null_space };
        *self = Self::new(space.executor(), matrix, settings)?;
        Ok(())
    }

    /// A cycle takes some ten times as long as a look.
    fn iterations_between_looks(&self) -> Option<u32> {
        Some(2)
    }

    fn report(&self) -> Option<&MultigridReport> {
        Some(&self.report)
    }
}
