//! Products with further operations on each element of y.

use super::{Plan, Vector};
use crate::error::Error;
use crate::executor::Executor;
use crate::real::Scalar;
use crate::spmv::{Epilogue, FusedOperands, FusedProduct, Operands, ProductOperands};

impl<T: Scalar, E: Executor> Plan<T, E> {
    /// y ← α A x + β y + γ z, and sums over the elements of the new y, as given by the epilogue. The next step of an
    /// iterative method thus needs no pass of its own over the vectors if the plan [fuses](Self::fuses) it; otherwise this
    /// is the product followed by a pass. The same bits every time in a [reproducible](crate::Format::reproducible) format:
    /// those of [`apply`](Self::apply), if there is no z.
    ///
    /// ```
    /// use host::executor::{Cpu, Executor};
    /// use host::{Csr, Epilogue, PartialSums, Plan, ProductSums};
    ///
    /// # fn main() -> Result<(), host::Error> {
    /// let matrix = Csr::try_from_triplets(2, 2, &[0, 1, 1], &[0, 0, 1], &[1.0, 2.0, 3.0])?;
    /// let cpu = Cpu::new();
    /// let mut plan = Plan::new(&cpu, matrix)?;
    /// let (x, b, mut r) = (cpu.upload(vec![1.0, 10.0])?, cpu.upload(vec![5.0, 30.0])?, cpu.zeros(2)?);
    /// let mut sums = PartialSums::new(&cpu, 2)?;
    /// // The residual r = b − A x, and x · r and r · r.
    /// let into = ProductSums { with: &x, squares: true, into: &mut sums };
    /// plan.apply_fused(-1.0, &x, 0.0, &mut r, Epilogue { addend: Some((1.0, &b)), sums: Some(into) })?;
    /// assert_eq!(cpu.download(&r)?, [4.0, -2.0]);
    /// assert_eq!(sums.totals(&cpu)?, [-16.0, 20.0]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// When the numbers are complex, α, β or γ is not finite, a vector has the wrong length, or the device fails.
    pub fn apply_fused(
        &mut self,
        alpha: T,
        x: &Vector<T, E>,
        beta: T,
        y: &mut Vector<T, E>,
        epilogue: Epilogue<'_, T, E::Memory>,
    ) -> Result<(), Error> {
        let operands = FusedOperands { operands: Operands { alpha, x, beta, y }, epilogue };
        let (matrix, format, workspace) = (&self.matrix, self.format, &mut self.workspace);
        self.executor.run::<FusedProduct<T>>(ProductOperands { matrix, format, operands, workspace })
    }

    /// Whether [`apply_fused`](Self::apply_fused) is one launch: on executors with kernels, for real values stored as wide
    /// as they are computed with, in DIA and, if rows are so few that the cost of a launch matters, in other formats that
    /// write each row once: ELL with one thread per row, SELL-P, SELL-16, BELLPACK, and CSR with several lanes per row.
    pub fn fuses(&self) -> bool {
        let device = self.executor.device();
        !T::COMPLEX && device.has_kernels() && self.format.fuses(&self.matrix, device)
    }
}
