"""A trial: an advised change made on a copy of the model's file, or on its text in memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike, fspath
from pathlib import Path
from typing import Any

from regularize.adapters import adapter_named, adapters, read
from regularize.adapters.common.input_files import replaced_content
from regularize.adapters.common.patching import Patcher
from regularize.errors import ModelError, UnsupportedExport
from regularize.mechanism.mechanism import Mechanism
from regularize.reduction.reduce import reduce
from regularize.repair.fix.changed_files import Placing, read_changed, unwanted
from regularize.repair.fix.plan import as_said, wanted_kinds
from regularize.repair.fix.proposals import Advice
from regularize.repair.nominal.reading import as_read, read_alike
from regularize.repair.statics.cure import Cure, left_here
from regularize.repair.statics.cures import cures

#: Formats that are exports of CAD systems: what is edited there is overwritten by the next one.
EXPORTS = {"onshape": "Onshape", "simscape": "the CAD system"}
#: Formats whose readers take all text from ``read_bytes``, so that no file is needed to try one.
IN_MEMORY = ("urdf", "sdf", "mjcf", "json", "freecad", "asmt")
#: Joint by which the root of a URDF file floats where its reader is asked to let it.
FLOATING = "floating_base"


def trial_file(mechanism: Mechanism) -> tuple[Patcher, dict[str, Any]]:
    """Read a mechanism's file anew; return its patcher and the options of the reader."""
    _, path, options = loaded(mechanism, {})
    return patcher_of(read(path, **options), {}), options


def tried(patcher: Patcher, options: Mapping[str, Any], entry: Advice, *, by_program: bool) -> None:
    """Edit a copy of the file as advised, in memory or not; raise unless it reads as meant."""
    before, reduction, expected = patcher.mechanism, entry.reduction, entry.left
    wanted = wanted_kinds(before, entry.changes)
    moves = reduction.finite_mobility != 0
    planned = as_said(reduction, wanted, isostatic=moves, left=expected)
    planned = planned.in_file(reduction.mechanism, before)
    patch = patcher.patch(planned.wanted)
    if planned.slack is not None:
        patch.edits += patcher.slack(planned.slack).edits
    for finding in patch.findings:
        if finding.severity != "note":
            raise UnsupportedExport(f"{before.path}: {finding.message}")
    placing = Placing(patcher, patch.edits)

    def check(after: Mechanism) -> None:
        # Ranks tell most of them; nobody asks here which rows go.
        """Raise ``ModelError`` where the changed model differs from the plan."""
        sure = entry.verified and entry.mobility == reduction.mobility and not by_program
        counted = expected if sure else left_here(reduction, after)
        is_known = counted is not None and counted <= expected
        meaning = None if is_known else reduce(read_alike(after, reduction.mechanism))
        refuse(placing, unwanted(before, after, planned, meaning))

    if by_program:
        with read_changed(placing, options) as after:
            check(after)
    elif before.format in IN_MEMORY:
        with replaced_content(placing.files(Path(placing.main))):
            after = read(placing.main, **{**options, "format": before.format})
        check(after)


def loaded(
    source: str | PathLike[str] | Mechanism, options: Mapping[str, Any], as_: str = "meant"
) -> tuple[Mechanism, str, dict[str, Any]]:
    """Return the mechanism of a source, its path, and the options that read it again."""
    reading = dict(options)
    if not isinstance(source, Mechanism):
        return as_read(read(source, **reading), as_), fspath(source), reading
    if source.path is None or adapter_named(source.format) is None:
        raise ModelError(
            f"the mechanism {source.name!r} was read from no file; write it with `rg.save`"
        )
    if source.format in ("urdf", "xacro"):
        reading.setdefault("loops", source.files[0] if source.files else False)
        reading.setdefault("floating", any(joint.name == FLOATING for joint in source.joints))
    return source, source.path, reading


def patcher_of(mechanism: Mechanism, joints: Mapping[str, str] | Cure | None) -> Patcher:
    """Return the patcher of a mechanism's file; raises an error that names another way."""
    adapter = adapter_named(mechanism.format) or adapters()[mechanism.format]
    make = adapter.load_patcher()
    if make is not None:
        patcher: Patcher = make(mechanism)
        return patcher
    where = EXPORTS.get(mechanism.format)
    if where is None:
        raise UnsupportedExport(
            f"{mechanism.path}: {adapter.title} cannot be edited in place; write it anew with "
            "`regularize reduce`"
        )
    kinds = joints.kinds if isinstance(joints, Cure) else joints
    if kinds is None:
        kinds = next((cure.kinds for cure in cures(reduce(mechanism), limit=1)), None)
    by_hand = " and ".join(f"joint `{name}` {kind}" for name, kind in (kinds or {}).items())
    raise UnsupportedExport(
        f"{mechanism.path}: is an export of {where}, which would not read it back; "
        f"{f'make {by_hand}' if by_hand else 'change the joints'} in {where} and export it again"
    )


def refuse(placing: Placing, wrong: Sequence[str]) -> None:
    """Raise ``ModelError`` that lists differences, if there are any."""
    if wrong:
        raise ModelError(
            f"{placing.main}: the changed files do not read as meant: {'; '.join(wrong[:3])}; "
            "nothing is written"
        )
