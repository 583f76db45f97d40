//! When the steps of a product begin and end.

use std::time::{Duration, Instant};

use host::executor::Executor;
#[cfg(feature = "cuda")]
use host::executor::{Cuda, Mark};

use crate::error::Error;

/// When a step begins and ends, from when the product began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Span {
    /// When it begins.
    pub begin: Duration,
    /// When it ends.
    pub end: Duration,
}

/// When the steps of a product begin and end on a rank: on a GPU by events in its streams, on the host by its clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Timeline {
    /// The elements that other ranks need are put side by side.
    pub pack: Span,
    /// Elements of other ranks come.
    pub exchange: Span,
    /// The product with the elements that the rank has itself.
    pub local: Span,
    /// The product with those of other ranks; none where the rank needs none.
    pub remote: Option<Span>,
    /// That product is added to the local one; none where that is part of it.
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

/// A moment.
pub(crate) enum Stamp {
    Clock(Instant),
    #[cfg(feature = "cuda")]
    Mark(Mark),
}

/// What takes down when steps begin and end.
pub(crate) struct Stopwatch<E> {
    executor: E,
    clock: Instant,
    #[cfg(feature = "cuda")]
    mark: Option<Mark>,
    stamps: [[Option<Stamp>; 2]; 5],
}

/// Where a product is watched, what takes down its times.
pub(crate) type Watch<'w, E> = Option<&'w mut Stopwatch<E>>;

/// The executor, where it is a GPU.
#[cfg(feature = "cuda")]
pub(crate) fn as_cuda<E: Executor>(executor: &E) -> Option<&Cuda> {
    (executor as &dyn std::any::Any).downcast_ref()
}

impl<E: Executor> Stopwatch<E> {
    /// Begins, once what is queued is done.
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

    /// When what the executor has queued will be done.
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

    /// A step begins on the executor.
    pub fn begins(&mut self, step: Step) -> Result<(), Error> {
        let stamp = self.now()?;
        self.set(step, 0, stamp);
        Ok(())
    }

    /// A step ends on the executor.
    pub fn ends(&mut self, step: Step) -> Result<(), Error> {
        let stamp = self.now()?;
        self.set(step, 1, stamp);
        Ok(())
    }

    /// A step begins or, with `end` 1, ends.
    pub fn set(&mut self, step: Step, end: usize, stamp: Stamp) {
        self.stamps[step as usize][end] = Some(stamp);
    }

    /// Waits for the end of everything.
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
