"""Conversions between matrices of SciPy and of the native part."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse

from . import _native
from ._arrays import number_type, refuse_gpu


def native_csr(source: Any, dtype: npt.DTypeLike | None = None) -> _native.Csr:
    """Converts a matrix of any kind to one of the native part."""
    kept = None if dtype is None else number_type("dtype", dtype)
    if isinstance(source, (str, os.PathLike)):
        return _native.Csr.read(source, None if kept is None else kept.name)
    plan = getattr(source, "_plan", None)
    if isinstance(plan, _native.Plan):
        # A `Matrix`.
        csr = plan.to_csr()
        if kept is None or kept == source.dtype:
            return csr
        return native_csr(scipy_csr(csr), kept)
    is_sparse: bool = scipy.sparse.issparse(source)
    if not is_sparse:
        refuse_gpu("the matrix", getattr(source, "data", source))
        kind = f"{type(source).__module__}.{type(source).__qualname__}"
        raise TypeError(f"the matrix is a {kind}, expected a sparse matrix of SciPy, a path, or a warp_spmv.Matrix")
    csr = source.tocsr()
    if csr.ndim != 2:
        raise ValueError(f"the matrix has {csr.ndim} dimension, expected 2")
    kept = kept or number_type("the matrix", csr.dtype)
    if csr.dtype.kind == "c" and kept.kind != "c":
        raise TypeError(f"the matrix has elements of type {csr.dtype}, whose imaginary parts {kept} would lose")
    values = np.require(csr.data, kept, ["C", "A"])
    width = np.int32 if csr.indices.dtype == np.int32 and csr.indptr.dtype == np.int32 else np.int64
    offsets, columns = (np.require(array, width, ["C", "A"]) for array in (csr.indptr, csr.indices))
    return _native.Csr.from_arrays(csr.shape, offsets, columns, values, kept.name)


def scipy_csr(csr: _native.Csr) -> Any:
    """Converts a native matrix to one of SciPy."""
    shape, (values, columns, offsets) = csr.take_arrays()
    return scipy.sparse.csr_array((values, columns, offsets), shape=shape)
