"""Methods of one state, for many: results of single states, one behind the other."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import fields, is_dataclass, replace
from functools import wraps
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

import numpy as np

from regularize.errors import ModelError, RegularizeError
from regularize.lie.arrays import Array
from regularize.validation import LENGTHS, numbers

if TYPE_CHECKING:
    from concurrent.futures import Executor

P = ParamSpec("P")
T = TypeVar("T")


def over_states(*, at_once: bool = False) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Let states of a method have a leading axis; its result then has one, too."""

    def decorate(function: Callable[P, T]) -> Callable[P, T]:
        names = list(inspect.signature(function).parameters)
        places = [(k, name) for k, name in enumerate(names) if name in LENGTHS]

        @wraps(function)
        def called(*arguments: P.args, **options: P.kwargs) -> T:
            for k, name in places:
                value: Any = arguments[k] if k < len(arguments) else options.get(name)
                if (value.ndim if isinstance(value, np.ndarray) else np.ndim(value)) < 2:
                    continue
                if at_once:
                    with suppress(RegularizeError):
                        return function(*arguments, **options)
                return _one_by_one(function, places, arguments, options)
            return function(*arguments, **options)

        return called

    return decorate


def _one_by_one(
    function: Callable[..., T],
    places: Sequence[tuple[int, str]],
    arguments: Sequence[Any],
    options: Mapping[str, Any],
) -> T:
    """Results of a method at the states among its arguments."""
    given, more = list(arguments), dict(options)
    places = [(k, name) for k, name in places if k < len(given) or name in more]
    states = aligned(*(given[k] if k < len(given) else more[name] for k, name in places))

    def at(*state: Array) -> T:
        for (k, name), value in zip(places, state, strict=True):
            if k < len(given):
                given[k] = value
            else:
                more[name] = value
        return function(*given, **more)

    found: T = one_behind_the_other(at, zip(*states, strict=True))
    return found


def aligned(*states: Any) -> list[Array]:
    """Arrays of states with one leading axis; those without are shared by all."""
    arrays = [numbers(x) for x in states]
    lengths = sorted({len(x) for x in arrays if x.ndim == 2})
    if len(lengths) != 1 or any(x.ndim not in (1, 2) for x in arrays):
        raise ModelError(
            f"states are arrays (length,) or (N, length) of one N; got {[x.shape for x in arrays]}"
        )
    (N,) = lengths
    return [x if x.ndim == 2 else np.broadcast_to(x, (N, len(x))) for x in arrays]


def batch(
    function: Callable[..., Array], arguments: Sequence[Array], executor: Executor | None = None
) -> Array:
    """Values of a function at N states."""
    arrays = [np.atleast_1d(numbers(a)) for a in arguments]
    lengths = {len(a) for a in arrays if a.ndim > 1}
    if len(lengths) > 1:
        raise ModelError(f"arguments of different lengths {sorted(lengths)}")
    if not lengths:
        raise ModelError("scalars are no states; pass arrays")
    (N,) = lengths
    arrays = [a if a.ndim > 1 else np.broadcast_to(a, (N, *a.shape)) for a in arrays]
    if executor is None or N == 0:
        return function(*arrays)
    # A few tasks for every processor, so that none is idle while another has most of the work.
    tasks = np.array_split(np.arange(N), min(N, 4 * (os.cpu_count() or 1)))
    parts = executor.map(function, *([a[task] for task in tasks] for a in arrays))
    return np.concatenate(list(parts))


def where_finite(function: Callable[..., Array], *states: Any) -> Array:
    """Values of a function of many states, NaN at those that are not finite."""
    given = aligned(*states)
    finite = np.logical_and.reduce([np.isfinite(x).all(axis=1) for x in given])
    if not finite.any():
        return np.full(given[-1].shape, np.nan)
    found = function(*(x[finite] for x in given))
    result = np.full((len(finite), *found.shape[1:]), np.nan)
    result[finite] = found
    return result


def one_behind_the_other(function: Callable[..., Any], states: Any) -> Any:
    """Results at states, NaN at those where there is none."""
    found: list[Any] = []
    errors: list[RegularizeError] = []
    for state in states:
        try:
            found.append(function(*state))
        except RegularizeError as error:
            errors.append(error)
            found.append(None)
    known = next((each for each in found if each is not None), None)
    if known is None:
        raise errors[0] if errors else ModelError("there are no states")
    return stacked([_without_numbers(known) if each is None else each for each in found])


def _without_numbers(result: Any) -> Any:
    """A result of the same form with NaN for all numbers."""
    if isinstance(result, (float, np.ndarray)):
        return np.full(np.shape(result), np.nan)
    if isinstance(result, tuple):
        return tuple(_without_numbers(each) for each in result)
    if is_dataclass(result) and not isinstance(result, type):
        changes = {f.name: _without_numbers(getattr(result, f.name)) for f in fields(result)}
        return replace(result, **changes)
    return (lambda: ()) if callable(result) else result


def stacked(results: Sequence[Any]) -> Any:
    """Results of one form as one of that form whose arrays have a leading axis."""
    first = results[0]
    if isinstance(first, (float, np.ndarray)):
        return np.stack([np.asarray(each) for each in results])
    if isinstance(first, tuple) and not all(isinstance(each, str) for each in first):
        return tuple(stacked(each) for each in zip(*results, strict=True))
    if is_dataclass(first) and not isinstance(first, type):
        changes = {f.name: stacked([getattr(x, f.name) for x in results]) for f in fields(first)}
        return replace(first, **changes)
    return (lambda: tuple(each() for each in results)) if callable(first) else first
