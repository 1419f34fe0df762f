"""Findings about closures that are stiffer than the mechanism."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from regularize.displayed import displayed
from regularize.lie.directions import axis_words
from regularize.model.diagnostic import Diagnostic
from regularize.reduction.reduce import Reduction
from regularize.statics.cure import Cure
from regularize.statics.joint_changes import JointChange
from regularize.statics.releases import LOOSER

#: What joints of a kind are called: one, and several.
WORDS = {
    "fixed": ("a weld", "welds"),
    "revolute": ("a hinge", "hinges"),
    "prismatic": ("a slider", "sliders"),
    "cylindrical": ("a cylindrical joint", "cylindrical joints"),
    "spherical": ("a ball joint", "ball joints"),
    "planar": ("a planar joint", "planar joints"),
}

#: Kinds of closures in formats that do not know all.
HELD = {"mjcf": ("spherical",)}


def too_stiff(reduction: Reduction, cures: Sequence[Cure]) -> list[Diagnostic]:
    """What to say of the closures that lock a mechanism: nothing where no cure frees it.

    Args:
        reduction: Analysis of the mechanism.
        cures: From ``cures``, the best first.
    """
    ways = [cure for cure in cures if cure.freed]
    if not ways:
        return []
    changes = ways[0].changes
    several = len(changes) > 1
    closures = ", ".join(f"`{change.joint}`" for change in changes)
    verb, give = ("are", "give") if several else ("is", "gives")
    before = WORDS[changes[0].before][several]
    return [
        Diagnostic(
            "REG218",
            "warning",
            f"{closures} {verb} {before}; {_there(changes)} {give} {_outcome(ways[0])}",
            joints=tuple(change.joint for change in changes),
            source=reduction.mechanism.joint(changes[0].joint).source,
            help=tuple(
                ": ".join(
                    part
                    for part in (
                        f"{_there(way.changes)}, {_outcome(way)}",
                        release_command(reduction, way),
                    )
                    if part
                )
                for way in ways
            ),
        )
    ]


def _there(changes: Sequence[JointChange]) -> str:
    """``a hinge along Y there``; of several closures what is common to them."""
    words = WORDS[changes[0].after][len(changes) > 1]
    axes = {axis_words(change.choice) for change in changes if change.choice is not None}
    if len(axes) == 1:
        words += f" {'normal to' if changes[0].after == 'planar' else 'along'} {axes.pop()}"
    return f"{words} there"


def _outcome(cure: Cure) -> str:
    """``mobility 1 (3 equations redundant)``."""
    count = cure.reduction.redundant
    noun = "equation" if count == 1 else "equations"
    return f"mobility {cure.mobility}" + (f" ({count} {noun} redundant)" if count else "")


def release_command(reduction: Reduction, cure: Cure) -> str:
    """The one line that makes the change: in Python for Pinocchio models, else on the shell.

    It is empty where the format has no such closure.
    """
    mechanism = reduction.mechanism
    if any(change.after not in HELD.get(mechanism.format, LOOSER) for change in cure.changes):
        return ""
    if mechanism.format == "pinocchio":
        kinds = dict(change.argument.rsplit("=", 1) for change in cure.changes)
        return f"rg.augment(model, closures, kinds={kinds!r})"
    arguments = " ".join(f"--joint {shlex.quote(change.argument)}" for change in cure.changes)
    return f"regularize fix {shlex.quote(displayed(mechanism.path or 'MODEL'))} {arguments} -o OUT"
