import os
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

__version__: str

_Array = npt.NDArray[Any]
_Callback = Callable[[int, float, float], object]
# A name, an object, or a function.
_Preconditioner = str | Preconditioner | Callable[[_Array], _Array] | None
# The initial iterates (None for zeros), the destination of the last ones, and the number of columns.
_Iterates = tuple[tuple[int, int] | None, tuple[int, int], int]

class DeviceError(RuntimeError):
    """The device is not available on this machine or in this build, or it failed."""

def why_no_gpu() -> str | None: ...
def formats() -> list[str]: ...
def dlpack_array(
    capsule: object,
) -> tuple[int, list[int], list[int] | None, str, tuple[int, int]]: ...
def gpu_multiply(
    plan: Plan,
    columns: tuple[int, bool] | None,
    alpha: tuple[float, float],
    x: tuple[int, int],
    beta: tuple[float, float],
    y: tuple[int, int],
    streams: list[int],
) -> None: ...
def gpu_solve(
    plan: Plan,
    b: tuple[int, int],
    x: _Iterates,
    method: str,
    preconditioner: _Preconditioner,
    stopping: dict[str, Any],
    callback: _Callback | None,
    streams: list[int],
) -> list[dict[str, Any]]: ...
def gpu_eigenpairs(
    plan: Plan,
    x: _Iterates,
    smallest: bool,
    preconditioner: _Preconditioner,
    stopping: dict[str, Any],
    callback: _Callback | None,
    streams: list[int],
) -> dict[str, Any]: ...
def gpu_pagerank(
    number: int,
    graph: Csr,
    damping: float,
    personalization: tuple[int, int] | None,
    ranks: tuple[int, int],
    stopping: dict[str, Any],
    callback: _Callback | None,
    streams: list[int],
) -> dict[str, Any]: ...
def gpu_precondition(
    preconditioner: Preconditioner,
    alpha: tuple[float, float],
    x: tuple[int, int],
    beta: tuple[float, float],
    y: tuple[int, int],
    streams: list[int],
) -> None: ...
def gpu_update_values(plan: Plan, values: tuple[int, int], streams: list[int]) -> None: ...
def gpu_plan(number: int, matrix: dict[str, Any], dtype: str, wishes: dict[str, Any], streams: list[int]) -> Plan: ...

class Csr:
    @staticmethod
    def from_arrays(
        shape: tuple[int, int], row_offsets: _Array, columns: _Array, values: _Array, dtype: str
    ) -> Csr: ...
    @staticmethod
    def read(path: str | os.PathLike[str], dtype: str | None) -> Csr: ...
    @staticmethod
    def generate(text: str, dtype: str) -> Csr: ...
    def write(self, path: str | os.PathLike[str]) -> None: ...
    def transposed(self, conjugate: bool) -> Csr: ...
    def take_arrays(self) -> tuple[tuple[int, int], list[_Array]]: ...
    def plan(self, device: str, wishes: dict[str, Any]) -> Plan: ...
    def pagerank(
        self,
        device: str,
        damping: float,
        personalization: npt.NDArray[np.float64] | None,
        stopping: dict[str, Any],
        callback: _Callback | None,
    ) -> tuple[_Array, dict[str, Any]]: ...

class Plan:
    dtype: str
    nbytes: int
    transposes: bool
    multiplies_columns: bool
    device: str
    shape: tuple[int, int]
    nnz: int
    format: str
    narrow_type: str | None
    explanation: str | None
    def apply(self, alpha: tuple[float, float], x: _Array, beta: tuple[float, float], y: _Array) -> None: ...
    def apply_transposed(
        self, conjugate: bool, alpha: tuple[float, float], x: _Array, beta: tuple[float, float], y: _Array
    ) -> None: ...
    def apply_columns(self, alpha: tuple[float, float], x: _Array, beta: tuple[float, float], y: _Array) -> None: ...
    def update_values(self, values: _Array) -> None: ...
    def to_csr(self) -> Csr: ...
    def solve(
        self,
        b: _Array,
        x: _Array,
        method: str,
        preconditioner: _Preconditioner,
        stopping: dict[str, Any],
        callback: _Callback | None,
    ) -> list[dict[str, Any]]: ...
    def eigenpairs(
        self,
        x: _Array,
        smallest: bool,
        preconditioner: _Preconditioner,
        stopping: dict[str, Any],
        callback: _Callback | None,
    ) -> dict[str, Any]: ...
    def spectral_bounds(self, steps: int) -> tuple[float, float]: ...

class Preconditioner:
    name: str
    def __init__(
        self, plan: Plan, name: str, near_null_space: _Array | None, coordinates: _Array | None, updates: bool
    ) -> None: ...
    def levels(self) -> list[tuple[int, int, str | None]]: ...
    def refresh(self, plan: Plan) -> None: ...
    def apply(self, alpha: tuple[float, float], x: _Array, beta: tuple[float, float], y: _Array) -> None: ...
