//! Memory that a product needs besides its operands. It is requested by the code that describes the launches, so the
//! launches and their workspace cannot disagree.

use cuda_std::{Global, GlobalMut};
use gpu_kernels::csr_tiled_arriving::BEGIN_NUMBERS;

use crate::error::Error;
use crate::executor::operation::{Executor, KernelExecutor};
use crate::memory::{Buffer, Memory};
use crate::real::Scalar;

/// Memory of a kernel besides its operands: the sums of rows that several warps share, and products that are added up
/// later. Empty until a product requests more.
pub(crate) struct Workspace<T: Scalar, M: Memory> {
    carry_rows: M::Buffer<u32>,
    carry_values: M::Buffer<T>,
    products: M::Buffer<T>,
    /// Interleaved vectors of X and of Y.
    interleaved_x: M::Buffer<T>,
    interleaved_y: M::Buffer<T>,
    /// Tiles for products of one vector.
    tiles: TileMemory<T, M>,
    /// Tiles for products of a few vectors, which have another size.
    tiles_of_few: TileMemory<T, M>,
}

/// Memory for the tiles of a matrix.
struct TileMemory<T: Scalar, M: Memory> {
    begins: M::Buffer<u32>,
    pieces: M::Buffer<T>,
    arrivals: M::Buffer<u32>,
    /// Whether the launches that were described last use it.
    requested: bool,
    /// Whether a product that uses it has been launched without error since it was allocated: the next launch then
    /// finds all begins filled in and all counts at 0.
    used: bool,
}

impl<T: Scalar, M: Memory> TileMemory<T, M> {
    fn new<E: Executor<Memory = M>>(executor: &E) -> Result<Self, Error> {
        let (begins, pieces, arrivals) = (executor.zeros(0)?, executor.zeros(0)?, executor.zeros(0)?);
        Ok(Self { begins, pieces, arrivals, requested: false, used: false })
    }

    /// Room for `count` tiles with `pieces` pieces in all.
    fn room(&mut self, source: &dyn Source<T, M>, count: usize, pieces: usize) -> Result<TileRoom<T>, Error> {
        self.requested = true;
        let numbers = (count + 1) * BEGIN_NUMBERS as usize;
        if self.begins.len() < numbers {
            self.used = false;
            self.begins = source.unwritten_indices(numbers)?;
        }
        if self.pieces.len() < pieces {
            self.pieces = source.unwritten_values(pieces)?;
        }
        if self.arrivals.len() < count {
            self.used = false;
            self.arrivals = source.unwritten_indices(count)?;
        }
        let begins_mut = self.begins.global_mut();
        let (pieces, arrivals) = (self.pieces.global_mut(), self.arrivals.global_mut());
        Ok(TileRoom { begins: begins_mut.read_only(), begins_mut, pieces, arrivals, known: self.used })
    }
}

impl<T: Scalar, M: Memory> Workspace<T, M> {
    /// An empty workspace.
    pub fn new<E: Executor<Memory = M>>(executor: &E) -> Result<Self, Error> {
        Ok(Self {
            carry_rows: executor.zeros(0)?,
            carry_values: executor.zeros(0)?,
            products: executor.zeros(0)?,
            interleaved_x: executor.zeros(0)?,
            interleaved_y: executor.zeros(0)?,
            tiles: TileMemory::new(executor)?,
            tiles_of_few: TileMemory::new(executor)?,
        })
    }

    /// Notes that the launches described last were launched, or recorded, with or without success.
    pub fn launched(&mut self, succeeded: bool, recorded: bool) {
        for tiles in [&mut self.tiles, &mut self.tiles_of_few] {
            if tiles.requested {
                // A recording may never be played.
                tiles.used = succeeded && (tiles.used || !recorded);
            }
        }
    }
}

/// A workspace and the source of its memory. A product requests each kind once: another request replaces the memory of the
/// previous one.
pub(crate) struct Room<'a, T: Scalar, M: Memory> {
    workspace: &'a mut Workspace<T, M>,
    source: &'a dyn Source<T, M>,
}

/// A source of memory for a workspace: an executor with kernels.
trait Source<T: Scalar, M: Memory> {
    fn indices(&self, length: usize) -> Result<M::Buffer<u32>, Error>;
    fn values(&self, length: usize) -> Result<M::Buffer<T>, Error>;
    fn unwritten_indices(&self, length: usize) -> Result<M::Buffer<u32>, Error>;
    fn unwritten_values(&self, length: usize) -> Result<M::Buffer<T>, Error>;
}

impl<T: Scalar, E: KernelExecutor> Source<T, E::Memory> for E {
    fn indices(&self, length: usize) -> Result<<E::Memory as Memory>::Buffer<u32>, Error> {
        self.zeros(length)
    }

    fn values(&self, length: usize) -> Result<<E::Memory as Memory>::Buffer<T>, Error> {
        self.zeros(length)
    }

    fn unwritten_indices(&self, length: usize) -> Result<<E::Memory as Memory>::Buffer<u32>, Error> {
        self.unwritten(length)
    }

    fn unwritten_values(&self, length: usize) -> Result<<E::Memory as Memory>::Buffer<T>, Error> {
        self.unwritten(length)
    }
}

/// Partial sums of rows that continue in another warp's share: a row and a sum per share.
#[derive(Clone, Copy)]
pub(crate) struct Carries<T> {
    pub rows: Global<u32>,
    pub rows_mut: GlobalMut<u32>,
    pub values: Global<T>,
    pub values_mut: GlobalMut<T>,
}

/// Tiles of a matrix, and their parts of rows that several tiles share.
#[derive(Clone, Copy)]
pub(crate) struct TileRoom<T> {
    pub begins: Global<u32>,
    pub begins_mut: GlobalMut<u32>,
    pub pieces: GlobalMut<T>,
    pub arrivals: GlobalMut<u32>,
    /// Whether the begins are already filled in, and all arrivals are 0.
    pub known: bool,
}

impl<'a, T: Scalar, M: Memory> Room<'a, T, M> {
    /// Room in this workspace, which grows in the executor's memory.
    pub fn new<E: KernelExecutor<Memory = M>>(workspace: &'a mut Workspace<T, M>, executor: &'a E) -> Self {
        workspace.tiles.requested = false;
        workspace.tiles_of_few.requested = false;
        Self { workspace, source: executor }
    }

    /// Room for `count` carries.
    ///
    /// # Errors
    /// When memory runs out.
    pub fn carries(&mut self, count: usize) -> Result<Carries<T>, Error> {
        self.wide_carries(count, count)
    }

    /// Room for carries of several vectors: `rows` rows and `values` values in total.
    ///
    /// # Errors
    /// When memory runs out.
    pub fn wide_carries(&mut self, rows: usize, values: usize) -> Result<Carries<T>, Error> {
        let workspace = &mut *self.workspace;
        if workspace.carry_rows.len() < rows {
            workspace.carry_rows = self.source.indices(rows)?;
        }
        if workspace.carry_values.len() < values {
            workspace.carry_values = self.source.values(values)?;
        }
        // One pointer for both, since making another would invalidate the first.
        let (rows_mut, values_mut) = (workspace.carry_rows.global_mut(), workspace.carry_values.global_mut());
        let (rows, values) = (rows_mut.read_only(), values_mut.read_only());
        Ok(Carries { rows, rows_mut, values, values_mut })
    }

    /// Room for `count` tiles.
    ///
    /// # Errors
    /// When memory runs out.
    pub fn tiles(&mut self, count: usize) -> Result<TileRoom<T>, Error> {
        self.workspace.tiles.room(self.source, count, 2 * count)
    }

    /// Room for `count` tiles of a product with a few vectors, at most `vectors`.
    ///
    /// # Errors
    /// When memory runs out.
    pub fn tiles_of_few(&mut self, count: usize, vectors: usize) -> Result<TileRoom<T>, Error> {
        self.workspace.tiles_of_few.room(self.source, count, 2 * count * vectors)
    }

    /// Room for `of_x` elements of X and `of_y` elements of Y; always a multiple of 4, so that they are pairs or quads.
    ///
    /// # Errors
    /// When memory runs out.
    pub fn interleaved(&mut self, of_x: usize, of_y: usize) -> Result<(GlobalMut<T>, GlobalMut<T>), Error> {
        let workspace = &mut *self.workspace;
        let [of_x, of_y] = [of_x, of_y].map(|elements| elements.checked_next_multiple_of(4).unwrap_or(elements));
        if workspace.interleaved_x.len() < of_x {
            workspace.interleaved_x = self.source.unwritten_values(of_x)?;
        }
        if workspace.interleaved_y.len() < of_y {
            workspace.interleaved_y = self.source.unwritten_values(of_y)?;
        }
        Ok((workspace.interleaved_x.global_mut(), workspace.interleaved_y.global_mut()))
    }

    /// Room for `count` products, for writing and for reading.
    ///
    /// # Errors
    /// When memory runs out.
    pub fn products(&mut self, count: usize) -> Result<(GlobalMut<T>, Global<T>), Error> {
        if self.workspace.products.len() < count {
            self.workspace.products = self.source.values(count)?;
        }
        let products = self.workspace.products.global_mut();
        Ok((products, products.read_only()))
    }
}
