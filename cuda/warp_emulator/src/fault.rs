//! Faults of a kernel: behaviour that a GPU leaves undefined, and its source location.

use std::fmt;
use std::panic::Location;

use crate::Position;

/// A kernel broke a rule or could not run; records the rule and the source location.
///
/// It prints as one line: "kernel csr_vector_f64: block 3, warp 1, lane 7: load at index 120 of an array of
/// length 100 (src/csr.rs:41)".
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub struct Fault {
    /// The name given to [`Emulator::run`](crate::Emulator::run).
    pub kernel: String,
    /// The block; `None` for a fault of the whole launch.
    pub block: Option<u32>,
    /// The warp in its block.
    pub warp: Option<u32>,
    /// The lane in its warp; `None` for a fault of the whole warp. If a lane waits in vain, it is the waiting one.
    pub lane: Option<u32>,
    /// The line in the kernel: the caller of the function that detected the fault, through all functions marked
    /// `#[track_caller]`. `None` for a panic, whose line is printed by the panic hook.
    pub location: Option<&'static Location<'static>>,
    /// What happened.
    pub kind: FaultKind,
}

/// A kind of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Space {
    /// An array in global memory.
    Global,
    /// The memory of a block.
    Shared,
}

impl fmt::Display for Space {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Global => "an array",
            Self::Shared => "shared memory",
        })
    }
}

/// The rule that a kernel broke, or the reason why it could not run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FaultKind {
    /// No GPU can launch the grid.
    #[error("invalid grid: {what} is {value}, expected {minimum} to {maximum}")]
    InvalidGrid {
        /// The offending part of the grid.
        what: &'static str,
        /// Its value.
        value: u32,
        /// The smallest valid value.
        minimum: u32,
        /// The largest valid value.
        maximum: u32,
    },
    /// The emulator was started by a lane of an emulator, or by a destructor while a panic unwinds.
    #[error("the emulator cannot be started from inside a lane or while a panic unwinds")]
    Nested,
    /// The system provided no memory for a lane's stack.
    #[error("no stack for a lane: {reason}")]
    Stack {
        /// The system's error message.
        reason: String,
    },
    /// A lane panicked.
    #[error("panicked: {}", one_line(message))]
    Panic {
        /// The panic's message.
        message: String,
    },
    /// An access to global memory outside its array.
    #[error("{access} at index {index} of an array of length {length}")]
    OutOfBounds {
        /// The kind of access, such as "load".
        access: &'static str,
        /// The index.
        index: u64,
        /// The array's length.
        length: u64,
    },
    /// An access to several elements at once at an address that is not a multiple of its size.
    #[error("{access} of {bytes} bytes at index {index}, which is not aligned to {bytes} bytes")]
    Misaligned {
        /// The kind of access, such as "load".
        access: &'static str,
        /// The index of the first element.
        index: u64,
        /// The size of the access.
        bytes: u32,
    },
    /// An access outside the block's shared memory.
    #[error("{access} of {length} bytes at offset {offset} of a shared memory of {size} bytes")]
    SharedOutOfBounds {
        /// "shared load" or "shared store".
        access: &'static str,
        /// The first byte.
        offset: u32,
        /// The number of bytes.
        length: usize,
        /// The size of the block's shared memory.
        size: u32,
    },
    /// A load of shared memory that no lane of the block has written.
    #[error("shared load at offset {offset}, which nobody has written")]
    SharedUninitialized {
        /// The first byte that was not written.
        offset: u32,
    },
    /// Two accesses to the same memory that are ordered by no barrier, not both atomic, and of which one writes.
    #[error(
        "{access} at {} {index} of {space} races with the {other_access} of block {other_block}, warp {other_warp}, \
         lane {other_lane} ({})",
        unit(*space),
        place(other_location)
    )]
    Race {
        /// The kind of access, such as "store".
        access: &'static str,
        /// The memory of both accesses.
        space: Space,
        /// The element of the array, or the byte of shared memory.
        index: u64,
        /// The other lane's access.
        other_access: &'static str,
        /// The other lane's block.
        other_block: u32,
        /// The other lane's warp.
        other_warp: u32,
        /// The other lane.
        other_lane: u32,
        /// The source location of the other access.
        other_location: &'static Location<'static>,
    },
    /// A write to an array that the kernel also reads as read-only.
    #[error("{access} at index {index} of an array that is read-only elsewhere ({})", place(other_location))]
    ReadOnly {
        /// The kind of access, such as "store".
        access: &'static str,
        /// The index.
        index: u64,
        /// The source location of the read.
        other_location: &'static Location<'static>,
    },
    /// A read-only load from an array that the kernel has written to.
    #[error("read-only load at index {index} of an array with a {other_access} elsewhere ({})", place(other_location))]
    ReadOnlyWritten {
        /// The index.
        index: u64,
        /// The access to the array.
        other_access: &'static str,
        /// Its source location.
        other_location: &'static Location<'static>,
    },
    /// A load of global memory that has never been written.
    #[error("{access} at index {index}, which nobody has written")]
    Uninitialized {
        /// The kind of access, such as "load".
        access: &'static str,
        /// The index.
        index: u64,
    },
    /// A lane calls a collective with a mask that lacks the lane itself.
    #[error("{operation} with mask {mask:#010x}, which lacks the lane itself")]
    NotInMask {
        /// The collective.
        operation: &'static str,
        /// The mask.
        mask: u32,
    },
    /// The width of a shuffle is not a power of two up to 32.
    #[error("shuffle of width {width}, expected a power of two from 1 to 32")]
    InvalidWidth {
        /// The width.
        width: u32,
    },
    /// A shuffle reads a lane that is not in the mask.
    #[error("{operation} reads lane {source_lane}, which is not in mask {mask:#010x}")]
    ShuffleSource {
        /// The shuffle.
        operation: &'static str,
        /// The lane that it reads.
        source_lane: u32,
        /// The mask.
        mask: u32,
    },
    /// The mask contains a lane that the last warp of the block does not have.
    #[error("{operation} with mask {mask:#010x} in a warp of {lanes} lanes")]
    LaneAbsent {
        /// The collective.
        operation: &'static str,
        /// The mask.
        mask: u32,
        /// The number of lanes of the warp.
        lanes: u32,
    },
    /// A lane waits for one that has returned from the kernel.
    #[error("{operation} waits for lane {other_lane}, which has returned")]
    LaneLeft {
        /// The collective.
        operation: &'static str,
        /// The lane that returned.
        other_lane: u32,
    },
    /// Two lanes wait for each other at the same time, with different masks.
    #[error(
        "{operation} with mask {mask:#010x} waits for lane {other_lane}, which waits with mask {other_mask:#010x} \
         ({})",
        place(other_location)
    )]
    MaskMismatch {
        /// The collective.
        operation: &'static str,
        /// The lane's mask.
        mask: u32,
        /// The lane that it waits for.
        other_lane: u32,
        /// That lane's mask.
        other_mask: u32,
        /// The source location of that lane.
        other_location: &'static Location<'static>,
    },
    /// Two lanes wait for each other in different operations, or at different source locations.
    #[error("{operation} waits for lane {other_lane}, which is at {other_operation} ({})", place(other_location))]
    Divergent {
        /// The lane's operation.
        operation: &'static str,
        /// The lane that it waits for.
        other_lane: u32,
        /// That lane's operation.
        other_operation: &'static str,
        /// Its source location.
        other_location: &'static Location<'static>,
    },
    /// A block barrier waits for a lane that has returned from the kernel.
    #[error("block barrier waits for warp {other_warp}, lane {other_lane}, which has returned")]
    BarrierLeft {
        /// The warp of the lane that returned.
        other_warp: u32,
        /// The lane that returned.
        other_lane: u32,
    },
    /// The lanes of a block have met at different block barriers.
    #[error("block barrier, and warp {other_warp}, lane {other_lane} is at another one ({})", place(other_location))]
    BarrierDivergent {
        /// The warp of the first lane at another barrier.
        other_warp: u32,
        /// That lane.
        other_lane: u32,
        /// Its source location.
        other_location: &'static Location<'static>,
    },
    /// The lanes of a warp wait for each other in a cycle.
    #[error("{operation} waits forever: no lane of the block can continue")]
    Deadlock {
        /// The operation in which the lane waits.
        operation: &'static str,
    },
    /// A warp took more steps than the limit, most likely because it spins on a condition that never becomes true.
    #[error("no end after {limit} steps of the warp")]
    StepLimit {
        /// The limit.
        limit: u64,
    },
}

impl Fault {
    /// A fault of the whole launch.
    pub(crate) fn of_launch(kernel: &str, kind: FaultKind) -> Self {
        Self { kernel: kernel.to_owned(), block: None, warp: None, lane: None, location: None, kind }
    }

    /// A fault of one lane.
    pub(crate) fn of_lane(
        kernel: &str,
        position: Position,
        location: Option<&'static Location<'static>>,
        kind: FaultKind,
    ) -> Self {
        Self {
            kernel: kernel.to_owned(),
            block: Some(position.block),
            warp: Some(position.warp()),
            lane: Some(position.lane()),
            location,
            kind,
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "kernel {}: ", one_line(&self.kernel))?;
        let mut separator = "";
        for (name, number) in [("block", self.block), ("warp", self.warp), ("lane", self.lane)] {
            if let Some(number) = number {
                write!(f, "{separator}{name} {number}")?;
                separator = ", ";
            }
        }
        if !separator.is_empty() {
            f.write_str(": ")?;
        }
        write!(f, "{}", self.kind)?;
        match self.location {
            Some(location) => write!(f, " ({})", place(location)),
            None => Ok(()),
        }
    }
}

fn unit(space: Space) -> &'static str {
    match space {
        Space::Global => "index",
        Space::Shared => "byte",
    }
}

fn place(location: &Location<'_>) -> String {
    format!("{}:{}", location.file(), location.line())
}

fn one_line(text: &str) -> String {
    text.lines().map(str::trim).collect::<Vec<_>>().join("; ")
}
