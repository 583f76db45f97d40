//! Options for the sizes of grids.

use std::num::NonZeroU32;

use lab::tuning::Asked;

#[derive(Clone, Copy, Debug, Default, clap::Args)]
#[command(next_help_heading = "Sizes of grids, on cuda and emulated")]
pub struct Grids {
    /// Threads of a block: a multiple of 32 from 32 to 1024 [default: 256, on the emulator 64]
    #[arg(long, value_name = "N")]
    threads_per_block: Option<u32>,
    /// Largest number of threads of a grid, as a multiple of those that the device holds at a time; a large number
    /// gives each row its own [default: 1, and 16 in kernels that are faster with it]
    #[arg(long, value_name = "N")]
    waves: Option<u32>,
    /// The same grids for all kernels: with one wave, warps stay until all work is done
    #[arg(long)]
    persistent: bool,
    /// Warps for each one that a multiprocessor works on at once, in kernels that add atomically [default: 8, 32 or
    /// 128, by the number of entries]
    #[arg(long, value_name = "N")]
    oversubscription: Option<NonZeroU32>,
}

impl Grids {
    /// The requested sizes.
    pub fn asked(self) -> Asked {
        let Self { threads_per_block, waves, persistent, oversubscription } = self;
        Asked { threads_per_block, waves, persistent, oversubscription }
    }
}
