"""Sparse matrix-vector multiplication on NVIDIA GPUs and on the CPU.

>>> import numpy as np, scipy.sparse, warp_spmv
>>> S = scipy.sparse.csr_array([[4.0, 1.0], [1.0, 3.0]])
>>> A = warp_spmv.matrix(S, device="cpu")
>>> A @ np.array([1.0, 2.0])
array([6., 7.])
>>> x, report = warp_spmv.solve(A, np.array([6.0, 7.0]))
>>> report.converged, x.round(6)
(True, array([1., 2.]))

`matrix` makes a matrix ready for multiplication, which SciPy's solvers accept directly; `solve`, `eigsh`,
`spectral_bounds` and `pagerank` iterate on the device, the first two optionally with a `Preconditioner`; `generate`,
`read` and `write` are for SciPy's matrices.
"""

from ._eigen import EigenReport, eigsh, spectral_bounds
from ._files import generate, read, write
from ._matrix import Matrix, Transposed, matrix
from ._native import DeviceError, __version__, formats
from ._pagerank import PagerankReport, pagerank
from ._preconditioner import Level, Preconditioner
from ._progress import Progress
from ._solve import Report, solve

__all__ = [
    "DeviceError",
    "EigenReport",
    "Level",
    "Matrix",
    "PagerankReport",
    "Preconditioner",
    "Progress",
    "Report",
    "Transposed",
    "__version__",
    "eigsh",
    "formats",
    "generate",
    "matrix",
    "pagerank",
    "read",
    "solve",
    "spectral_bounds",
    "write",
]
