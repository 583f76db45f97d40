//! The stacks of lanes, which are reused.

use std::cell::RefCell;
use std::io;

use corosensei::stack::{DefaultStack, Stack, StackPointer};

/// Offset, within a page, between the first bytes of one stack and those of the next.
const STEP_BYTES: usize = 128;

/// Number of stacks until the offsets within a page repeat.
const STEPS: usize = 32;

/// Largest number of unused stacks that a thread keeps between runs.
const KEPT_STACKS: usize = 4096;

/// A stack that begins some bytes below its end. All stacks end at a page boundary; without the offset their first
/// bytes, which every switch between lanes touches, would compete for the same few cache sets.
pub(crate) struct LaneStack {
    memory: DefaultStack,
    skipped_bytes: usize,
}

impl LaneStack {
    fn new(bytes: usize, number: usize) -> io::Result<Self> {
        let skipped_bytes = number % STEPS * STEP_BYTES;
        Ok(Self { memory: DefaultStack::new(bytes.saturating_add(skipped_bytes))?, skipped_bytes })
    }
}

// SAFETY: it wraps the other stack, with its guard page, and retains as many bytes as were requested.
unsafe impl Stack for LaneStack {
    #[inline]
    fn base(&self) -> StackPointer {
        // It is aligned, because both numbers are.
        StackPointer::new(self.memory.base().get() - self.skipped_bytes).expect("the guard page is below it")
    }

    #[inline]
    fn limit(&self) -> StackPointer {
        self.memory.limit()
    }

    #[cfg(windows)]
    fn teb_fields(&self) -> corosensei::stack::StackTebFields {
        self.memory.teb_fields()
    }

    #[cfg(windows)]
    fn update_teb_fields(&mut self, stack_limit: usize, guaranteed_stack_bytes: usize) {
        self.memory.update_teb_fields(stack_limit, guaranteed_stack_bytes);
    }
}

/// Unused stacks. The one returned last is taken first, because it is still in the cache.
pub(crate) struct Stacks {
    bytes: usize,
    made: usize,
    free: Vec<LaneStack>,
}

thread_local! {
    /// The stacks left by the last run on this thread, and their size. Requesting new ones from the system, and
    /// touching their first pages, takes longer than many a run.
    static KEPT: RefCell<(usize, Vec<LaneStack>)> = const { RefCell::new((0, Vec::new())) };
}

impl Stacks {
    /// The stacks that this thread has kept, if they have this size.
    pub(crate) fn of_thread(bytes: usize) -> Self {
        // A thread that is ending keeps none.
        let (kept_bytes, kept) = KEPT.try_with(RefCell::take).unwrap_or_default();
        let free = if kept_bytes == bytes { kept } else { Vec::new() };
        Self { bytes, made: free.len(), free }
    }

    /// Keeps them for the next run on this thread.
    pub(crate) fn keep(mut self) {
        self.free.truncate(KEPT_STACKS);
        let _ = KEPT.try_with(|kept| kept.replace((self.bytes, self.free)));
    }

    pub(crate) fn take(&mut self) -> io::Result<LaneStack> {
        if let Some(stack) = self.free.pop() {
            return Ok(stack);
        }
        let stack = LaneStack::new(self.bytes, self.made)?;
        self.made += 1;
        Ok(stack)
    }

    pub(crate) fn give_back(&mut self, stack: LaneStack) {
        self.free.push(stack);
    }

    /// The number of stacks that this thread has kept.
    #[cfg(test)]
    pub(crate) fn kept() -> usize {
        KEPT.with_borrow(|(_, kept)| kept.len())
    }
}
