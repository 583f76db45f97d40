//! A communicator of NCCL, and its watchdog.

use std::ffi::{c_int, c_void};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use host::executor::SideStream;

use super::flights::Flights;
use super::library::{BYTES, Config, IN_PROGRESS, Library, RawComm, SUCCESS, Status, UniqueId};
use crate::communicator::Communicator;
use crate::error::Error;
use crate::transport::Transport;

/// How often the watchdog looks.
const LOOKS: Duration = Duration::from_millis(5);

/// Between two questions whether a call is done.
const PAUSE: Duration = Duration::from_micros(20);

/// How long a rank waits for the others to end theirs, too, at most.
const FAREWELL: Duration = Duration::from_secs(10);

/// How long the report of another rank's failure may take, of which this one sees that its GPU is gone.
const REPORT: Duration = Duration::from_secs(1);

/// A communicator of NCCL on the GPU of this rank. While it exists a thread looks after what is under way: it gives up when a
/// rank has failed, NCCL has, or an exchange takes longer than ranks may be silent.
pub struct Comm {
    shared: Arc<Shared>,
    watchdog: Option<JoinHandle<()>>,
}

struct Shared {
    library: &'static Library,
    transport: Arc<dyn Transport>,
    /// Held during each call with it.
    state: Mutex<State>,
    /// What is under way, of each exchange.
    flights: Mutex<Vec<Weak<Flights>>>,
}

enum State {
    Open(Handle),
    /// Given up, and why.
    Aborted(String),
    Closed,
}

#[derive(Clone, Copy)]
struct Handle(RawComm);

// SAFETY: the library takes calls with a communicator from any thread, one after the other.
unsafe impl Send for Handle {}

/// Elements on their way: the other rank, the address on this GPU, and the bytes.
pub struct Message {
    pub rank: usize,
    pub address: u64,
    pub bytes: usize,
}

impl Comm {
    /// The communicator of all ranks, which make it together; the GPU's context is the current one.
    pub fn new(communicator: &Communicator, library: &'static Library, side: &SideStream) -> Result<Self, Error> {
        let mut id = UniqueId([0; 128]);
        if communicator.rank() == 0 {
            // SAFETY: a place for an identity.
            library.check("ncclGetUniqueId", unsafe { (library.get_unique_id)(&mut id) })?;
        }
        let bytes = communicator.broadcast(0, &id.0)?;
        let wrong = || Error::Nccl { function: "ncclGetUniqueId", reason: "an identity of another length".into() };
        id.0 = bytes.try_into().map_err(|_| wrong())?;
        side.enter()?;
        let mut raw: RawComm = std::ptr::null_mut();
        let (rank, ranks) = (communicator.rank() as c_int, communicator.ranks() as c_int);
        // SAFETY: a place for a communicator, and settings that are read before the call returns.
        let status = unsafe { (library.comm_init)(&mut raw, ranks, id, rank, &mut Config::not_blocking()) };
        if status != IN_PROGRESS {
            library.check("ncclCommInitRankConfig", status)?;
        }
        let shared = Arc::new(Shared {
            library,
            transport: communicator.transport(),
            state: Mutex::new(State::Open(Handle(raw))),
            flights: Mutex::default(),
        });
        let mut comm = Self { shared: shared.clone(), watchdog: None };
        shared.until_done("ncclCommInitRankConfig")?;
        let watchdog = thread::Builder::new()
            .name("watchdog of NCCL".into())
            .spawn(move || shared.watch())
            .map_err(|error| Error::Nccl { function: "the watchdog", reason: format!("no thread: {error}") })?;
        comm.watchdog = Some(watchdog);
        Ok(comm)
    }

    /// Has the watchdog look after what is under way of an exchange.
    pub fn look_after(&self, flights: &Arc<Flights>) {
        let mut all = lock(&self.shared.flights);
        all.retain(|flights| flights.strong_count() > 0);
        all.push(Arc::downgrade(flights));
    }

    /// Queues messages to and from other ranks on a stream.
    ///
    /// # Safety
    /// Each message is at the address of that many bytes of this GPU's memory, which stay until the stream has come that
    /// far, and nothing else writes what is sent or uses what comes until then.
    pub unsafe fn exchange(&self, side: &SideStream, to: &[Message], from: &[Message]) -> Result<(), Error> {
        side.enter()?;
        let Shared { library, .. } = &*self.shared;
        {
            let state = lock(&self.shared.state);
            let Handle(raw) = self.shared.handle(&state)?;
            // SAFETY: a group of calls with a communicator that is there; the rest is the caller's promise.
            unsafe {
                library.check("ncclGroupStart", (library.group_start)())?;
                let mut queued = Ok(());
                for message in to {
                    let address = message.address as *const c_void;
                    let rank = message.rank as c_int;
                    let status = (library.send)(address, message.bytes, BYTES, rank, raw, side.handle());
                    queued = queued.and_then(|()| self.shared.accepted("ncclSend", status));
                }
                for message in from {
                    let address = message.address as *mut c_void;
                    let rank = message.rank as c_int;
                    let status = (library.receive)(address, message.bytes, BYTES, rank, raw, side.handle());
                    queued = queued.and_then(|()| self.shared.accepted("ncclRecv", status));
                }
                let ended = self.shared.accepted("ncclGroupEnd", (library.group_end)());
                queued.and(ended)?;
            }
        }
        self.shared.until_done("ncclGroupEnd")
    }

    /// An error if it was given up.
    pub fn check(&self) -> Result<(), Error> {
        self.shared.handle(&lock(&self.shared.state)).map(drop)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // What is in them is whole between any two calls.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Shared {
    fn handle(&self, state: &State) -> Result<Handle, Error> {
        match state {
            State::Open(handle) => Ok(*handle),
            State::Aborted(reason) => {
                // What another rank has said, if any has.
                self.transport.check()?;
                Err(Error::Nccl { function: "the watchdog", reason: reason.clone() })
            }
            State::Closed => Err(Error::Nccl { function: "any", reason: "the communicator has ended".into() }),
        }
    }

    /// An error unless a call was successful so far.
    fn accepted(&self, function: &'static str, status: Status) -> Result<(), Error> {
        if status == IN_PROGRESS { Ok(()) } else { self.library.check(function, status) }
    }

    /// What has become of the last call; none while it is not done.
    fn outcome(&self, function: &'static str) -> Result<Option<()>, Error> {
        let state = lock(&self.state);
        let Handle(raw) = self.handle(&state)?;
        let mut status = SUCCESS;
        // SAFETY: the communicator is there, and a place for a number.
        self.library.check("ncclCommGetAsyncError", unsafe { (self.library.comm_error)(raw, &mut status) })?;
        match status {
            IN_PROGRESS => Ok(None),
            status => self.library.check(function, status).map(Some),
        }
    }

    /// Waits on the host until the last call is done, unless a rank fails or it takes longer than ranks may be silent.
    fn until_done(&self, function: &'static str) -> Result<(), Error> {
        let begin = Instant::now();
        loop {
            match self.outcome(function) {
                Ok(Some(())) => return Ok(()),
                Ok(None) => {}
                Err(error) => return Err(self.reported(error)),
            }
            self.transport.check()?;
            if let Some(after) = self.transport.timeout().filter(|&timeout| begin.elapsed() >= timeout) {
                let reason = format!("was not done within {} s", after.as_secs_f64());
                return Err(Error::Nccl { function, reason });
            }
            thread::sleep(PAUSE);
        }
    }

    /// What a rank has reported, if one does in time, instead of what NCCL says of it.
    fn reported(&self, error: Error) -> Error {
        let begin = Instant::now();
        while begin.elapsed() < REPORT {
            if let Err(reported) = self.transport.check() {
                return reported;
            }
            thread::sleep(LOOKS);
        }
        error
    }

    /// Why what is under way should be given up, if it should.
    fn trouble(&self) -> Option<Error> {
        if let Err(error) = self.transport.check() {
            return Some(error);
        }
        if let Err(error) = self.outcome("an exchange") {
            return Some(self.reported(error));
        }
        let flights: Vec<_> = lock(&self.flights).iter().filter_map(Weak::upgrade).collect();
        flights.iter().find_map(|flights| flights.trouble(&*self.transport))
    }

    /// What the watchdog does.
    fn watch(&self) {
        while matches!(*lock(&self.state), State::Open(_)) {
            if let Some(error) = self.trouble() {
                self.abort(&error);
                return;
            }
            thread::park_timeout(LOOKS);
        }
    }

    /// Gives up, so that nothing on the GPU waits for another rank any more, and tells the others.
    fn abort(&self, error: &Error) {
        let mut state = lock(&self.state);
        let State::Open(Handle(raw)) = *state else { return };
        // SAFETY: the communicator is there, and nobody uses it afterwards. What that returns changes nothing.
        unsafe { (self.library.comm_abort)(raw) };
        *state = State::Aborted(error.to_string());
        drop(state);
        if self.transport.check().is_ok() {
            let (_, reason) = error.blame(self.transport.rank());
            self.transport.fail(&reason);
        }
    }

    /// Ends the communicator together with the others, or by itself where they do not.
    fn close(&self) {
        let mut state = lock(&self.state);
        let State::Open(Handle(raw)) = *state else { return };
        *state = State::Closed;
        drop(state);
        let begin = Instant::now();
        let limit = self.transport.timeout().map_or(FAREWELL, |timeout| timeout.min(FAREWELL));
        // SAFETY: the communicator is there, and nobody else uses it since its state is another one.
        let status = unsafe { (self.library.comm_finalize)(raw) };
        let mut status = if status == SUCCESS { IN_PROGRESS } else { status };
        while status == IN_PROGRESS && begin.elapsed() < limit && self.transport.check().is_ok() {
            let mut now = SUCCESS;
            // SAFETY: as above, and a place for a number.
            let asked = unsafe { (self.library.comm_error)(raw, &mut now) };
            status = if asked == SUCCESS { now } else { asked };
            if status == IN_PROGRESS {
                thread::sleep(PAUSE);
            }
        }
        // SAFETY: as above, and nobody uses it afterwards.
        unsafe { if status == SUCCESS { (self.library.comm_destroy)(raw) } else { (self.library.comm_abort)(raw) } };
    }
}

impl Drop for Comm {
    fn drop(&mut self) {
        self.shared.close();
        if let Some(watchdog) = self.watchdog.take() {
            watchdog.thread().unpark();
            // It does not panic, and there would be nothing to do about it.
            let _ = watchdog.join();
        }
    }
}
