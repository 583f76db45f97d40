//! Ranks as threads of one process.

use std::any::Any;
use std::cell::Cell;
use std::collections::{HashMap, VecDeque};
use std::hint::spin_loop;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use host::memory::{copy, with_capacity};

use crate::communicator::Communicator;
use crate::error::Error;
use crate::options::Options;
use crate::slots::Slots;
use crate::transport::{Board, Channel, Exchange, Messages, Shown, Transport};

/// The channel of a rank that waits for another rank's slot.
const SLOTS: Channel = Channel(u32::MAX);

/// Polls of a waiting rank before it yields its core: some tens of microseconds.
const SPINS: u32 = 1500;

/// Polls between which it lets other threads of the core run.
const SPINS_AT_ONCE: u32 = 100;

/// Does `work` on `ranks` ranks, each in its own thread, and returns their results in rank order.
///
/// A rank that returns an error or panics makes every other rank's next wait fail, which ends all of them; so do ranks that
/// wait for each other. Only one thread of a rank may wait at a time.
///
/// ```
/// use warp_spmv_distributed::threads;
///
/// # fn main() -> Result<(), warp_spmv_distributed::Error> {
/// let sums = threads::run(3, |communicator| {
///     let mut sum = [communicator.rank() as f64];
///     communicator.sum(&mut sum)?;
///     Ok(sum[0])
/// })?;
/// assert_eq!(sums, [3.0, 3.0, 3.0]);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// Returns the first failure of a rank, or an error if there are no ranks or a thread cannot be created.
pub fn run<R: Send>(ranks: usize, work: impl Fn(&Communicator) -> Result<R, Error> + Sync) -> Result<Vec<R>, Error> {
    run_with(ranks, Options::default(), work)
}

/// [`run`] with the given options.
///
/// # Errors
/// As for [`run`].
pub fn run_with<R: Send>(
    ranks: usize,
    options: Options,
    work: impl Fn(&Communicator) -> Result<R, Error> + Sync,
) -> Result<Vec<R>, Error> {
    if ranks == 0 {
        return Err(Error::Setting { what: "the number of ranks", value: "0".into(), expected: "1 or more" });
    }
    let shared = Arc::new(Shared {
        inboxes: (0..ranks).map(|_| Inbox::default()).collect(),
        ended: (0..ranks).map(|_| AtomicBool::new(false)).collect(),
        waits: Mutex::new(vec![None; ranks]),
        slots: Slots::new(ranks),
        board: Mutex::new(vec![None; ranks]),
        failure: OnceLock::new(),
        options,
    });
    let results: Vec<Option<R>> = thread::scope(|scope| {
        let threads: Vec<_> = (0..ranks)
            .map(|rank| {
                let (shared, work) = (shared.clone(), &work);
                thread::Builder::new().name(format!("rank {rank}")).spawn_scoped(scope, move || shared.rank(rank, work))
            })
            .collect();
        for (rank, thread) in threads.iter().enumerate() {
            if let Err(error) = thread {
                shared.fail(Failure { rank, reason: format!("no thread: {error}") });
            }
        }
        threads.into_iter().map(|thread| thread.ok()?.join().ok()?).collect()
    });
    match shared.failure.get() {
        Some(failure) => Err(failure.error(false)),
        // Without a failure every rank has a result.
        None => Ok(results.into_iter().flatten().collect()),
    }
}

/// Shared state of the ranks of a process.
struct Shared {
    inboxes: Vec<Inbox>,
    /// The ranks that have ended.
    ended: Vec<AtomicBool>,
    /// The rank and the channel that each rank waits for, while its inbox has no such message. Locked after an inbox.
    waits: Mutex<Vec<Option<(usize, Channel)>>>,
    slots: Slots,
    board: Board,
    /// The first failure.
    failure: OnceLock<Failure>,
    options: Options,
}

/// Messages by sending rank and channel, in sending order.
type Queues = HashMap<(usize, Channel), VecDeque<Vec<u8>>>;

/// Messages sent to a rank and not yet received.
#[derive(Default)]
struct Inbox {
    messages: Mutex<Queues>,
    changed: Condvar,
    /// Number of messages that have arrived so far.
    arrived: AtomicU64,
    /// Whether its rank sleeps, or is about to sleep, until something changes.
    sleeps: AtomicBool,
}

impl Inbox {
    fn lock(&self) -> MutexGuard<'_, Queues> {
        // Messages are complete between any two calls.
        self.messages.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The rank that failed first, and the reason.
#[derive(Clone)]
struct Failure {
    rank: usize,
    reason: String,
}

impl Failure {
    fn error(&self, heard: bool) -> Error {
        Error::Rank { rank: self.rank, reason: self.reason.clone(), heard }
    }
}

impl Shared {
    /// Runs a rank from start to end.
    fn rank<R>(self: Arc<Self>, rank: usize, work: impl Fn(&Communicator) -> Result<R, Error>) -> Option<R> {
        let communicator = Communicator::new(Thread { rank, shared: self.clone() });
        let result = catch_unwind(AssertUnwindSafe(|| work(&communicator)));
        let result = match result {
            Ok(Ok(result)) => Some(result),
            Ok(Err(error)) => {
                let (rank, reason) = error.blame(rank);
                self.fail(Failure { rank, reason });
                None
            }
            Err(panic) => {
                self.fail(Failure { rank, reason: panicked(&*panic) });
                None
            }
        };
        // The others know of a failure by now, and wait for nothing.
        communicator.release();
        self.ended[rank].store(true, Ordering::Release);
        self.wake();
        result
    }

    /// Fails all ranks, unless an earlier failure has.
    fn fail(&self, failure: Failure) {
        // A later failure is a consequence of the first one.
        let _ = self.failure.set(failure);
        self.wake();
    }

    /// Wakes all waiting ranks.
    fn wake(&self) {
        for inbox in &self.inboxes {
            // A rank that is about to wait holds the lock until it does.
            drop(inbox.lock());
            inbox.changed.notify_all();
        }
    }

    /// Records what a rank waits for. Returns whether that rank waits for it, too, directly or through others: then no
    /// message will arrive, because a rank sends its messages before it waits.
    fn waits_in_a_circle(&self, rank: usize, from: usize, channel: Channel) -> bool {
        let mut waits = self.waits.lock().unwrap_or_else(PoisonError::into_inner);
        waits[rank] = Some((from, channel));
        let mut next = from;
        // Longer than any chain that ends.
        for _ in 0..waits.len() {
            match waits[next] {
                Some((from, _)) if from == rank => return true,
                Some((from, _)) => next = from,
                None => return false,
            }
        }
        false
    }

    /// Records that a rank no longer waits, if it waits for this; returns whether it did.
    fn has_come(&self, rank: usize, from: usize, channel: Channel) -> bool {
        let mut waits = self.waits.lock().unwrap_or_else(PoisonError::into_inner);
        waits[rank].take_if(|wait| *wait == (from, channel)).is_some()
    }

    fn check(&self) -> Result<(), Error> {
        self.failure.get().map_or(Ok(()), |failure| Err(failure.error(true)))
    }
}

/// Returns the message of a panic.
pub(crate) fn panicked(panic: &(dyn Any + Send)) -> String {
    let message = panic.downcast_ref::<&str>().copied().or(panic.downcast_ref::<String>().map(String::as_str));
    format!("panicked: {}", message.and_then(|message| message.lines().next()).unwrap_or("no message"))
}

/// A rank as a thread.
#[derive(Clone)]
struct Thread {
    rank: usize,
    shared: Arc<Shared>,
}

impl Thread {
    /// Blocks until `take` returns something from another rank, or a rank has failed: first polls `is_there` for a short
    /// time, then sleeps. Available messages are returned even after a failure.
    fn wait<R>(
        &self,
        from: usize,
        channel: Channel,
        is_there: impl Fn() -> bool,
        take: impl Fn(&mut Queues) -> Option<R>,
    ) -> Result<R, Error> {
        let inbox = &self.shared.inboxes[self.rank];
        for spin in 1..=SPINS {
            if is_there()
                && let Some(found) = take(&mut inbox.lock())
            {
                return Ok(found);
            }
            if spin % SPINS_AT_ONCE == 0 {
                self.shared.check()?;
                thread::yield_now();
            } else {
                spin_loop();
            }
        }
        inbox.sleeps.store(true, Ordering::SeqCst);
        let found = self.sleep_until(from, channel, take);
        self.shared.has_come(self.rank, from, channel);
        inbox.sleeps.store(false, Ordering::SeqCst);
        found
    }

    /// The second part of [`wait`](Self::wait), asleep.
    fn sleep_until<R>(
        &self,
        from: usize,
        channel: Channel,
        take: impl Fn(&mut Queues) -> Option<R>,
    ) -> Result<R, Error> {
        let begin = Instant::now();
        let inbox = &self.shared.inboxes[self.rank];
        let mut messages = inbox.lock();
        loop {
            // Messages sent before the end of a rank have arrived by then.
            let ended = self.has_ended(from);
            if let Some(found) = take(&mut messages) {
                return Ok(found);
            }
            self.shared.check()?;
            let blamed = match ended {
                true => Some(format!("it ended while rank {} waited for its message", self.rank)),
                false if self.shared.waits_in_a_circle(self.rank, from, channel) => {
                    Some(format!("this rank and rank {} wait for each other", self.rank))
                }
                false => None,
            };
            if let Some(reason) = blamed {
                drop(messages);
                self.shared.fail(Failure { rank: from, reason });
                messages = inbox.lock();
                continue;
            }
            let changed = &inbox.changed;
            messages = match self.shared.options.timeout {
                None => changed.wait(messages).unwrap_or_else(PoisonError::into_inner),
                Some(timeout) => {
                    let after = begin.elapsed();
                    if after >= timeout {
                        return Err(Error::Timeout { rank: from, waiting: self.rank, after: timeout });
                    }
                    changed.wait_timeout(messages, timeout - after).unwrap_or_else(PoisonError::into_inner).0
                }
            };
        }
    }
}

impl Transport for Thread {
    fn rank(&self) -> usize {
        self.rank
    }

    fn ranks(&self) -> usize {
        self.shared.inboxes.len()
    }

    fn send(&self, to: usize, channel: Channel, message: &[u8]) -> Result<(), Error> {
        self.shared.check()?;
        let message = copy(message)?;
        let inbox = &self.shared.inboxes[to];
        let mut messages = inbox.lock();
        messages.entry((self.rank, channel)).or_default().push_back(message);
        self.shared.has_come(to, self.rank, channel);
        inbox.arrived.fetch_add(1, Ordering::Release);
        drop(messages);
        inbox.changed.notify_all();
        Ok(())
    }

    fn receive(&self, from: usize, channel: Channel) -> Result<Vec<u8>, Error> {
        let arrived = &self.shared.inboxes[self.rank].arrived;
        // Earlier messages are not examined twice.
        let seen = Cell::new(None);
        let is_there = || {
            let now = Some(arrived.load(Ordering::Acquire));
            seen.replace(now) != now
        };
        self.wait(from, channel, is_there, |messages| messages.get_mut(&(from, channel)).and_then(VecDeque::pop_front))
    }

    fn check(&self) -> Result<(), Error> {
        self.shared.check()
    }

    fn timeout(&self) -> Option<Duration> {
        self.shared.options.timeout
    }

    fn has_ended(&self, rank: usize) -> bool {
        self.shared.ended[rank].load(Ordering::Acquire)
    }

    fn show(&self, shown: &Shown) -> Result<Option<Vec<Shown>>, Error> {
        self.shared.check()?;
        let Shared { slots, inboxes, .. } = &*self.shared;
        let round = slots.put(self.rank, shown);
        for (other, inbox) in inboxes.iter().enumerate() {
            // A rank that goes to sleep from now on polls once more before.
            if other != self.rank && inbox.sleeps.load(Ordering::SeqCst) {
                // Before this rank waits for any other.
                let messages = inbox.lock();
                let waits = self.shared.has_come(other, self.rank, SLOTS);
                drop(messages);
                if waits {
                    inbox.changed.notify_all();
                }
            }
        }
        let mut all = with_capacity(inboxes.len())?;
        for from in 0..inboxes.len() {
            all.push(match from == self.rank {
                true => *shown,
                false => self.wait(from, SLOTS, || slots.has(from, round), |_| slots.get(from, round))?,
            });
        }
        Ok(Some(all))
    }

    fn board(&self) -> Option<&Board> {
        Some(&self.shared.board)
    }

    fn fail(&self, reason: &str) {
        self.shared.fail(Failure { rank: self.rank, reason: reason.into() });
    }

    fn exchange(&self, channel: Channel, messages: Messages) -> Result<Box<dyn Exchange>, Error> {
        Ok(Box::new(Swap { thread: self.clone(), channel, messages }))
    }
}

/// An exchange between threads.
struct Swap {
    thread: Thread,
    channel: Channel,
    messages: Messages,
}

impl Exchange for Swap {
    fn start(&mut self, mut outgoing: &[u8]) -> Result<(), Error> {
        for &(rank, bytes) in &self.messages.to {
            let (message, rest) = outgoing.split_at(bytes);
            self.thread.send(rank, self.channel, message)?;
            outgoing = rest;
        }
        Ok(())
    }

    fn wait(&mut self, mut incoming: &mut [u8]) -> Result<(), Error> {
        for &(rank, bytes) in &self.messages.from {
            let message = self.thread.receive(rank, self.channel)?;
            let (place, rest) = incoming.split_at_mut(bytes);
            place.copy_from_slice(&message);
            incoming = rest;
        }
        Ok(())
    }
}
