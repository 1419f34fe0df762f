"""What public functions take: a path, a mechanism, a reduction or a robot, whichever one has.

The functions behind the door take what they compute with. Here a path is read and a mechanism is
reduced where the function needs it, and anything else is refused with what was expected.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from functools import wraps
from numbers import Integral, Real
from os import PathLike
from typing import Any

from regularize.errors import ModelError
from regularize.model.suggestion import did_you_mean

#: What each function computes with, the first that a path or a mechanism leads to.
NEEDS: dict[str, tuple[str, ...]] = {
    "absorb_gaps": ("Mechanism",),
    "assemble": ("Mechanism",),
    "check": ("Mechanism",),
    "closed_form": ("Mechanism",),
    "configurations": ("Mechanism",),
    "cures": ("Reduction",),
    "fix": ("Path", "Mechanism"),
    "idealise": ("Mechanism", "Reduction"),
    "isostatic": ("Mechanism",),
    "joint_forces": ("Reduction",),
    "metamodel": ("Mechanism", "ReducedModel"),
    "minimal_dynamics": ("Reduction",),
    "misfit": ("Mechanism", "Reduction"),
    "partition": ("Mechanism",),
    "path": ("Mechanism", "Reduction", "Robot"),
    "prove": ("Reduction",),
    "reactions": ("Reduction",),
    "reduce": ("Mechanism",),
    "reduced_model": ("Mechanism",),
    "save": ("Mechanism",),
    "self_stress": ("Reduction",),
    "simulate": ("Mechanism", "Reduction", "Robot"),
    "to_pinocchio": ("Reduction",),
    "with_density": ("Mechanism",),
    "workspace": ("Mechanism",),
}


#: What the first argument is called, here or there; each name leads to it in every function.
SUBJECTS = ("mechanism", "model", "reduction", "source", "reduced")
#: Numbers by the names that they have in every function: positive ones, and counts.
POSITIVE = ("rtol", "near", "length_scale", "duration", "slip")
COUNTS = ("configurations", "seed", "branch", "limit")


def opened(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """The function as it stands at the door: its first argument is what the caller has.

    Numbers among its arguments are checked as the command line checks them.
    """
    needs = NEEDS.get(name)
    if needs is None:
        return function
    signature = inspect.signature(function)
    subject = next(iter(signature.parameters))
    open_ = any(each.kind is each.VAR_KEYWORD for each in signature.parameters.values())

    @wraps(function)
    def called(*arguments: Any, **options: Any) -> Any:
        if not arguments and subject not in options:
            given_as = next((each for each in SUBJECTS if each in options), subject)
            options = {subject if key == given_as else key: options[key] for key in options}
        for key in options:
            if key not in signature.parameters and not open_:
                known = did_you_mean(key, list(signature.parameters)[1:])
                raise TypeError(f"regularize.{name} has no argument {key!r}{known}")
        bound = signature.bind(*arguments, **options)
        given = bound.arguments
        for each in given:
            if given[each] is not None or signature.parameters[each].default is not None:
                _check(name, each, given[each])
        given[subject] = _led_to(needs, given[subject], name)
        return function(*bound.args, **bound.kwargs)

    # Other processes find it under the name that it has here.
    called.__module__, called.__qualname__ = "regularize", name
    return called


def _check(function: str, name: str, value: Any) -> None:
    """Refuse a number that the argument cannot be; ``TypeError`` where it is none at all."""
    if name in POSITIVE:
        kind, what = Real, "a positive number"
    elif name in COUNTS:
        kind, what = Integral, "a whole number, not negative"
    else:
        return
    if not isinstance(value, kind) or isinstance(value, bool):
        raise TypeError(f"regularize.{function}: {name} is {what}; got {value!r:.60}")
    least: float = math.ulp(0.0) if kind is Real else 0.0
    if not least <= float(value) < math.inf:
        raise ModelError(f"regularize.{function}: {name} is {what}; got {value!r}")


def _led_to(needs: tuple[str, ...], source: Any, name: str) -> Any:
    """What the function computes with, from what the caller has."""
    if isinstance(source, (str, PathLike)):
        if "Path" in needs:
            return source
        from regularize.files import load

        source = load(source)
    kinds = {each.__name__ for each in type(source).__mro__}
    if kinds & set(needs) or "Graph" in kinds:
        return source
    if "Mechanism" in needs and kinds & {"Reduction", "Analysis"}:
        return source.mechanism
    if "Reduction" in needs and "Analysis" in kinds:
        return source.reduction
    if "Reduction" in needs and "Mechanism" in kinds:
        from regularize.solving import reduce

        return reduce(source)
    expected = ["a path", *(f"a {each}" for each in ("Mechanism", *needs) if each != "Path")]
    listed = ", ".join(dict.fromkeys(expected))
    raise TypeError(f"regularize.{name} takes {listed}; got {type(source).__name__}")
