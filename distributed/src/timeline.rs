//! Times of the steps of a product.

use std::time::{Duration, Instant};

use host::executor::Executor;
#[cfg(feature = "cuda")]
use host::executor::{Cuda, Mark};

use crate::error::Error;

/// The interval of a step, relative to the start of the product.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Span {
    /// The start.
    pub begin: Duration,
    /// The end.
    pub end: Duration,
}

/// The intervals of the steps of a product on a rank: on a GPU by events in its streams, on the host by its clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Timeline {
    /// Packing the elements that other ranks need.
    pub pack: Span,
    /// Receiving elements of other ranks.
    pub exchange: Span,
    /// The product with the rank's own elements.
    pub local: Span,
    /// The product with elements of other ranks; `None` if the rank needs none.
    pub remote: Option<Span>,
    /// Adding that product to the local one; `None` if that is part of it.
    pub add: Option<Span>,
}

/// A step of a product.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Step {
    Pack,
    Exchange,
    Local,
    Remote,
    Add,
}

/// A point in time.
pub(crate) enum Stamp {
    Clock(Instant),
    #[cfg(feature = "cuda")]
    Mark(Mark),
}

/// Records the starts and ends of steps.
pub(crate) struct Stopwatch<E> {
    executor: E,
    clock: Instant,
    #[cfg(feature = "cuda")]
    mark: Option<Mark>,
    stamps: [[Option<Stamp>; 2]; 5],
}

/// The stopwatch of a timed product.
pub(crate) type Watch<'w, E> = Option<&'w mut Stopwatch<E>>;

/// Returns the executor, if it is a GPU.
#[cfg(feature = "cuda")]
pub(crate) fn as_cuda<E: Executor>(executor: &E) -> Option<&Cuda> {
    (executor as &dyn std::any::Any).downcast_ref()
}

impl<E: Executor> Stopwatch<E> {
    /// Starts after previously queued work has finished.
    pub fn start(executor: &E) -> Result<Self, Error> {
        executor.synchronize()?;
        #[cfg(feature = "cuda")]
        let mark = match as_cuda(executor) {
            Some(cuda) => {
                let mark = Mark::with_time(cuda)?;
                cuda.set(&mark)?;
                Some(mark)
            }
            None => None,
        };
        Ok(Self {
            executor: executor.clone(),
            clock: Instant::now(),
            #[cfg(feature = "cuda")]
            mark,
            stamps: Default::default(),
        })
    }

    /// Returns a stamp of when the executor's queued work has finished.
    fn now(&self) -> Result<Stamp, Error> {
        #[cfg(feature = "cuda")]
        if let Some(cuda) = as_cuda(&self.executor) {
            let mark = Mark::with_time(cuda)?;
            cuda.set(&mark)?;
            return Ok(Stamp::Mark(mark));
        }
        self.executor.synchronize()?;
        Ok(Stamp::Clock(Instant::now()))
    }

    /// Records the start of a step on the executor.
    pub fn begins(&mut self, step: Step) -> Result<(), Error> {
        let stamp = self.now()?;
        self.set(step, 0, stamp);
        Ok(())
    }

    /// Records the end of a step on the executor.
    pub fn ends(&mut self, step: Step) -> Result<(), Error> {
        let stamp = self.now()?;
        self.set(step, 1, stamp);
        Ok(())
    }

    /// Records the start of a step or, with `end` 1, its end.
    pub fn set(&mut self, step: Step, end: usize, stamp: Stamp) {
        self.stamps[step as usize][end] = Some(stamp);
    }

    /// Returns the times. Blocks until all queued work has finished.
    pub fn read(&self) -> Result<Timeline, Error> {
        self.executor.synchronize()?;
        let span = |step: Step| {
            let [begin, end] = &self.stamps[step as usize];
            let (Some(begin), Some(end)) = (begin, end) else { return Ok(None) };
            let (begin, end) = (self.since_start(begin)?, self.since_start(end)?);
            Ok::<_, Error>(Some(Span { begin, end: end.max(begin) }))
        };
        Ok(Timeline {
            pack: span(Step::Pack)?.unwrap_or_default(),
            exchange: span(Step::Exchange)?.unwrap_or_default(),
            local: span(Step::Local)?.unwrap_or_default(),
            remote: span(Step::Remote)?,
            add: span(Step::Add)?,
        })
    }

    fn since_start(&self, stamp: &Stamp) -> Result<Duration, Error> {
        match stamp {
            Stamp::Clock(instant) => Ok(instant.saturating_duration_since(self.clock)),
            #[cfg(feature = "cuda")]
            Stamp::Mark(mark) => match &self.mark {
                Some(start) => Ok(mark.since(start)?),
                None => Ok(Duration::ZERO),
            },
        }
    }
}
