"""The default device of a matrix."""

import warnings

from ._native import why_no_gpu

_warned = False


def default_device() -> str:
    """Returns the first GPU, or the CPU with a warning, issued once."""
    global _warned
    reason = why_no_gpu()
    if reason is None:
        return "cuda:0"
    if not _warned:
        _warned = True
        message = f'warp_spmv runs on the CPU (pass device="cpu" to silence this warning): {reason}'
        warnings.warn(message, RuntimeWarning, stacklevel=3)
    return "cpu"
