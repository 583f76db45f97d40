"""Approximate inverses of a matrix, made once and kept."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse
import scipy.sparse.linalg

from . import _gpu, _native
from ._arrays import Array, converted, on_host
from ._gpu import GpuArray
from ._matrix import Matrix, matrix
from ._operator import Factor, Operator, Place, check_shape


class Level(NamedTuple):
    """A level of multigrid."""

    unknowns: int
    """Number of rows of its matrix."""
    entries: int
    """Number of entries of its matrix."""
    solved: str | None
    """How the level is solved, if it is the last one."""


class Preconditioner(Operator):
    """An approximate inverse of a square matrix, on its device: for `solve` and `eigsh`, and as `M=` for SciPy's and
    CuPy's solvers. `M @ r` takes the same arrays as `A @ x`.

    Parameters
    ----------
    A
        A `Matrix`, or what `matrix` takes.
    name
        As for `solve`.
    near_null_space
        For "amg": up to 32 vectors that the matrix makes small, in the columns of an array in host memory; coarse levels
        represent them. By default, constants, one per unknown of a node.
    coordinates
        For "amg" of elasticity: 2 or 3 coordinates per node, one row per node, in host memory. A node has the same number
        of unknowns, its consecutive displacements, and coarse levels represent the rigid body modes.
    updates
        Whether `refresh` will be called often: the data that it needs is then kept in host memory.

    >>> import numpy as np, scipy.sparse.linalg, warp_spmv
    >>> A = warp_spmv.matrix(warp_spmv.generate("stencil:5:40"), device="cpu")
    >>> M = warp_spmv.Preconditioner(A, "amg")
    >>> M
    <1600 x 1600 warp_spmv.Preconditioner amg of float64 on cpu>
    >>> x, report = warp_spmv.solve(A, np.ones(1600), preconditioner=M)
    >>> report.converged and report.iterations < 20
    True
    >>> z, info = scipy.sparse.linalg.cg(A, np.ones(1600), M=M)
    >>> info
    0
    """

    def __init__(
        self, A: Any, name: str, *, near_null_space: Any = None, coordinates: Any = None, updates: bool = False
    ) -> None:
        operator = A if isinstance(A, Matrix) else matrix(A)
        rows, columns = operator.shape
        if near_null_space is not None and coordinates is not None:
            raise ValueError("both near_null_space and coordinates are given, expected one of them")
        vectors = places = None
        if near_null_space is not None:
            given = on_host("near_null_space", near_null_space)
            check_shape("near_null_space", given, (rows, *given.shape[1:2]))
            given = converted("near_null_space", near_null_space, given, operator.dtype)
            vectors = np.require(given, requirements=["F", "A"])
        if coordinates is not None:
            given = on_host("coordinates", coordinates)
            if given.ndim != 2 or given.shape[1] not in (2, 3) or given.size != rows:
                expected = f"2 or 3 columns and an element for each of {rows} rows of the matrix"
                raise ValueError(f"coordinates has shape {given.shape}, expected {expected}")
            if given.dtype.kind not in "biuf":
                raise TypeError(f"coordinates has elements of type {given.dtype}, expected real numbers")
            places = np.require(given, np.float64, ["C", "A"])
        self._matrix = operator
        self._arguments = name, vectors, places, bool(updates)
        self.shape = rows, columns
        self.dtype = operator.dtype
        self._gpu_number = operator._gpu_number
        self._made = self._new()

    def _new(self) -> _native.Preconditioner:
        return _native.Preconditioner(self._matrix._plan, *self._arguments)

    @property
    def name(self) -> str:
        """The name, with all numbers and non-default options."""
        return self._made.name

    @property
    def device(self) -> str:
        """The device, that of the matrix."""
        return self._matrix.device

    @property
    def levels(self) -> list[Level]:
        """The levels of multigrid, finest first; empty for other preconditioners."""
        return [Level(*level) for level in self._made.levels()]

    def refresh(self) -> None:
        """Updates it to the current values of the matrix, after `Matrix.update_values`. The bits equal those of a new one.
        With `updates=True`, data that depends only on the pattern is not rebuilt. On failure, it stays unchanged.

        >>> import scipy.sparse, warp_spmv
        >>> A = warp_spmv.matrix(scipy.sparse.csr_array([[2.0, 0.0], [0.0, 4.0]]), format="csr-vector", device="cpu")
        >>> M = warp_spmv.Preconditioner(A, "jacobi", updates=True)
        >>> A.update_values([4, 8])
        >>> M.refresh()
        >>> M @ [1, 1]
        array([0.25 , 0.125])
        """
        updates = self._arguments[-1]
        if updates:
            self._made.refresh(self._matrix._plan)
        else:
            self._made = self._new()

    @property
    def T(self) -> Operator:
        raise TypeError("products with the transpose of a preconditioner are not supported")

    @property
    def H(self) -> Operator:
        raise TypeError("products with the transpose of a preconditioner are not supported")

    def _call_on_gpu(self, alpha: Factor, x: Place, beta: Factor, y: Place, streams: list[int]) -> None:
        _native.gpu_precondition(self._made, alpha, x, beta, y, streams)

    def _multiply(self, alpha: Factor, x: Array, beta: Factor, y: Array) -> None:
        self._made.apply(alpha, x, beta, y)

    def _multiply_on_gpu(
        self,
        alpha: Factor,
        x: GpuArray,
        beta: Factor,
        y: GpuArray,
        columns: tuple[int, bool] | None = None,
    ) -> None:
        if columns is not None:
            raise TypeError("a preconditioner cannot multiply several vectors on a GPU: multiply each one")
        self._call_on_gpu(alpha, x.place, beta, y.place, _gpu.streams(x, y))

    def __repr__(self) -> str:
        rows, columns = self.shape
        return f"<{rows} x {columns} warp_spmv.Preconditioner {self.name} of {self.dtype} on {self.device}>"


def given(operator: Matrix, preconditioner: Any, near_null_space: Any = None, coordinates: Any = None) -> Any:
    """Returns a preconditioner as the native part takes it."""
    represented = near_null_space is not None or coordinates is not None
    if isinstance(preconditioner, str):
        if not represented:
            return preconditioner
        made = Preconditioner(operator, preconditioner, near_null_space=near_null_space, coordinates=coordinates)
        return made._made
    if represented:
        what = "coordinates" if near_null_space is None else "near_null_space"
        raise ValueError(f"{what} requires preconditioner='amg', or belongs to the construction of a Preconditioner")
    if preconditioner is None:
        return None
    if not isinstance(preconditioner, Preconditioner):
        return _function(operator, preconditioner)
    check_shape("preconditioner", preconditioner, operator.shape)
    for what in ("dtype", "device"):
        its, expected = getattr(preconditioner, what), getattr(operator, what)
        if its != expected:
            raise ValueError(f"preconditioner has {what} {its}, but the matrix {expected}")
    return preconditioner._made


def _function(operator: Matrix, preconditioner: Any) -> Any:
    """Returns a function of one NumPy array, also from approximate inverses as SciPy's solvers take them."""
    multiply = preconditioner
    is_matrix = scipy.sparse.issparse(preconditioner) or isinstance(preconditioner, np.ndarray)
    if is_matrix or hasattr(preconditioner, "matvec"):
        linear = scipy.sparse.linalg.aslinearoperator(preconditioner)
        check_shape("preconditioner", linear, operator.shape)
        multiply = linear.matvec
    elif not callable(preconditioner):
        kind = f"{type(preconditioner).__module__}.{type(preconditioner).__qualname__}"
        expected = "a name, a Preconditioner, a LinearOperator or a function"
        raise TypeError(f"preconditioner is a {kind}, expected {expected}")
    if operator.device != "cpu":
        what = f"preconditioner is a {_gpu.kind_of(preconditioner)}, which requires a matrix on the CPU"
        raise TypeError(f"{what}, and this one is on {operator.device}")

    def approximate(r: Array) -> Array:
        result = multiply(r)
        z = on_host("the preconditioner's result", result)
        check_shape("the preconditioner's result", z, r.shape)
        return np.require(converted("the preconditioner's result", result, z, r.dtype), requirements=["C", "A"])

    return approximate
