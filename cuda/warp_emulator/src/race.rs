//! Which accesses to memory are ordered, and which race.
//!
//! Two accesses to one word race if one of them writes, they are not of a kind that may come at the same time, and no
//! barrier lies between them. What orders: the program order of a lane; a warp barrier, the lanes of its mask; a block
//! barrier, the threads of the block; an arrival at a counter, what came before it and what follows a later arrival at
//! the same counter, in any block. Shuffles, votes and other atomic operations order nothing, as in PTX.
//!
//! A lane's knowledge is a vector clock that is cut to what can differ: the number of block barriers behind it, which
//! cover all other warps, a clock for each lane of its own warp, and what earlier arrivals knew. That is passed on by warp
//! barriers only, not by block barriers or further arrivals: there less is ordered here than in PTX.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::ops::Range;
use std::panic::Location;
use std::rc::Rc;

use crate::{FaultKind, Position, Space, WARP_LANES};

const LANES: usize = WARP_LANES as usize;

/// The bytes of a word, the smallest unit whose accesses are told apart in arrays whose elements are no narrower.
pub(crate) const WORD_BYTES: usize = 4;

/// What a lane does with memory that others may write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Access {
    /// Reads.
    Load,
    /// Writes.
    Store,
    /// Adds in one step. Lanes may do so at the same time.
    AtomicAdd,
    /// Sets bits in one step. Lanes may do so at the same time.
    AtomicOr,
    /// Writes in one step if it finds what it expects. Lanes may do so at the same time.
    CompareAndSwap,
    /// Sets a flag, as every lane does that touches it. Lanes may do so at the same time, since all write the same.
    SetFlag,
    /// Counts the lane's arrival in one step. Whoever arrives later sees what was done before it.
    Arrive,
}

impl Access {
    /// What messages call it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Load => "load",
            Self::Store => "store",
            Self::AtomicAdd => "atomic add",
            Self::AtomicOr => "atomic or",
            Self::CompareAndSwap => "compare-and-swap",
            Self::SetFlag => "setting of a flag",
            Self::Arrive => "arrival",
        }
    }
}

/// What the lanes of a warp know of each other.
pub(crate) struct Clocks {
    /// The block barriers behind the warp.
    barriers: u32,
    /// For each lane, how far it knows each lane to have come; its own clock is there, too.
    known: [[u32; LANES]; LANES],
    /// Earlier arrivals that lanes of this warp know of, with a mask of those lanes.
    arrivals: Vec<(Rc<Arrival>, u32)>,
}

/// What a lane knew when it arrived at a counter.
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

    /// The lanes of a mask have met at a barrier of the warp.
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

    /// A lane of the warp arrives, after the arrivals in `before`. Its clock moves on, so that its later accesses are not
    /// taken for earlier ones.
    pub(crate) fn arrive(&mut self, position: Position, before: &[Rc<Arrival>]) -> Rc<Arrival> {
        let lane = position.lane() as usize;
        let (block, warp, barriers) = (position.block, position.thread / WARP_LANES, self.barriers);
        let arrival = Rc::new(Arrival { block, warp, barriers, known: self.known[lane] });
        self.known[lane][lane] += 1;
        self.arrivals.extend(before.iter().map(|arrival| (Rc::clone(arrival), 1 << lane)));
        arrival
    }

    /// All threads of the block have met.
    pub(crate) fn pass_block_barrier(&mut self) {
        self.barriers += 1;
    }

    /// An access of a lane of the warp that happens now.
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

    /// The same, by arrivals as well.
    fn orders(&self, before: &Stamp, now: &Stamp) -> bool {
        let lane = now.thread % WARP_LANES;
        let mut arrivals = self.arrivals.iter();
        self.orders_in_block(before, now)
            || arrivals.any(|(arrival, lanes)| lanes >> lane & 1 == 1 && arrival.is_after(before))
    }
}

/// One access: who, when, where.
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

    /// Whether nothing races with an earlier access that does not race with this one, if that is ordered before it.
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

/// Accesses that may come at the same time: as many of them as it takes to tell whether barriers order one later after
/// all.
#[derive(Default)]
struct Group {
    /// Most words have one at the most.
    first: Option<Stamp>,
    others: Vec<Stamp>,
    /// Whether some were left out. They may not have arrived where those that are here have, so arrivals order nothing then,
    /// which is less than in PTX.
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
        // What is ordered after this one is so after those before it.
        if self.iter().any(|before| Self::orders(is_cut, before, &now, clocks)) {
            self.others.retain(|before| !Self::orders(is_cut, before, &now, clocks));
            self.first =
                self.first.filter(|before| !Self::orders(is_cut, before, &now, clocks)).or_else(|| self.others.pop());
        }
        let Some(first) = self.first else {
            *self = Self { first: Some(now), ..Self::default() };
            return;
        };
        // With two blocks no barrier orders an access after both, and with two warps of this block none does until they
        // pass it, after which this one is before it, too.
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

/// The accesses to a word that a later one can race with. Most words have one at the most, and there are many words.
#[derive(Default)]
struct Word {
    /// The only one, if `many` is empty.
    alone: Option<Stamp>,
    many: Option<Box<Many>>,
}

impl Word {
    /// Records an access, and returns one that it races with.
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

    /// An access that wrote, or may have.
    fn write(&self) -> Option<Stamp> {
        match &self.many {
            Some(many) => many.write.or(many.together.first),
            None => self.alone.filter(|alone| alone.access != Access::Load),
        }
    }
}

/// The same where there may be several.
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
    /// Records an access other than a store, after which only that counts, and returns one that it races with.
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

/// Words that are made together, because what a warp accesses lies together mostly.
const PAGE_WORDS: usize = 32;

/// Pages that are looked up together. A lane that strides through an array accesses them one after the other, and the next
/// lane does so again.
const BOOK_PAGES: usize = 64;

/// Books whose places are remembered.
const REMEMBERED_BOOKS: usize = 256;

/// Each access to the words of a memory since the launch.
pub(crate) struct Accesses {
    /// The bytes of a word, as a power of two.
    word_shift: u32,
    /// Where a book is among all that were accessed.
    places: HashMap<usize, usize, BuildHasherDefault<PlaceHasher>>,
    books: Vec<Book>,
    /// For each remainder of book numbers, the place of a book with it, which may be another's.
    remembered: [u32; REMEMBERED_BOOKS],
}

impl Default for Accesses {
    fn default() -> Self {
        Self::of_words(WORD_BYTES)
    }
}

/// Pages that follow each other, those of them that were accessed.
struct Book {
    number: usize,
    pages: [Option<Box<[Word; PAGE_WORDS]>>; BOOK_PAGES],
}

impl Accesses {
    /// None yet, to words of this many bytes, a power of two.
    pub(crate) fn of_words(word_bytes: usize) -> Self {
        Self {
            word_shift: word_bytes.trailing_zeros(),
            places: HashMap::default(),
            books: Vec::new(),
            remembered: [0; REMEMBERED_BOOKS],
        }
    }

    /// Takes note of an access to the words that `bytes` bytes from `address` on lie in, and gives one that it races
    /// with.
    pub(crate) fn note(&mut self, address: usize, bytes: usize, now: Stamp, clocks: &Clocks) -> Option<Stamp> {
        // Shifted, for divisions take longer than the rest.
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

    /// The place of a book, which is made if it is new.
    fn look_up(&mut self, number: usize) -> usize {
        let next = self.books.len();
        let place = *self.places.entry(number).or_insert(next);
        if place == next {
            self.books.push(Book { number, pages: std::array::from_fn(|_| None) });
        }
        // One that does not fit is looked up again.
        self.remembered[number % REMEMBERED_BOOKS] = place as u32;
        place
    }

    /// An access that wrote to some of the memory, and where it was.
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

/// Places are not chosen by an adversary, and there are many of them.
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
