//! Runs GPU kernels on the host, lane by lane, and reports behaviour that a GPU leaves undefined.
//!
//! A kernel is a closure that [`Emulator::run`] calls once for each thread of a [`Grid`]. Each call is a lane: a
//! coroutine with its own stack, which hands over control where lanes meet ([`shuffle`], [`vote`], [`match_any`],
//! [`warp_barrier`], [`block_barrier`]) and where others may run in between ([`interleave`]).
//!
//! ```
//! use std::cell::Cell;
//! use warp_emulator::{Emulator, Grid, Shuffle, position, shuffle};
//!
//! // Each warp adds up the numbers of its lanes.
//! let sum = Cell::new(0);
//! let grid = Grid { blocks: 2, threads_per_block: 64, shared_bytes: 0 };
//! let statistics = Emulator::new(1)
//!     .run("sum_of_lanes", grid, &|| {
//!         let mut value = u64::from(position().lane());
//!         for distance in [16, 8, 4, 2, 1] {
//!             value += shuffle(Shuffle::Down, u32::MAX, value, distance, 32);
//!         }
//!         if position().lane() == 0 {
//!             sum.set(sum.get() + value);
//!         }
//!     })
//!     .unwrap();
//! assert_eq!(sum.get(), 4 * (0..32).sum::<u64>());
//! assert_eq!(statistics.collectives, 4 * 5);
//!
//! // Lane 7 has left when the others vote.
//! let fault = Emulator::new(1)
//!     .run("early_exit", grid, &|| {
//!         if position().lane() != 7 {
//!             warp_emulator::vote(warp_emulator::Vote::Any, u32::MAX, true);
//!         }
//!     })
//!     .unwrap_err();
//! assert_eq!(fault.kind, warp_emulator::FaultKind::LaneLeft { operation: "any", other_lane: 7 });
//! assert!(fault.to_string().contains("lane 0: any waits for lane 7, which has returned"));
//! ```
//!
//! # Schedule
//! A few blocks are resident at a time, begun in random order. Each step picks one of their warps at random, runs its
//! runnable lanes, in random order, until each waits or returns, and then resolves the operations at which all lanes
//! have arrived. Groups of lanes with disjoint masks meet independently. Everything is drawn from one seed, so a fault
//! or a wrong sum recurs with the same seed. Lanes run one at a time on the calling thread, so a kernel may use a
//! [`Cell`](std::cell::Cell) for global memory.
//!
//! # Rules
//! Some rules are stricter than PTX's, so that a kernel that obeys them runs on all GPUs: the lanes of a mask must call
//! the same operation at the same line, which functions marked `#[track_caller]` pass on; a lane in a mask must exist
//! and must not have returned; the threads of a block must meet at the same line at each [`block_barrier`].
//! [`FaultKind`] lists all rules.
//!
//! # Races
//! Two accesses to the same memory, one of which writes, need a barrier between them, or must both be atomic; otherwise
//! they are a [`FaultKind::Race`]. A warp barrier orders the lanes of its mask and a block barrier the threads of the
//! block; shuffles and votes order nothing, nor do atomic operations, and blocks are ordered only by the end of the
//! launch and by arrivals at a counter ([`Access::Arrive`]), as in PTX. Lanes that set a flag ([`Access::SetFlag`])
//! concurrently do not race, because all write the same. An array that is read as read-only must not be written by the
//! same launch at all, and memory that was [forgotten](Emulator::forget) must be written before it is read.
//!
//! # Limits
//! - A race is found if both accesses happen in the schedule that is run, whichever comes first. An access that depends
//!   on a race may not happen in every schedule. Only accesses that the kernel declares ([`global_access`],
//!   [`global_read_only`]) and those to shared memory are tracked.
//! - A lane that spins without calling [`interleave`] or meeting others is never stopped.
//! - When a lane unwinds, after its own panic or another lane's fault, its destructors do not wait for other lanes:
//!   collectives return the lane's own value at once. A destructor that causes a fault then aborts the process, as one
//!   that panics does.

mod block;
mod collective;
mod coroutine;
mod fault;
mod global;
mod lane;
mod machine;
mod order;
mod position;
mod race;
mod schedule;
mod shared;
mod stack;
mod warp;

pub use collective::{Shuffle, Vote};
pub use fault::{Fault, FaultKind, Space};
pub use global::Contents;
pub use lane::{
    block_barrier, global_access, global_read_only, interleave, match_any, misaligned, out_of_bounds, position,
    shared_compare_and_swap, shared_read, shared_size, shared_write, shuffle, vote, warp_barrier,
};
pub use machine::{Grid, MAXIMUM_THREADS_PER_BLOCK, Statistics};
pub use position::Position;
pub use race::Access;
pub use schedule::Emulator;
pub use shared::MAXIMUM_SHARED_BYTES;

/// The number of lanes of a warp.
pub const WARP_LANES: u32 = 32;
