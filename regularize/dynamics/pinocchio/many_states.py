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
    """Let states of a method have a leading axis; its result then has one, too.

    A state at which the method raises an error of this package has NaN in the place of numbers and
    touches no other; where none has a result, the first error is raised. With ``at_once`` the
    method itself takes many states, unless it raises such an error.
    """

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
    """Return results of a method at the states among its arguments, NaN where there is none."""
    positional, keywords = list(arguments), dict(options)
    places = [(k, name) for k, name in places if k < len(positional) or name in keywords]
    states = [positional[k] if k < len(positional) else keywords[name] for k, name in places]
    results: list[Any] = []
    errors: list[RegularizeError] = []
    for state in zip(*aligned(*states), strict=True):
        for (k, name), value in zip(places, state, strict=True):
            if k < len(positional):
                positional[k] = value
            else:
                keywords[name] = value
        try:
            results.append(function(*positional, **keywords))
        except RegularizeError as error:
            errors.append(error)
            results.append(None)
    first: Any = next((result for result in results if result is not None), None)
    if first is None:
        raise errors[0] if errors else ModelError("there are no states")
    combined: T = _stacked([_without_numbers(first) if x is None else x for x in results])
    return combined


def aligned(*states: Any) -> list[Array]:
    """Return arrays of states with one leading axis; those without are shared by all."""
    arrays = [numbers(x) for x in states]
    lengths = sorted({len(x) for x in arrays if x.ndim == 2})
    if len(lengths) != 1 or any(x.ndim not in (1, 2) for x in arrays):
        raise ModelError(
            "states are arrays (length,) or (N, length) of one N, not of different lengths; got "
            f"{[x.shape for x in arrays]}"
        )
    (N,) = lengths
    return [x if x.ndim == 2 else np.broadcast_to(x, (N, len(x))) for x in arrays]


def batch(
    function: Callable[..., Array], states: Sequence[Array], executor: Executor | None = None
) -> Array:
    """Return values of a function at N states, by tasks of the executor if there is one."""
    arrays = aligned(*states)
    N = len(arrays[0])
    if executor is None or N == 0:
        return function(*arrays)
    # A few tasks for every processor, so that none is idle while another has most of the work.
    tasks = np.array_split(np.arange(N), min(N, 4 * (os.cpu_count() or 1)))
    parts = executor.map(function, *([a[task] for task in tasks] for a in arrays))
    return np.concatenate(list(parts))


def where_finite(function: Callable[..., Array], *states: Any) -> Array:
    """Return values of a function of many states, NaN at those that are not finite."""
    arrays = aligned(*states)
    finite = np.logical_and.reduce([np.isfinite(x).all(axis=1) for x in arrays])
    result = np.full(arrays[-1].shape, np.nan)
    if finite.any():
        result[finite] = function(*(x[finite] for x in arrays))
    return result


def _without_numbers(result: Any) -> Any:
    """Return a copy of a result with NaN in place of every number."""
    if isinstance(result, (float, np.ndarray)):
        return np.full(np.shape(result), np.nan)
    if isinstance(result, tuple):
        return tuple(_without_numbers(each) for each in result)
    if is_dataclass(result) and not isinstance(result, type):
        changes = {f.name: _without_numbers(getattr(result, f.name)) for f in fields(result)}
        return replace(result, **changes)
    return (lambda: ()) if callable(result) else result


def _stacked(results: Sequence[Any]) -> Any:
    """Return results of single states as one result whose arrays have a leading axis."""
    first = results[0]
    if isinstance(first, (float, np.ndarray)):
        return np.stack([np.asarray(each) for each in results])
    if isinstance(first, tuple) and not all(isinstance(each, str) for each in first):
        return tuple(_stacked(each) for each in zip(*results, strict=True))
    if is_dataclass(first) and not isinstance(first, type):
        changes = {f.name: _stacked([getattr(x, f.name) for x in results]) for f in fields(first)}
        return replace(first, **changes)
    return (lambda: tuple(each() for each in results)) if callable(first) else first
