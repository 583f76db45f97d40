"""Common base of matrices, their transposes and preconditioners."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from . import _gpu, _quick
from ._arrays import Array, converted, factor, like, on_host
from ._gpu import GpuArray, gpu_array, is_on_gpu

# The real and the imaginary part.
Factor = tuple[float, float]
# The address of an array on a GPU, and the number of its elements.
Place = tuple[int, int]

ONE: Factor = (1.0, 0.0)
ZERO: Factor = (0.0, 0.0)


def check_shape(what: str, array: Array, expected: tuple[int, ...]) -> None:
    if array.shape != expected:
        raise ValueError(f"{what} has shape {array.shape}, expected {expected}")


class Operator:
    """SciPy's `LinearOperator`, by duck typing."""

    ndim = 2
    shape: tuple[int, int]
    dtype: np.dtype[Any]
    # The GPU for the fast path of products, if any.
    _gpu_number: int | None = None
    # Leaves `x @ A` of an array x to A.
    __array_ufunc__ = None

    def _multiply(self, alpha: Factor, x: Array, beta: Factor, y: Array) -> None:
        raise NotImplementedError

    def _multiply_on_gpu(
        self,
        alpha: Factor,
        x: GpuArray,
        beta: Factor,
        y: GpuArray,
        columns: tuple[int, bool] | None = None,
    ) -> None:
        raise NotImplementedError

    def _call_on_gpu(self, alpha: Factor, x: Place, beta: Factor, y: Place, streams: list[int]) -> None:
        """Computes α A x + β y in y, for ordinary vectors on the GPU."""
        raise NotImplementedError

    def _quick_product(self, x: Any, out: Any, alpha: complex, beta: complex) -> Any:
        """Returns the product with an ordinary vector on the GPU, or None if anything is unusual."""
        library, device = _quick.library_of(x), self._gpu_number
        if library is None or device is None:
            return None
        rows, columns = self.shape
        address = library.address(x, columns, self.dtype, device)
        if address is None:
            return None
        if out is None:
            new = None if beta != 0 else library.empty(x, rows)
            if new is None:
                return None
            result, place = new
        else:
            result, place = out, library.address(out, rows, self.dtype, device) if type(out) is type(x) else None
            size = self.dtype.itemsize
            if place is None or place < address + columns * size and address < place + rows * size:
                return None
        factors = (
            ONE if alpha == 1 else factor("alpha", alpha, self.dtype),
            ZERO if beta == 0 else factor("beta", beta, self.dtype),
        )
        streams = [library.stream(device)]
        self._call_on_gpu(factors[0], (address, columns), factors[1], (place, rows), streams)
        return result

    @property
    def device(self) -> str:
        raise NotImplementedError

    def _multiply_columns(self, x: Array, y: Array) -> None:
        """Computes Y = A X, where X and Y have the same order."""
        for column in range(x.shape[1]):
            result = np.empty(self.shape[0], self.dtype)
            self._multiply(ONE, np.ascontiguousarray(x[:, column]), ZERO, result)
            y[:, column] = result

    @property
    def T(self) -> Operator:
        """The transpose. Nothing is copied before its first product."""
        raise NotImplementedError

    @property
    def H(self) -> Operator:
        """The conjugate transpose. Nothing is copied before its first product."""
        raise NotImplementedError

    def matvec(self, x: Any, out: Any = None, *, alpha: complex = 1, beta: complex = 0) -> Any:
        """Returns α A x + β out, computed in `out` if given. With β = 0, the old contents of `out` are ignored, even NaN.

        The product of a real matrix and a complex vector is complex. `out` may be any part of an array, and may overlap
        `x`. If `x` is on the matrix's GPU, `out` must be there as well, or else the result is, in an array of the same
        library: both are used in place, in the order of the stream that the library works on. They must be contiguous, of
        the matrix's type, and not overlap.

        >>> import numpy as np, warp_spmv
        >>> A = warp_spmv.matrix(warp_spmv.generate("stencil:3:4"), device="cpu")
        >>> y = np.ones(4)
        >>> A.matvec(np.arange(4.0), out=y, alpha=2, beta=10)
        array([ 8., 10., 10., 18.])
        >>> y
        array([ 8., 10., 10., 18.])
        """
        result = self._quick_product(x, out, alpha, beta)
        if result is not None:
            return result
        rows, columns = self.shape
        if is_on_gpu(x) or is_on_gpu(out):
            return self._matvec_on_gpu(x, out, alpha, beta)
        array = on_host("x", x)
        # SciPy's solvers pass vectors as matrices of one column.
        in_column = array.shape == (columns, 1)
        if not in_column:
            check_shape("x", array, (columns,))
        if out is None and beta != 0:
            raise ValueError(f"beta is {beta}, expected 0 without out")
        if out is None and self._is_complex_to_real(array):
            return like(x, self.matvec(array.real, alpha=alpha) + 1j * self.matvec(array.imag, alpha=alpha))
        array = np.require(converted("x", x, array, self.dtype), requirements=["C", "A"]).reshape(columns)
        factors = factor("alpha", alpha, self.dtype), factor("beta", beta, self.dtype)
        if out is None:
            result = np.empty(rows, self.dtype)
            self._multiply(factors[0], array, factors[1], result)
            return like(x, result.reshape(rows, 1) if in_column else result)
        place = on_host("out", out)
        if place.dtype.newbyteorder("=") != self.dtype:
            raise TypeError(f"out has elements of type {place.dtype}, expected {self.dtype}")
        check_shape("out", place, (rows, 1) if in_column else (rows,))
        if not place.flags.writeable:
            raise ValueError("out is read-only")
        direct = place.flags.carray and place.dtype == self.dtype and not np.may_share_memory(place, array)
        result = place.reshape(rows) if direct else np.array(place, self.dtype, order="C").reshape(rows)
        self._multiply(factors[0], array, factors[1], result)
        if not direct:
            place[...] = result.reshape(place.shape)
        return out

    def gpu_operand(self, what: str, array: Any) -> GpuArray:
        """Describes an array on the GPU that can be used in place."""
        if not is_on_gpu(array):
            raise TypeError(f"{what} is a {_gpu.kind_of(array)} in host memory, but the other array is on a GPU")
        described = gpu_array(what, array)
        _gpu.check_device(described, what, self.device)
        _gpu.check_type(described, what, self.dtype)
        _gpu.check_contiguous(described, what)
        return described

    def _matvec_on_gpu(self, x: Any, out: Any, alpha: complex, beta: complex) -> Any:
        rows, columns = self.shape
        if out is None and beta != 0:
            raise ValueError(f"beta is {beta}, expected 0 without out")
        operand = self.gpu_operand("x", x)
        in_column = operand.shape == (columns, 1)
        if not in_column:
            check_shape("x", operand, (columns,))
        factors = factor("alpha", alpha, self.dtype), factor("beta", beta, self.dtype)
        shape = (rows, 1) if in_column else (rows,)
        result = _gpu.empty_like(operand, shape) if out is None else out
        place = self.gpu_operand("out", result)
        check_shape("out", place, shape)
        if out is not None:
            _gpu.check_writable(place, "out")
        if place.overlaps(operand):
            raise ValueError("out overlaps x, which is not supported on a GPU")
        self._multiply_on_gpu(factors[0], operand, factors[1], place)
        return result

    def _matmat_on_gpu(self, X: Any) -> Any:
        rows, columns = self.shape
        operand = self.gpu_operand("X", X)
        if len(operand.shape) != 2:
            raise ValueError(f"X has {len(operand.shape)} dimensions, expected 2")
        vectors = operand.shape[1]
        check_shape("X", operand, (columns, vectors))
        if operand.c_order:
            result = _gpu.empty_like(operand, (rows, vectors))
        else:
            result = _gpu.empty_like(operand, (vectors, rows)).T
        place = self.gpu_operand("the result", result)
        self._multiply_on_gpu(ONE, operand, ZERO, place, (vectors, operand.c_order))
        return result

    def matmat(self, X: Any) -> Any:
        """Returns A X for several vectors, the columns of X, in the order of X. C order, NumPy's default, is faster.

        >>> import numpy as np, warp_spmv
        >>> A = warp_spmv.matrix(warp_spmv.generate("stencil:3:3"), device="cpu")
        >>> A.matmat(np.eye(3))
        array([[ 2., -1.,  0.],
               [-1.,  2., -1.],
               [ 0., -1.,  2.]])
        """
        rows, columns = self.shape
        if is_on_gpu(X):
            return self._matmat_on_gpu(X)
        array = on_host("X", X)
        if array.ndim != 2:
            raise ValueError(f"X has {array.ndim} dimensions, expected 2")
        check_shape("X", array, (columns, array.shape[1]))
        if self._is_complex_to_real(array):
            return like(X, self.matmat(array.real) + 1j * self.matmat(array.imag))
        order: Literal["C", "F"] = "F" if array.flags.f_contiguous and not array.flags.c_contiguous else "C"
        array = np.require(converted("X", X, array, self.dtype), requirements=[order, "A"])
        result = np.empty((rows, array.shape[1]), self.dtype, order)
        self._multiply_columns(array, result)
        return like(X, result)

    def rmatvec(self, x: Any) -> Any:
        """Returns Aᴴ x."""
        return self.H.matvec(x)

    def rmatmat(self, X: Any) -> Any:
        """Returns Aᴴ X."""
        return self.H.matmat(X)

    def dot(self, x: Any) -> Any:
        """Returns A @ x."""
        return self @ x

    def __matmul__(self, x: Any) -> Any:
        result = self._quick_product(x, None, 1, 0)
        if result is not None:
            return result
        if hasattr(x, "ndim"):
            dimensions = x.ndim
        else:
            dimensions = len(gpu_array("x", x).shape) if is_on_gpu(x) else np.ndim(x)
        return self.matmat(x) if dimensions == 2 else self.matvec(x)

    def __rmatmul__(self, x: Any) -> Any:
        if is_on_gpu(x):
            return (self.T @ x.T).T if x.ndim == 2 else self.T @ x
        array = on_host("x", x)
        return like(x, (self.T @ array.T).T)

    def _is_complex_to_real(self, array: Array) -> bool:
        """Returns whether an array has imaginary parts, but the matrix's type does not."""
        if array.dtype.kind != "c" or self.dtype.kind == "c":
            return False
        if not np.can_cast(array.real.dtype, self.dtype, "safe"):
            message = f"x has elements of type {array.dtype}, but the matrix of {self.dtype}: convert one of them"
            raise TypeError(message)
        return True
