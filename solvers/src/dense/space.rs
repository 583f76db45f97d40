//! The scalars of a method, and the operations queued with them.

use std::marker::PhantomData;
use std::sync::Arc;

use cuda_std::GpuScalar;
use gpu_kernels::dense::passes::{Dot, DotAndSquare, MOST_COEFFICIENTS, MOST_SUMS, Pass};
use gpu_kernels::dense::program::{STATUS, Step, WORDS};
use host::error::{Error, check_length};
use host::executor::Executor;
use host::memory::{Buffer, Memory, with_capacity, zeros};
use host::plan::Vector;
use host::real::Scalar;
use host::{PartialSums, ProductSums};

use super::columns::{Combination, CombineOperands, GramOperands, GramProduct};
use super::parts::{Columns, ColumnsMut, Part, PartMut};
use super::passes::{PassOperands, PassOver};
use super::sums::{FinishPass, FinishRanks, RankOperands, SumOperands};
use crate::operator::Operator;
use crate::ranks::{FIRST_SUM, MOST_RANKS, Ranks, SumsInMemory};

/// The slot that holds 1.
pub const ONE: u32 = 2;
/// The slot that holds −1.
pub const MINUS_ONE: u32 = 3;
/// The slot that holds 0.
pub const ZERO: u32 = 4;
/// The first slot for the method's own use.
pub const FIRST_SLOT: u32 = 5;

/// Arithmetic on slots, in an executor's memory.
pub struct Program<M: Memory> {
    words: M::Buffer<u32>,
    slots: usize,
}

/// Scalars in an executor's memory, and the vector operations that use them.
pub struct Space<E: Executor> {
    executor: E,
    scalars: Vector<f64, E>,
    partial_sums: PartialSums<E::Memory>,
    /// See [`bytes_moved`](Self::bytes_moved).
    bytes_moved: u64,
    across: Option<Across<E>>,
    /// The largest number of sums of a pass.
    most_sums: usize,
    /// See [`fusing`](Self::fusing).
    fuses: bool,
}

/// State for adding up sums across ranks.
struct Across<E: Executor> {
    ranks: Arc<dyn Ranks<E>>,
    /// A program without steps.
    nothing: Vector<u32, E>,
    how: How<E>,
}

/// How the sums of all ranks are added up.
enum How<E: Executor> {
    /// By kernels.
    InMemory(Box<dyn SumsInMemory<E>>),
    /// On the host, with room for the scalars.
    OnHost(Vec<f64>),
}

impl<E: Executor> Space<E> {
    /// Creates a space with `slots` slots, including the [constant ones](FIRST_SLOT), and room for `sums` sums of one pass
    /// or products of one [`gram`](Self::gram), at least 4. Takes 8 bytes per slot, and 8 bytes per sum and block of the
    /// device's largest grid.
    ///
    /// # Errors
    /// When memory runs out.
    pub fn new(executor: &E, slots: u32, sums: usize) -> Result<Self, Error> {
        let partial_sums = PartialSums::new(executor, sums)?;
        let scalars = executor.upload(constants(slots)?)?;
        Ok(Self {
            executor: executor.clone(),
            scalars,
            partial_sums,
            bytes_moved: 0,
            across: None,
            most_sums: sums.max(MOST_SUMS),
            fuses: true,
        })
    }

    /// The same for vectors divided among ranks, if any: sums are then over all ranks. Each [`finish`](Self::finish) waits
    /// for the other ranks, unless they add up sums [in memory](Ranks::sums_in_memory).
    ///
    /// # Errors
    /// When a rank fails, or memory runs out.
    pub fn across(mut self, ranks: Option<Arc<dyn Ranks<E>>>) -> Result<Self, Error> {
        let Some(ranks) = ranks else { return Ok(self) };
        let in_memory = ranks.sums_in_memory(&self.executor, self.most_sums)?;
        let how = match in_memory.filter(|sums| sums.ranks() <= MOST_RANKS) {
            Some(sums) => How::InMemory(sums),
            None => How::OnHost(zeros(self.scalars.len())?),
        };
        self.across = Some(Across { ranks, nothing: self.executor.zeros(0)?, how });
        Ok(self)
    }

    /// Sets whether [`product`](Self::product) lets operators add up the sums, which is the default.
    pub(crate) fn fusing(self, fuses: bool) -> Self {
        Self { fuses, ..self }
    }

    /// Returns the number of elements of a vector on all ranks, given that this rank has `on_this`.
    pub fn elements(&self, on_this: usize) -> usize {
        self.across.as_ref().map_or(on_this, |across| across.ranks.elements())
    }

    /// Returns whether `is` is true on any rank: for conditions that may differ between ranks, such as time.
    ///
    /// # Errors
    /// When a rank fails.
    pub(crate) fn any(&self, is: bool) -> Result<bool, Error> {
        match &self.across {
            None => Ok(is),
            Some(Across { ranks, .. }) => {
                let mut sum = [f64::from(u8::from(is))];
                ranks.sum(&mut sum)?;
                Ok(sum[0] > 0.0)
            }
        }
    }

    /// Returns the executor.
    pub fn executor(&self) -> &E {
        &self.executor
    }

    /// Returns the number of slots.
    pub fn slots(&self) -> usize {
        self.scalars.len()
    }

    /// Returns the bytes of vectors read and written by everything queued so far. A vector that is passed twice counts
    /// twice.
    pub fn bytes_moved(&self) -> u64 {
        self.bytes_moved
    }

    /// Adds to [`bytes_moved`](Self::bytes_moved).
    pub(super) fn moves(&mut self, bytes: u128) {
        self.bytes_moved = self.bytes_moved.saturating_add(bytes as u64);
    }

    /// Returns all scalars after all queued work. Blocks until it has finished.
    ///
    /// # Errors
    /// When memory runs out, or the device fails.
    pub fn scalars(&self) -> Result<Vec<f64>, Error> {
        self.executor.download(&self.scalars)
    }

    /// Sets some scalars, each given by its slot, and all others except the constant ones to 0, including the status, so
    /// that stopped arithmetic resumes. Blocks until all queued work has finished.
    ///
    /// # Errors
    /// When there is no such slot, memory runs out, or the device fails.
    pub fn set(&mut self, scalars: &[(u32, f64)]) -> Result<(), Error> {
        let mut values = constants(self.scalars.len() as u32)?;
        for &(slot, value) in scalars {
            check_slots(slot as usize + 1, values.len())?;
            values[slot as usize] = value;
        }
        self.scalars = self.executor.upload(values)?;
        Ok(())
    }

    /// Sets the status to 0, so that stopped arithmetic resumes, and keeps the other scalars. Returns whether it was
    /// stopped. Blocks until all queued work has finished.
    ///
    /// # Errors
    /// When memory runs out, or the device fails.
    pub(crate) fn resume(&mut self) -> Result<bool, Error> {
        let mut scalars = self.scalars()?;
        let stopped = std::mem::take(&mut scalars[STATUS as usize]) != 0.0;
        self.scalars = self.executor.upload(scalars)?;
        Ok(stopped)
    }

    /// Moves a program into the executor's memory.
    ///
    /// # Errors
    /// When a step needs a missing slot, stops with code 0, or records in an empty ring, or memory runs out.
    pub fn program(&self, steps: &[Step]) -> Result<Program<E::Memory>, Error> {
        let mut needed = 1;
        for step in steps {
            let slots =
                step.slots().map_err(|what| Error::Setting { what, value: "0".to_owned(), expected: "at least 1" })?;
            needed = needed.max(slots as usize);
        }
        check_slots(needed, self.scalars.len())?;
        let mut words = with_capacity(steps.len().saturating_mul(WORDS as usize))?;
        words.extend(steps.iter().flat_map(|step| step.words()));
        Ok(Program { words: self.executor.upload(words)?, slots: needed })
    }

    /// Queues a pass over whole vectors; for complex ones, over their real and imaginary parts. The numbers of coefficients
    /// (given by their slots) and vectors are checked at compile time. The sums are available after
    /// [`finish`](Self::finish).
    ///
    /// # Errors
    /// When the vectors' lengths differ, there is no such slot, memory runs out, or the device fails.
    pub fn pass<T: Scalar, P: Pass, const C: usize, const R: usize, const W: usize>(
        &mut self,
        pass: P,
        coefficients: [u32; C],
        read: [&Vector<T, E>; R],
        written: [&mut Vector<T, E>; W],
    ) -> Result<(), Error> {
        self.pass_over_parts(pass, coefficients, read.map(Part::whole), written.map(PartMut::whole))
    }

    /// [`pass`](Self::pass) over parts of arrays, such as the columns of a [`Multicolumn`](super::Multicolumn).
    ///
    /// # Errors
    /// As for [`pass`](Self::pass).
    pub fn pass_over_parts<'v, T: Scalar, P: Pass, const C: usize, const R: usize, const W: usize>(
        &mut self,
        _pass: P,
        coefficients: [u32; C],
        read: [Part<'v, T, E::Memory>; R],
        written: [PartMut<'v, T, E::Memory>; W],
    ) -> Result<(), Error> {
        const {
            assert!(C == P::COEFFICIENTS, "the pass has another number of coefficients");
            assert!(R == P::READ, "the pass reads another number of vectors");
            assert!(W == P::WRITTEN, "the pass writes another number of vectors");
        }
        let vectors = read.iter().map(Part::len).chain(written.iter().map(PartMut::len));
        let again = written.iter().skip(P::OVERWRITTEN).map(PartMut::len);
        self.bytes_moved += bytes::<T>(vectors.chain(again));
        let mut slots = [0; MOST_COEFFICIENTS];
        slots[..C].copy_from_slice(&coefficients);
        let mut written: [PartMut<'_, T, E::Memory>; W] = written;
        self.executor.run::<PassOver<T, P>>(PassOperands {
            coefficients: slots,
            scalars: &self.scalars,
            read: &read,
            written: &mut written,
            partial_sums: &mut self.partial_sums,
            pass: PhantomData,
        })
    }

    /// Queues y ← A x, then w · y and, with `squares`, y · y as the sums of a [`pass`](Self::pass): in one launch if the
    /// operator supports it.
    ///
    /// # Errors
    /// When a vector does not fit, or the device fails.
    pub(crate) fn product<T: Scalar>(
        &mut self,
        operator: &mut dyn Operator<T, E>,
        x: &Vector<T, E>,
        y: &mut Vector<T, E>,
        w: &Vector<T, E>,
        squares: bool,
    ) -> Result<(), Error> {
        let sums = ProductSums { with: w, squares, into: &mut self.partial_sums };
        if self.fuses && operator.apply_with_sums(T::ONE, x, T::ZERO, y, sums)? {
            return Ok(());
        }
        operator.apply(T::ONE, x, T::ZERO, y)?;
        match squares {
            true => self.pass(DotAndSquare, [], [y, w], []),
            false => self.pass(Dot, [], [y, w], []),
        }
    }

    /// Queues XᵀY for blocks of columns of the same length, in tiles of [`TILE`](gpu_kernels::dense::columns::TILE) columns
    /// of each: O(rows · columns of X · columns of Y). The products are available after [`finish`](Self::finish): product
    /// i, j of column i of X and j of Y is sum i + j · (columns of X).
    ///
    /// # Errors
    /// When the columns' lengths differ, there are more products than the space has room for, memory runs out, or the
    /// device fails.
    pub fn gram<T: Scalar>(&mut self, x: Columns<'_, T, E::Memory>, y: Columns<'_, T, E::Memory>) -> Result<(), Error> {
        self.bytes_moved += bytes::<T>([x.part.len(), y.part.len()]);
        self.executor.run::<GramProduct<T>>(GramOperands {
            x,
            y,
            scalars: &self.scalars,
            partial_sums: &mut self.partial_sums,
        })
    }

    /// Queues Y ← α X C + β Y for blocks of columns; with β = 0, Y is overwritten and never read. Coefficient i, j of C
    /// is in slot `coefficients` + i + j · (columns of X): where [`finish`](Self::finish) puts the products of
    /// [`gram`](Self::gram).
    ///
    /// # Errors
    /// When the columns' lengths differ, there is no such slot, memory runs out, or the device fails.
    pub fn combine<T: Scalar>(
        &mut self,
        alpha: T::Real,
        x: Columns<'_, T, E::Memory>,
        coefficients: u32,
        beta: T::Real,
        y: ColumnsMut<'_, T, E::Memory>,
    ) -> Result<(), Error> {
        let again = if beta == T::Real::ZERO { 0 } else { y.part.len() };
        self.bytes_moved += bytes::<T>([x.part.len(), y.part.len(), again]);
        self.executor.run::<Combination<T>>(CombineOperands { alpha, x, coefficients, scalars: &self.scalars, beta, y })
    }

    /// Queues the final summation of the last pass or [`gram`](Self::gram): the first sum goes to slot `target`, the others
    /// to the slots after it. Then the program runs.
    ///
    /// # Errors
    /// When there is no such slot, a rank fails, or the device fails.
    pub fn finish(&mut self, target: u32, program: &Program<E::Memory>) -> Result<(), Error> {
        if self.across.is_some() {
            return self.finish_across(target, program, &mut || Ok(()));
        }
        self.executor.run::<FinishPass>(SumOperands {
            partial_sums: Some(&self.partial_sums),
            target,
            program: &program.words,
            slots: program.slots,
            scalars: &mut self.scalars,
            number: 0,
        })
    }

    /// [`finish`](Self::finish), with `work` queued before waiting for other ranks, if any. Returns whether the work was
    /// queued. The work must not need the sums or results of the program.
    ///
    /// # Errors
    /// As for [`finish`](Self::finish), and those of the work.
    pub(crate) fn finish_during(
        &mut self,
        target: u32,
        program: &Program<E::Memory>,
        work: &mut dyn FnMut() -> Result<(), Error>,
    ) -> Result<bool, Error> {
        if self.across.is_none() {
            self.finish(target, program)?;
            return Ok(false);
        }
        self.finish_across(target, program, work).map(|()| true)
    }

    /// Completes the sums of the last pass, does the work, adds up the sums of all ranks, and runs the program.
    fn finish_across(
        &mut self,
        target: u32,
        program: &Program<E::Memory>,
        work: &mut dyn FnMut() -> Result<(), Error>,
    ) -> Result<(), Error> {
        let Self { executor, scalars, partial_sums, across: Some(Across { ranks, nothing, how }), .. } = self else {
            return Ok(());
        };
        let own = |target, scalars, number| SumOperands {
            partial_sums: Some(&*partial_sums),
            target,
            program: &*nothing,
            slots: 0,
            scalars,
            number,
        };
        match how {
            How::InMemory(sums) => {
                let (array, number) = sums.own();
                executor.run::<FinishPass>(own(FIRST_SUM, array, number))?;
                sums.announce()?;
                // Other ranks wait for this one even if its work fails.
                let done = work();
                let gathered = sums.gather()?;
                let (program, slots) = (&program.words, program.slots);
                let rest = SumOperands { partial_sums: None, target, program, slots, scalars, number: 0 };
                executor.run::<FinishRanks>(RankOperands { gathered, sums: partial_sums.sums(), rest })?;
                done
            }
            How::OnHost(on_host) => {
                executor.run::<FinishPass>(own(target, &mut *scalars, 0))?;
                // Up to the last sum: the status comes first.
                let sums = target as usize..target as usize + partial_sums.sums();
                let on_host = &mut on_host[..sums.end];
                executor.read_during(scalars, 0, on_host, work)?;
                // The arithmetic is the same on all ranks, so either all have stopped or none has.
                if on_host[STATUS as usize] == 0.0 {
                    let on_host = &mut on_host[sums];
                    ranks.sum(on_host)?;
                    executor.write(on_host, scalars, target as usize)?;
                }
                self.run(program)
            }
        }
    }

    /// Queues a program without sums.
    ///
    /// # Errors
    /// When the device fails.
    pub fn run(&mut self, program: &Program<E::Memory>) -> Result<(), Error> {
        self.executor.run::<FinishPass>(SumOperands {
            partial_sums: None,
            target: 0,
            program: &program.words,
            slots: program.slots,
            scalars: &mut self.scalars,
            number: 0,
        })
    }
}

/// Returns the total size in bytes of parts of these lengths.
fn bytes<T: Scalar>(lengths: impl IntoIterator<Item = usize>) -> u64 {
    lengths.into_iter().map(|length| (length * size_of::<T>()) as u64).sum()
}

/// Slots with only the constants set.
fn constants(slots: u32) -> Result<Vec<f64>, Error> {
    let mut scalars = zeros::<f64>(slots.max(FIRST_SLOT) as usize)?;
    scalars[ONE as usize] = 1.0;
    scalars[MINUS_ONE as usize] = -1.0;
    Ok(scalars)
}

fn check_slots(needed: usize, slots: usize) -> Result<(), Error> {
    if needed <= slots { Ok(()) } else { check_length("the array of scalars", slots, needed) }
}
