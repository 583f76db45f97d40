"""Arrays of other libraries on a GPU, used in place: CuPy, PyTorch, and any library that supports DLPack or
`__cuda_array_interface__`."""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ._native import dlpack_array

_DLPACK_CUDA = (2, 13)
"""GPU memory, and managed memory, which migrates between GPU and host."""
_LEGACY_STREAM = 1
_NO_ORDER = -1
"""Tells DLPack not to order streams: this module does."""


@dataclass(slots=True)
class GpuArray:
    """An array on a GPU, as its library describes it."""

    owner: Any = field(repr=False)
    address: int
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    c_order: bool
    f_order: bool
    readonly: bool
    device: int | None
    """The number of the GPU, if the library provides it."""
    stream: int | None
    """The stream that its library works on; None if unknown."""

    @property
    def kind(self) -> str:
        """Its name in messages."""
        return kind_of(self.owner)

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    @property
    def place(self) -> tuple[int, int]:
        """Address and size, as the native part takes them."""
        return self.address, self.size

    def overlaps(self, other: GpuArray) -> bool:
        first, second = (array.size * array.dtype.itemsize for array in (self, other))
        return self.address < other.address + second and other.address < self.address + first


def _library(array: object) -> Any:
    """Returns the library of an array."""
    return sys.modules.get(type(array).__module__.partition(".")[0])


def kind_of(array: object) -> str:
    """Returns the name of an array in messages."""
    return f"{type(array).__module__.partition('.')[0]}.{type(array).__name__}"


def is_on_gpu(array: object) -> bool:
    """Returns whether an array reports to be on a CUDA GPU."""
    if isinstance(array, np.ndarray):
        return False
    if hasattr(array, "__dlpack_device__"):
        return array.__dlpack_device__()[0] in _DLPACK_CUDA
    return hasattr(array, "__cuda_array_interface__")


def _current_stream(array: Any, device: int | None) -> int | None:
    """Returns the current stream of a library in this thread, if there is a known way to query it."""
    cuda = getattr(_library(array), "cuda", None)
    if hasattr(cuda, "current_stream"):
        # PyTorch.
        stream = cuda.current_stream(device).cuda_stream
    elif hasattr(cuda, "get_current_stream"):
        # CuPy.
        stream = cuda.get_current_stream().ptr
    else:
        return None
    return int(stream) or _LEGACY_STREAM


def gpu_array(what: str, array: Any) -> GpuArray:
    """Describes an array; raises an error if its description is invalid."""
    if hasattr(array, "__dlpack__"):
        return _by_dlpack(what, array)
    if hasattr(array, "__cuda_array_interface__"):
        return _by_interface(what, array)
    raise TypeError(f"{what} is a {kind_of(array)} on a GPU, but has neither __dlpack__ nor __cuda_array_interface__")


def _by_dlpack(what: str, array: Any) -> GpuArray:
    number = int(array.__dlpack_device__()[1])
    stream = _current_stream(array, number)
    # Refuses tensors without such a description: lazily conjugated ones, and those that require gradients.
    capsule = array.__dlpack__(stream=_LEGACY_STREAM if stream is None else _NO_ORDER)
    address, shape, strides, name, (device_type, device) = dlpack_array(capsule)
    if device_type not in _DLPACK_CUDA:
        raise ValueError(f"{what} is on a GPU, but its capsule says device {device_type}")
    dtype = np.dtype(name)
    bytes_apart = None if strides is None else [stride * dtype.itemsize for stride in strides]
    stream = _LEGACY_STREAM if stream is None else stream
    # A capsule of this version does not tell whether the array is writable: `check_writable` checks that.
    return _described(what, array, address, tuple(shape), bytes_apart, dtype, False, device, stream)


def _by_interface(what: str, array: Any) -> GpuArray:
    interface = array.__cuda_array_interface__
    if not isinstance(interface, dict):
        raise TypeError(f"{what}: __cuda_array_interface__ is a {type(interface).__name__}, expected a dict")
    missing = {"shape", "typestr", "data", "version"} - interface.keys()
    if missing:
        raise ValueError(f"{what}: __cuda_array_interface__ has no {sorted(missing)[0]!r}")
    if interface.get("mask") is not None:
        raise ValueError(f"{what} has a mask, which is not supported")
    address, readonly = interface["data"]
    stream = _current_stream(array, None)
    if stream is None and interface.get("stream") is not None:
        stream = int(interface["stream"])
        if stream == 0:
            raise ValueError(f"{what}: __cuda_array_interface__ has stream 0, which denotes no particular stream")
    shape = tuple(int(length) for length in interface["shape"])
    dtype = np.dtype(interface["typestr"])
    strides = interface.get("strides")
    return _described(what, array, int(address or 0), shape, strides, dtype, bool(readonly), None, stream)


def _described(
    what: str,
    array: Any,
    address: int,
    shape: tuple[int, ...],
    strides: Any,
    dtype: np.dtype[Any],
    readonly: bool,
    device: int | None,
    stream: int | None,
) -> GpuArray:
    if shape and min(shape) < 0:
        raise ValueError(f"{what} has shape {shape}, which has a negative length")
    if strides is not None and len(strides) != len(shape):
        raise ValueError(f"{what} has {len(strides)} strides for {len(shape)} dimensions")
    c_order, f_order = _orders(shape, strides, dtype.itemsize)
    return GpuArray(array, address, shape, dtype, c_order, f_order, readonly, device, stream)


def _orders(shape: tuple[int, ...], strides: Any, itemsize: int) -> tuple[bool, bool]:
    """Returns whether elements are contiguous in C order, and whether in Fortran order."""
    if 0 in shape:
        return True, True
    if strides is None:
        return True, sum(length > 1 for length in shape) <= 1
    if len(shape) == 1:
        contiguous = shape[0] == 1 or strides[0] == itemsize
        return contiguous, contiguous
    forwards = tuple(zip(shape, strides))
    return _is_contiguous(forwards[::-1], itemsize), _is_contiguous(forwards, itemsize)


def _is_contiguous(dimensions: tuple[tuple[int, int], ...], itemsize: int) -> bool:
    """Returns whether elements are contiguous, given the dimensions with their strides, the fastest first."""
    expected = itemsize
    for length, stride in dimensions:
        if length > 1 and stride != expected:
            return False
        expected *= length
    return True


def check_type(array: GpuArray, what: str, dtype: np.dtype[Any]) -> None:
    """Checks the type: an array on a GPU is never converted implicitly."""
    if array.dtype != dtype:
        raise TypeError(f"{what} has elements of type {array.dtype}, expected {dtype}: arrays on a GPU are not converted")


def check_contiguous(array: GpuArray, what: str) -> None:
    if not (array.c_order or (array.f_order and len(array.shape) == 2)):
        raise ValueError(f"{what} is not contiguous: arrays on a GPU are not copied, make it contiguous first")


def check_writable(array: GpuArray, what: str) -> None:
    interface = getattr(array.owner, "__cuda_array_interface__", None)
    if array.readonly or (isinstance(interface, dict) and interface["data"][1]):
        raise ValueError(f"{what} is read-only")


def check_device(array: GpuArray, what: str, device: str) -> None:
    """Checks that an array is on the device of a matrix."""
    if device == "cpu":
        message = f"{what} is a {array.kind} on a GPU, but the matrix is on the CPU: copy one of them"
        raise TypeError(message)
    if array.device is not None and device != f"cuda:{array.device}":
        raise ValueError(f"{what} is on cuda:{array.device}, but the matrix is on {device}")


def empty_like(array: GpuArray, shape: tuple[int, ...]) -> Any:
    """Returns a new array of the same library, type and device, in C order."""
    library = _library(array.owner)
    if not hasattr(library, "empty"):
        raise TypeError(f"the library of a {array.kind} cannot make empty arrays: pass one as out")
    device = getattr(array.owner, "device", None)
    if hasattr(device, "type"):
        # PyTorch.
        return library.empty(shape, dtype=array.owner.dtype, device=device)
    if hasattr(device, "__enter__"):
        # CuPy.
        with device:
            return library.empty(shape, dtype=array.owner.dtype)
    return library.empty(shape, dtype=array.owner.dtype)


def columns_first(what: str, array: GpuArray) -> GpuArray:
    """Returns an array in Fortran order: itself, or a copy that its library makes on the GPU."""
    if len(array.shape) < 2 or array.f_order:
        return array
    copy = empty_like(array, array.shape[::-1]).T
    try:
        copy[...] = array.owner
    except TypeError as error:
        message = f"{what} is in C order, and a {array.kind} cannot be copied: pass it in Fortran order"
        raise TypeError(message) from error
    return gpu_array(what, copy)


def like_on_gpu(array: GpuArray, numbers: np.ndarray[Any, Any]) -> Any:
    """Returns a few numbers of the host as an array of the same library and device, if the library can make one."""
    library = _library(array.owner)
    device = getattr(array.owner, "device", None)
    if not hasattr(library, "asarray"):
        return numbers
    if hasattr(device, "type"):
        # PyTorch.
        return library.asarray(numbers, device=device)
    if hasattr(device, "__enter__"):
        # CuPy.
        with device:
            return library.asarray(numbers)
    return library.asarray(numbers)


def streams(*arrays: GpuArray) -> list[int]:
    """Returns the streams whose order a call keeps; an empty list if one is unknown, so that the call blocks."""
    known = [array.stream for array in arrays if array.stream is not None]
    return list(dict.fromkeys(known)) if len(known) == len(arrays) else []


def sparse_arrays(source: Any) -> tuple[Any, Any, Any] | None:
    """Returns row offsets, columns and values in CSR of a sparse matrix on a GPU; None for anything else."""
    if getattr(source, "is_sparse_csr", False):
        # PyTorch.
        return (source.crow_indices(), source.col_indices(), source.values()) if is_on_gpu(source.values()) else None
    if hasattr(source, "tocsr") and is_on_gpu(getattr(source, "data", None)):
        # CuPy, where `tocsr` returns CSR matrices themselves.
        csr = source.tocsr()
        return csr.indptr, csr.indices, csr.data
    return None
