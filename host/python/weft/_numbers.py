"""Integers on their way to C, where ctypes would cut them off without a word."""

import operator


def unsigned(value: int, name: str, bits: int = 64) -> int:
    """TypeError: it is no integer. ValueError: it is negative, or has more bits."""
    number = operator.index(value)
    if not 0 <= number < 1 << bits:
        raise ValueError(f"{name} is {number}: from 0 to {(1 << bits) - 1}")
    return number
