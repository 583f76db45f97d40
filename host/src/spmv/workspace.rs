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
    tile_begins: M::Buffer<u32>,
    tile_pieces: M::Buffer<T>,
    tile_arrivals: M::Buffer<u32>,
    /// Whether a product has been launched without error since the tiles were allocated: the next launch then finds their
    /// begins filled in and all counts at 0.
    pub used: bool,
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
            tile_begins: executor.zeros(0)?,
            tile_pieces: executor.zeros(0)?,
            tile_arrivals: executor.zeros(0)?,
            used: false,
        })
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
        let workspace = &mut *self.workspace;
        let numbers = (count + 1) * BEGIN_NUMBERS as usize;
        if workspace.tile_begins.len() < numbers {
            workspace.used = false;
            workspace.tile_begins = self.source.unwritten_indices(numbers)?;
        }
        if workspace.tile_pieces.len() < 2 * count {
            workspace.tile_pieces = self.source.unwritten_values(2 * count)?;
        }
        if workspace.tile_arrivals.len() < count {
            workspace.used = false;
            workspace.tile_arrivals = self.source.unwritten_indices(count)?;
        }
        let begins_mut = workspace.tile_begins.global_mut();
        let (pieces, arrivals) = (workspace.tile_pieces.global_mut(), workspace.tile_arrivals.global_mut());
        Ok(TileRoom { begins: begins_mut.read_only(), begins_mut, pieces, arrivals, known: workspace.used })
    }

    /// Room for `of_x` elements of X and `of_y` elements of Y.
    ///
    /// # Errors
    /// When memory runs out.
    pub fn interleaved(&mut self, of_x: usize, of_y: usize) -> Result<(GlobalMut<T>, GlobalMut<T>), Error> {
        let workspace = &mut *self.workspace;
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
