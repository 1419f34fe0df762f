"""Checks of arguments by their ``Kind``, which public functions make before they compute."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import wraps
from numbers import Integral, Real
from os import PathLike
from typing import Any, ParamSpec, TypeVar

import numpy as np

from regularize.errors import ModelError, NotFinite
from regularize.lie.arrays import Array

P = ParamSpec("P")
T = TypeVar("T")

#: Lengths of states by their names: the attribute of the robot that holds it.
LENGTHS = {"q": "nq", "v": "nv", "a": "nv", "tau": "nv"}


@dataclass(frozen=True, eq=False, repr=False)
class Kind:
    """A set of values that an argument may have, and its name in messages."""

    words: str  # what messages call it
    known: Callable[[Any], bool]  # whether a value is of the right type
    fits: Callable[[Any], bool] = lambda value: True  # whether a value of that type makes sense

    def __or__(self, other: Kind) -> Kind:
        """Allow values of either kind."""

        def fits(value: Any) -> bool:
            return any(kind.known(value) and kind.fits(value) for kind in (self, other))

        words = " or ".join(dict.fromkeys((self.words, other.words)))
        return Kind(words, lambda value: self.known(value) or other.known(value), fits)


def _is_number(value: Any) -> bool:
    return isinstance(value, float) or (
        isinstance(value, Real) and not isinstance(value, (bool, np.bool_))
    )


def _is_whole(value: Any) -> bool:
    return isinstance(value, Integral) and not isinstance(value, (bool, np.bool_))


def _float(value: Any) -> float:
    """Convert to a float; integers that are too large become infinite."""
    try:
        return float(value)
    except OverflowError:
        return math.inf


def _is_array(value: Any) -> bool:
    try:
        return np.asarray(value).dtype.kind in "biuf"
    except (ValueError, TypeError):  # rows of different lengths
        return False


def _is_list(value: Any) -> bool:
    """Return whether a value can be iterated over and is neither a string nor a mapping."""
    return isinstance(value, Iterable) and not isinstance(value, (str, bytes, Mapping))


def _is_mapping(value: Any) -> bool:
    return isinstance(value, (dict, Mapping)) and all(isinstance(key, str) for key in value)


FLAG = Kind("True or False", lambda value: isinstance(value, (bool, np.bool_)))
WHOLE = Kind("a whole number, not negative", _is_whole, lambda value: 0 <= _float(value) < math.inf)
NUMBER = Kind("a finite number", _is_number, lambda value: math.isfinite(_float(value)))
POSITIVE = Kind("a positive number", _is_number, lambda value: 0.0 < _float(value) < math.inf)
UNBOUNDED = Kind("a positive number", _is_number, lambda value: _float(value) > 0.0)
TEXT = Kind("a string", lambda value: isinstance(value, str))
READINGS = ("written", "meant", "designed")
READING = Kind(" or ".join(READINGS), TEXT.known, READINGS.__contains__)
PATH = Kind("a path", lambda value: isinstance(value, (str, PathLike)))
ARRAY = Kind("an array of finite numbers", _is_array, lambda v: bool(np.isfinite(v).all()))
FUNCTION = Kind("a function", callable)
EXECUTOR = Kind("an executor", lambda value: hasattr(value, "map"))
LIST = Kind("a list", _is_list)
MAPPING = Kind("a mapping of names", _is_mapping)
#: A robot's configuration, velocity, acceleration or torques: an array of the length it has there.
STATE = Kind("an array of finite numbers", _is_array)
PAIR = Kind(
    "a pair of numbers",
    lambda value: _is_list(value) and len(value) == 2 and all(map(_is_number, value)),
    lambda value: all(math.isfinite(_float(entry)) for entry in value),
)


def several(kind: Kind, words: str = "a list") -> Kind:
    """Return the kind of lists of values of one kind; iterators are not consumed."""

    def known(value: Any) -> bool:
        return _is_list(value) and (
            not isinstance(value, Collection) or all(map(kind.known, value))
        )

    return Kind(words, known)


def named(kind: Kind) -> Kind:
    """Return the kind of mappings from names to values of one kind."""

    def known(value: Any) -> bool:
        return _is_mapping(value) and all(map(kind.known, value.values()))

    return Kind(f"names, each with {kind.words}", known, lambda v: all(map(kind.fits, v.values())))


def instance(*classes: type) -> Kind:
    """Return the kind of objects of some classes."""
    words = " or ".join(f"a {cls.__name__}" for cls in classes)
    return Kind(words, lambda value: isinstance(value, classes))


NAMES = several(TEXT, "a list of names")


def validate(where: str, name: str, kind: Kind, value: Any) -> None:
    """Raise ``TypeError`` for a value of another type, ``ModelError`` for one without sense."""
    if not kind.known(value):
        raise TypeError(f"{where}: {name} is {kind.words}; got {value!r:.60}")
    if not kind.fits(value):
        raise ModelError(f"{where}: {name} is {kind.words}; got {value!r:.60}")


def _is_default(value: Any, default: Any) -> bool:
    """Return whether a value is an argument's default, or the same number or text."""
    plain = isinstance(value, (int, float, str)) and type(value) is type(default)
    return value is default or bool(plain and value == default)


def numbers(value: Any) -> Array:
    """Convert to a contiguous, aligned array of float64, or raise ``TypeError``."""
    if not _is_array(value):
        raise TypeError(f"an array of numbers is expected; got {value!r:.60}")
    array = np.asarray(value, dtype=np.float64, order="C")
    return array if array.flags.aligned else array.copy()


def place_of(entry: T, entries: Sequence[T]) -> int:
    """Return the place of an object among some, or raise ``ModelError``."""
    for k, candidate in enumerate(entries):
        if candidate is entry:
            return k
    names = ", ".join(map(str, entries))
    raise ModelError(f"it is none of {names:.60}: {entry!r:.60}")


def vector(name: str, value: Any, length: int) -> Array:
    """Return an array of ``length`` finite numbers, the same object where it is one."""
    if not isinstance(value, np.ndarray) or value.dtype != np.float64:
        try:
            value = numbers(value)
        except TypeError as error:
            raise TypeError(f"{name}: {error}") from None
    if value.shape != (length,):
        raise ModelError(f"{name} has shape {value.shape}, but the model needs ({length},)")
    if not all(map(math.isfinite, value.tolist())):  # quicker than NumPy on a few numbers
        raise NotFinite(f"{name} must consist of finite numbers, got {value}")
    return np.asarray(value)


def relative(name: str, value: float) -> None:
    """Raise a ``ModelError`` if a tolerance is no positive number below 1."""
    if not (isinstance(value, (int, float, np.number)) and 0.0 < value < math.inf):
        raise ModelError(f"{name} has to be a positive number, not {value}")
    if value >= 1.0:
        raise ModelError(f"{name} has to be below 1, not {value}")


def state(robot: Any, name: str, value: Any) -> Array:
    """Check a configuration, velocity or torque: one of ``LENGTHS`` of a robot or its model."""
    return vector(name, value, getattr(robot, LENGTHS[name]))


def validated(**kinds: Kind) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Return a decorator that validates all arguments that differ from their defaults."""

    def decorate(function: Callable[P, T]) -> Callable[P, T]:
        parameters = inspect.signature(function).parameters
        places = {name: k for k, name in enumerate(parameters)}
        states = [(name, places[name]) for name, kind in kinds.items() if kind is STATE]
        others = [
            (name, places[name], kind, parameters[name].default)
            for name, kind in kinds.items()
            if kind is not STATE
        ]

        @wraps(function)
        def called(*arguments: P.args, **options: P.kwargs) -> T:
            given: list[Any] = list(arguments)
            by_name: dict[str, Any] = options
            for name, k in states:
                if k < len(given):
                    given[k] = state(given[0], name, given[k])
                elif name in by_name:
                    by_name[name] = state(given[0], name, by_name[name])
            for name, k, kind, default in others:
                value = given[k] if k < len(given) else by_name.get(name, default)
                if value is not inspect.Parameter.empty and not _is_default(value, default):
                    validate(function.__qualname__, name, kind, value)
            return function(*given, **by_name)

        return called

    return decorate
