"""Numbers of a stage in double precision, where the schemas of USD Physics have single precision.

Engines read the attribute, which is rounded. The number that was meant lies in its custom data as
``exact``, and counts as long as it still rounds to the attribute: whoever edits the attribute is
right.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from pxr import Gf

from regularize.lie.screw import Array

EXACT = "exact"
NAME = "regularize:name"


def put(attribute: Any, value: Any) -> None:
    """Set an attribute of single precision, and keep what its rounding takes away."""
    attribute.Set(_rounded(value))
    if not np.array_equal(numbers(attribute.Get()), numbers(value)):
        attribute.SetCustomDataByKey(EXACT, value)


def get(attribute: Any) -> Any:
    """The value of an attribute in double precision; None where it has none."""
    value = attribute.Get() if attribute else None
    exact = attribute.GetCustomDataByKey(EXACT) if value is not None else None
    if exact is not None and np.array_equal(numbers(_rounded(exact)), numbers(value)):
        return exact
    return value


def name_of(prim: Any) -> str:
    """What a prim is called in the model that was written, or else its own name."""
    return str(prim.GetCustomDataByKey(NAME) or prim.GetName())


def _rounded(value: Any) -> Any:
    if isinstance(value, Gf.Quatd):
        return Gf.Quatf(value)
    return Gf.Vec3f(value) if isinstance(value, Gf.Vec3d) else float(np.float32(value))


def numbers(value: Any) -> Array:
    """The numbers of a value, shape (n,); none where it is something else."""
    if isinstance(value, Gf.Quatd | Gf.Quatf | Gf.Quath):
        return np.array([value.GetReal(), *value.GetImaginary()], dtype=np.float64)
    try:
        return np.atleast_1d(np.array(value, dtype=np.float64))
    except (TypeError, ValueError):
        return np.zeros(0)


def value_of(prim: Any, name: str, default: Any) -> Any:
    """The value of an attribute; the default where there is none."""
    value = get(prim.GetAttribute(name)) if prim.HasAttribute(name) else None
    return default if value is None else value
