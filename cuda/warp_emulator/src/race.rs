//! Ordering of memory accesses, and detection of races.
//!
//! Two accesses to one word race if one of them writes, they are not of a kind that may be concurrent, and no barrier
//! lies between them. Order is created by: the program order of a lane; a warp barrier, among the lanes of its mask; a
//! block barrier, among the threads of the block; an arrival at a counter, between what precedes it and what follows a
//! later arrival at the same counter, in any block. Shuffles, votes and other atomic operations order nothing, as in
//! PTX.
//!
//! A lane's knowledge is a vector clock reduced to what can differ: the number of block barriers passed, which cover
//! all other warps, a clock for each lane of its own warp, and the knowledge of earlier arrivals. The latter is passed
//! on only by warp barriers, not by block barriers or further arrivals: there, less is ordered here than in PTX.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::ops::Range;
use std::panic::Location;
use std::rc::Rc;

use crate::{FaultKind, Position, Space, WARP_LANES};

const LANES: usize = WARP_LANES as usize;

/// The bytes of a word, the smallest unit of access that is distinguished in arrays whose elements are no narrower.
pub(crate) const WORD_BYTES: usize = 4;

/// A lane's access to memory that others may write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Access {
    /// Reads.
    Load,
    /// Writes.
    Store,
    /// Atomic addition. Lanes may do so concurrently.
    AtomicAdd,
    /// Atomic setting of bits. Lanes may do so concurrently.
    AtomicOr,
    /// Atomic write if the old value is the expected one. Lanes may do so concurrently.
    CompareAndSwap,
    /// Sets a flag, as every lane does that accesses it. Lanes may do so concurrently, because all write the same.
    SetFlag,
    /// Atomically counts the lane's arrival. Later arrivals see what was done before it.
    Arrive,
}

impl Access {
    /// The name in messages.
    pub fn name(self) -> &'static str {
        match self {
            Self::Load => "load",
            Self::Store => "store",
            Self::AtomicAdd => "atomic add",
            Self::AtomicOr => "atomic or",
            Self::CompareAndSwap => "compare-and-swap",
            Self::SetFlag => "flag store",
            Self::Arrive => "arrival",
        }
    }
}

/// The lanes' knowledge of each other in a warp.
pub(crate) struct Clocks {
    /// Number of block barriers that the warp has passed.
    barriers: u32,
    /// For each lane, the progress of each lane as far as it is known there, including its own clock.
    known: [[u32; LANES]; LANES],
    /// Earlier arrivals known to lanes of this warp, with a mask of those lanes.
    arrivals: Vec<(Rc<Arrival>, u32)>,
}

/// The knowledge of a lane when it arrived at a counter.
pub(crate) struct Arrival {
    block: u32,
    warp: u32,
    barriers: u32,
    known: [u32; LANES],
}

impl Arrival {
    /// Whether the access happened before the arrival.
    fn is_after(&self, before: &Stamp) -> bool {
        before.block == self.block
            && (before.barriers < self.barriers
                || before.warp() == self.warp && before.clock <= self.known[(before.thread % WARP_LANES) as usize])
    }
}

impl Clocks {
    pub(crate) fn new() -> Self {
        let mut known = [[0; LANES]; LANES];
        for (lane, known) in known.iter_mut().enumerate() {
            known[lane] = 1;
        }
        Self { barriers: 0, known, arrivals: Vec::new() }
    }

    /// Records that the lanes of a mask have met at a barrier of the warp.
    pub(crate) fn meet(&mut self, lanes: impl Iterator<Item = usize> + Clone) {
        let mut together = [0; LANES];
        for lane in lanes.clone() {
            for (all, &one) in together.iter_mut().zip(&self.known[lane]) {
                *all = one.max(*all);
            }
        }
        let mut mask = 0;
        for lane in lanes {
            self.known[lane] = together;
            self.known[lane][lane] += 1;
            mask |= 1 << lane;
        }
        for (_, knowing) in &mut self.arrivals {
            if *knowing & mask != 0 {
                *knowing |= mask;
            }
        }
    }

    /// Records the arrival of a lane of the warp, after the arrivals in `before`. Its clock advances, so that its later
    /// accesses are not mistaken for earlier ones.
    pub(crate) fn arrive(&mut self, position: Position, before: &[Rc<Arrival>]) -> Rc<Arrival> {
        let lane = position.lane() as usize;
        let (block, warp, barriers) = (position.block, position.thread / WARP_LANES, self.barriers);
        let arrival = Rc::new(Arrival { block, warp, barriers, known: self.known[lane] });
        self.known[lane][lane] += 1;
        self.arrivals.extend(before.iter().map(|arrival| (Rc::clone(arrival), 1 << lane)));
        arrival
    }

    /// Records that all threads of the block have met.
    pub(crate) fn pass_block_barrier(&mut self) {
        self.barriers += 1;
    }

    /// The stamp of an access that a lane of the warp makes now.
    pub(crate) fn stamp(&self, position: Position, access: Access, location: &'static Location<'static>) -> Stamp {
        let lane = position.lane() as usize;
        let clock = self.known[lane][lane];
        Stamp { block: position.block, thread: position.thread, barriers: self.barriers, clock, access, location }
    }

    /// Whether barriers order an earlier access before `now`, an access of a lane of this warp.
    fn orders_in_block(&self, before: &Stamp, now: &Stamp) -> bool {
        let [lane, other] = [now.thread, before.thread].map(|thread| (thread % WARP_LANES) as usize);
        before.block == now.block
            && (before.barriers < now.barriers
                || before.thread == now.thread
                || (before.warp() == now.warp() && before.clock <= self.known[lane][other]))
    }

    /// Like [`orders_in_block`](Self::orders_in_block), including order by arrivals.
    fn orders(&self, before: &Stamp, now: &Stamp) -> bool {
        let lane = now.thread % WARP_LANES;
        let mut arrivals = self.arrivals.iter();
        self.orders_in_block(before, now)
            || arrivals.any(|(arrival, lanes)| lanes >> lane & 1 == 1 && arrival.is_after(before))
    }
}

/// One access: its lane, time and source location.
#[derive(Clone, Copy)]
pub(crate) struct Stamp {
    block: u32,
    thread: u32,
    barriers: u32,
    clock: u32,
    pub(crate) access: Access,
    location: &'static Location<'static>,
}

impl Stamp {
    fn warp(&self) -> u32 {
        self.thread / WARP_LANES
    }

    /// Whether everything that races with `before` also races with this access, provided that `before` is ordered
    /// before it.
    fn replaces(&self, before: &Self) -> bool {
        self.access == Access::Store || self.access == before.access
    }

    /// The fault of an access that races with this one.
    pub(crate) fn races_with(&self, now: &Self, space: Space, index: u64) -> FaultKind {
        FaultKind::Race {
            access: now.access.name(),
            space,
            index,
            other_access: self.access.name(),
            other_block: self.block,
            other_warp: self.warp(),
            other_lane: self.thread % WARP_LANES,
            other_location: self.location,
        }
    }
}

/// Accesses that may be concurrent: only as many as are needed to determine whether barriers order a later access after
/// all of them.
#[derive(Default)]
struct Group {
    /// Most words have at most one.
    first: Option<Stamp>,
    others: Vec<Stamp>,
    /// Whether some were left out. They may not have taken part in the arrivals of those that were kept, so arrivals
    /// then order nothing, which is less than in PTX.
    is_cut: bool,
}

impl Group {
    fn iter(&self) -> impl Iterator<Item = &Stamp> {
        self.first.iter().chain(&self.others)
    }

    fn orders(is_cut: bool, before: &Stamp, now: &Stamp, clocks: &Clocks) -> bool {
        if is_cut { clocks.orders_in_block(before, now) } else { clocks.orders(before, now) }
    }

    fn unordered(&self, now: &Stamp, clocks: &Clocks) -> Option<Stamp> {
        self.iter().find(|before| !Self::orders(self.is_cut, before, now, clocks)).copied()
    }

    fn clear(&mut self) {
        *self = Self::default();
    }

    fn add(&mut self, now: Stamp, clocks: &Clocks) {
        let is_cut = self.is_cut;
        // Whatever is ordered after this access is also ordered after those before it.
        if self.iter().any(|before| Self::orders(is_cut, before, &now, clocks)) {
            self.others.retain(|before| !Self::orders(is_cut, before, &now, clocks));
            self.first =
                self.first.filter(|before| !Self::orders(is_cut, before, &now, clocks)).or_else(|| self.others.pop());
        }
        let Some(first) = self.first else {
            *self = Self { first: Some(now), ..Self::default() };
            return;
        };
        // No barrier orders an access after two blocks, and none orders one after two warps of this block until they
        // pass it, after which this access is before it, too.
        let (mut blocks, mut own, mut warps) = (false, None, false);
        for stamp in self.iter() {
            blocks |= stamp.block != first.block;
            if stamp.block == now.block {
                warps |= *own.get_or_insert(stamp.warp()) != stamp.warp();
            }
        }
        if !blocks && !warps {
            self.others.push(now);
        } else {
            self.is_cut = true;
        }
    }
}

/// The accesses to a word with which a later one can race. Most words have at most one, and there are many words.
#[derive(Default)]
struct Word {
    /// The only access, if `many` is empty.
    alone: Option<Stamp>,
    many: Option<Box<Many>>,
}

impl Word {
    /// Records an access, and returns one with which it races.
    fn note(&mut self, now: Stamp, clocks: &Clocks) -> Option<Stamp> {
        if self.many.is_none() && self.alone.is_none_or(|before| now.replaces(&before) && clocks.orders(&before, &now))
        {
            self.alone = Some(now);
            return None;
        }
        let many = self.many.get_or_insert_with(|| Box::new(Many::from(self.alone.take())));
        let race = many.note(now, clocks);
        if now.access == Access::Store {
            *self = Self { alone: Some(now), many: None };
        }
        race
    }

    /// An access that wrote, or may have written.
    fn write(&self) -> Option<Stamp> {
        match &self.many {
            Some(many) => many.write.or(many.together.first),
            None => self.alone.filter(|alone| alone.access != Access::Load),
        }
    }
}

/// The accesses to a word with several.
#[derive(Default)]
struct Many {
    write: Option<Stamp>,
    reads: Group,
    /// Atomic operations, or settings of a flag.
    together: Group,
}

impl From<Option<Stamp>> for Many {
    fn from(alone: Option<Stamp>) -> Self {
        let group =
            |kinds: &[Access]| Group { first: alone.filter(|alone| kinds.contains(&alone.access)), ..Group::default() };
        Self {
            write: alone.filter(|alone| alone.access == Access::Store),
            reads: group(&[Access::Load]),
            together: group(&[
                Access::AtomicAdd,
                Access::AtomicOr,
                Access::CompareAndSwap,
                Access::SetFlag,
                Access::Arrive,
            ]),
        }
    }
}

impl Many {
    /// Records an access, and returns one with which it races. After a store, only the store matters.
    fn note(&mut self, now: Stamp, clocks: &Clocks) -> Option<Stamp> {
        let write = self.write.filter(|before| !clocks.orders(before, &now));
        let after_reads = now.access == Access::Load;
        let reads = if after_reads { None } else { self.reads.unordered(&now, clocks) };
        let same_kind = self.together.first.is_some_and(|first| first.access == now.access);
        let together = if same_kind { None } else { self.together.unordered(&now, clocks) };
        match now.access {
            Access::Load => self.reads.add(now, clocks),
            // The word forgets all others.
            Access::Store => {}
            Access::AtomicAdd | Access::AtomicOr | Access::CompareAndSwap | Access::SetFlag | Access::Arrive => {
                if !same_kind {
                    self.together.clear();
                }
                self.together.add(now, clocks);
            }
        }
        write.or(reads).or(together)
    }
}

/// Words that are allocated together, because a warp's accesses are mostly contiguous.
const PAGE_WORDS: usize = 32;

/// Pages that are looked up together. A lane that strides through an array accesses them in order, and the next lane
/// does so again.
const BOOK_PAGES: usize = 64;

/// Number of books whose indices are cached.
const REMEMBERED_BOOKS: usize = 256;

/// All accesses to the words of a memory since the launch.
pub(crate) struct Accesses {
    /// The bytes of a word, as a binary logarithm.
    word_shift: u32,
    /// The index of each accessed book.
    places: HashMap<usize, usize, BuildHasherDefault<PlaceHasher>>,
    books: Vec<Book>,
    /// For each remainder of book numbers, the index of a book with it, which may be another's.
    remembered: [u32; REMEMBERED_BOOKS],
}

impl Default for Accesses {
    fn default() -> Self {
        Self::of_words(WORD_BYTES)
    }
}

/// Consecutive pages, as far as they were accessed.
struct Book {
    number: usize,
    pages: [Option<Box<[Word; PAGE_WORDS]>>; BOOK_PAGES],
}

impl Accesses {
    /// No accesses yet, to words of `word_bytes` bytes, a power of two.
    pub(crate) fn of_words(word_bytes: usize) -> Self {
        Self {
            word_shift: word_bytes.trailing_zeros(),
            places: HashMap::default(),
            books: Vec::new(),
            remembered: [0; REMEMBERED_BOOKS],
        }
    }

    /// Records an access to the words that contain the `bytes` bytes from `address` on, and returns one with which it
    /// races.
    pub(crate) fn note(&mut self, address: usize, bytes: usize, now: Stamp, clocks: &Clocks) -> Option<Stamp> {
        // Shifted, because divisions take longer than everything else.
        let last_byte = (1 << self.word_shift) - 1;
        let words = address >> self.word_shift..(address + bytes + last_byte) >> self.word_shift;
        words.fold(None, |race, word| race.or(self.word(word).note(now, clocks)))
    }

    fn word(&mut self, word: usize) -> &mut Word {
        let (page, number) = (word / PAGE_WORDS, word / PAGE_WORDS / BOOK_PAGES);
        let remembered = self.remembered[number % REMEMBERED_BOOKS] as usize;
        let place = match self.books.get(remembered) {
            Some(book) if book.number == number => remembered,
            _ => self.look_up(number),
        };
        let page = self.books[place].pages[page % BOOK_PAGES]
            .get_or_insert_with(|| Box::new(std::array::from_fn(|_| Word::default())));
        &mut page[word % PAGE_WORDS]
    }

    /// The index of a book, which is created if it is new.
    fn look_up(&mut self, number: usize) -> usize {
        let next = self.books.len();
        let place = *self.places.entry(number).or_insert(next);
        if place == next {
            self.books.push(Book { number, pages: std::array::from_fn(|_| None) });
        }
        // An index that does not fit is looked up again.
        self.remembered[number % REMEMBERED_BOOKS] = place as u32;
        place
    }

    /// An access that wrote to part of the memory, and its source location.
    pub(crate) fn write_within(&self, memory: Range<usize>) -> Option<(&'static str, &'static Location<'static>)> {
        let pages = self.books.iter().flat_map(|book| (book.number * BOOK_PAGES..).zip(&book.pages));
        let words =
            pages.flat_map(|(page, words)| (page * PAGE_WORDS..).zip(words.iter().flat_map(|words| words.iter())));
        let words = words.map(|(word, accesses)| (word << self.word_shift, accesses));
        let inside = words.filter(|(address, _)| memory.contains(address));
        let write = inside.filter_map(|(_, word)| word.write()).next();
        write.map(|write| (write.access.name(), write.location))
    }
}

/// Book numbers are not chosen by an adversary, and there are many of them.
#[derive(Default)]
struct PlaceHasher(u64);

impl Hasher for PlaceHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&byte| self.write_usize(byte.into()));
    }

    fn write_usize(&mut self, place: usize) {
        let mixed = (self.0 ^ place as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.0 = mixed ^ (mixed >> 32);
    }
}
