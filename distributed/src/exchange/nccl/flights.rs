//! Exchanges that were queued and have not finished.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use host::executor::{Cuda, Mark, SideStream};

use crate::error::Error;
use crate::transport::Transport;

/// Largest number of queued exchanges.
const MOST: u64 = 64;

/// Interval between checks when this number is queued.
const PAUSE: Duration = Duration::from_micros(50);

/// One mark after each exchange in flight.
pub struct Flights {
    marks: Vec<Mark>,
    /// The ranks that elements are received from or sent to.
    neighbours: Vec<usize>,
    count: Mutex<Count>,
}

struct Count {
    queued: u64,
    done: u64,
    /// When an exchange last finished, or was queued while none was in flight.
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

    /// Blocks until another exchange may be queued: not at all, unless the GPU is far behind.
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

    /// Records a queued exchange, and sets a mark after it.
    pub fn queued(&self, side: &SideStream) -> Result<(), Error> {
        let mut count = self.count()?;
        side.set(self.mark(count.queued))?;
        if count.queued == count.done {
            count.moved = Instant::now();
        }
        count.queued += 1;
        Ok(())
    }

    /// Returns the reason why exchanges in flight will not finish, if known: a neighbour has ended, or they take too long.
    pub fn trouble(&self, transport: &dyn Transport) -> Option<Error> {
        // Before reading the count.
        let ended = self.neighbours.iter().copied().find(|&rank| transport.has_ended(rank));
        let after = match self.count() {
            Ok(count) if count.queued > count.done => count.moved.elapsed(),
            Ok(_) => return None,
            Err(error) => return Some(error),
        };
        let rank = transport.rank();
        if let Some(ended) = ended.filter(|_| after > ENDED) {
            let reason = format!("it ended while rank {rank} waited for its elements");
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

/// Longest time until elements arrive that a rank has sent before it ended.
const ENDED: Duration = Duration::from_secs(2);
