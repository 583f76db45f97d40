//! A few bytes of each rank, which all others read.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::transport::{MOST_SHOWN, Shown};

/// Words per slot.
const WORDS: usize = MOST_SHOWN / 8;

/// Two slots per rank, which it writes in turn. It overwrites a slot only after reading the next round of all others, which
/// they began after reading this one.
pub(crate) struct Slots(Vec<[Slot; 2]>);

/// A rank's data in one round. On its own cache lines, because others poll it.
#[derive(Default)]
#[repr(align(128))]
struct Slot {
    /// The round of the data, starting at 1; 0 before the first one. Written last, read first.
    round: AtomicU64,
    collective: AtomicU64,
    number: AtomicU64,
    /// 2^64 − 1 for too many bytes.
    length: AtomicU64,
    words: [AtomicU64; WORDS],
}

/// A slot's length for too many bytes.
const TOO_MANY: u64 = u64::MAX;

impl Slots {
    pub fn new(ranks: usize) -> Self {
        Self((0..ranks).map(|_| Default::default()).collect())
    }

    /// Writes a rank's data. Only that rank may call it, after reading what all showed in its last round. Returns the
    /// round.
    pub fn put(&self, rank: usize, shown: &Shown) -> u64 {
        let slots = &self.0[rank];
        let round = 1 + slots.iter().map(|slot| slot.round.load(Ordering::Relaxed)).max().unwrap_or(0);
        let slot = &slots[(round % 2) as usize];
        slot.collective.store(shown.collective, Ordering::Relaxed);
        slot.number.store(shown.number, Ordering::Relaxed);
        slot.length.store(shown.length.map_or(TOO_MANY, |length| length as u64), Ordering::Relaxed);
        for (word, bytes) in slot.words.iter().zip(shown.bytes.as_chunks().0) {
            word.store(u64::from_le_bytes(*bytes), Ordering::Relaxed);
        }
        // Ordered with the ranks' announcements that they sleep.
        slot.round.store(round, Ordering::SeqCst);
        round
    }

    /// Returns whether a rank has reached a round.
    pub fn has(&self, rank: usize, round: u64) -> bool {
        self.0[rank][(round % 2) as usize].round.load(Ordering::SeqCst) >= round
    }

    /// Returns a rank's data in a round, once it has reached the round.
    pub fn get(&self, rank: usize, round: u64) -> Option<Shown> {
        let slot = &self.0[rank][(round % 2) as usize];
        if slot.round.load(Ordering::SeqCst) < round {
            return None;
        }
        let mut shown = Shown {
            collective: slot.collective.load(Ordering::Relaxed),
            number: slot.number.load(Ordering::Relaxed),
            length: Some(slot.length.load(Ordering::Relaxed))
                .filter(|&length| length != TOO_MANY)
                .map(|length| length as usize),
            bytes: [0; MOST_SHOWN],
        };
        for (bytes, word) in shown.bytes.as_chunks_mut().0.iter_mut().zip(&slot.words) {
            *bytes = word.load(Ordering::Relaxed).to_le_bytes();
        }
        Some(shown)
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    #[test]
    fn what_all_show_is_read_by_all_round_by_round() {
        const RANKS: usize = 3;
        const ROUNDS: u64 = 2000;
        let slots = Slots::new(RANKS);
        let of = |rank: usize, number: u64| {
            let contents: Vec<u8> = (0..number % 66).map(|place| (place + number * (rank as u64 + 1)) as u8).collect();
            Shown::new(rank as u64, number, &contents)
        };
        thread::scope(|scope| {
            for rank in 0..RANKS {
                let slots = &slots;
                scope.spawn(move || {
                    for number in 0..ROUNDS {
                        let round = slots.put(rank, &of(rank, number));
                        assert_eq!(round, number + 1);
                        for other in 0..RANKS {
                            while !slots.has(other, round) {
                                thread::yield_now();
                            }
                            assert_eq!(slots.get(other, round), Some(of(other, number)));
                        }
                    }
                });
            }
        });
        assert_eq!(slots.get(0, ROUNDS + 1), None);
        assert_eq!(of(0, 65).contents(), None);
        assert_eq!(of(0, 64).contents().map(<[u8]>::len), Some(64));
    }
}
