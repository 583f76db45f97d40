"""Fast descriptions of vectors of PyTorch and CuPy: a product with a small matrix takes a GPU a few microseconds, to which
the time of the call is added.

No check is skipped: for anything unusual, the result here is None, and `_gpu` examines it again and reports the error.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

_NAMES = ("float32", "float64", "complex64", "complex128")


class Torch:
    """Tensors of PyTorch."""

    def __init__(self, torch: Any) -> None:
        self._types = {np.dtype(name): getattr(torch, name) for name in _NAMES}
        self._strided = torch.strided
        # The bare handle, if this version provides it.
        number = getattr(getattr(torch, "_C", None), "_cuda_getCurrentRawStream", None)
        self._stream = number or (lambda device: torch.cuda.current_stream(device).cuda_stream)

    def address(self, tensor: Any, length: int, dtype: np.dtype[Any], device: int) -> int | None:
        """Returns the address of a vector if it is plain, contiguous, of this length and type, and on this GPU."""
        usual = (
            tensor.is_cuda
            and tensor.shape == (length,)
            and tensor.dtype is self._types[dtype]
            and tensor.layout is self._strided
            and tensor.is_contiguous()
            and tensor.get_device() == device
            and not (tensor.requires_grad or tensor.is_conj() or tensor.is_neg())
        )
        return tensor.data_ptr() if usual else None

    def empty(self, tensor: Any, length: int) -> tuple[Any, int]:
        """Returns a new vector of the same type on the same GPU, and its address: faster than `torch.empty`."""
        vector = tensor.new_empty(length)
        return vector, vector.data_ptr()

    def stream(self, device: int) -> int:
        """Returns the current stream of the library in this thread."""
        return self._stream(device) or 1


class CuPy:
    """Arrays of CuPy."""

    def __init__(self, cupy: Any) -> None:
        self._empty = cupy.empty
        self._current = cupy.cuda.get_current_stream

    def address(self, array: Any, length: int, dtype: np.dtype[Any], device: int) -> int | None:
        """As for PyTorch."""
        usual = (
            array.shape == (length,)
            and array.dtype == dtype
            and array.flags.c_contiguous
            and array.device.id == device
        )
        return array.data.ptr if usual else None

    def empty(self, array: Any, length: int) -> tuple[Any, int] | None:
        """As for PyTorch, if the GPU is the current one."""
        vector = self._empty(length, array.dtype)
        return (vector, vector.data.ptr) if vector.device.id == array.device.id else None

    def stream(self, device: int) -> int:
        """As for PyTorch."""
        return self._current().ptr or 1


_libraries: dict[type, Torch | CuPy | None] = {np.ndarray: None}


def library_of(array: object) -> Torch | CuPy | None:
    """Returns the library of an array, if it is one of these two and the array is not of a subclass."""
    kind = type(array)
    try:
        return _libraries[kind]
    except KeyError:
        pass
    library: Torch | CuPy | None = None
    torch, cupy = (sys.modules.get(name) for name in ("torch", "cupy"))
    if kind is getattr(torch, "Tensor", None):
        library = Torch(torch)
    elif kind is getattr(cupy, "ndarray", None):
        library = CuPy(cupy)
    _libraries[kind] = library
    return library
