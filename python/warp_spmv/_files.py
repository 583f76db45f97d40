"""Matrices from files and generators."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import numpy.typing as npt

from ._arrays import number_type
from ._csr import native_csr, scipy_csr
from ._native import Csr


def read(path: str | os.PathLike[str], dtype: npt.DTypeLike | None = None) -> Any:
    """Reads a matrix from a file, as a `csr_array` of SciPy: Matrix Market, plain or gzip, Rutherford-Boeing, `.npz` as
    written by SciPy, or `.wspmv`. The contents determine the format.

    Without `dtype`, the values are float64, or complex128 if the file has complex ones. `matrix` reads files, too.

    >>> import os, tempfile, warp_spmv
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "line.mtx")
    ...     warp_spmv.write(path, warp_spmv.generate("stencil:3:2"))
    ...     warp_spmv.read(path).toarray()
    array([[ 2., -1.],
           [-1.,  2.]])
    """
    return scipy_csr(Csr.read(path, None if dtype is None else number_type("dtype", dtype).name))


def write(path: str | os.PathLike[str], A: Any) -> None:
    """Writes a matrix to a file whose name ends in `.mtx`, `.mtx.gz`, `.npz` or `.wspmv`.

    The file appears once it is complete: on failure, an old one stays unchanged.
    """
    native_csr(A).write(path)


def generate(text: str, dtype: npt.DTypeLike = np.float64) -> Any:
    """Generates a matrix, as a `csr_array` of SciPy. The error for an unknown name lists all generators;
    docs/matrices.md in the project's repository describes them.

    >>> import warp_spmv
    >>> warp_spmv.generate("stencil:3:3").toarray()
    array([[ 2., -1.,  0.],
           [-1.,  2., -1.],
           [ 0., -1.,  2.]])
    """
    return scipy_csr(Csr.generate(text, number_type("dtype", dtype).name))
