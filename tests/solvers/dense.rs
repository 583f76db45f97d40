//! Requirements on every executor for dense vectors.

use std::cmp::Ordering;
use std::sync::Arc;
use std::time::Duration;

use warp_spmv::executor::Executor;
use warp_spmv::solver::dense::{
    Axpby, BicgstabDirection, BicgstabUpdate, CgUpdate, Columns, ColumnsMut, Combined, Dot, DotAndSquare,
    EigenResidual, FIRST_SLOT, Fill, ITERATION, LanczosUpdate, MINUS_ONE, MinresUpdate, Multicolumn, Multiplied, ONE,
    PagerankUpdate, Pass, PipelinedCgUpdate, PreconditionedBicgstabUpdate, PreconditionedPipelinedCgUpdate, STATUS,
    Scaled, ScaledTwice, SmoothAfterCoarse, SmoothFirst, SmoothNext, Space, Step, ZERO,
};
use warp_spmv::solver::{FIRST_SUM, FLAG, Gathered, Ranks, SumsInMemory};
use warp_spmv::verify::Accumulator;
use warp_spmv::{Error, Real, Vector};

use super::Numbers;

/// Lengths around a warp, a block, and the size of the emulator's grid.
pub const LENGTHS: &[usize] = &[0, 1, 31, 32, 33, 64, 65, 255, 256, 257, 511, 1000];

/// Checks that `computed` is the sum of these products within rounding to 64 bits; in any order, a chain of additions
/// is no longer than the sum.
#[track_caller]
pub fn check_sum(computed: f64, products: impl Iterator<Item = (f64, f64)>, place: &str) {
    let (mut sum, mut magnitude, mut terms) = (Accumulator::default(), 0.0, 0);
    for (a, b) in products {
        sum.add_product(a, b);
        magnitude += (a * b).abs();
        terms += 1;
    }
    let exact = sum.combine(1.0, 0.0, 0.0).value();
    let bound = f64::from(terms + 2) * f64::EPSILON / 2.0 * magnitude * 1.01;
    assert!((computed - exact).abs() <= bound, "{place}: {computed}, expected {exact}");
}

fn bits<T: Real>(vector: &[T]) -> Vec<u64> {
    vector.iter().map(|value| value.to_f64().to_bits()).collect()
}

/// Runs a pass over random vectors. Vectors that it overwrites are filled with NaN. `expected` computes one element,
/// and returns the factors of the sums.
fn check_pass<T, E, P, const C: usize, const R: usize, const W: usize, const S: usize>(
    executor: &E,
    pass: P,
    expected: impl Fn([T; C], [T; R], &mut [T; W]) -> [(T, T); S],
) where
    T: Real,
    E: Executor,
    P: Pass + std::fmt::Debug,
{
    let mut numbers = Numbers::new(17);
    for &length in LENGTHS {
        let place = format!("{pass:?}, {}, length {length}", T::NAME);
        let mut space = Space::new(executor, FIRST_SLOT + 12, S).unwrap();
        let coefficients: [T; C] = std::array::from_fn(|_| numbers.real());
        let slots: [u32; C] = std::array::from_fn(|n| FIRST_SLOT + 11 - n as u32);
        let values: Vec<_> = slots.into_iter().zip(coefficients.map(Real::to_f64)).collect();
        space.set(&values).unwrap();
        let read: [Vec<T>; R] = std::array::from_fn(|_| numbers.vector(length));
        let mut written: [Vec<T>; W] = std::array::from_fn(|n| {
            if n < P::OVERWRITTEN { vec![T::from_f64(f64::NAN); length] } else { numbers.vector(length) }
        });
        let read_there = read.each_ref().map(|vector| executor.upload(vector.clone()).unwrap());
        let mut written_there = written.each_ref().map(|vector| executor.upload(vector.clone()).unwrap());
        let nothing = space.program(&[]).unwrap();
        space.pass(pass, slots, read_there.each_ref(), written_there.each_mut()).unwrap();
        space.finish(FIRST_SLOT, &nothing).unwrap();
        let mut factors = Vec::new();
        for element in 0..length {
            let mut new = written.each_ref().map(|vector| vector[element]);
            factors.push(expected(coefficients, read.each_ref().map(|vector| vector[element]), &mut new));
            written.iter_mut().zip(new).for_each(|(vector, new)| vector[element] = new);
        }
        for (number, (expected, computed)) in written.iter().zip(&written_there).enumerate() {
            assert_eq!(bits(&executor.download(computed).unwrap()), bits(expected), "{place}, vector {number}");
        }
        let scalars = space.scalars().unwrap();
        for sum in 0..S {
            let products = factors.iter().map(|factors| (factors[sum].0.to_f64(), factors[sum].1.to_f64()));
            check_sum(scalars[FIRST_SLOT as usize + sum], products, &format!("{place}, sum {sum}"));
        }
    }
}

/// Every pass computes its definition, bit for bit; sums are right within rounding.
pub fn check_passes<T: Real, E: Executor>(executor: &E) {
    check_pass::<T, E, _, 1, 0, 1, 0>(executor, Fill, |[a], [], [y]| {
        *y = a;
        []
    });
    check_pass::<T, E, _, 1, 1, 1, 0>(executor, Scaled, |[a], [x], [y]| {
        *y = a * x;
        []
    });
    check_pass::<T, E, _, 1, 1, 2, 0>(executor, ScaledTwice, |[a], [x], [y, z]| {
        (*y, *z) = (a * x, a * x);
        []
    });
    check_pass::<T, E, _, 2, 1, 1, 0>(executor, Axpby, |[a, b], [x], [y]| {
        *y = a * x + b * *y;
        []
    });
    check_pass::<T, E, _, 2, 2, 1, 0>(executor, Combined, |[a, b], [x, y], [z]| {
        *z = a * x + b * y;
        []
    });
    check_pass::<T, E, _, 1, 2, 1, 0>(executor, Multiplied, |[a], [x, y], [z]| {
        *z = a * x * y;
        []
    });
    check_pass::<T, E, _, 1, 2, 3, 0>(executor, SmoothFirst, |[a], [r, s], [d, z, w]| {
        (*d, *z, *w) = (a * (s * r), a * (s * r), r);
        []
    });
    check_pass::<T, E, _, 2, 2, 2, 0>(executor, SmoothNext, |[a, b], [r, s], [d, z]| {
        *d = a * (s * r) + b * *d;
        *z = *z + *d;
        []
    });
    check_pass::<T, E, _, 1, 2, 2, 0>(executor, SmoothAfterCoarse, |[a], [r, s], [d, z]| {
        *z = *z + *d;
        *d = a * (s * r);
        *z = *z + *d;
        []
    });
    check_pass::<T, E, _, 0, 2, 0, 1>(executor, Dot, |[], [x, y], []| [(x, y)]);
    check_pass::<T, E, _, 0, 2, 0, 2>(executor, DotAndSquare, |[], [x, y], []| [(x, y), (x, x)]);
    check_pass::<T, E, _, 1, 2, 2, 1>(executor, CgUpdate, |[alpha], [p, q], [x, r]| {
        *x = *x + alpha * p;
        *r = *r - alpha * q;
        [(*r, *r)]
    });
    check_pass::<T, E, _, 2, 1, 6, 2>(executor, PipelinedCgUpdate, |[alpha, beta], [n], [z, s, p, x, r, w]| {
        (*z, *s, *p) = (n + beta * *z, *w + beta * *s, *r + beta * *p);
        (*x, *r, *w) = (*x + alpha * *p, *r - alpha * *s, *w - alpha * *z);
        [(*r, *r), (*w, *r)]
    });
    check_pass::<T, E, _, 2, 2, 8, 3>(
        executor,
        PreconditionedPipelinedCgUpdate,
        |[alpha, beta], [m, n], [z, q, s, p, x, r, u, w]| {
            (*z, *q, *s, *p) = (n + beta * *z, m + beta * *q, *w + beta * *s, *u + beta * *p);
            (*x, *r, *u, *w) = (*x + alpha * *p, *r - alpha * *s, *u - alpha * *q, *w - alpha * *z);
            [(*r, *u), (*w, *u), (*r, *r)]
        },
    );
    check_pass::<T, E, _, 2, 2, 1, 0>(executor, BicgstabDirection, |[beta, omega], [r, v], [p]| {
        *p = r + beta * (*p - omega * v);
        []
    });
    check_pass::<T, E, _, 1, 2, 2, 2>(executor, BicgstabUpdate, |[omega], [t, shadow], [x, r]| {
        (*x, *r) = (*x + omega * *r, *r - omega * t);
        [(*r, *r), (*r, shadow)]
    });
    check_pass::<T, E, _, 1, 3, 2, 2>(executor, PreconditionedBicgstabUpdate, |[omega], [z, t, shadow], [x, r]| {
        (*x, *r) = (*x + omega * z, *r - omega * t);
        [(*r, *r), (*r, shadow)]
    });
    check_pass::<T, E, _, 3, 1, 2, 1>(executor, LanczosUpdate, |[a, b, c], [q], [u, v]| {
        (*u, *v) = (*v, a * q + b * *v + c * *u);
        [(*v, *v)]
    });
    check_pass::<T, E, _, 6, 2, 4, 1>(executor, MinresUpdate, |[a, b, c, step, shrink, d], [z, v], [u, w, x, r]| {
        (*u, *w) = (*w, a * z + b * *w + c * *u);
        (*x, *r) = (*x + step * *w, shrink * *r + d * v);
        [(*r, *r)]
    });
    check_pass::<T, E, _, 1, 2, 0, 1>(executor, EigenResidual, |[lambda], [q, x], []| {
        [(q - lambda * x, q - lambda * x)]
    });
    check_pass::<T, E, _, 1, 2, 2, 3>(executor, PagerankUpdate, |[c], [v, dangling], [y, x]| {
        let next = *y + c * v;
        (*y, *x) = (T::from_f64((next - *x).to_f64().abs()), next);
        [(*y, T::ONE), (*x, T::ONE), (*x, dangling)]
    });
}

/// Products and combinations of blocks of vectors, of all sizes around a tile, and of ranges of columns.
pub fn check_columns<T: Real, E: Executor>(executor: &E) {
    let mut numbers = Numbers::new(23);
    for (rows, x_columns, y_columns) in
        [(0, 3, 2), (1, 1, 1), (33, 3, 5), (64, 4, 4), (100, 9, 1), (257, 1, 9), (70, 8, 8), (50, 0, 3), (50, 3, 0)]
    {
        let place = format!("{rows} x {x_columns} and {y_columns}, {}", T::NAME);
        // One column before and one after those in use.
        let (x, y) = (numbers.vector::<T>(rows * (x_columns + 2)), numbers.vector::<T>(rows * (y_columns + 2)));
        let columns = |array: &Vec<T>| {
            let count = array.len().checked_div(rows).unwrap_or(y_columns.max(x_columns) + 2);
            Multicolumn::<T, E::Memory>::from_array(executor.upload(array.clone()).unwrap(), rows, count).unwrap()
        };
        let (x_there, mut y_there) = (columns(&x), columns(&y));
        let products = x_columns * y_columns;
        let mut space = Space::new(executor, FIRST_SLOT + 1 + products as u32, products).unwrap();
        let nothing = space.program(&[]).unwrap();
        space.gram(x_there.range(1..1 + x_columns), y_there.range(1..1 + y_columns)).unwrap();
        space.finish(FIRST_SLOT + 1, &nothing).unwrap();
        let scalars = space.scalars().unwrap();
        let element = |array: &[T], row: usize, column: usize| array[(1 + column) * rows + row].to_f64();
        for (i, j) in (0..x_columns).flat_map(|i| (0..y_columns).map(move |j| (i, j))) {
            let computed = scalars[FIRST_SLOT as usize + 1 + i + j * x_columns];
            check_sum(computed, (0..rows).map(|row| (element(&x, row, i), element(&y, row, j))), &place);
        }
        for (alpha, beta) in [(1.0, 0.0), (-1.0, 1.0), (0.5, -2.0)] {
            let before = executor.download(y_there.array()).unwrap();
            let range = y_there.range_mut(1..1 + y_columns);
            space
                .combine(T::from_f64(alpha), x_there.range(1..1 + x_columns), FIRST_SLOT + 1, T::from_f64(beta), range)
                .unwrap();
            let after = executor.download(y_there.array()).unwrap();
            for (row, j) in (0..rows).flat_map(|row| (0..y_columns).map(move |j| (row, j))) {
                let coefficient = |i| T::from_f64(scalars[FIRST_SLOT as usize + 1 + i + j * x_columns]).to_f64();
                let terms = (0..x_columns).map(|i| alpha * element(&x, row, i) * coefficient(i));
                let terms: Vec<f64> = terms.chain((beta != 0.0).then(|| beta * element(&before, row, j))).collect();
                let magnitude: f64 = terms.iter().map(|term| term.abs()).sum();
                let bound = (x_columns + 4) as f64 * T::UNIT_ROUNDOFF * 1.01 * magnitude;
                let (computed, exact) = (element(&after, row, j), terms.iter().sum::<f64>());
                assert!((computed - exact).abs() <= bound, "{place}, {row}, {j}: {computed}, expected {exact}");
            }
            // The columns around stay unchanged.
            let around = |array: &[T]| bits(&[&array[..rows], &array[array.len() - rows..]].concat());
            assert_eq!(around(&after), around(&before), "{place}");
        }
    }
    // Overwritten elements are not read.
    let nan = executor.upload(vec![T::from_f64(f64::NAN); 40]).unwrap();
    let (mut y, x) = (Multicolumn::from_array(nan, 20, 2).unwrap(), executor.upload(vec![T::ONE; 20]).unwrap());
    let mut space = Space::new(executor, FIRST_SLOT + 2, 4).unwrap();
    space.set(&[(FIRST_SLOT, 3.0), (FIRST_SLOT + 1, 4.0)]).unwrap();
    space.combine(T::ONE, Columns::of(&x), FIRST_SLOT, T::ZERO, y.all_mut()).unwrap();
    let expected = [[3.0; 20], [4.0; 20]].concat();
    assert_eq!(executor.download(y.array()).unwrap(), expected.into_iter().map(T::from_f64).collect::<Vec<_>>());
}

/// Every step of a program, and every condition that stops it.
pub fn check_programs<E: Executor>(executor: &E) {
    const A: u32 = FIRST_SLOT;
    let run = |values: &[f64], steps: &[Step]| {
        let mut space = Space::new(executor, A + 8, 4).unwrap();
        let values: Vec<_> = (A..).zip(values.iter().copied()).collect();
        space.set(&values).unwrap();
        let program = space.program(steps).unwrap();
        space.run(&program).unwrap();
        space.scalars().unwrap()
    };
    let infinity = f64::INFINITY;
    for (step, values, expected) in [
        (Step::copy(A + 2, A), [3.0, 7.0], 3.0),
        (Step::add(A + 2, A, A + 1), [3.0, 7.5], 10.5),
        (Step::subtract(A + 2, A, A + 1), [3.0, 7.5], -4.5),
        (Step::multiply(A + 2, A, A + 1), [3.0, -0.1], 3.0 * -0.1),
        (Step::divide(A + 2, A, A + 1), [3.0, 7.0], 3.0 / 7.0),
        (Step::divide(A + 2, A, A + 1), [3.0, 0.0], infinity),
        (Step::square_root(A + 2, A + 1), [3.0, 7.0], 7f64.sqrt()),
        (Step::magnitude(A + 2, A), [-3.0, 7.0], 3.0),
        (Step::divide_or_zero(A + 2, A, A + 1), [3.0, 7.0], 3.0 / 7.0),
        (Step::divide_or_zero(A + 2, A, A + 1), [3.0, -0.0], 0.0),
        (Step::subtract_product(A + 2, A, A + 1), [3.0, 7.0], -21.0),
        (Step::constant(A + 2, -1.5e-300), [3.0, 7.0], -1.5e-300),
        (Step::rotate(A + 1, ONE, A), [3.0, 7.0], -21.0),
        (Step::copy(A + 2, MINUS_ONE), [3.0, 7.0], -1.0),
        (Step::copy(A + 2, ONE), [3.0, 7.0], 1.0),
    ] {
        let scalars = run(&values, &[step]);
        assert_eq!(scalars[A as usize + 2].to_bits(), f64::to_bits(expected), "{step:?}");
        assert_eq!((scalars[STATUS as usize], scalars[ITERATION as usize]), (0.0, 0.0));
    }
    for (step, value, stops) in [
        (Step::stop_if_at_most(9, A, A + 1), 1.0, true),
        (Step::stop_if_at_most(9, A, A + 1), 1.5, false),
        (Step::stop_if_at_most(9, A, A + 1), f64::NAN, false),
        (Step::stop_unless_positive(9, A), 1e-300, false),
        (Step::stop_unless_positive(9, A), 0.0, true),
        (Step::stop_unless_positive(9, A), -1.0, true),
        (Step::stop_unless_positive(9, A), f64::NAN, true),
        (Step::stop_unless_finite(9, A), -1e300, false),
        (Step::stop_unless_finite(9, A), infinity, true),
        (Step::stop_unless_finite(9, A), -infinity, true),
        (Step::stop_unless_finite(9, A), f64::NAN, true),
        (Step::stop_if_zero(9, A), -0.0, true),
        (Step::stop_if_zero(9, A), 1.0, false),
    ] {
        let scalars = run(&[value, 1.0], &[step, Step::copy(A + 2, ONE)]);
        let expected = if stops { (9.0, 0.0) } else { (0.0, 1.0) };
        assert_eq!((scalars[STATUS as usize], scalars[A as usize + 2]), expected, "{step:?}, {value}");
    }
    // A ring of three slots after five values.
    let record = [Step::record(A, A + 1, 3), Step::add(A, A, ONE)];
    let scalars = run(&[1.0], &record.repeat(5));
    assert_eq!((scalars[ITERATION as usize], &scalars[A as usize + 1..][..3]), (5.0, &[4.0, 5.0, 3.0][..]));

    let space = Space::new(executor, A + 8, 4).unwrap();
    for (step, message) in [
        (Step::copy(A + 8, A), "the array of scalars has length 13, expected 14"),
        (Step::add(A, A, A + 9), "the array of scalars has length 13, expected 15"),
        (Step::constant(A + 8, 1.0), "the array of scalars has length 13, expected 14"),
        (Step::rotate(A + 7, A, A), "the array of scalars has length 13, expected 14"),
        (Step::record(A, A, 9), "the array of scalars has length 13, expected 14"),
        (Step::record(A, A, 0), "the length of a ring is 0, expected at least 1"),
        (Step::stop_if_zero(0, A), "the code of a stop is 0, expected at least 1"),
    ] {
        let error = space.program(&[step]).map(|_| ()).unwrap_err();
        assert_eq!(error.to_string(), message, "{step:?}");
    }
}

/// Once stopped, nothing changes until the scalars are set again.
pub fn check_stop<T: Real, E: Executor>(executor: &E) {
    let ones = || executor.upload(vec![T::ONE; 100]).unwrap();
    let (x, mut y) = (ones(), ones());
    let mut block = Multicolumn::from_array(ones(), 50, 2).unwrap();
    let mut space = Space::new(executor, FIRST_SLOT + 4, 4).unwrap();
    let stop = space.program(&[Step::stop_if_zero(7, ZERO)]).unwrap();
    let count = space.program(&[Step::add(FIRST_SLOT + 3, FIRST_SLOT + 3, ONE)]).unwrap();
    for stopped in [true, false] {
        space.set(&[(FIRST_SLOT, 5.0)]).unwrap();
        if stopped {
            space.run(&stop).unwrap();
        }
        space.pass(Axpby, [ONE, ONE], [&x], [&mut y]).unwrap();
        space.pass(Dot, [], [&x, &x], []).unwrap();
        space.finish(FIRST_SLOT + 1, &count).unwrap();
        space.gram(block.all(), block.all()).unwrap();
        space.finish(FIRST_SLOT, &count).unwrap();
        let ones = executor.upload(vec![T::ONE; 50]).unwrap();
        space.combine(T::ONE, Columns::of(&ones), FIRST_SLOT, T::ZERO, block.range_mut(1..2)).unwrap();
        let first = |array: &[T]| array[array.len() - 1].to_f64();
        let results = (first(&executor.download(&y).unwrap()), first(&executor.download(block.array()).unwrap()));
        let scalars = space.scalars().unwrap();
        let slots = &scalars[FIRST_SLOT as usize..];
        if stopped {
            assert_eq!((results, slots, scalars[STATUS as usize]), ((1.0, 1.0), &[5.0, 0.0, 0.0, 0.0][..], 7.0));
        } else {
            assert_eq!((results, slots), ((2.0, 50.0), &[50.0, 50.0, 50.0, 51.0][..]));
        }
    }
}

/// Sums of ranks in memory: those of this rank, which is the last but one, and fixed numbers for the others.
struct SumsOfRanks<E: Executor> {
    executor: E,
    own: Vector<f64, E>,
    others: Vec<Vector<f64, E>>,
    /// Numbers of calls announced and gathered.
    calls: [u64; 2],
}

impl<E: Executor> SumsInMemory<E> for SumsOfRanks<E> {
    fn ranks(&self) -> usize {
        self.others.len() + 1
    }

    fn own(&mut self) -> (&mut Vector<f64, E>, u64) {
        (&mut self.own, self.calls[0] + 1)
    }

    fn announce(&mut self) -> Result<(), Error> {
        self.calls[0] += 1;
        // Others may wait for it from now on.
        assert_eq!(self.executor.download(&self.own)?[FLAG as usize], self.calls[0] as f64);
        Ok(())
    }

    fn gather(&mut self) -> Result<Gathered<'_, E::Memory>, Error> {
        self.calls[1] += 1;
        assert_eq!(self.calls[0], self.calls[1]);
        let own = self.others.len().saturating_sub(1);
        let sums_of = |rank: usize| match rank.cmp(&own) {
            Ordering::Less => &self.others[rank],
            Ordering::Equal => &self.own,
            Ordering::Greater => self.others.get(rank - 1).unwrap_or(&self.own),
        };
        let (of_ranks, ranks) = (std::array::from_fn(sums_of), self.others.len() + 1);
        // The fourth wait for a rank that is missing since the second ends at once.
        let patience = (self.calls[1] < 4).then_some(Duration::from_millis(2));
        Ok(Gathered { ranks, of_ranks, number: self.calls[1], patience })
    }
}

/// Ranks whose sums are in memory.
struct InMemory {
    ranks: usize,
    /// Number of rounds in which the others have sums.
    rounds: u64,
}

/// Returns sum `number` of another rank.
fn of_other(rank: usize, number: usize) -> f64 {
    1.0 / (3 * rank + number + 1) as f64
}

impl<E: Executor> Ranks<E> for InMemory {
    fn first(&self) -> usize {
        0
    }

    fn elements(&self) -> usize {
        0
    }

    fn sum(&self, _sums: &mut [f64]) -> Result<(), Error> {
        unreachable!("no sum goes through the host")
    }

    fn sums_in_memory(&self, executor: &E, sums: usize) -> Result<Option<Box<dyn SumsInMemory<E>>>, Error> {
        let room = sums + FIRST_SUM as usize;
        let of_rank = |rank| {
            let sums = (0..sums).map(|number| of_other(rank, number));
            executor.upload([0.0, self.rounds as f64].into_iter().chain(sums).collect())
        };
        let others = (0..self.ranks - 1).map(of_rank).collect::<Result<_, _>>()?;
        Ok(Some(Box::new(SumsOfRanks {
            executor: executor.clone(),
            own: executor.zeros(room)?,
            others,
            calls: [0; 2],
        })))
    }
}

/// Sums of ranks are added in the order of ranks, and nothing changes once stopped.
pub fn check_ranks_in_memory<E: Executor>(executor: &E) {
    let vectors = Multicolumn::from_array(executor.upload(vec![1.0; 300]).unwrap(), 50, 6).unwrap();
    for ranks in [1, 2, 3, 8] {
        // More sums than a warp has lanes.
        let space = Space::new(executor, FIRST_SLOT + 50, 40).unwrap();
        let mut space = space.across(Some(Arc::new(InMemory { ranks, rounds: 4 }))).unwrap();
        let count = space.program(&[Step::add(FIRST_SLOT, FIRST_SLOT, ONE)]).unwrap();
        let stop = space.program(&[Step::stop_if_zero(7, ZERO)]).unwrap();
        let expected = |number: usize| {
            let mut all: Vec<f64> = (0..ranks - 1).map(|rank| of_other(rank, number)).collect();
            all.insert((ranks - 1).saturating_sub(1), 50.0);
            all.into_iter().reduce(|sum, next| sum + next).unwrap()
        };
        for round in 1..=3 {
            space.gram(vectors.all(), vectors.all()).unwrap();
            space.finish(FIRST_SLOT + 1, &count).unwrap();
            let scalars = space.scalars().unwrap();
            assert_eq!(scalars[FIRST_SLOT as usize], f64::from(round));
            for number in 0..36 {
                assert_eq!(scalars[FIRST_SLOT as usize + 1 + number], expected(number), "{ranks} ranks, sum {number}");
            }
        }
        space.run(&stop).unwrap();
        let before = space.scalars().unwrap();
        space.gram(vectors.range(0..1), vectors.range(1..3)).unwrap();
        space.finish(FIRST_SLOT + 1, &count).unwrap();
        assert_eq!(space.scalars().unwrap(), before);
    }
    // With flags, the wait for a missing rank ends.
    if executor.device().has_kernels() {
        let ranks = Arc::new(InMemory { ranks: 3, rounds: 1 });
        let mut space = Space::new(executor, FIRST_SLOT + 1, 1).unwrap().across(Some(ranks)).unwrap();
        let nothing = space.program(&[]).unwrap();
        for comes in [true, false, false, false] {
            space.gram(vectors.range(0..1), vectors.range(1..2)).unwrap();
            space.finish(FIRST_SLOT, &nothing).unwrap();
            assert_eq!(!space.scalars().unwrap()[FIRST_SLOT as usize].is_nan(), comes);
        }
    }
    // Sums of more ranks than a kernel takes go through the host.
    struct TooMany;
    impl<E: Executor> Ranks<E> for TooMany {
        fn first(&self) -> usize {
            0
        }

        fn elements(&self) -> usize {
            0
        }

        fn sum(&self, sums: &mut [f64]) -> Result<(), Error> {
            sums.iter_mut().for_each(|sum| *sum *= 9.0);
            Ok(())
        }

        fn sums_in_memory(&self, executor: &E, sums: usize) -> Result<Option<Box<dyn SumsInMemory<E>>>, Error> {
            InMemory { ranks: 9, rounds: 1 }.sums_in_memory(executor, sums)
        }
    }
    let mut space = Space::new(executor, FIRST_SLOT + 1, 1).unwrap().across(Some(Arc::new(TooMany))).unwrap();
    let nothing = space.program(&[]).unwrap();
    space.gram(vectors.range(0..1), vectors.range(1..2)).unwrap();
    space.finish(FIRST_SLOT, &nothing).unwrap();
    assert_eq!(space.scalars().unwrap()[FIRST_SLOT as usize], 450.0);
}

/// Operands that do not fit are errors.
pub fn check_lengths<T: Real, E: Executor>(executor: &E) {
    let zeros = |length| executor.zeros::<T>(length).unwrap();
    let mut space = Space::new(executor, FIRST_SLOT, 4).unwrap();
    let check = |result: Result<(), Error>, message: &str| assert_eq!(result.unwrap_err().to_string(), message);
    check(space.pass(Dot, [], [&zeros(3), &zeros(4)], []), "a vector has length 4, expected 3");
    check(space.pass(Scaled, [ONE], [&zeros(3)], [&mut zeros(2)]), "a vector has length 2, expected 3");
    check(
        space.pass(Scaled, [FIRST_SLOT], [&zeros(3)], [&mut zeros(3)]),
        "the array of scalars has length 5, expected 6",
    );
    check(space.gram(Columns::of(&zeros(3)), Columns::of(&zeros(4))), "a column of Y has length 4, expected 3");
    let (x, y) = (
        Multicolumn::zeros(executor, 3, 30).unwrap(),
        Multicolumn::<T, E::Memory>::zeros(executor, 3, 30_000).unwrap(),
    );
    let error = space.gram(x.all(), y.all()).unwrap_err().to_string();
    assert!(error.starts_with("the number of partial sums of a pass is 900000, and the limit is "), "{error}");
    // Without rows, any number of columns is possible.
    let empty = zeros(0);
    let many = || Columns::<T, E::Memory>::in_array(&empty, usize::MAX).unwrap();
    let error = space.gram(many(), Columns::of(&empty)).unwrap_err().to_string();
    assert!(
        error.starts_with("the number of partial sums of a pass is 18446744073709551615, and the limit "),
        "{error}"
    );
    check(
        space.combine(T::ONE, many(), FIRST_SLOT, T::ZERO, ColumnsMut::of(&mut zeros(0))),
        "the array of scalars has length 5, expected 18446744073709551615",
    );
    space.pass(Dot, [], [&zeros(3), &zeros(3)], []).unwrap();
    let nothing = space.program(&[]).unwrap();
    check(space.finish(FIRST_SLOT, &nothing), "the array of scalars has length 5, expected 6");
}
