"""What public functions take: a path, a mechanism, a reduction or a robot, whichever one has.

The functions behind the door take what they compute with. Here a path is read and a mechanism is
reduced where the function needs it, and anything else is refused with what was expected.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from os import PathLike
from typing import Any

from regularize.arguments import check, is_default, kinds_of
from regularize.displayed import did_you_mean

#: What each function computes with, the first that a path or a mechanism leads to.
NEEDS: dict[str, tuple[str, ...]] = {
    "absorb_gaps": ("Mechanism",),
    "assemble": ("Mechanism",),
    "check": ("Mechanism",),
    "closed_form": ("Mechanism",),
    "configurations": ("Mechanism",),
    "cure": ("Reduction",),
    "cures": ("Reduction",),
    "fix": ("Path", "Mechanism"),
    "idealise": ("Mechanism", "Reduction"),
    "isostatic": ("Mechanism",),
    "joint_forces": ("Reduction",),
    "metamodel": ("ReducedModel",),
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


def opened(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """The function as it stands at the door: its first argument is what the caller has.

    Its other arguments are checked by their annotations.
    """
    if not inspect.isfunction(function):
        return function
    needs = NEEDS.get(name)
    signature = inspect.signature(function)
    subject = next(iter(signature.parameters)) if needs else None
    kinds = {name: kind for name, kind in kinds_of(function).items() if name != subject}
    open_ = any(each.kind is each.VAR_KEYWORD for each in signature.parameters.values())

    @wraps(function)
    def called(*arguments: Any, **options: Any) -> Any:
        if subject is not None and not arguments and subject not in options:
            given_as = next((each for each in SUBJECTS if each in options), subject)
            options = {subject if key == given_as else key: options[key] for key in options}
        for key in options:
            if key not in signature.parameters and not open_:
                known = did_you_mean(
                    key, [each for each in signature.parameters if each != subject]
                )
                raise TypeError(f"regularize.{name} has no argument {key!r}{known}")
        bound = signature.bind(*arguments, **options)
        given = bound.arguments
        for each, kind in kinds.items():
            if each in given and not is_default(given[each], signature.parameters[each].default):
                check(f"regularize.{name}", each, kind, given[each])
        if needs and subject:
            given[subject] = _led_to(needs, given[subject], name)
        return function(*bound.args, **bound.kwargs)

    # Other processes find it under the name that it has here.
    called.__module__, called.__qualname__ = "regularize", name
    return called


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
    if "ReducedModel" in needs and kinds & {"Mechanism", "Reduction", "Analysis"}:
        from regularize.metamodels.reduced_dynamics import reduced_model

        return reduced_model(getattr(source, "reduction", source))
    if "Reduction" in needs and "Mechanism" in kinds:
        from regularize.solving import reduce

        return reduce(source)
    expected = ["a path", *(f"a {each}" for each in ("Mechanism", *needs) if each != "Path")]
    listed = ", ".join(dict.fromkeys(expected))
    raise TypeError(f"regularize.{name} takes {listed}; got {type(source).__name__}")
