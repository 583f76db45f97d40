//! The cycle over the levels, on an executor.

use host::error::Error;
use host::executor::Executor;
use host::format::{Csr, Format, ValueStorage};
use host::plan::{Plan, Vector};
use host::real::Scalar;

use super::hierarchy::{Coarser, Hierarchy, Level, SetupTimes};
use super::near_null_space::NearNullSpace;
use super::options::{Cycle, Multigrid, Smoother};
use super::report::{LevelReport, MultigridReport};
use crate::dense::{
    Axpby, Combined, Correction, Dot, FIRST_SLOT, ONE, Program, Scaled, ScaledTwice, SmoothAfterCoarse, SmoothFirst,
    SmoothNext, Space, Step, ZERO,
};
use crate::preconditioner::{Diagonal, Inverse, PreconditionerOptions, Recipe, plan_of};

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

/// Makes the levels on the host and moves them to the executor. Takes the matrix in 64 bits and all levels while it does so;
/// on the executor the levels' matrices, and 5 vectors for each level, of K-cycles 10.
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
struct Placed<T: Scalar, E: Executor> {
    matrix: Plan<T, E>,
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

/// What two steps of conjugate gradients on a coarse level take.
struct Inner<T: Scalar, E: Executor> {
    directions: [Vector<T, E>; 2],
    products: [Vector<T, E>; 2],
    residual: Vector<T, E>,
    programs: InnerPrograms<E>,
    /// The first of [`INNER_SLOTS`] slots.
    slots: u32,
}

/// Arithmetic between the sums of [`Inner`].
struct InnerPrograms<E: Executor> {
    nothing: Program<E::Memory>,
    first: Program<E::Memory>,
    second: Program<E::Memory>,
}

/// A smoother, and its slots.
struct Smoothing<T: Scalar, E: Executor> {
    inverse_diagonal: Diagonal<T, E>,
    /// D⁻¹ r, of complex matrices.
    scaled: Option<Vector<T, E>>,
    /// The slot of the first step's a; b is in the next one, and then come the other steps.
    slots: u32,
    steps: u32,
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
        let hierarchy = Hierarchy::new(matrix.cast::<T::Wide>()?, near_null_space.widened()?, *multigrid)?;
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
        level: Level<T::Wide>,
        (smoother, slots): (Smoother, u32),
        (below, inner): (usize, Option<u32>),
        options: PreconditionerOptions,
    ) -> Result<Self, Error> {
        let executor = space.executor();
        let Level { matrix, inverse_diagonal, coarser, .. } = level;
        let rows = matrix.rows();
        let plan = |matrix: Csr<T::Wide>| plan_of(executor, matrix.cast::<T>()?, options);
        let inverse_diagonal = host::memory::collect(inverse_diagonal.into_iter().map(T::from_wide))?;
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
                inverse_diagonal: Diagonal::new(executor, inverse_diagonal, false)?,
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

/// What follows the first step of a smoother.
enum Start {
    /// x is 0.
    Zero,
    /// x is a guess, and the residual is there.
    Guess,
    /// The step is the correction of a coarser level, which x has not got yet.
    Correction,
}

impl<T: Scalar, E: Executor> Smoothing<T, E> {
    /// The first step. From x = 0, the residual is that of b, which is copied to where it belongs.
    fn first(
        &mut self,
        space: &mut Space<E>,
        start: Start,
        b: &Vector<T, E>,
        [residual, step, x]: [&mut Vector<T, E>; 3],
    ) -> Result<(), Error> {
        let a = self.slots;
        let Self { inverse_diagonal, scaled, .. } = self;
        match (inverse_diagonal, scaled, start) {
            (Diagonal::Vector(s), _, Start::Zero) => space.pass(SmoothFirst, [a], [b, &*s], [step, x, residual]),
            (Diagonal::Vector(s), _, Start::Guess) => space.pass(SmoothNext, [a, ZERO], [&*residual, &*s], [step, x]),
            (Diagonal::Vector(s), _, Start::Correction) => {
                space.pass(SmoothAfterCoarse, [a], [&*residual, &*s], [step, x])
            }
            (diagonal, Some(scaled), Start::Zero) => {
                diagonal.apply(space, b, scaled)?;
                space.pass(ScaledTwice, [a], [&*scaled], [step, x])?;
                space.pass(Scaled, [ONE], [b], [residual])
            }
            (diagonal, Some(scaled), start) => {
                if matches!(start, Start::Correction) {
                    space.pass(Axpby, [ONE, ONE], [&*step], [x])?;
                }
                diagonal.apply(space, residual, scaled)?;
                space.pass(Correction, [a, ZERO], [&*scaled], [step, x])
            }
            (Diagonal::Matrix(_), None, _) => Err(Error::Operator { operation: "room for a scaled residual" }),
        }
    }

    /// A further step, with this number from 1 on.
    fn next(
        &mut self,
        space: &mut Space<E>,
        number: u32,
        residual: &Vector<T, E>,
        [step, x]: [&mut Vector<T, E>; 2],
    ) -> Result<(), Error> {
        let a = self.slots + 2 * number;
        match (&mut self.inverse_diagonal, &mut self.scaled) {
            (Diagonal::Vector(s), _) => space.pass(SmoothNext, [a, a + 1], [residual, &*s], [step, x]),
            (diagonal, Some(scaled)) => {
                diagonal.apply(space, residual, scaled)?;
                space.pass(Correction, [a, a + 1], [&*scaled], [step, x])
            }
            (Diagonal::Matrix(_), None) => Err(Error::Operator { operation: "room for a scaled residual" }),
        }
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
fn visit<T: Scalar, E: Executor>(
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

/// Slots of [`Inner`]: the sums c₁ᵀ A c₁, c₁ᵀ b, c₁ᵀ A c₂, c₂ᵀ A c₂, c₂ᵀ r, a scratch one, and what follows from them.
const INNER_SLOTS: u32 = 10;
const SQUARE: u32 = 0;
const WITH_B: u32 = 1;
const MIXED: u32 = 2;
const SECOND_SQUARE: u32 = 3;
const WITH_RESIDUAL: u32 = 4;
const SCRATCH: u32 = 5;
/// The length of the first step.
const FIRST_LENGTH: u32 = 6;
const MINUS_FIRST_LENGTH: u32 = 7;
/// The factors of the two directions in x.
const FIRST_FACTOR: u32 = 8;
const SECOND_FACTOR: u32 = 9;

impl<T: Scalar, E: Executor> Inner<T, E> {
    fn new(space: &Space<E>, rows: usize, slots: u32) -> Result<Self, Error> {
        let at = |slot: u32| slots + slot;
        let first = [
            Step::divide_or_zero(at(FIRST_LENGTH), at(WITH_B), at(SQUARE)),
            Step::subtract(at(MINUS_FIRST_LENGTH), ZERO, at(FIRST_LENGTH)),
        ];
        // The second direction without its part along the first: its square is c₂ᵀ A c₂ − (c₁ᵀ A c₂)² / c₁ᵀ A c₁.
        let second = [
            Step::divide_or_zero(at(SCRATCH), at(MIXED), at(SQUARE)),
            Step::subtract_product(at(SECOND_SQUARE), at(MIXED), at(SCRATCH)),
            Step::divide_or_zero(at(SECOND_FACTOR), at(WITH_RESIDUAL), at(SECOND_SQUARE)),
            Step::copy(at(FIRST_FACTOR), at(FIRST_LENGTH)),
            Step::subtract_product(at(FIRST_FACTOR), at(SECOND_FACTOR), at(SCRATCH)),
        ];
        let executor = space.executor();
        Ok(Self {
            directions: [executor.zeros(rows)?, executor.zeros(rows)?],
            products: [executor.zeros(rows)?, executor.zeros(rows)?],
            residual: executor.zeros(rows)?,
            programs: InnerPrograms {
                nothing: space.program(&[])?,
                first: space.program(&first)?,
                second: space.program(&second)?,
            },
            slots,
        })
    }

    /// x ← two steps of flexible conjugate gradients for A x = b (Notay & Vassilevski 2008, algorithm 3.1, of which the
    /// second step is never left out).
    fn solve(
        &mut self,
        levels: &mut [Placed<T, E>],
        space: &mut Space<E>,
        cycle: Cycle,
        b: &Vector<T, E>,
        x: &mut Vector<T, E>,
    ) -> Result<(), Error> {
        let at = |slot: u32| self.slots + slot;
        let InnerPrograms { nothing, first, second } = &self.programs;
        let ([direction, other], [product, other_product]) = (&mut self.directions, &mut self.products);
        let multiply = |levels: &mut [Placed<T, E>], direction: &_, product: &mut _| match levels.first_mut() {
            Some(level) => level.matrix.apply(T::ONE, direction, T::ZERO, product),
            None => Ok(()),
        };
        visit(levels, space, cycle, false, b, direction)?;
        multiply(levels, direction, product)?;
        space.pass(Dot, [], [&*direction, &*product], [])?;
        space.finish(at(SQUARE), nothing)?;
        space.pass(Dot, [], [&*direction, b], [])?;
        space.finish(at(WITH_B), first)?;
        space.pass(Combined, [ONE, at(MINUS_FIRST_LENGTH)], [b, &*product], [&mut self.residual])?;
        visit(levels, space, cycle, false, &self.residual, other)?;
        multiply(levels, other, other_product)?;
        space.pass(Dot, [], [&*other, &*product], [])?;
        space.finish(at(MIXED), nothing)?;
        space.pass(Dot, [], [&*other, &*other_product], [])?;
        space.finish(at(SECOND_SQUARE), nothing)?;
        space.pass(Dot, [], [&*other, &self.residual], [])?;
        space.finish(at(WITH_RESIDUAL), second)?;
        space.pass(Combined, [at(FIRST_FACTOR), at(SECOND_FACTOR)], [&*direction, &*other], [x])
    }
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
