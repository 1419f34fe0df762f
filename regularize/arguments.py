"""Arguments of public functions: what they have to be, read from their annotations."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import wraps
from numbers import Integral, Real
from os import PathLike
from typing import Any, ParamSpec, TypeAlias, TypeVar

import numpy as np

from regularize.errors import ModelError, NotFinite
from regularize.lie.screw import Array

P = ParamSpec("P")
T = TypeVar("T")

#: Numbers by the names that they have in every function: positive ones, and one without bound.
POSITIVE = ("rtol", "near", "length_scale", "duration", "slip", "frequency")
UNBOUNDED = ("max_step",)
#: Lengths of states by their names: the attribute of the robot that holds it.
LENGTHS = {"q": "nq", "v": "nv", "a": "nv", "tau": "nv"}


@dataclass(frozen=True, eq=False, repr=False)
class Kind:
    """What values of an argument are like.

    Attributes:
        words: What messages call it.
        known: Whether a value is of the right type.
        fits: Whether a value of that type makes sense.
    """

    words: str
    known: Callable[[Any], bool]
    fits: Callable[[Any], bool] = lambda value: True


def _is_number(value: Any) -> bool:
    return type(value) is float or (
        isinstance(value, Real) and not isinstance(value, (bool, np.bool_))
    )


def _is_whole(value: Any) -> bool:
    return isinstance(value, Integral) and not isinstance(value, (bool, np.bool_))


def _is_finite(value: Any) -> bool:
    return math.isfinite(_float(value))


def _float(value: Any) -> float:
    """The number; infinity for whole ones beyond what a machine has."""
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
    """Whether it can be gone through and is neither one string nor a mapping."""
    return isinstance(value, Iterable) and not isinstance(value, (str, bytes, Mapping))


def _list_of(annotation: str) -> Kind:
    """Lists, and anything else that can be gone through; iterators are not looked into."""
    inner = kind_of(annotation)
    words = {"str": "a list of names"}.get(annotation, "a list")
    if inner is None:
        return Kind(words, _is_list)

    def all_known(value: Any) -> bool:
        inside = isinstance(value, Collection)
        return _is_list(value) and (not inside or all(inner.known(each) for each in value))

    return Kind(words, all_known)


_POSITIVE = Kind("a positive number", _is_number, lambda value: 0.0 < _float(value) < math.inf)
_UNBOUNDED = Kind("a positive number", _is_number, lambda value: _float(value) > 0.0)
_PAIR = Kind(
    "a pair of numbers",
    lambda value: _is_list(value) and len(value) == 2 and all(map(_is_number, value)),
    lambda value: all(map(_is_finite, value)),
)
_KINDS = {
    "bool": Kind("True or False", lambda value: isinstance(value, (bool, np.bool_))),
    "int": Kind(
        "a whole number, not negative", _is_whole, lambda value: 0 <= _float(value) < math.inf
    ),
    "float": Kind("a finite number", _is_number, _is_finite),
    "str": Kind("a string", lambda value: isinstance(value, str)),
    "PathLike[str]": Kind("a path", lambda value: isinstance(value, PathLike)),
    "Path": Kind("a path", lambda value: isinstance(value, PathLike)),
    "None": Kind("None", lambda value: value is None),
    "Array": Kind("an array of finite numbers", _is_array, lambda v: bool(np.isfinite(v).all())),
    "call": Kind("a function", callable),
    "Executor": Kind("an executor", lambda value: hasattr(value, "map")),
}
_KINDS["ArrayLike"] = _KINDS["Array"]
_FUNCTIONS = (
    "Callable[",
    "Candidates",
    "Inside",
    "JointForces",
    "Movable",
    "Prescribed",
    "Sampler",
)
#: Names that stand for several types, and classes that a value may be of.
_ALIASES = {
    "Actuation": "float | Callable[...] | LowLevelCallable",
    "Drive": "float | str | Callable[...] | tuple",
    "Numerical": "bool | str",
    "Severity": "str",
}
_CLASSES = (
    "BodyPose",
    "CellMobility",
    "Cure",
    "Inertia",
    "LowLevelCallable",
    "Suppression",
    "BodyLoad",
    "tuple",
)
_LISTS = ("Sequence[", "Iterable[", "Collection[")


def kind_of(annotation: str, name: str = "") -> Kind | None:
    """What an annotation asks for; None where it is not known here, and the function looks."""
    parts = [_single(part, name) for part in _split(annotation, "|")]
    known = [part for part in parts if part is not None]
    if len(known) < len(parts):
        return None
    if len(known) == 1:
        return known[0]

    def fits(value: Any) -> bool:
        return any(kind.known(value) and kind.fits(value) for kind in known)

    words = " or ".join(kind.words for kind in known if kind.words != "None")
    return Kind(words, lambda value: any(kind.known(value) for kind in known), fits)


def _single(annotation: str, name: str) -> Kind | None:
    if annotation == "float" and name in POSITIVE:
        return _POSITIVE
    if annotation == "float" and name in UNBOUNDED:
        return _UNBOUNDED
    if annotation.startswith(_LISTS):
        return _list_of(annotation[annotation.index("[") + 1 : -1])
    if annotation.startswith(_FUNCTIONS):
        return _KINDS["call"]
    if annotation == "tuple[float, float]":
        return _PAIR
    if annotation in _ALIASES:
        return kind_of(_ALIASES[annotation])
    if annotation in _CLASSES:
        return Kind(f"a {annotation}", lambda value: annotation in _classes_of(value))
    if not annotation.startswith("Mapping["):
        return _KINDS.get(annotation)
    keys, values = _split(annotation[len("Mapping[") : -1], ",")
    inner = kind_of(values)
    if keys != "str" or inner is None:
        return Kind("a mapping of names", _is_mapping) if keys == "str" else None

    def fits(value: Any) -> bool:
        return all(inner.known(each) and inner.fits(each) for each in value.values())

    def known(value: Any) -> bool:
        return _is_mapping(value) and all(inner.known(each) for each in value.values())

    return Kind(f"names, each with {inner.words}", known, fits)


def _classes_of(value: Any) -> set[str]:
    return {each.__name__ for each in type(value).__mro__}


def _is_mapping(value: Any) -> bool:
    return isinstance(value, Mapping) and all(isinstance(key, str) for key in value)


def _split(annotation: str, separator: str) -> list[str]:
    """Parts of an annotation outside of brackets."""
    parts, depth = [""], 0
    for character in annotation:
        depth += (character == "[") - (character == "]")
        if character == separator and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    return [part.strip() for part in parts]


def kinds_of(function: Callable[..., Any]) -> dict[str, Kind]:
    """What the parameters of a function have to be, where their annotations say it."""
    found = {}
    for name, parameter in inspect.signature(function).parameters.items():
        plain = parameter.kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
        if plain and isinstance(parameter.annotation, str):
            kind = kind_of(parameter.annotation, name)
            if kind is not None:
                found[name] = kind
    return found


def check(where: str, name: str, kind: Kind, value: Any) -> None:
    """Refuse a value that the argument cannot have.

    Raises:
        TypeError: It is of another type.
        ModelError: It makes no sense.
    """
    if not kind.known(value):
        raise TypeError(f"{where}: {name} is {kind.words}; got {value!r:.60}")
    if not kind.fits(value):
        raise ModelError(f"{where}: {name} is {kind.words}; got {value!r:.60}")


def is_default(value: Any, default: Any) -> bool:
    """Whether a value is an argument's default, or the same number or text."""
    plain = isinstance(value, (int, float, str)) and type(value) is type(default)
    return value is default or bool(plain and value == default)


def numbers(value: Any) -> Array:
    """The contiguous and aligned array of float64 that a value is.

    Raises:
        TypeError: It is none of numbers.
    """
    if not _is_array(value):
        raise TypeError(f"an array of numbers is expected; got {value!r:.60}")
    found = np.asarray(value, dtype=np.float64, order="C")
    return found if found.flags.aligned else found.copy()


def place_of(entry: T, entries: Sequence[T]) -> int:
    """Which of some entries it is.

    Raises:
        ModelError: It is none of them.
    """
    for k, own in enumerate(entries):
        if own is entry:
            return k
    known = ", ".join(map(str, entries))
    raise ModelError(f"it is none of {known:.60}: {entry!r:.60}")


def state(robot: Any, name: str, value: Any) -> Array:
    """A configuration or what acts on its velocities, in the length that a model has.

    Args:
        robot: What has these lengths: a robot, or a ``pinocchio.Model``.
        name: One of ``LENGTHS``.
        value: What was given for it.

    Raises:
        TypeError: It is no array of numbers.
        ModelError: It has another shape, or a number is not finite.
    """
    return vector(name, value, getattr(robot, LENGTHS[name]))


def vector(name: str, value: Any, length: int) -> Array:
    """An array of so many finite numbers; the same object where it is one; errors as ``state``."""
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


def checked(method: Callable[P, T]) -> Callable[P, T]:
    """A method of a robot, its arguments checked: states by their lengths, others by their kinds.

    States may be lists; the method gets arrays.
    """
    return _checked(method, LENGTHS)


def checked_but_states(method: Callable[P, T]) -> Callable[P, T]:
    """The same for a method that has its states checked where they are computed with."""
    return _checked(method, {})


#: States of a method, and its other arguments: names, places, kinds and defaults.
_Wanted: TypeAlias = tuple[list[tuple[str, int]], list[tuple[str, int, Kind, Any]]]


def _wanted(method: Callable[..., Any], lengths: Mapping[str, str]) -> _Wanted:
    parameters = inspect.signature(method).parameters
    kinds = kinds_of(method)
    states = [(name, k) for k, name in enumerate(parameters) if name in lengths]
    others = [
        (name, k, kinds[name], parameters[name].default)
        for k, name in enumerate(parameters)
        if name in kinds and name not in LENGTHS
    ]
    return states, others


def _checked(method: Callable[P, T], lengths: Mapping[str, str]) -> Callable[P, T]:
    where = method.__qualname__
    wanted: _Wanted | None = None

    @wraps(method)
    def called(*arguments: P.args, **options: P.kwargs) -> T:
        nonlocal wanted
        if wanted is None:  # few methods of a robot are ever called
            wanted = _wanted(method, lengths)
        states, others = wanted
        given: list[Any] = list(arguments)
        named: dict[str, Any] = options
        for name, k in states:
            if k < len(given):
                given[k] = state(given[0], name, given[k])
            elif name in named:
                named[name] = state(given[0], name, named[name])
        for name, k, kind, default in others:
            value = given[k] if k < len(given) else named.get(name, default)
            if not is_default(value, default):
                check(where, name, kind, value)
        return method(*given, **named)

    return called
