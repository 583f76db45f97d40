"""Converts arrays of users to arrays that the native part takes."""

import sys
from typing import Any

import numpy as np
import numpy.typing as npt

from ._gpu import is_on_gpu, kind_of

Array = npt.NDArray[Any]

_TYPES = [np.dtype(name) for name in ("float32", "float64", "complex64", "complex128")]
_DLPACK_CPU = 1


def refuse_gpu(what: str, array: object) -> None:
    """Raises an error if an array needed on the host is on a GPU: it is never copied implicitly."""
    on_gpu = is_on_gpu(array)
    if not on_gpu and hasattr(array, "__dlpack_device__"):
        on_gpu = array.__dlpack_device__()[0] != _DLPACK_CPU
    if on_gpu:
        raise TypeError(f"{what} is a {kind_of(array)} on a GPU, but is needed on the host: copy it there first")


def on_host(what: str, array: Any) -> Array:
    """Returns an array in host memory, without a copy if it already is one."""
    if isinstance(array, np.ndarray):
        return np.asarray(array)
    refuse_gpu(what, array)
    if hasattr(array, "__dlpack_device__"):
        return np.from_dlpack(array)
    converted = np.asarray(array)
    if converted.dtype == object:
        kind = f"{type(array).__module__}.{type(array).__qualname__}"
        raise TypeError(f"{what} is a {kind}, expected an array of numbers")
    return converted


def like(array: object, result: Array) -> Any:
    """Returns a result as the same kind of array: a tensor for a tensor, without a copy."""
    if isinstance(array, np.ndarray) or not hasattr(array, "__dlpack_device__"):
        return result
    library: Any = sys.modules.get(type(array).__module__.partition(".")[0])
    return library.from_dlpack(result) if hasattr(library, "from_dlpack") else result


def number_type(what: str, dtype: npt.DTypeLike) -> "np.dtype[Any]":
    """Returns the type in which numbers of a type are kept: exactly, except for large integers."""
    given = np.dtype(dtype)
    if given.kind in "biu":
        return np.dtype(np.float64)
    if given == np.float16:
        return np.dtype(np.float32)
    if given.newbyteorder("=") in _TYPES:
        return given.newbyteorder("=")
    names = ", ".join(known.name for known in _TYPES)
    raise TypeError(f"{what} has elements of type {given}, expected one of {names}")


def converted(what: str, given: object, array: Array, dtype: "np.dtype[Any]") -> Array:
    """Returns an array in the matrix's type; raises an error if that would lose digits or an imaginary part."""
    # Python numbers have no precision of their own.
    weak = not hasattr(given, "dtype") and array.dtype.kind == "f"
    if array.dtype.kind in "biu" or weak or np.can_cast(array.dtype, dtype, "safe"):
        return array.astype(dtype, copy=False)
    raise TypeError(f"{what} has elements of type {array.dtype}, but the matrix of {dtype}: convert one of them")


def factor(what: str, value: complex, dtype: "np.dtype[Any]") -> tuple[float, float]:
    """Returns the real and the imaginary part of a factor."""
    number = complex(value)
    if number.imag != 0 and dtype.kind != "c":
        raise TypeError(f"{what} is {value}, expected a real number for a matrix of {dtype}")
    return number.real, number.imag
