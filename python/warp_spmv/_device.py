"""Where a matrix is put if nobody says where."""

import warnings

from ._native import why_no_gpu

_warned = False


def default_device() -> str:
    """The first GPU, or the CPU with a warning, once."""
    global _warned
    reason = why_no_gpu()
    if reason is None:
        return "cuda:0"
    if not _warned:
        _warned = True
        message = f'warp_spmv runs on the CPU (device="cpu" says that this is meant): {reason}'
        warnings.warn(message, RuntimeWarning, stacklevel=3)
    return "cpu"
