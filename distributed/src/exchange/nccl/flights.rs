//! Exchanges that were queued and are not done yet.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use host::executor::{Cuda, Mark, SideStream};

use crate::error::Error;
use crate::transport::Transport;

/// Exchanges that may be queued at a time.
const MOST: u64 = 64;

/// Between two looks of a rank that has queued so many.
const PAUSE: Duration = Duration::from_micros(50);

/// A mark behind each exchange that is under way.
pub struct Flights {
    marks: Vec<Mark>,
    /// The ranks that elements come from or go to.
    neighbours: Vec<usize>,
    count: Mutex<Count>,
}

struct Count {
    queued: u64,
    done: u64,
    /// When an exchange was done, or queued while none was under way.
    moved: Instant,
}

impl Flights {
    pub fn new(cuda: &Cuda, neighbours: Vec<usize>) -> Result<Self, Error> {
        let marks = (0..MOST).map(|_| Mark::new(cuda)).collect::<Result<_, _>>()?;
        let count = Mutex::new(Count { queued: 0, done: 0, moved: Instant::now() });
        Ok(Self { marks, neighbours, count })
    }

    fn count(&self) -> Result<MutexGuard<'_, Count>, Error> {
        let mut count = self.count.lock().unwrap_or_else(PoisonError::into_inner);
        while count.done < count.queued && self.mark(count.done).is_reached()? {
            count.done += 1;
            count.moved = Instant::now();
        }
        Ok(count)
    }

    fn mark(&self, number: u64) -> &Mark {
        &self.marks[(number % MOST) as usize]
    }

    /// Waits until another exchange may be queued: never, where the GPU is not far behind.
    pub fn make_room(&self, check: impl Fn() -> Result<(), Error>) -> Result<(), Error> {
        loop {
            let count = self.count()?;
            if count.queued - count.done < MOST {
                return Ok(());
            }
            drop(count);
            check()?;
            thread::sleep(PAUSE);
        }
    }

    /// Takes down that an exchange was queued, and sets a mark behind it.
    pub fn queued(&self, side: &SideStream) -> Result<(), Error> {
        let mut count = self.count()?;
        side.set(self.mark(count.queued))?;
        if count.queued == count.done {
            count.moved = Instant::now();
        }
        count.queued += 1;
        Ok(())
    }

    /// Why what is under way will not be done, if that is known: a neighbour has ended, or it takes too long.
    pub fn trouble(&self, transport: &dyn Transport) -> Option<Error> {
        // Before the look at what is done.
        let ended = self.neighbours.iter().copied().find(|&rank| transport.has_ended(rank));
        let after = match self.count() {
            Ok(count) if count.queued > count.done => count.moved.elapsed(),
            Ok(_) => return None,
            Err(error) => return Some(error),
        };
        let rank = transport.rank();
        if let Some(ended) = ended.filter(|_| after > ENDED) {
            let reason = format!("it ended while rank {rank} waited for elements of it");
            return Some(Error::Rank { rank: ended, reason, heard: false });
        }
        let timeout = transport.timeout().filter(|&timeout| after >= timeout)?;
        let neighbours: Vec<_> = self.neighbours.iter().map(usize::to_string).collect();
        let reason = format!(
            "its exchange with {} was not done within {} s",
            match &neighbours[..] {
                [one] => format!("rank {one}"),
                many => format!("ranks {}", many.join(", ")),
            },
            timeout.as_secs_f64()
        );
        Some(Error::Rank { rank, reason, heard: false })
    }
}

/// How long what a rank has sent before it ended may take to come.
const ENDED: Duration = Duration::from_secs(2);
