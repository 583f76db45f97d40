//! The primitives on the GPU: LLVM's NVVM intrinsics for collective operations of lanes (they are marked convergent),
//! PTX for loads, stores and reductions with cache hints (asm! is not).

use core::arch::{asm, global_asm, nvptx};

pub(crate) use nvptx_index::*;

/// A thread's access to memory that others may write; only the emulator uses it.
#[derive(Clone, Copy)]
pub(crate) enum Access {
    Load,
    Store,
    AtomicAdd,
    AtomicOr,
    SetFlag,
    Arrive,
}

mod nvptx_index {
    use super::nvptx;

    #[inline(always)]
    pub(crate) fn thread_idx_x() -> u32 {
        // SAFETY: reads a register.
        unsafe { nvptx::_thread_idx_x() as u32 }
    }

    #[inline(always)]
    pub(crate) fn block_idx_x() -> u32 {
        // SAFETY: reads a register.
        unsafe { nvptx::_block_idx_x() as u32 }
    }

    #[inline(always)]
    pub(crate) fn block_dim_x() -> u32 {
        // SAFETY: reads a register.
        unsafe { nvptx::_block_dim_x() as u32 }
    }

    #[inline(always)]
    pub(crate) fn grid_dim_x() -> u32 {
        // SAFETY: reads a register.
        unsafe { nvptx::_grid_dim_x() as u32 }
    }
}

#[allow(improper_ctypes)]
unsafe extern "unadjusted" {
    #[link_name = "llvm.nvvm.read.ptx.sreg.laneid"]
    fn intrinsic_laneid() -> u32;
    #[link_name = "llvm.nvvm.shfl.sync.up.i32"]
    fn intrinsic_shuffle_up(mask: u32, value: u32, operand: u32, clamp: u32) -> u32;
    #[link_name = "llvm.nvvm.shfl.sync.down.i32"]
    fn intrinsic_shuffle_down(mask: u32, value: u32, operand: u32, clamp: u32) -> u32;
    #[link_name = "llvm.nvvm.shfl.sync.bfly.i32"]
    fn intrinsic_shuffle_xor(mask: u32, value: u32, operand: u32, clamp: u32) -> u32;
    #[link_name = "llvm.nvvm.shfl.sync.idx.i32"]
    fn intrinsic_shuffle_idx(mask: u32, value: u32, operand: u32, clamp: u32) -> u32;
    #[link_name = "llvm.nvvm.vote.ballot.sync"]
    fn intrinsic_ballot(mask: u32, predicate: bool) -> u32;
    #[link_name = "llvm.nvvm.vote.any.sync"]
    fn intrinsic_any(mask: u32, predicate: bool) -> bool;
    #[link_name = "llvm.nvvm.vote.all.sync"]
    fn intrinsic_all(mask: u32, predicate: bool) -> bool;
    #[link_name = "llvm.nvvm.match.any.sync.i32"]
    fn intrinsic_match_any_32(mask: u32, value: u32) -> u32;
    #[link_name = "llvm.nvvm.match.any.sync.i64"]
    fn intrinsic_match_any_64(mask: u32, value: u64) -> u32;
    #[link_name = "llvm.nvvm.bar.warp.sync"]
    fn intrinsic_warp_barrier(mask: u32);
    #[link_name = "llvm.fma.f32"]
    fn intrinsic_fused_f32(a: f32, b: f32, c: f32) -> f32;
    #[link_name = "llvm.fma.f64"]
    fn intrinsic_fused_f64(a: f64, b: f64, c: f64) -> f64;
    #[link_name = "llvm.sqrt.f64"]
    fn intrinsic_square_root(value: f64) -> f64;
}

#[panic_handler]
fn panic(_: &core::panic::PanicInfo) -> ! {
    // SAFETY: stops the kernel with an error that the host sees.
    unsafe { nvptx::trap() }
}

#[inline(always)]
pub(crate) fn lane_id() -> u32 {
    // SAFETY: reads a register.
    unsafe { intrinsic_laneid() }
}

#[inline(always)]
pub(crate) fn sync_threads() {
    // SAFETY: a barrier that some threads of the block do not reach is an error, but the kernel then waits or
    // continues; it accesses no forbidden memory.
    unsafe { nvptx::_syncthreads() }
}

#[inline(always)]
pub(crate) unsafe fn sync_warp(mask: u32) {
    // SAFETY: the caller's promise.
    unsafe { intrinsic_warp_barrier(mask) }
}

pub trait ShuffleMode {
    /// The segment of `width` lanes, encoded for the instruction.
    fn clamp(width: u32) -> u32;
    /// The instruction.
    unsafe fn shuffle(mask: u32, value: u32, operand: u32, clamp: u32) -> u32;
}

macro_rules! shuffle_mode {
    ($name:ident, $intrinsic:ident, $last:expr) => {
        pub struct $name;

        impl ShuffleMode for $name {
            #[inline(always)]
            fn clamp(width: u32) -> u32 {
                (32 - width) << 8 | $last
            }

            #[inline(always)]
            unsafe fn shuffle(mask: u32, value: u32, operand: u32, clamp: u32) -> u32 {
                // SAFETY: the caller's promise.
                unsafe { $intrinsic(mask, value, operand, clamp) }
            }
        }
    };
}

shuffle_mode!(Up, intrinsic_shuffle_up, 0);
shuffle_mode!(Down, intrinsic_shuffle_down, 31);
shuffle_mode!(Xor, intrinsic_shuffle_xor, 31);
shuffle_mode!(Idx, intrinsic_shuffle_idx, 31);

#[inline(always)]
pub(crate) unsafe fn shuffle_32<M: ShuffleMode>(mask: u32, value: u32, operand: u32, width: u32) -> u32 {
    // SAFETY: the caller's promise.
    unsafe { M::shuffle(mask, value, operand, M::clamp(width)) }
}

#[inline(always)]
pub(crate) unsafe fn shuffle_64<M: ShuffleMode>(mask: u32, value: u64, operand: u32, width: u32) -> u64 {
    // SAFETY: the caller's promise.
    let low = unsafe { shuffle_32::<M>(mask, value as u32, operand, width) };
    // SAFETY: the caller's promise.
    let high = unsafe { shuffle_32::<M>(mask, (value >> 32) as u32, operand, width) };
    u64::from(high) << 32 | u64::from(low)
}

#[inline(always)]
pub(crate) unsafe fn ballot(mask: u32, predicate: bool) -> u32 {
    // SAFETY: the caller's promise.
    unsafe { intrinsic_ballot(mask, predicate) }
}

#[inline(always)]
pub(crate) unsafe fn any(mask: u32, predicate: bool) -> bool {
    // SAFETY: the caller's promise.
    unsafe { intrinsic_any(mask, predicate) }
}

#[inline(always)]
pub(crate) unsafe fn all(mask: u32, predicate: bool) -> bool {
    // SAFETY: the caller's promise.
    unsafe { intrinsic_all(mask, predicate) }
}

#[inline(always)]
pub(crate) unsafe fn match_any_32(mask: u32, value: u32) -> u32 {
    // SAFETY: the caller's promise.
    unsafe { intrinsic_match_any_32(mask, value) }
}

#[inline(always)]
pub(crate) unsafe fn match_any_64(mask: u32, value: u64) -> u32 {
    // SAFETY: the caller's promise.
    unsafe { intrinsic_match_any_64(mask, value) }
}

#[inline(always)]
pub(crate) fn fused_f32(a: f32, b: f32, c: f32) -> f32 {
    // SAFETY: plain arithmetic.
    unsafe { intrinsic_fused_f32(a, b, c) }
}

#[inline(always)]
pub(crate) fn fused_f64(a: f64, b: f64, c: f64) -> f64 {
    // SAFETY: plain arithmetic.
    unsafe { intrinsic_fused_f64(a, b, c) }
}

#[inline(always)]
pub(crate) fn square_root(value: f64) -> f64 {
    // SAFETY: plain arithmetic.
    unsafe { intrinsic_square_root(value) }
}

/// Requests the line of L2 with an address, without waiting for it.
///
/// # Safety
/// The address is in global memory.
#[inline(always)]
pub(crate) unsafe fn prefetch(address: *const u8) {
    // SAFETY: the instruction reads no element, and writes nothing.
    unsafe { asm!("prefetch.global.L2 [{}];", in(reg64) address, options(nostack, preserves_flags)) };
}

// The loads read what no one writes while the kernel runs, so they are `pure` and `nomem`: the compiler may batch them
// ahead of their use. Generic and global addresses are the same numbers on every GPU so far.
macro_rules! reads {
    ($type:ident, $class:ident, $bits:literal, $one:ident, $streaming:ident, $two:ident, $apart:ident) => {
        #[inline(always)]
        pub(crate) unsafe fn $one(address: *const $type) -> $type {
            let value;
            // SAFETY: the caller's promise.
            unsafe {
                asm!(
                    concat!("ld.global.nc.b", $bits, " {}, [{}];"),
                    out($class) value, in(reg64) address,
                    options(pure, nomem, nostack, preserves_flags)
                );
            }
            value
        }

        #[inline(always)]
        pub(crate) unsafe fn $streaming(address: *const $type) -> $type {
            let value;
            // SAFETY: the caller's promise.
            unsafe {
                asm!(
                    concat!("ld.global.nc.L1::no_allocate.b", $bits, " {}, [{}];"),
                    out($class) value, in(reg64) address,
                    options(pure, nomem, nostack, preserves_flags)
                );
            }
            value
        }

        #[inline(always)]
        pub(crate) unsafe fn $two(address: *const $type) -> [$type; 2] {
            let (a, b);
            // SAFETY: the caller's promise.
            unsafe {
                asm!(
                    concat!("ld.global.nc.L1::no_allocate.v2.b", $bits, " {{{}, {}}}, [{}];"),
                    out($class) a, out($class) b, in(reg64) address,
                    options(pure, nomem, nostack, preserves_flags)
                );
            }
            [a, b]
        }

        // One statement, so that no use of the first comes before the last is requested, and with its own sums: kept
        // across the steps of a loop, four addresses take so many registers that loads wait for each other.
        #[inline(always)]
        pub(crate) unsafe fn $apart(address: *const $type, step: u64, count: u32, absent: $type) -> [$type; 4] {
            let (a, b, c, d);
            // SAFETY: the caller's promise; elements from `count` on are not loaded.
            unsafe {
                asm!(
                    // No line is a brace alone, because such a line marks the end of a kernel.
                    "{{ .reg .b64 place; .reg .pred there;",
                    concat!("mov.b", $bits, " {a}, {absent};"),
                    concat!("mov.b", $bits, " {b}, {absent};"),
                    concat!("mov.b", $bits, " {c}, {absent};"),
                    concat!("mov.b", $bits, " {d}, {absent};"),
                    "setp.gt.u32 there, {count}, 0;",
                    concat!("@there ld.global.nc.L1::no_allocate.b", $bits, " {a}, [{address}];"),
                    "add.s64 place, {address}, {step};",
                    "setp.gt.u32 there, {count}, 1;",
                    concat!("@there ld.global.nc.L1::no_allocate.b", $bits, " {b}, [place];"),
                    "add.s64 place, place, {step};",
                    "setp.gt.u32 there, {count}, 2;",
                    concat!("@there ld.global.nc.L1::no_allocate.b", $bits, " {c}, [place];"),
                    "add.s64 place, place, {step};",
                    "setp.gt.u32 there, {count}, 3;",
                    concat!("@there ld.global.nc.L1::no_allocate.b", $bits, " {d}, [place]; }}"),
                    a = out($class) a, b = out($class) b, c = out($class) c, d = out($class) d,
                    address = in(reg64) address, step = in(reg64) step * size_of::<$type>() as u64,
                    count = in(reg32) count, absent = in($class) absent,
                    options(pure, nomem, nostack, preserves_flags)
                );
            }
            [a, b, c, d]
        }
    };
}

reads!(u32, reg32, "32", read_32, read_streaming_32, read_streaming_2x32, read_streaming_apart_32);
reads!(u64, reg64, "64", read_64, read_streaming_64, read_streaming_2x64, read_streaming_apart_64);

#[inline(always)]
pub(crate) unsafe fn read_streaming_4x32(address: *const u32) -> [u32; 4] {
    let (a, b, c, d);
    // SAFETY: the caller's promise.
    unsafe {
        asm!(
            "ld.global.nc.L1::no_allocate.v4.b32 {{{}, {}, {}, {}}}, [{}];",
            out(reg32) a, out(reg32) b, out(reg32) c, out(reg32) d, in(reg64) address,
            options(pure, nomem, nostack, preserves_flags)
        );
    }
    [a, b, c, d]
}

#[inline(always)]
pub(crate) unsafe fn read_streaming_4x64(address: *const u64) -> [u64; 4] {
    // SAFETY: the caller's promise.
    let [[a, b], [c, d]] = unsafe { read_streaming_2_pairs_64(address.cast()) };
    [a, b, c, d]
}

// Numbers of 8 and 16 bits are loaded into registers of 32 bits, and several at once as one wide number.
macro_rules! narrow_reads {
    ($type:ident, $bits:literal, $one:ident, $streaming:ident, $apart:ident) => {
        #[inline(always)]
        pub(crate) unsafe fn $one(address: *const $type) -> $type {
            let value: u32;
            // SAFETY: the caller's promise.
            unsafe {
                asm!(
                    concat!("ld.global.nc.u", $bits, " {}, [{}];"),
                    out(reg32) value, in(reg64) address,
                    options(pure, nomem, nostack, preserves_flags)
                );
            }
            value as $type
        }

        #[inline(always)]
        pub(crate) unsafe fn $streaming(address: *const $type) -> $type {
            let value: u32;
            // SAFETY: the caller's promise.
            unsafe {
                asm!(
                    concat!("ld.global.nc.L1::no_allocate.u", $bits, " {}, [{}];"),
                    out(reg32) value, in(reg64) address,
                    options(pure, nomem, nostack, preserves_flags)
                );
            }
            value as $type
        }

        /// As for 32 and 64 bits.
        #[inline(always)]
        pub(crate) unsafe fn $apart(address: *const $type, step: u64, count: u32, absent: $type) -> [$type; 4] {
            let (a, b, c, d): (u32, u32, u32, u32);
            // SAFETY: the caller's promise; elements from `count` on are not loaded.
            unsafe {
                asm!(
                    "{{ .reg .b64 place; .reg .pred there;",
                    "mov.b32 {a}, {absent};",
                    "mov.b32 {b}, {absent};",
                    "mov.b32 {c}, {absent};",
                    "mov.b32 {d}, {absent};",
                    "setp.gt.u32 there, {count}, 0;",
                    concat!("@there ld.global.nc.L1::no_allocate.u", $bits, " {a}, [{address}];"),
                    "add.s64 place, {address}, {step};",
                    "setp.gt.u32 there, {count}, 1;",
                    concat!("@there ld.global.nc.L1::no_allocate.u", $bits, " {b}, [place];"),
                    "add.s64 place, place, {step};",
                    "setp.gt.u32 there, {count}, 2;",
                    concat!("@there ld.global.nc.L1::no_allocate.u", $bits, " {c}, [place];"),
                    "add.s64 place, place, {step};",
                    "setp.gt.u32 there, {count}, 3;",
                    concat!("@there ld.global.nc.L1::no_allocate.u", $bits, " {d}, [place]; }}"),
                    a = out(reg32) a, b = out(reg32) b, c = out(reg32) c, d = out(reg32) d,
                    address = in(reg64) address, step = in(reg64) step * size_of::<$type>() as u64,
                    count = in(reg32) count, absent = in(reg32) u32::from(absent),
                    options(pure, nomem, nostack, preserves_flags)
                );
            }
            [a as $type, b as $type, c as $type, d as $type]
        }
    };
}

narrow_reads!(u8, "8", read_8, read_streaming_8, read_streaming_apart_8);
narrow_reads!(u16, "16", read_16, read_streaming_16, read_streaming_apart_16);

#[inline(always)]
pub(crate) unsafe fn read_streaming_2x8(address: *const u8) -> [u8; 2] {
    // SAFETY: the caller's promise.
    unsafe { read_streaming_16(address.cast()) }.to_le_bytes()
}

#[inline(always)]
pub(crate) unsafe fn read_streaming_4x8(address: *const u8) -> [u8; 4] {
    // SAFETY: the caller's promise.
    unsafe { read_streaming_32(address.cast()) }.to_le_bytes()
}

#[inline(always)]
pub(crate) unsafe fn read_streaming_2x16(address: *const u16) -> [u16; 2] {
    // SAFETY: the caller's promise.
    let both = unsafe { read_streaming_32(address.cast()) };
    [both as u16, (both >> 16) as u16]
}

#[inline(always)]
pub(crate) unsafe fn read_streaming_4x16(address: *const u16) -> [u16; 4] {
    // SAFETY: the caller's promise.
    let all = unsafe { read_streaming_64(address.cast()) };
    [all as u16, (all >> 16) as u16, (all >> 32) as u16, (all >> 48) as u16]
}

/// The binary16 number with these bits, as an `f32`.
#[inline(always)]
pub(crate) fn half_to_f32(bits: u16) -> f32 {
    let value;
    // SAFETY: plain arithmetic.
    unsafe {
        asm!("cvt.f32.f16 {}, {};", out(reg32) value, in(reg16) bits, options(pure, nomem, nostack, preserves_flags));
    }
    value
}

/// The bits of the nearest binary16 number.
#[inline(always)]
pub(crate) fn half_of_f32(value: f32) -> u16 {
    let bits;
    // SAFETY: plain arithmetic.
    unsafe {
        asm!("cvt.rn.f16.f32 {}, {};", out(reg16) bits, in(reg32) value, options(pure, nomem, nostack, preserves_flags));
    }
    bits
}

// A number of two parts is moved by one instruction, of 8 or 16 bytes. It is aligned if its index or offset is, because
// arrays begin at multiples of 256 bytes, and shared memory at a multiple of 16.
macro_rules! pairs {
    (
        $type:ident, $class:ident, $bits:literal, $bytes:literal, $aligned:ident, $read:ident, $apart:ident, $load:ident,
        $store:ident, $shared_read:ident, $shared_write:ident, $shuffle:ident, $shuffle_part:ident
    ) => {
        /// Two parts that are moved by one instruction.
        #[repr(align($bytes))]
        struct $aligned([$type; 2]);

        #[inline(always)]
        pub(crate) unsafe fn $read(address: *const [$type; 2]) -> [$type; 2] {
            let (a, b);
            // SAFETY: the caller's promise.
            unsafe {
                asm!(
                    concat!("ld.global.nc.v2.b", $bits, " {{{}, {}}}, [{}];"),
                    out($class) a, out($class) b, in(reg64) address,
                    options(pure, nomem, nostack, preserves_flags)
                );
            }
            [a, b]
        }

        /// As for a single part.
        #[inline(always)]
        pub(crate) unsafe fn $apart(
            address: *const [$type; 2],
            step: u64,
            count: u32,
            absent: [$type; 2],
        ) -> [[$type; 2]; 4] {
            let (a, b, c, d, e, f, g, h);
            // SAFETY: the caller's promise; elements from `count` on are not loaded.
            unsafe {
                asm!(
                    "{{ .reg .b64 place; .reg .pred there;",
                    concat!("mov.b", $bits, " {a}, {first}; mov.b", $bits, " {b}, {second};"),
                    concat!("mov.b", $bits, " {c}, {first}; mov.b", $bits, " {d}, {second};"),
                    concat!("mov.b", $bits, " {e}, {first}; mov.b", $bits, " {f}, {second};"),
                    concat!("mov.b", $bits, " {g}, {first}; mov.b", $bits, " {h}, {second};"),
                    "setp.gt.u32 there, {count}, 0;",
                    concat!("@there ld.global.nc.L1::no_allocate.v2.b", $bits, " {{{a}, {b}}}, [{address}];"),
                    "add.s64 place, {address}, {step};",
                    "setp.gt.u32 there, {count}, 1;",
                    concat!("@there ld.global.nc.L1::no_allocate.v2.b", $bits, " {{{c}, {d}}}, [place];"),
                    "add.s64 place, place, {step};",
                    "setp.gt.u32 there, {count}, 2;",
                    concat!("@there ld.global.nc.L1::no_allocate.v2.b", $bits, " {{{e}, {f}}}, [place];"),
                    "add.s64 place, place, {step};",
                    "setp.gt.u32 there, {count}, 3;",
                    concat!("@there ld.global.nc.L1::no_allocate.v2.b", $bits, " {{{g}, {h}}}, [place]; }}"),
                    a = out($class) a, b = out($class) b, c = out($class) c, d = out($class) d,
                    e = out($class) e, f = out($class) f, g = out($class) g, h = out($class) h,
                    address = in(reg64) address, step = in(reg64) step * $bytes, count = in(reg32) count,
                    first = in($class) absent[0], second = in($class) absent[1],
                    options(pure, nomem, nostack, preserves_flags)
                );
            }
            [[a, b], [c, d], [e, f], [g, h]]
        }

        #[inline(always)]
        pub(crate) unsafe fn $load(address: *const [$type; 2]) -> [$type; 2] {
            // SAFETY: the caller's promise; a whole number of elements past the start of the array, it is aligned.
            unsafe { (*address.cast::<$aligned>()).0 }
        }

        #[inline(always)]
        pub(crate) unsafe fn $store(address: *mut [$type; 2], value: [$type; 2]) {
            // SAFETY: as for a load.
            unsafe { *address.cast::<$aligned>() = $aligned(value) }
        }

        #[inline(always)]
        pub(crate) unsafe fn $shared_read(offset: u32) -> [$type; 2] {
            let (a, b);
            // SAFETY: the caller's promise.
            unsafe {
                asm!(
                    concat!("ld.shared.v2.b", $bits, " {{{}, {}}}, [{}];"),
                    out($class) a, out($class) b, in(reg32) shared_base() + offset,
                    options(readonly, nostack, preserves_flags)
                );
            }
            [a, b]
        }

        #[inline(always)]
        pub(crate) unsafe fn $shared_write(offset: u32, [a, b]: [$type; 2]) {
            // SAFETY: the caller's promise.
            unsafe {
                asm!(
                    concat!("st.shared.v2.b", $bits, " [{}], {{{}, {}}};"),
                    in(reg32) shared_base() + offset, in($class) a, in($class) b,
                    options(nostack, preserves_flags)
                );
            }
        }

        #[inline(always)]
        pub(crate) unsafe fn $shuffle<M: ShuffleMode>(
            mask: u32,
            [a, b]: [$type; 2],
            operand: u32,
            width: u32,
        ) -> [$type; 2] {
            // SAFETY: the caller's promise.
            let a = unsafe { $shuffle_part::<M>(mask, a, operand, width) };
            // SAFETY: the caller's promise.
            [a, unsafe { $shuffle_part::<M>(mask, b, operand, width) }]
        }
    };
}

pairs!(
    u32,
    reg32,
    "32",
    8,
    Aligned8,
    read_pair_32,
    read_streaming_pairs_apart_32,
    load_pair_32,
    store_pair_32,
    shared_read_pair_32,
    shared_write_pair_32,
    shuffle_pair_32,
    shuffle_32
);
pairs!(
    u64,
    reg64,
    "64",
    16,
    Aligned16,
    read_pair_64,
    read_streaming_pairs_apart_64,
    load_pair_64,
    store_pair_64,
    shared_read_pair_64,
    shared_write_pair_64,
    shuffle_pair_64,
    shuffle_64
);

#[inline(always)]
pub(crate) unsafe fn read_streaming_pair_32(address: *const [u32; 2]) -> [u32; 2] {
    // SAFETY: the caller's promise.
    unsafe { read_streaming_2x32(address.cast()) }
}

#[inline(always)]
pub(crate) unsafe fn read_streaming_2_pairs_32(address: *const [u32; 2]) -> [[u32; 2]; 2] {
    // SAFETY: the caller's promise.
    let [a, b, c, d] = unsafe { read_streaming_4x32(address.cast()) };
    [[a, b], [c, d]]
}

#[inline(always)]
pub(crate) unsafe fn read_streaming_4_pairs_32(address: *const [u32; 2]) -> [[u32; 2]; 4] {
    // SAFETY: the caller's promise.
    let [[a, b], [c, d]] = unsafe { read_streaming_2_pairs_64(address.cast()) };
    [a, b, c, d].map(|pair| [pair as u32, (pair >> 32) as u32])
}

#[inline(always)]
pub(crate) unsafe fn read_streaming_pair_64(address: *const [u64; 2]) -> [u64; 2] {
    // SAFETY: the caller's promise.
    unsafe { read_streaming_2x64(address.cast()) }
}

#[inline(always)]
pub(crate) unsafe fn read_streaming_2_pairs_64(address: *const [u64; 2]) -> [[u64; 2]; 2] {
    // A load is 16 bytes at most, and a sector 32: the L1 cache keeps its other half for the second load, instead of
    // requesting the sector twice.
    // SAFETY: the caller's promise.
    [0, 1].map(|number| unsafe { read_pair_64(address.add(number)) })
}

#[inline(always)]
pub(crate) unsafe fn read_streaming_4_pairs_64(address: *const [u64; 2]) -> [[u64; 2]; 4] {
    // SAFETY: the caller's promise.
    let [a, b] = unsafe { read_streaming_2_pairs_64(address) };
    // SAFETY: the caller's promise, for the second half of the 64 bytes.
    let [c, d] = unsafe { read_streaming_2_pairs_64(address.add(2)) };
    [a, b, c, d]
}

#[inline(always)]
pub(crate) unsafe fn atomic_add_f32(place: *mut f32, value: f32) -> f32 {
    let before;
    // SAFETY: the caller's promise.
    unsafe {
        asm!("atom.global.add.f32 {}, [{}], {};", out(reg32) before, in(reg64) place, in(reg32) value, options(nostack));
    }
    before
}

#[inline(always)]
pub(crate) unsafe fn atomic_add_f64(place: *mut f64, value: f64) -> f64 {
    let before;
    // SAFETY: the caller's promise.
    unsafe {
        asm!("atom.global.add.f64 {}, [{}], {};", out(reg64) before, in(reg64) place, in(reg64) value, options(nostack));
    }
    before
}

#[inline(always)]
pub(crate) unsafe fn atomic_or(place: *mut u32, bits: u32) {
    // SAFETY: the caller's promise.
    unsafe {
        asm!("red.global.or.b32 [{}], {};", in(reg64) place, in(reg32) bits, options(nostack));
    }
}

/// Adds 1, wrapping from `limit` to 0, and returns the old value. Releases this thread's earlier accesses.
#[inline(always)]
pub(crate) unsafe fn count_up(place: *mut u32, limit: u32) -> u32 {
    let before;
    // SAFETY: the caller's promise.
    unsafe {
        asm!(
            "atom.release.gpu.global.inc.u32 {}, [{}], {};",
            out(reg32) before, in(reg64) place, in(reg32) limit,
            options(nostack)
        );
    }
    before
}

/// Acquires what was released by the threads whose counting this thread has seen.
#[inline(always)]
pub(crate) unsafe fn acquire() {
    // SAFETY: a fence accesses no memory.
    unsafe { asm!("fence.acq_rel.gpu;", options(nostack)) };
}

/// Writes a number so that other GPUs that see it also see this thread's earlier writes.
#[inline(always)]
pub(crate) unsafe fn publish(place: *mut u64, value: u64) {
    // SAFETY: the caller's promise.
    unsafe { asm!("st.release.sys.global.u64 [{}], {};", in(reg64) place, in(reg64) value, options(nostack)) };
}

/// Reads a number that another GPU may write concurrently, before this thread's later reads.
#[inline(always)]
pub(crate) unsafe fn observe(place: *const u64) -> u64 {
    let value;
    // SAFETY: the caller's promise.
    unsafe { asm!("ld.acquire.sys.global.u64 {}, [{}];", out(reg64) value, in(reg64) place, options(nostack)) };
    value
}

/// Like [`observe`], without an order to later reads.
#[inline(always)]
pub(crate) unsafe fn load_coherent(place: *const u64) -> u64 {
    let value;
    // SAFETY: the caller's promise.
    unsafe { asm!("ld.relaxed.sys.global.u64 {}, [{}];", out(reg64) value, in(reg64) place, options(nostack)) };
    value
}

#[inline(always)]
pub(crate) fn nanoseconds() -> u64 {
    let time;
    // SAFETY: reads a register.
    unsafe { asm!("mov.u64 {}, %globaltimer;", out(reg64) time, options(nomem, nostack)) };
    time
}

global_asm!(".extern .shared .align 16 .b8 dynamic_shared_memory[];");

macro_rules! shared {
    ($type:ident, $class:ident, $bits:literal, $read:ident, $write:ident) => {
        #[inline(always)]
        pub(crate) unsafe fn $read(offset: u32) -> $type {
            let value;
            // SAFETY: the caller's promise.
            unsafe {
                asm!(
                    concat!("ld.shared.b", $bits, " {}, [{}];"),
                    out($class) value, in(reg32) shared_base() + offset,
                    options(readonly, nostack, preserves_flags)
                );
            }
            value
        }

        #[inline(always)]
        pub(crate) unsafe fn $write(offset: u32, value: $type) {
            // SAFETY: the caller's promise.
            unsafe {
                asm!(
                    concat!("st.shared.b", $bits, " [{}], {};"),
                    in(reg32) shared_base() + offset, in($class) value,
                    options(nostack, preserves_flags)
                );
            }
        }
    };
}

#[inline(always)]
pub(crate) unsafe fn shared_compare_and_swap(offset: u32, expected: u32, new: u32) -> u32 {
    let before;
    // SAFETY: the caller's promise.
    unsafe {
        asm!(
            "atom.shared.cas.b32 {}, [{}], {}, {};",
            out(reg32) before, in(reg32) shared_base() + offset, in(reg32) expected, in(reg32) new,
            options(nostack)
        );
    }
    before
}

#[inline(always)]
pub(crate) unsafe fn shared_peek(offset: u32) -> u32 {
    let value;
    // SAFETY: the caller's promise.
    unsafe {
        asm!(
            "ld.relaxed.cta.shared.b32 {}, [{}];",
            out(reg32) value, in(reg32) shared_base() + offset,
            options(nostack)
        );
    }
    value
}

shared!(u32, reg32, "32", shared_read_32, shared_write_32);
shared!(u64, reg64, "64", shared_read_64, shared_write_64);

#[inline(always)]
fn shared_base() -> u32 {
    let base;
    // SAFETY: the address of a variable.
    unsafe {
        asm!("mov.u32 {}, dynamic_shared_memory;", out(reg32) base, options(pure, nomem, nostack, preserves_flags));
    }
    base
}
