//! What a launch does to global memory, which is the host's own: who writes where, and what nobody has written.

use std::collections::BTreeMap;
use std::ops::Range;
use std::panic::Location;
use std::sync::{Arc, Mutex, PoisonError};

use crate::race::{Access, Accesses, Clocks, Stamp, WORD_BYTES};
use crate::{FaultKind, Space};

/// What memory holds that nobody has written: a NaN as a floating-point number of either size, and as an index far
/// outside of every array.
const UNWRITTEN: [u8; WORD_BYTES] = 0xffa5_a5a5_u32.to_ne_bytes();

/// The memory that began unwritten, as address and end, and may be so still.
#[derive(Default)]
pub(crate) struct Unwritten(Mutex<BTreeMap<usize, usize>>);

impl Unwritten {
    /// Makes memory unwritten.
    pub(crate) fn add(&self, memory: &mut [u8]) {
        memory.chunks_mut(WORD_BYTES).for_each(|word| word.copy_from_slice(&UNWRITTEN[..word.len()]));
        let Range { start, end } = memory.as_ptr_range();
        let (start, end) = (start as usize, end as usize);
        let mut ranges = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // What was there before has been freed.
        let gone: Vec<usize> = ranges.range(..end).rev().take_while(|&(_, &e)| e > start).map(|(&s, _)| s).collect();
        gone.iter().for_each(|start| {
            ranges.remove(start);
        });
        if start < end {
            ranges.insert(start, end);
        }
    }

    /// Whether an element is as it was when its memory was made. Only its value tells, so a kernel could write one
    /// that is taken for none: a NaN that arithmetic does not make, or an index that no array has.
    fn holds(&self, address: usize, element: &[u8]) -> bool {
        element.chunks_exact(WORD_BYTES).all(|word| word == UNWRITTEN)
            && self
                .0
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .range(..=address)
                .next_back()
                .is_some_and(|(_, &end)| address < end)
    }
}

/// Elements of an array that a lane accesses at once.
pub(crate) struct Elements {
    pub(crate) address: usize,
    /// Bytes of an element.
    pub(crate) width: usize,
    /// The first of them in its array.
    pub(crate) index: u64,
}

/// The global memory during one run.
pub(crate) struct GlobalMemory {
    accesses: Accesses,
    /// The arrays that are read as what nobody writes, and where the first such load was.
    read_only: Vec<(Range<usize>, &'static Location<'static>)>,
    unwritten: Arc<Unwritten>,
}

impl GlobalMemory {
    pub(crate) fn new(unwritten: Arc<Unwritten>) -> Self {
        Self { accesses: Accesses::default(), read_only: Vec::new(), unwritten }
    }

    /// A load of elements that hold `bytes`, by the read-only path, from an array that lies at `array`.
    pub(crate) fn read_only(
        &mut self,
        elements: &Elements,
        bytes: &[u8],
        array: Range<usize>,
        location: &'static Location<'static>,
    ) -> Result<(), FaultKind> {
        self.initialised("load", elements, bytes)?;
        if self.read_only.iter().all(|(known, _)| *known != array) {
            if let Some((other_access, other_location)) = self.accesses.write_within(array.clone()) {
                return Err(FaultKind::ReadOnlyWritten { index: elements.index, other_access, other_location });
            }
            self.read_only.push((array, location));
        }
        Ok(())
    }

    /// An access to elements that others may write, of which memory holds `bytes` now.
    pub(crate) fn access(
        &mut self,
        elements: &Elements,
        bytes: &[u8],
        now: Stamp,
        clocks: &Clocks,
    ) -> Result<(), FaultKind> {
        let &Elements { address, index, .. } = elements;
        let access = now.access.name();
        if now.access != Access::Store {
            self.initialised(access, elements, bytes)?;
        }
        if now.access != Access::Load {
            let array = self.read_only.iter().find(|(array, _)| array.contains(&address));
            if let Some(&(_, other_location)) = array {
                return Err(FaultKind::ReadOnly { access, index, other_location });
            }
        }
        match self.accesses.note(address, bytes.len(), now, clocks) {
            Some(other) => Err(other.races_with(&now, Space::Global, index)),
            None => Ok(()),
        }
    }

    fn initialised(&self, access: &'static str, elements: &Elements, bytes: &[u8]) -> Result<(), FaultKind> {
        let places = (elements.address..).step_by(elements.width);
        let mut each = places.zip(bytes.chunks(elements.width)).zip(elements.index..);
        match each.find(|&((address, element), _)| self.unwritten.holds(address, element)) {
            Some((_, index)) => Err(FaultKind::Uninitialized { access, index }),
            None => Ok(()),
        }
    }
}
