//! Global memory, which is the host's own, during a launch: who writes where, and what has not been written.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;
use std::panic::Location;
use std::rc::Rc;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::race::{Access, Accesses, Arrival, Clocks, Stamp, WORD_BYTES};
use crate::{FaultKind, Position, Space};

/// The contents that forgotten memory is meant to hold. It determines the bytes that fill the memory until it is
/// written: a pattern that no computation produces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Contents {
    /// Integers: the mark is an index far outside any array.
    Integers,
    /// Floating-point numbers of 32 bits: the mark is a signalling NaN, and arithmetic produces only quiet ones.
    Float32,
    /// The same with 64 bits.
    Float64,
}

impl Contents {
    /// The mark, twice if it has 4 bytes.
    fn mark(self) -> [u8; MARK_BYTES] {
        match self {
            Self::Integers => 0xffa5_a5a5_ffa5_a5a5_u64,
            Self::Float32 => 0x7fa5_a5a5_7fa5_a5a5,
            Self::Float64 => 0x7ff4_a5a5_7ff4_a5a5,
        }
        .to_ne_bytes()
    }
}

const MARK_BYTES: usize = 8;

/// Memory that was initially unwritten.
struct Region {
    end: usize,
    mark: [u8; MARK_BYTES],
    /// A bit for each word that a kernel has written since.
    written: Vec<u64>,
}

/// All unwritten memory, by its address.
#[derive(Default)]
pub(crate) struct Unwritten(Mutex<BTreeMap<usize, Region>>);

impl Unwritten {
    /// Marks memory as unwritten.
    pub(crate) fn add(&self, memory: &mut [u8], contents: Contents) {
        let mark = contents.mark();
        memory.chunks_mut(MARK_BYTES).for_each(|bytes| bytes.copy_from_slice(&mark[..bytes.len()]));
        let Range { start, end } = memory.as_ptr_range();
        self.remove(memory);
        if start < end {
            let words = memory.len().div_ceil(WORD_BYTES);
            let region = Region { end: end as usize, mark, written: vec![0; words.div_ceil(64)] };
            self.regions().insert(start as usize, region);
        }
    }

    /// Treats memory as ordinary again. Unwritten memory that lay there before has been freed.
    pub(crate) fn remove(&self, memory: &[u8]) {
        let Range { start, end } = memory.as_ptr_range();
        let mut regions = self.regions();
        let before = regions.range(..end as usize).rev().take_while(|(_, region)| region.end > start as usize);
        let gone: Vec<usize> = before.map(|(&start, _)| start).collect();
        gone.iter().for_each(|start| {
            regions.remove(start);
        });
    }

    /// Whether an element is as it was when its memory was marked: it holds the mark, and no kernel has written it. A
    /// mark that the host writes is not recognized as a write.
    fn holds(&self, address: usize, element: &[u8]) -> bool {
        self.with_unwritten(address, element, |_, _| ()).is_some()
    }

    /// Records that a kernel writes an element.
    fn note_written(&self, address: usize, element: &[u8]) {
        self.with_unwritten(address, element, |written, words| {
            words.for_each(|word| written[word / 64] |= 1 << (word % 64));
        });
    }

    /// Calls `work` with the words of an element if none has been written.
    fn with_unwritten<R>(
        &self,
        address: usize,
        element: &[u8],
        work: impl FnOnce(&mut [u64], Range<usize>) -> R,
    ) -> Option<R> {
        // Elements narrower than a word are not tracked.
        if element.len() < WORD_BYTES {
            return None;
        }
        // Most elements hold something else, and need no search.
        let looks_unwritten = |contents: Contents| element[..WORD_BYTES] == contents.mark()[..WORD_BYTES];
        if ![Contents::Integers, Contents::Float32, Contents::Float64].into_iter().any(looks_unwritten) {
            return None;
        }
        let mut regions = self.regions();
        let (start, region) = regions.range_mut(..=address).next_back().filter(|(_, region)| address < region.end)?;
        let first = (address - start) / WORD_BYTES;
        let words = first..first + element.len() / WORD_BYTES;
        let marked = element.chunks(MARK_BYTES).all(|bytes| bytes == &region.mark[..bytes.len()]);
        let unwritten = words.clone().all(|word| region.written[word / 64] >> (word % 64) & 1 == 0);
        (marked && unwritten).then(|| work(&mut region.written, words))
    }

    // Regions are consistent between any two calls.
    fn regions(&self) -> MutexGuard<'_, BTreeMap<usize, Region>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Elements of an array that a lane accesses at once.
pub(crate) struct Elements {
    pub(crate) address: usize,
    /// Bytes of an element.
    pub(crate) width: usize,
    /// Index of the first element in its array.
    pub(crate) index: u64,
}

/// The global memory during one run.
pub(crate) struct GlobalMemory {
    accesses: Accesses,
    /// Accesses to elements narrower than a word, by byte: neighbours are independent of each other.
    narrow: Accesses,
    /// The arrays that are read as read-only, and the source location of the first such load.
    read_only: Vec<(Range<usize>, &'static Location<'static>)>,
    /// The arrivals at each counter, by its address.
    arrivals: HashMap<usize, Vec<Rc<Arrival>>>,
    unwritten: Arc<Unwritten>,
}

impl GlobalMemory {
    pub(crate) fn new(unwritten: Arc<Unwritten>) -> Self {
        let (accesses, narrow) = (Accesses::default(), Accesses::of_words(1));
        Self { accesses, narrow, read_only: Vec::new(), arrivals: HashMap::new(), unwritten }
    }

    /// Checks a load of elements that hold `bytes`, through the read-only path, from an array at `array`.
    pub(crate) fn read_only(
        &mut self,
        elements: &Elements,
        bytes: &[u8],
        array: Range<usize>,
        location: &'static Location<'static>,
    ) -> Result<(), FaultKind> {
        self.initialised("load", elements, bytes)?;
        if self.read_only.iter().all(|(known, _)| *known != array) {
            if let Some((other_access, other_location)) = self.write_within(array.clone()) {
                return Err(FaultKind::ReadOnlyWritten { index: elements.index, other_access, other_location });
            }
            self.read_only.push((array, location));
        }
        Ok(())
    }

    /// Checks an access to elements that others may write; memory holds `bytes` now.
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
        let accesses = if elements.width < WORD_BYTES { &mut self.narrow } else { &mut self.accesses };
        if let Some(other) = accesses.note(address, bytes.len(), now, clocks) {
            return Err(other.races_with(&now, Space::Global, index));
        }
        if now.access != Access::Load {
            self.unwritten.note_written(address, bytes);
        }
        Ok(())
    }

    fn write_within(&self, memory: Range<usize>) -> Option<(&'static str, &'static Location<'static>)> {
        self.accesses.write_within(memory.clone()).or_else(|| self.narrow.write_within(memory))
    }

    /// Records a lane's arrival at a counter, after its access was found to be no fault.
    pub(crate) fn arrive(&mut self, counter: &Elements, position: Position, clocks: &mut Clocks) {
        let arrivals = self.arrivals.entry(counter.address).or_default();
        let arrival = clocks.arrive(position, arrivals);
        arrivals.push(arrival);
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
