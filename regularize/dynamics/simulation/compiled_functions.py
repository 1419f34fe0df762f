"""Compiled functions of joint forces, called by their addresses, and Python functions called by C.

What ``scipy.LowLevelCallable`` holds: a function of ctypes or cffi, one that numba has compiled, or
a capsule of Cython, with data of its own. These are called without Python in between.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeGuard

import numpy as np

from regularize.errors import ModelError
from regularize.lie.arrays import Array

if TYPE_CHECKING:
    from scipy import LowLevelCallable

_NUMBER, _DATA = ctypes.c_double, ctypes.c_void_p
_TORQUE = ctypes.CFUNCTYPE(_NUMBER, _NUMBER, _DATA)
_FORCES = ctypes.CFUNCTYPE(ctypes.c_int, _NUMBER, _DATA, _DATA, _DATA, _DATA)
_MOTION = ctypes.CFUNCTYPE(ctypes.c_int, _NUMBER, _DATA, _DATA)
_THREE = _NUMBER * 3

#: Signatures as ``scipy.LowLevelCallable`` writes them.
TORQUE = "double (double, void *)"
FORCES = "int (double, double *, double *, double *, void *)"
MOTION = "int (double, double *, void *)"
#: The same where C finds them, as long as there are capsules.
_NAMES = {each: ctypes.create_string_buffer(each.encode()) for each in (TORQUE, FORCES, MOTION)}


def _owned(place: int | None, data: int | None, signature: str, owner: object) -> tuple[Any, Any]:
    """Return a capsule named by the signature, with its data, and what the function lives in.

    A capsule alone would outlive the function.
    """
    api = ctypes.pythonapi
    api.PyCapsule_New.restype, api.PyCapsule_New.argtypes = ctypes.py_object, [_DATA] * 3
    api.PyCapsule_SetContext.argtypes = [ctypes.py_object, _DATA]
    capsule = api.PyCapsule_New(place, ctypes.addressof(_NAMES[signature]), None)
    api.PyCapsule_SetContext(capsule, data)
    return capsule, owner


def _address(function: LowLevelCallable, what: str, signature: str) -> tuple[int, int | None]:
    """Return addresses of a function, refused if it has another signature, and of its data."""
    if " ".join(function.signature.replace("const ", "").split()) != signature:
        raise ModelError(
            f"{what} as a LowLevelCallable has the signature {signature!r}; got "
            f"{function.signature!r}"
        )
    api, capsule = ctypes.pythonapi, ctypes.py_object(tuple.__getitem__(function, 0))
    for each in (api.PyCapsule_GetPointer, api.PyCapsule_GetContext, api.PyCapsule_GetName):
        each.restype = _DATA
    api.PyCapsule_GetPointer.argtypes = [ctypes.py_object, _DATA]
    api.PyCapsule_GetContext.argtypes = api.PyCapsule_GetName.argtypes = [ctypes.py_object]
    name = api.PyCapsule_GetName(capsule)
    return api.PyCapsule_GetPointer(capsule, name), api.PyCapsule_GetContext(capsule)


class _Compiled:
    """A compiled function; ``owned`` holds it with its data for the kernel."""

    _signature: str
    _prototype: Callable[[int], Any]

    def __init__(self, function: LowLevelCallable, what: str) -> None:
        place, self._data = _address(function, what, self._signature)
        self.owned = _owned(place, self._data, self._signature, function)
        self._call, self._what = type(self)._prototype(place), what


class CompiledTorque(_Compiled):
    """A compiled torque over time, ``double torque(double t, void *data)``."""

    _signature, _prototype = TORQUE, _TORQUE

    def __call__(self, t: float) -> float:
        """Return the torque at a time."""
        return float(self._call(t, self._data))


class CompiledForces(_Compiled):
    """Compiled joint forces.

    ``int forces(double t, double *q, double *v, double *tau, void *data)`` adds to ``tau`` and
    returns 0; any other number ends the motion.
    """

    _signature, _prototype = FORCES, _FORCES

    def __call__(self, t: float, q: Array, v: Array) -> Array:
        """Return joint forces, shape (nv,)."""
        q, v, tau = (np.array(x, dtype=np.float64) for x in (q, v, np.zeros(len(v))))
        found = self._call(t, q.ctypes.data, v.ctypes.data, tau.ctypes.data, self._data)
        if found != 0:
            raise ModelError(f"the compiled function of forces returned {found} at {t:.6g} s")
        return tau


class CompiledMotion(_Compiled):
    """A compiled motion over time, ``int motion(double t, double *motion, void *data)``.

    The function writes position, rate and acceleration and returns 0; else the motion ends.
    """

    _signature, _prototype = MOTION, _MOTION

    def __call__(self, t: float) -> tuple[float, float, float]:
        """Return position, rate and acceleration at a time."""
        values = _THREE()
        found = self._call(t, ctypes.addressof(values), self._data)
        if found != 0:
            raise ModelError(f"{self._what}: the compiled function returned {found} at {t:.6g} s")
        position, rate, acceleration = values
        return position, rate, acceleration


class _Callback:
    """A Python function that C code calls; ``error`` is what it raised, or None."""

    def __init__(self, prototype: Any, signature: str, function: Callable[..., None]) -> None:
        self.error: BaseException | None = None

        def called(*arguments: Any) -> int:
            try:
                function(*arguments)
            except BaseException as error:  # C code knows no exceptions: it is raised behind it
                self.error = error
                return 1
            return 0

        thunk = prototype(called)
        self.owned = _owned(ctypes.cast(thunk, _DATA).value, None, signature, thunk)


class MotionCalledBack(_Callback):
    """A Python function of a motion that C code calls."""

    def __init__(self, function: Callable[[float], tuple[float, float, float]]) -> None:
        def write(t: float, motion: int, _: object) -> None:
            _THREE.from_address(motion)[:] = list(function(t))

        super().__init__(_MOTION, MOTION, write)


class CalledBack(_Callback):
    """A Python function of joint forces (nv,) by time, q (nq,) and v (nv,) that C code calls."""

    def __init__(self, function: Callable[[float, Array, Array], Array], nq: int, nv: int) -> None:
        q, v, tau = (np.zeros(n) for n in (nq, nv, nv))
        places = [each.ctypes.data for each in (q, v, tau)]

        def write(t: float, its_q: int, its_v: int, its_tau: int, _: object) -> None:
            ctypes.memmove(places[0], its_q, 8 * nq)
            ctypes.memmove(places[1], its_v, 8 * nv)
            tau[:] = function(t, q.copy(), v.copy())
            ctypes.memmove(its_tau, places[2], 8 * nv)

        super().__init__(_FORCES, FORCES, write)


def _is_compiled(function: object) -> TypeGuard[LowLevelCallable]:
    """Return whether it is a ``LowLevelCallable``, a tuple, without loading scipy for others."""
    if not isinstance(function, tuple):
        return False
    from scipy import LowLevelCallable

    return isinstance(function, LowLevelCallable)


def compiled_or_own(function: Any, what: str, make: Callable[[LowLevelCallable], Any]) -> Any:
    """Return a function, or what is made of a ``LowLevelCallable``; refuse one of ctypes."""
    if _is_compiled(function):
        return make(function)
    if isinstance(function, _TORQUE.__bases__):
        raise ModelError(f"{what}: pass scipy.LowLevelCallable(function) of a compiled function")
    return function
