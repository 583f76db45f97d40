"""Checks of numbers from users, before the native part takes them."""

import numbers
from typing import Any


def number(what: str, value: Any) -> float:
    if not isinstance(value, numbers.Real):
        raise TypeError(f"{what} is {value!r}, expected a number")
    return float(value)


def count(what: str, value: Any, most: int = 2**64 - 1) -> int:
    if not isinstance(value, numbers.Integral):
        raise TypeError(f"{what} is {value!r}, expected an integer")
    number = int(value)
    if not 0 <= number <= most:
        raise ValueError(f"{what} is {number}, expected 0 to {most}")
    return number
