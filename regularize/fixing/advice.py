"""The changes that a model's own file can hold, for reports to name."""

from __future__ import annotations

from regularize.adapters import adapter_named
from regularize.adapters.common.patching import Patcher
from regularize.errors import RegularizeError
from regularize.fixing.plan import smallest, wanted_kinds
from regularize.reduction.reduce import Reduction
from regularize.statics.cure import Cure


def own_cure(reduction: Reduction) -> Cure | None:
    """Joint changes that make a model isostatic and that its file can hold; None without any."""
    patcher = _patcher(reduction)
    if patcher is None:
        return None
    try:
        found = smallest(reduction, _kinds(reduction, patcher))
        if found is not None:
            patcher.patch(wanted_kinds(reduction.mechanism, found.changes))
    except RegularizeError:  # the file has gone since, or changed
        return None
    return found


def editable(reduction: Reduction) -> bool:
    """Whether other kinds of joints can be written into a model's file at all."""
    patcher = _patcher(reduction)
    try:
        return patcher is not None and any(_kinds(reduction, patcher).values())
    except RegularizeError:
        return False


def _patcher(reduction: Reduction) -> Patcher | None:
    mechanism = reduction.mechanism
    adapter = adapter_named(mechanism.format)
    if mechanism.path is None or adapter is None or not adapter.installed:
        return None
    made = adapter.load_patcher()
    return None if made is None else made(mechanism)


def _kinds(reduction: Reduction, patcher: Patcher) -> dict[str, tuple[str, ...]]:
    return {joint.name: tuple(patcher.kinds(joint)) for joint in reduction.mechanism.joints}
