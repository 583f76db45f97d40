"""Matrices ready for multiplication."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import numpy.typing as npt

from . import _gpu, _native
from ._arguments import count
from ._arrays import Array, converted, number_type, on_host
from ._csr import native_csr
from ._device import default_device
from ._gpu import GpuArray, gpu_array, is_on_gpu
from ._operator import ONE, ZERO, Factor, Operator, Place, check_shape


class Matrix(Operator):
    """A sparse matrix on a device, ready for multiplication: `matrix` makes it.

    Threads can share it: each call waits for the previous one, and releases the GIL while it works.
    """

    def __init__(self, plan: _native.Plan, wishes: dict[str, Any], kept: object = None) -> None:
        self._plan = plan
        self._wishes = wishes
        # Arrays that the plan uses but does not own.
        self._kept = kept
        self._transposes: dict[bool, _native.Plan] = {}
        self._lock = threading.Lock()
        self.shape = plan.shape
        self.dtype = np.dtype(plan.dtype)
        self._device = plan.device
        self._gpu_number = None if self._device == "cpu" else int(self._device.removeprefix("cuda:"))

    @property
    def format(self) -> str:
        """The format in use, such as "csr-vector"."""
        return self._plan.format

    @property
    def values(self) -> str:
        """How the values are stored: "full", or in a type narrower than `dtype`.

        >>> import warp_spmv
        >>> A = warp_spmv.matrix(warp_spmv.generate("stencil:3:9"), format="csr-tiled", device="cpu", values="lossless")
        >>> A.values
        'table'
        """
        return self._plan.narrow_type or "full"

    @property
    def device(self) -> str:
        """The device, such as "cpu" or "cuda:0"."""
        return self._device

    @property
    def nnz(self) -> int:
        """Number of stored entries."""
        return self._plan.nnz

    @property
    def nbytes(self) -> int:
        """Bytes of the matrix on the device, including padding and the copies made by transposed products."""
        return self._plan.nbytes + sum(transpose.nbytes for transpose in list(self._transposes.values()))

    @property
    def T(self) -> Transposed:
        """The transpose. Its first product makes a transposed copy of the matrix, which later ones use, except on the CPU
        in CSR and COO without `reproducible`.

        >>> import warp_spmv
        >>> A = warp_spmv.matrix(warp_spmv.generate("uniform:rows=3,columns=2,per-row=1"), device="cpu")
        >>> A.T.shape
        (2, 3)
        """
        return Transposed(self, conjugate=False)

    @property
    def H(self) -> Transposed:
        """The conjugate transpose; otherwise like `T`."""
        return Transposed(self, conjugate=True)

    def explain(self) -> str:
        """Returns the formats considered, the predictions for them, and the reason for the choice."""
        return self._plan.explanation or f"{self.format}: it was requested"

    def update_values(self, values: Any) -> None:
        """Replaces the values, given in the order of the CSR matrix from which this one was made; the pattern stays.

        In formats other than CSR and COO, the matrix must have been made with `updates=True`. Values on the matrix's GPU
        are copied there, in the order of the stream that their library works on; the values of the source matrix stay
        unchanged.

        >>> import numpy as np, scipy.sparse, warp_spmv
        >>> A = warp_spmv.matrix(scipy.sparse.csr_array([[1.0, 2.0], [0.0, 3.0]]), format="csr-vector", device="cpu")
        >>> A.update_values([10, 20, 30])
        >>> A @ [1, 1]
        array([30., 30.])
        """
        if is_on_gpu(values):
            new = self.gpu_operand("values", values)
            check_shape("values", new, (self.nnz,))
            with self._lock:
                _native.gpu_update_values(self._plan, new.place, _gpu.streams(new))
                self._transposes = {}
            return
        array = on_host("values", values)
        check_shape("values", array, (self.nnz,))
        array = np.require(converted("values", values, array, self.dtype), requirements=["C", "A"])
        with self._lock:
            self._plan.update_values(array)
            self._transposes = {}

    def _call_on_gpu(self, alpha: Factor, x: Place, beta: Factor, y: Place, streams: list[int]) -> None:
        _native.gpu_multiply(self._plan, None, alpha, x, beta, y, streams)

    def _multiply(self, alpha: Factor, x: Array, beta: Factor, y: Array) -> None:
        self._plan.apply(alpha, x, beta, y)

    def _multiply_columns(self, x: Array, y: Array) -> None:
        if self._plan.multiplies_columns:
            self._plan.apply_columns(ONE, x, ZERO, y)
        else:
            super()._multiply_columns(x, y)

    def _multiply_on_gpu(
        self,
        alpha: Factor,
        x: GpuArray,
        beta: Factor,
        y: GpuArray,
        columns: tuple[int, bool] | None = None,
    ) -> None:
        _multiply_on_gpu(self._plan, alpha, x, beta, y, columns)

    def _transposed_plan(self, conjugate: bool = False) -> _native.Plan:
        with self._lock:
            if conjugate not in self._transposes:
                transposed = self._plan.to_csr().transposed(conjugate)
                self._transposes[conjugate] = transposed.plan(self.device, self._wishes)
            return self._transposes[conjugate]

    def __repr__(self) -> str:
        rows, columns = self.shape
        entries = f"{self.nnz} stored entries of {self.dtype}"
        return f"<{rows} x {columns} warp_spmv.Matrix, {entries}, format {self.format} on {self.device}>"


class Transposed(Operator):
    """The transpose, or the conjugate transpose, of a matrix."""

    def __init__(self, matrix: Matrix, conjugate: bool) -> None:
        self._matrix = matrix
        self._conjugate = conjugate
        rows, columns = matrix.shape
        self.shape = (columns, rows)
        self.dtype = matrix.dtype

    @property
    def T(self) -> Operator:
        return _Conjugated(self._matrix) if self._conjugate and self.dtype.kind == "c" else self._matrix

    @property
    def H(self) -> Operator:
        return self._matrix if self._conjugate or self.dtype.kind != "c" else _Conjugated(self._matrix)

    def _multiply(self, alpha: Factor, x: Array, beta: Factor, y: Array) -> None:
        plan = self._matrix._plan
        if plan.transposes:
            plan.apply_transposed(self._conjugate, alpha, x, beta, y)
        elif self._conjugate:
            _multiply_conjugated(self._matrix._transposed_plan(), alpha, x, beta, y)
        else:
            self._matrix._transposed_plan().apply(alpha, x, beta, y)

    @property
    def device(self) -> str:
        return self._matrix.device

    def _multiply_on_gpu(
        self,
        alpha: Factor,
        x: GpuArray,
        beta: Factor,
        y: GpuArray,
        columns: tuple[int, bool] | None = None,
    ) -> None:
        conjugate = self._conjugate and self.dtype.kind == "c"
        _multiply_on_gpu(self._matrix._transposed_plan(conjugate), alpha, x, beta, y, columns)

    def __repr__(self) -> str:
        return f"<{'conjugate ' if self._conjugate else ''}transpose of {self._matrix!r}>"


class _Conjugated(Operator):
    """The conjugate of a matrix."""

    def __init__(self, matrix: Matrix) -> None:
        self._matrix = matrix
        self.shape = matrix.shape
        self.dtype = matrix.dtype

    @property
    def T(self) -> Operator:
        return self._matrix.H

    @property
    def H(self) -> Operator:
        return self._matrix.T

    @property
    def device(self) -> str:
        return self._matrix.device

    def _multiply(self, alpha: Factor, x: Array, beta: Factor, y: Array) -> None:
        _multiply_conjugated(self._matrix._plan, alpha, x, beta, y)

    def _multiply_on_gpu(
        self,
        alpha: Factor,
        x: GpuArray,
        beta: Factor,
        y: GpuArray,
        columns: tuple[int, bool] | None = None,
    ) -> None:
        raise TypeError("products with the conjugate of a complex matrix take no arrays on a GPU")


def _multiply_on_gpu(
    plan: _native.Plan,
    alpha: Factor,
    x: GpuArray,
    beta: Factor,
    y: GpuArray,
    columns: tuple[int, bool] | None,
) -> None:
    if columns is not None and not plan.multiplies_columns:
        raise TypeError(f"format {plan.format} cannot multiply several vectors on a GPU: multiply each one, or use another format")
    _native.gpu_multiply(plan, columns, alpha, x.place, beta, y.place, _gpu.streams(x, y))


def _multiply_conjugated(
    plan: _native.Plan, alpha: Factor, x: Array, beta: Factor, y: Array
) -> None:
    """y = α conj(A) x + β y, as the conjugate of conj(α) A conj(x) + conj(β) conj(y)."""
    result = y.conj()
    plan.apply((alpha[0], -alpha[1]), x.conj(), (beta[0], -beta[1]), result)
    np.conj(result, out=y)


def matrix(
    source: Any,
    format: str = "auto",
    device: str | None = None,
    *,
    dtype: npt.DTypeLike | None = None,
    multiplications: int | None = 1000,
    memory_budget: int | None = None,
    measure: bool = False,
    reproducible: bool = False,
    updates: bool = False,
    values: str = "full",
) -> Matrix:
    """Makes a matrix ready for multiplication: copies it to a device, chooses a format, and converts it.

    Parameters
    ----------
    source
        A sparse matrix of SciPy in any of its formats, the path of a file (see `read`), or another `Matrix`. A stored
        zero is an entry. Values of float32, float64, complex64 and complex128 keep their type, others become float64.
        Or a CSR matrix of CuPy or PyTorch on a GPU: CSR and COO formats use its arrays in place, except 64-bit columns,
        which are copied in 32 bits. Its pattern must not change; in those formats, new values written to its array take
        effect, but not in copies made by transposed products.
    format
        A format such as "csr-vector" or "sell-p:slice=32", or "auto" for the one predicted to be the fastest. `formats`
        lists the names.
    device
        "cpu", "cuda", or "cuda:1" for the second GPU. By default, that of the matrix's arrays, or the first GPU, or the
        CPU, with a warning.
    dtype
        Another type for the values. Values of a matrix on a GPU are not converted.
    multiplications
        Number of multiplications for which the format is chosen, including its conversion; None for any number.
    memory_budget
        Largest number of bytes of a chosen format.
    measure
        Whether to time formats if the prediction is uncertain. The choice may then differ from run to run.
    reproducible
        Whether the same call must give the same bits every time: formats that add in any order are then refused.
    updates
        Whether `Matrix.update_values` will be called: formats other than CSR and COO then keep the pattern.
    values
        How to store the values: "full", as computed with; "lossless", in the narrowest type that keeps all their bits, if
        one exists; "automatic", which does so on a GPU if it pays, if the format is chosen; or rounded to a type, such as
        "float32". Products with narrow values have the same bits as with those values in full; narrow values cannot be
        updated, and several vectors are multiplied one by one, on a GPU not at all.

    >>> import scipy.sparse, warp_spmv
    >>> warp_spmv.matrix(scipy.sparse.eye_array(3), format="csr-vector", device="cpu")
    <3 x 3 warp_spmv.Matrix, 3 stored entries of float64, format csr-vector on cpu>
    """
    wishes = {
        "format": format,
        "multiplications": None if multiplications is None else count("multiplications", multiplications),
        "memory_budget": None if memory_budget is None else count("memory_budget", memory_budget),
        "measure": bool(measure),
        "reproducible": bool(reproducible),
        "updates": bool(updates),
        "values": values,
    }
    place = "cuda:0" if device == "cuda" else device
    arrays = _gpu.sparse_arrays(source)
    if arrays is not None:
        return _matrix_on_gpu(source, arrays, place, dtype, wishes)
    csr = native_csr(source, dtype)
    return Matrix(csr.plan(place or default_device(), wishes), wishes)


def _matrix_on_gpu(
    source: Any,
    arrays: tuple[Any, Any, Any],
    device: str | None,
    dtype: npt.DTypeLike | None,
    wishes: dict[str, Any],
) -> Matrix:
    """Makes a matrix from arrays on a GPU, used in place."""
    names = ("the row offsets", "the columns", "the values")
    offsets, columns, values = described = [gpu_array(what, array) for what, array in zip(names, arrays)]
    shape = tuple(int(length) for length in source.shape)
    if len(shape) != 2:
        raise ValueError(f"the matrix has {len(shape)} dimensions, expected 2")
    kept = number_type("the matrix", values.dtype) if dtype is None else number_type("dtype", dtype)
    number = next((array.device for array in described if array.device is not None), 0)
    place = device or f"cuda:{number}"
    for what, array in zip(names, described):
        _gpu.check_device(array, what, place)
        _gpu.check_contiguous(array, what)
    _gpu.check_type(values, "the matrix", kept)
    check_shape("the row offsets", offsets, (shape[0] + 1,))
    check_shape("the columns", columns, values.shape)
    check_shape("the values", values, (values.size,))
    for what, array in zip(names[:2], described):
        if array.dtype.kind not in "iu" or array.dtype.itemsize not in (4, 8):
            raise TypeError(f"{what} have elements of type {array.dtype}, expected int32 or int64")
    native = {
        "shape": shape,
        "row_offsets": (offsets.address, offsets.dtype.itemsize),
        "columns": (columns.address, columns.dtype.itemsize),
        "values": values.address,
        "entries": values.size,
    }
    gpu = int(place.removeprefix("cuda:")) if place.removeprefix("cuda:").isdecimal() else None
    if gpu is None:
        raise ValueError(f"device is {device!r}, expected 'cuda', or 'cuda:' and a number, for a matrix on a GPU")
    plan = _native.gpu_plan(gpu, native, kept.name, wishes, _gpu.streams(*described))
    # Other formats have their own arrays.
    uses = plan.format.startswith(("csr", "coo")) and not plan.format.startswith("coo-16") and not plan.narrow_type
    return Matrix(plan, wishes, arrays if uses else None)
