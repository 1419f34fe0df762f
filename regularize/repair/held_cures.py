"""Cures that the file of a mechanism can hold: ``rg.cures`` puts them first."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from regularize.adapters import adapter_named
from regularize.adapters.common.patching import Patcher
from regularize.errors import RegularizeError
from regularize.mechanism.mechanism import Mechanism
from regularize.mechanism.source import Model
from regularize.reduction.reduce import as_reduction
from regularize.statics import cures as statics
from regularize.statics.cure import Cure


def cures(
    model: Model,
    *,
    limit: int = 5,
    keep: Collection[str] = (),
    idle: bool = False,
    kinds: Collection[str] | Mapping[str, Collection[str]] | None = None,
    tries: int = 100,
) -> tuple[Cure, ...]:
    """Propose smallest sets of joint changes that take all redundancy away; see ``statics.cures``.

    Those come first that the file of the mechanism can hold.
    """
    options: dict[str, Any] = {"keep": keep, "idle": idle, "tries": tries}
    reduction = as_reduction(model)
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
    try:
        patcher = _patcher(mechanism)
        return {} if patcher is None else {j.name: patcher.kinds(j) for j in mechanism.joints}
    except RegularizeError:  # the file is another one by now, or its package is not installed
        return {}


def _patcher(mechanism: Mechanism) -> Patcher | None:
    """What edits the file of a mechanism; None where there is no file, or nothing edits it."""
    adapter = adapter_named(mechanism.format)
    if mechanism.path is None or adapter is None or not adapter.installed:
        return None
    made = adapter.load_patcher()
    return None if made is None else made(mechanism)
