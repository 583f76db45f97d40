//! A lane as a coroutine with its own stack.

use std::any::Any;
use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, catch_unwind};

use corosensei::{Coroutine, CoroutineResult};

use crate::Position;
use crate::lane::{Context, Request, Surroundings};
use crate::stack::LaneStack;

/// How a lane ended: `Err` holds a panic's payload.
type Outcome = Result<(), Box<dyn Any + Send>>;

/// A lane in the middle of the kernel. Dropping it unwinds its stack, so that its locals are dropped.
pub(crate) struct Lane<'run> {
    coroutine: Coroutine<u64, Request, Outcome, LaneStack>,
    _kernel: Borrows<'run>,
}

/// Expresses what the coroutine's type does not: that it borrows the kernel. Because it has a destructor, the borrow
/// checker keeps the kernel alive until the lane has been dropped.
struct Borrows<'run>(PhantomData<&'run dyn Fn()>);

impl Drop for Borrows<'_> {
    fn drop(&mut self) {}
}

impl<'run> Lane<'run> {
    pub(crate) fn new(
        stack: LaneStack,
        kernel: &'run dyn Fn(),
        position: Position,
        surroundings: Surroundings,
    ) -> Self {
        // SAFETY: the closure borrows only `kernel`, which outlives this value thanks to the field `Borrows`; the crate
        // never forgets a lane, so the coroutine ends or is dropped first.
        let coroutine = unsafe {
            Coroutine::with_stack_unchecked(stack, move |yielder, _| {
                let context = Context { position, yielder, surroundings: &surroundings };
                let entered = context.enter();
                // This also catches the unwinding of a dropped lane, which then ends.
                let outcome = catch_unwind(AssertUnwindSafe(kernel));
                drop(entered);
                outcome
            })
        };
        Self { coroutine, _kernel: Borrows(PhantomData) }
    }

    /// Runs the lane until it waits or ends. `answer` is the result of the operation in which it waits.
    pub(crate) fn resume(&mut self, answer: u64) -> CoroutineResult<Request, Outcome> {
        self.coroutine.resume(answer)
    }

    /// Recovers the stack of a lane that has ended.
    pub(crate) fn into_stack(self) -> LaneStack {
        self.coroutine.into_stack()
    }
}

/// The message of a panic.
pub(crate) fn panic_message(payload: &(dyn Any + Send)) -> String {
    if let Some(message) = payload.downcast_ref::<&str>() {
        (*message).to_owned()
    } else if let Some(message) = payload.downcast_ref::<String>() {
        message.clone()
    } else {
        "with a value that is not a message".to_owned()
    }
}
