//! Passes over vectors: per element, some vectors are read, some are written, and some products are added up.
//!
//! The operation on an element is written once, for the kernel and for the CPU, and with plain multiplications and
//! additions, so that it gives the same bits on both. To add a pass, add it to the list: this also creates its kernel.

use core::marker::PhantomData;

use cuda_std::thread::{block_idx_x, grid_dim_x, grid_threads, index_1d, sync_threads};
use cuda_std::{EntryName, Global, GlobalMut, GpuFloat, GpuScalar, Plain, kernel};

use super::program::STATUS;
use crate::block::unrolled;
use crate::block_sums::{put_sum_of_warp, store_sums_of_block};

/// Largest number of coefficients of a pass.
pub const MOST_COEFFICIENTS: usize = 6;
/// Largest number of vectors that a pass only reads.
pub const MOST_READ: usize = 4;
/// Largest number of vectors that a pass writes.
pub const MOST_WRITTEN: usize = 8;
/// Largest number of sums of a pass.
pub const MOST_SUMS: usize = 4;

/// The operation on each element. The arrays have the largest sizes; only their first elements are used.
pub trait Pass: EntryName + Copy + Send + Sync + 'static {
    /// Number of coefficients.
    const COEFFICIENTS: usize;
    /// Number of vectors that are only read.
    const READ: usize;
    /// Number of vectors that are overwritten and never read; they come first among the written ones.
    const OVERWRITTEN: usize;
    /// Number of vectors that are written.
    const WRITTEN: usize;
    /// Number of sums of products.
    const SUMS: usize;

    /// Computes the written vectors' elements, and returns the factors of the products.
    fn element<T: GpuFloat>(
        coefficients: [T; MOST_COEFFICIENTS],
        read: [T; MOST_READ],
        written: &mut [T; MOST_WRITTEN],
    ) -> [(T, T); MOST_SUMS];
}

/// The slots of the coefficients of a pass.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Slots<P> {
    /// Only the first [`COEFFICIENTS`](Pass::COEFFICIENTS) are used.
    pub places: [u32; MOST_COEFFICIENTS],
    /// The pass has no content.
    pub pass: PhantomData<P>,
}

// SAFETY: numbers of 32 bits.
unsafe impl<P: Pass> Plain for Slots<P> {}

/// Number of identifiers.
macro_rules! count {
    ($($item:tt)*) => { <[&str]>::len(&[$(stringify!($item)),*]) };
}

/// The list, padded with zeros.
macro_rules! four_pairs {
    () => {
        four_pairs!((T::ZERO, T::ZERO))
    };
    ($a:expr) => {
        four_pairs!($a, (T::ZERO, T::ZERO))
    };
    ($a:expr, $b:expr) => {
        four_pairs!($a, $b, (T::ZERO, T::ZERO))
    };
    ($a:expr, $b:expr, $c:expr) => {
        [$a, $b, $c, (T::ZERO, T::ZERO)]
    };
}

/// Defines the passes, and a kernel for each in both precisions.
macro_rules! passes {
    ($(
        $(#[$documentation:meta])*
        $name:ident: coefficients [$($coefficient:ident)*], reads [$($read:ident)*], overwrites [$($new:ident)*],
        updates [$($updated:ident)*], $body:block, sums [$($sum:expr),*];
    )*) => {
        $(
            $(#[$documentation])*
            #[derive(Clone, Copy, Debug)]
            pub struct $name;

            // SAFETY: each pass is named after itself.
            unsafe impl EntryName for $name {
                const ENTRY_NAME: &'static str = stringify!($name);
            }

            impl Pass for $name {
                const COEFFICIENTS: usize = count!($($coefficient)*);
                const READ: usize = count!($($read)*);
                const OVERWRITTEN: usize = count!($($new)*);
                const WRITTEN: usize = count!($($new)* $($updated)*);
                const SUMS: usize = count!($(($sum))*);

                #[inline(always)]
                fn element<T: GpuFloat>(
                    [$($coefficient,)* ..]: [T; MOST_COEFFICIENTS],
                    [$($read,)* ..]: [T; MOST_READ],
                    [$($new,)* $($updated,)* ..]: &mut [T; MOST_WRITTEN],
                ) -> [(T, T); MOST_SUMS] {
                    $body
                    four_pairs!($($sum),*)
                }
            }
        )*

        /// Runs a pass over `length` elements. Each thread loads two before the first is used.
        ///
        /// # Safety
        /// Blocks are made of whole warps, with 8 bytes of shared memory per warp and sum, and a thread for each sum.
        /// The vectors of the pass have `length` elements, and the written ones do not overlap with others; `scalars`
        /// has the slots, and `partial_sums` an element for each block and sum.
        #[kernel(T: reals, P: [$($name),*])]
        pub unsafe fn vector_pass<T: GpuFloat, P: Pass>(
            /// Number of elements.
            length: u64,
            /// The slots of the coefficients.
            slots: Slots<P>,
            /// The slots.
            scalars: Global<f64>,
            /// The vectors to read.
            read: [Global<T>; 4],
            /// The vectors to write.
            written: [GlobalMut<T>; 8],
            /// Partial sums of the blocks: those of the first sum first.
            partial_sums: GlobalMut<f64>,
        ) {
            run_pass(length, slots, scalars, read, written, partial_sums);
        }
    };
}

passes! {
    /// y ← a
    Fill: coefficients [a], reads [], overwrites [y], updates [], { *y = a }, sums [];

    /// y ← a x
    Scaled: coefficients [a], reads [x], overwrites [y], updates [], { *y = a * x }, sums [];

    /// y, z ← a x
    ScaledTwice: coefficients [a], reads [x], overwrites [y z], updates [],
    {
        *y = a * x;
        *z = *y;
    }, sums [];

    /// y ← a x + b y
    Axpby: coefficients [a b], reads [x], overwrites [], updates [y], { *y = a * x + b * *y }, sums [];

    /// z ← a x + b y
    Combined: coefficients [a b], reads [x y], overwrites [z], updates [], { *z = a * x + b * y }, sums [];

    /// z ← a x ∘ y, element by element.
    Multiplied: coefficients [a], reads [x y], overwrites [z], updates [], { *z = a * x * y }, sums [];

    /// A step of a method that corrects z along d, with the residual r: d ← a r + b d, z ← z + d.
    Correction: coefficients [a b], reads [r], overwrites [], updates [d z],
    {
        *d = a * r + b * *d;
        *z = *z + *d;
    }, sums [];

    /// The first step of a smoother from z = 0, with one over the diagonal s and the residual r, which is copied to w as
    /// well: d, z ← a s ∘ r.
    SmoothFirst: coefficients [a], reads [r s], overwrites [d z w], updates [],
    {
        *d = a * (s * r);
        *z = *d;
        *w = r;
    }, sums [];

    /// A further step of a smoother: d ← a s ∘ r + b d, z ← z + d.
    SmoothNext: coefficients [a b], reads [r s], overwrites [], updates [d z],
    {
        *d = a * (s * r) + b * *d;
        *z = *z + *d;
    }, sums [];

    /// The correction d of a coarser level and the first step of a smoother after it: z ← z + d, d ← a s ∘ r, z ← z + d.
    SmoothAfterCoarse: coefficients [a], reads [r s], overwrites [], updates [d z],
    {
        *z = *z + *d;
        *d = a * (s * r);
        *z = *z + *d;
    }, sums [];

    /// x · y
    Dot: coefficients [], reads [x y], overwrites [], updates [], {}, sums [(x, y)];

    /// x · y and x · x
    DotAndSquare: coefficients [], reads [x y], overwrites [], updates [], {}, sums [(x, y), (x, x)];

    /// The updates of conjugate gradients: x ← x + α p, r ← r − α q, and r · r of the new r.
    CgUpdate: coefficients [alpha], reads [p q], overwrites [], updates [x r],
    {
        *x = *x + alpha * p;
        *r = *r - alpha * q;
    }, sums [(*r, *r)];

    /// The updates of pipelined conjugate gradients (Ghysels & Vanroose 2014, algorithm 3) with n = A w, and r · r and
    /// w · r of the new r and w.
    PipelinedCgUpdate: coefficients [alpha beta], reads [n], overwrites [], updates [z s p x r w],
    {
        *z = n + beta * *z;
        *s = *w + beta * *s;
        *p = *r + beta * *p;
        *x = *x + alpha * *p;
        *r = *r - alpha * *s;
        *w = *w - alpha * *z;
    }, sums [(*r, *r), (*w, *r)];

    /// The updates of preconditioned pipelined conjugate gradients (Ghysels & Vanroose 2014, algorithm 4) with m = M w
    /// and n = A m, and r · u, w · u and r · r of the new r, u and w.
    PreconditionedPipelinedCgUpdate: coefficients [alpha beta], reads [m n], overwrites [],
    updates [z q s p x r u w],
    {
        *z = n + beta * *z;
        *q = m + beta * *q;
        *s = *w + beta * *s;
        *p = *u + beta * *p;
        *x = *x + alpha * *p;
        *r = *r - alpha * *s;
        *u = *u - alpha * *q;
        *w = *w - alpha * *z;
    }, sums [(*r, *u), (*w, *u), (*r, *r)];

    /// The direction of BiCGSTAB: p ← r + β (p − ω v).
    BicgstabDirection: coefficients [beta omega], reads [r v], overwrites [], updates [p],
    { *p = r + beta * (*p - omega * v) }, sums [];

    /// The second updates of BiCGSTAB, where r is s: x ← x + ω r, r ← r − ω t, and r · r and r · shadow of the new r.
    BicgstabUpdate: coefficients [omega], reads [t shadow], overwrites [], updates [x r],
    {
        *x = *x + omega * *r;
        *r = *r - omega * t;
    }, sums [(*r, *r), (*r, shadow)];

    /// The second updates of preconditioned BiCGSTAB, where r is s, and z = M s: x ← x + ω z, r ← r − ω t, and r · r and
    /// r · shadow of the new r.
    PreconditionedBicgstabUpdate: coefficients [omega], reads [z t shadow], overwrites [], updates [x r],
    {
        *x = *x + omega * z;
        *r = *r - omega * t;
    }, sums [(*r, *r), (*r, shadow)];

    /// The three-term recurrence of Lanczos: u, v ← v, a q + b v + c u, and v · v of the new v.
    LanczosUpdate: coefficients [a b c], reads [q], overwrites [], updates [u v],
    {
        let next = a * q + b * *v + c * *u;
        *u = *v;
        *v = next;
    }, sums [(*v, *v)];

    /// The updates of MINRES: u, w ← w, a z + b w + c u, then x ← x + step w, r ← shrink r + d v, and r · r of the new r.
    MinresUpdate: coefficients [a b c step shrink d], reads [z v], overwrites [], updates [u w x r],
    {
        let next = a * z + b * *w + c * *u;
        *u = *w;
        *w = next;
        *x = *x + step * next;
        *r = shrink * *r + d * v;
    }, sums [(*r, *r)];

    /// (q − λ x) · (q − λ x), where q = A x.
    EigenResidual: coefficients [lambda], reads [q x], overwrites [], updates [], {},
    sums [(q - lambda * x, q - lambda * x)];

    /// A step of PageRank with y = d Pᵀ x: y, x ← |y + c v − x|, y + c v, and the sums of the new y and x, and of x
    /// where `dangling` is 1.
    PagerankUpdate: coefficients [c], reads [v dangling], overwrites [], updates [y x],
    {
        let next = *y + c * v;
        let change = next - *x;
        *y = if change < T::ZERO { -change } else { change };
        *x = next;
    }, sums [(*y, T::ONE), (*x, T::ONE), (*x, dangling)];
}

/// [`vector_pass`] with its vectors in arrays.
///
/// # Safety
/// As for [`vector_pass`].
#[inline(always)]
unsafe fn run_pass<T: GpuFloat, P: Pass>(
    length: u64,
    slots: Slots<P>,
    scalars: Global<f64>,
    read: [Global<T>; MOST_READ],
    written: [GlobalMut<T>; MOST_WRITTEN],
    partial_sums: GlobalMut<f64>,
) {
    if scalars.load(STATUS) != 0.0 {
        return;
    }
    let mut coefficients = [T::ZERO; MOST_COEFFICIENTS];
    unrolled(P::COEFFICIENTS as u32, |n| {
        coefficients[n as usize] = T::narrow(scalars.load(slots.places[n as usize]));
    });
    let load = |place| {
        let (mut old, mut new) = ([T::ZERO; MOST_READ], [T::ZERO; MOST_WRITTEN]);
        unrolled(P::READ as u32, |n| old[n as usize] = read[n as usize].load_streaming(place));
        unrolled(P::WRITTEN as u32, |n| {
            if n as usize >= P::OVERWRITTEN {
                new[n as usize] = written[n as usize].load(place);
            }
        });
        (old, new)
    };
    let mut sums = [0.0; MOST_SUMS];
    let mut compute = |place, (old, mut new)| {
        let factors = P::element(coefficients, old, &mut new);
        unrolled(P::WRITTEN as u32, |n| written[n as usize].store(place, new[n as usize]));
        unrolled(P::SUMS as u32, |n| {
            let (a, b) = factors[n as usize];
            sums[n as usize] = GpuScalar::mul_add(a.widen(), b.widen(), sums[n as usize]);
        });
    };
    let threads = u64::from(grid_threads());
    let mut place = u64::from(index_1d());
    while place + threads < length {
        let (first, second) = (load(place), load(place + threads));
        compute(place, first);
        compute(place + threads, second);
        place += 2 * threads;
    }
    if place < length {
        compute(place, load(place));
    }
    if P::SUMS > 0 {
        unrolled(P::SUMS as u32, |n| put_sum_of_warp(n, sums[n as usize]));
        sync_threads();
        store_sums_of_block(P::SUMS as u32, partial_sums, |n| {
            Some(u64::from(n) * u64::from(grid_dim_x()) + u64::from(block_idx_x()))
        });
    }
}
