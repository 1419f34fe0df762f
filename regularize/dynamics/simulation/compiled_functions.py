"""Joint forces: functions of ``scipy.LowLevelCallable``, and Python functions called by C."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from regularize.errors import ModelError
from regularize.lie.arrays import Array

if TYPE_CHECKING:
    from scipy import LowLevelCallable

_NUMBER, _DATA = ctypes.c_double, ctypes.c_void_p
_THREE = _NUMBER * 3

#: Signatures as ``scipy.LowLevelCallable`` writes them.
TORQUE = "double (double, void *)"
FORCES = "int (double, double *, double *, double *, void *)"
MOTION = "int (double, double *, void *)"
#: The types of functions with these signatures.
_TYPES = {
    TORQUE: ctypes.CFUNCTYPE(_NUMBER, _NUMBER, _DATA),
    FORCES: ctypes.CFUNCTYPE(ctypes.c_int, _NUMBER, *[_DATA] * 4),
    MOTION: ctypes.CFUNCTYPE(ctypes.c_int, _NUMBER, _DATA, _DATA),
}
#: The signatures where C finds them, as long as there are capsules.
_NAMES = {signature: ctypes.create_string_buffer(signature.encode()) for signature in _TYPES}


def _owned(place: int | None, data: int | None, signature: str, owner: object) -> tuple[Any, Any]:
    """Return a capsule of a C function with its data, and the object that has to outlive it."""
    api = ctypes.pythonapi
    api.PyCapsule_New.restype, api.PyCapsule_New.argtypes = ctypes.py_object, [_DATA] * 3
    api.PyCapsule_SetContext.argtypes = [ctypes.py_object, _DATA]
    capsule = api.PyCapsule_New(place, ctypes.addressof(_NAMES[signature]), None)
    api.PyCapsule_SetContext(capsule, data)
    return capsule, owner


class _Compiled:
    """A compiled function, refused if it has another signature; ``owned`` is for the kernel."""

    _signature: str

    def __init__(self, function: LowLevelCallable, what: str) -> None:
        if " ".join(function.signature.replace("const ", "").split()) != self._signature:
            raise ModelError(
                f"{what} as a LowLevelCallable has the signature {self._signature!r}; got "
                f"{function.signature!r}"
            )
        api, capsule = ctypes.pythonapi, ctypes.py_object(tuple.__getitem__(function, 0))
        for look_up in (api.PyCapsule_GetPointer, api.PyCapsule_GetContext, api.PyCapsule_GetName):
            look_up.restype = _DATA
        api.PyCapsule_GetPointer.argtypes = [ctypes.py_object, _DATA]
        api.PyCapsule_GetContext.argtypes = api.PyCapsule_GetName.argtypes = [ctypes.py_object]
        place = api.PyCapsule_GetPointer(capsule, api.PyCapsule_GetName(capsule))
        self._data: int | None = api.PyCapsule_GetContext(capsule)
        self.owned = _owned(place, self._data, self._signature, function)
        self._call, self._what = _TYPES[self._signature](place), what


class CompiledTorque(_Compiled):
    """A compiled torque over time, ``double torque(double t, void *data)``."""

    _signature = TORQUE

    def __call__(self, t: float) -> float:
        """Return the torque at a time."""
        return float(self._call(t, self._data))


class CompiledForces(_Compiled):
    """Compiled joint forces.

    ``int forces(double t, double *q, double *v, double *tau, void *data)`` adds to ``tau`` and
    returns 0; any other number ends the motion.
    """

    _signature = FORCES

    def __call__(self, t: float, q: Array, v: Array) -> Array:
        """Return joint forces, shape (nv,)."""
        q, v, tau = (np.array(x, dtype=np.float64) for x in (q, v, np.zeros(len(v))))
        found = self._call(t, q.ctypes.data, v.ctypes.data, tau.ctypes.data, self._data)
        if found != 0:
            raise ModelError(f"the compiled function of forces returned {found} at {t:.6g} s")
        return tau


class CompiledMotion(_Compiled):
    """A compiled motion over time, ``int motion(double t, double *motion, void *data)``."""

    _signature = MOTION

    def __call__(self, t: float) -> tuple[float, float, float]:
        """Return position, rate and acceleration at a time."""
        values = _THREE()
        found = self._call(t, ctypes.addressof(values), self._data)
        if found != 0:
            raise ModelError(f"{self._what}: the compiled function returned {found} at {t:.6g} s")
        position, rate, acceleration = values
        return position, rate, acceleration


class _Callback:
    """A Python function that C code calls; ``error`` keeps the exception that it raised."""

    def __init__(self, signature: str, function: Callable[..., None]) -> None:
        self.error: BaseException | None = None

        def called(*arguments: Any) -> int:
            try:
                function(*arguments)
            except BaseException as error:  # C code knows no exceptions: it is raised behind it
                self.error = error
                return 1
            return 0

        thunk = _TYPES[signature](called)
        self.owned = _owned(ctypes.cast(thunk, _DATA).value, None, signature, thunk)


class MotionCalledBack(_Callback):
    """A Python function of a motion that C code calls."""

    def __init__(self, function: Callable[[float], tuple[float, float, float]]) -> None:
        def write(t: float, motion: int, _: object) -> None:
            _THREE.from_address(motion)[:] = list(function(t))

        super().__init__(MOTION, write)


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

        super().__init__(FORCES, write)


def compiled_or_python(
    function: Any, what: str, make: Callable[[LowLevelCallable, str], Any]
) -> Any:
    """Return a Python function unchanged, and a ``LowLevelCallable`` wrapped by ``make``."""
    if isinstance(function, tuple):  # as a LowLevelCallable is: SciPy is not loaded for others
        from scipy import LowLevelCallable

        if isinstance(function, LowLevelCallable):
            return make(function, what)
    if isinstance(function, _TYPES[TORQUE].__bases__):
        raise ModelError(f"{what}: pass scipy.LowLevelCallable(function) of a compiled function")
    return function
