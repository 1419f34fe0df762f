"""Cures, those first that the file of the mechanism can hold."""

from __future__ import annotations

from collections.abc import Collection
from functools import wraps
from typing import Any

from regularize.adapters import adapter_named
from regularize.errors import RegularizeError
from regularize.model.mechanism import Mechanism
from regularize.reduction.reduce import Reduction
from regularize.statics import cures as statics
from regularize.statics.cure import Cure


@wraps(statics.cures)
def cures(
    reduction: Reduction, *, limit: int = 5, kinds: Any = None, **options: Any
) -> tuple[Cure, ...]:
    """Smallest sets of joint changes that take all redundancy away."""
    found = statics.cures(reduction, limit=limit, kinds=kinds, **options)
    held = held_kinds(reduction.mechanism) if found and kinds is None else {}
    if not any(held.values()) or any(cure.freed for cure in found):
        return found

    def foreign(cure: Cure) -> bool:
        return any(change.after not in held[change.joint] for change in cure.changes)

    if all(map(foreign, found)):
        found = statics.cures(reduction, limit=limit, kinds=held, **options) + found
    return tuple(sorted(found, key=foreign)[:limit])


def held_kinds(mechanism: Mechanism) -> dict[str, Collection[str]]:
    """What ``fix`` can make of each joint in the file of a mechanism; empty where there is none."""
    adapter = adapter_named(mechanism.format)
    try:
        patcher = adapter.load_patcher() if adapter is not None and mechanism.path else None
        opened = patcher(mechanism) if patcher is not None else None
        return {j.name: opened.kinds(j) for j in mechanism.joints} if opened is not None else {}
    except RegularizeError:  # the file is another one by now, or its package is not installed
        return {}
