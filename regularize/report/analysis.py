"""Everything that is known of a mechanism's loops, as one value."""

from __future__ import annotations

import shlex
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from regularize.errors import ModelError
from regularize.mechanism.diagnostic import SEVERITIES, Diagnostic, Severity
from regularize.mechanism.mechanism import Mechanism, shortened
from regularize.mechanism.reading import Reading
from regularize.proofs.special import SpecialLengths, special_lengths
from regularize.reduction.block import Block
from regularize.reduction.rank_loss import nearest_entry
from regularize.reduction.reduce import Reduction
from regularize.repair.fix.advice import advise, unheld_closures, verified_cures
from regularize.repair.fix.proposals import Advice
from regularize.repair.nominal.idealise import Idealised, idealise
from regularize.repair.nominal.other_lengths import with_other_lengths
from regularize.repair.statics.cure import Cure
from regularize.repair.statics.joint_changes import JointChange
from regularize.repair.statics.lack_of_fit import LackOfFit
from regularize.repair.statics.passive_freedoms import PassiveBody, passive_bodies
from regularize.repair.statics.per_joint import PerJoint
from regularize.repair.statics.reactions import Reaction, reactions
from regularize.report.findings import by_severity, findings, moves_less
from regularize.report.loop_report import Component, LoopReport, loop_reports, open_parts
from regularize.report.misfit import Misfit, fit_where_asked, misfit_where_asked
from regularize.report.mobility_findings import held_entries, motion_components
from regularize.report.motion import BodyMotion, moving
from regularize.report.nearly import BindingJoint, as_designed, binding_joints
from regularize.report.platform_motion import PlatformMotion, platforms
from regularize.report.reasons import Reason, reasons
from regularize.report.repeated import Repeated, repeated_equations
from regularize.report.suppression import Suppressed, Suppression, divided, in_comments, unexplained
from regularize.validation import NAMES, TEXT, instance, relative, several, validated
from regularize.version import SCHEMAS, __version__
from regularize.words import COMMAND, SLIGHT, counted

if TYPE_CHECKING:
    from typing_extensions import Self

    from regularize.repair.fix.advice import Trials

#: Findings that rounding can turn: on gaps, locks and what moves as designed.
TURNED = frozenset(
    f"REG{n}" for n in (101, 104, 201, 202, *range(204, 211), 214, 216, 217, 218, 219)
)


@dataclass(frozen=True, eq=False)
class Analysis:
    """All results of analysing the loops of a mechanism; ``Report`` documents the fields."""

    reduction: Reduction
    loops: tuple[LoopReport, ...]
    moving: tuple[BodyMotion, ...]
    reasons: tuple[Reason, ...]
    passive: tuple[PassiveBody, ...]
    reactions: tuple[Reaction, ...]
    cures: tuple[Cure, ...]
    meant: Idealised | None
    diagnostics: tuple[Diagnostic, ...]
    seconds: float
    misfit: Misfit | None = None
    suppressed: tuple[Suppressed, ...] = ()
    binding: tuple[BindingJoint, ...] = ()
    special: tuple[SpecialLengths, ...] = ()
    trials: Trials | None = None
    engine: str | None = None
    fit: LackOfFit | None = None

    @cached_property
    def platforms(self) -> tuple[PlatformMotion, ...]:
        """Return the motion of bodies that three or more legs hold, such as 3T or 2R1T."""
        return platforms(self.reduction, self.moving)

    @classmethod
    def of(
        cls,
        reduction: Reduction,
        *,
        near: float = SLIGHT,
        began: float | None = None,
        tolerance: PerJoint | Iterable[PerJoint] | None = None,
        stiffness: PerJoint | Iterable[PerJoint] | None = None,
        engine: str | None = None,
    ) -> Self:
        """Return the report on a reduction; the options are those of ``check``."""
        relative("near", near)
        began = time.perf_counter() if began is None else began
        reduction = with_other_lengths(reduction)
        special = special_lengths(reduction)
        loops = tuple(loop_reports(reduction, special))
        loads = reactions(reduction) if reduction.assembly.closed else ()
        passive = tuple(passive_bodies(reduction))
        # What rounding may have made is no reason to change joints, and no word on motions.
        taken = reduction.mechanism.reading
        undecided = taken is not None and taken.as_ == "undecided"
        changes = () if undecided else verified_cures(reduction)
        meant = idealise(reduction, near=near, seed=reduction.seed)
        binding = tuple(binding_joints(meant, stiffness))
        reported = findings(reduction, loops, loads, changes, passive, near, special)
        if any(cure.freed for cure in changes) and reduction.mechanism.format != "pinocchio":
            entries = advise(reduction, changes, engine=engine)
            in_file = [entry for entry in entries if entry.in_file]
            reported = [_commands_tried(finding, in_file) for finding in reported]
        unheld = unheld_closures(reduction.mechanism, engine)
        every = [*reported, *as_designed(meant, binding), *unheld]
        diagnostics = by_severity([d for d in every if not (undecided and d.code in TURNED)])
        return cls(
            reduction=reduction,
            loops=loops,
            moving=moving(reduction),
            reasons=() if undecided else reasons(reduction),
            passive=passive,
            reactions=loads,
            cures=changes,
            meant=meant if meant.changed else None,
            diagnostics=tuple(diagnostics),
            seconds=time.perf_counter() - began,
            misfit=misfit_where_asked(reduction, loops, tolerance, stiffness),
            fit=fit_where_asked(reduction, tolerance, stiffness),
            binding=binding,
            engine=engine,
            special=special,
        )

    def __repr__(self) -> str:
        """Return the report in one line; ``str`` is the whole report."""
        r, name = self.reduction, shortened(self.mechanism.name)
        counts = ", ".join(counted(count, severity) for severity, count in self.summary.items())
        mobility = r.mobility if r.finite_mobility is None else r.finite_mobility
        redundant = r.redundant - self.needed  # as the headline counts them
        return f"<Report on {name!r}: mobility {mobility}, {redundant} redundant; {counts}>"

    @property
    def mechanism(self) -> Mechanism:
        """The mechanism that was checked."""
        return self.reduction.mechanism

    @property
    def seen(self) -> int:
        """Return the number of equations that were removed on numerical evidence."""
        return sum(cut.numerical.shape[1] for cut in self.reduction.cuts)

    @cached_property
    def redundancy(self) -> dict[str, int]:
        """Return the number of redundant equations by class; the sum is all of them.

        Those of loops that stay open are ``unclassified``.
        """
        r = self.reduction
        proved, unproved = r.removed - r.repeated - self.seen, r.remaining + self.seen
        trivial = min(proved, sum(part.trivial for part in r.parts if part.proved))
        topological = min(max(unproved, 0), sum(p.topological for p in r.parts if p.proved))
        unknown = min(unproved - topological, sum(part.surplus for part in open_parts(r)))
        twice = min(proved, sum(entry.count for entry in self.repeated if not entry.merged))
        trivial, exceptional = trivial - min(trivial, twice), proved - max(trivial, twice)
        said = r.repeated + twice
        return {
            "trivial": trivial,
            "exceptional": exceptional,
            **({"repeated": said} if said else {}),
            "topological": topological,
            "paradoxical": unproved - topological - unknown,
            **({} if r.assembly.closed else {"unclassified": unknown}),
        }

    @cached_property
    def repeated(self) -> tuple[Repeated, ...]:
        """Return the equations that are stated twice between the same two bodies."""
        return tuple(repeated_equations(self.reduction))

    @cached_property
    def needed(self) -> int:
        """Return the number of equations dependent at first order and needed all the same.

        They are counted as dependent, and paradoxical, in ``redundancy``; without them the motion
        would be another one.
        """
        return sum(map(self._needed, self.reduction.parts))

    def _needed(self, part: Block) -> int:
        """Return how many dependent equations of a part hold it at second order."""
        needed = part.proved and moves_less(self.reduction, part)
        return max(part.surplus - part.topological - part.related, 0) if needed else 0

    @property
    def related(self) -> int:
        """Return the number of equations redundant for all lengths with these relations of axes.

        They are counted as paradoxical in ``redundancy``.
        """
        return sum(part.related for part in self.reduction.parts if part.proved)

    @cached_property
    def kinds(self) -> dict[str, str]:
        """Return each loop's class: paradoxical ones may be ``shaky`` or ``related`` as well."""
        return {
            loop.name: loop.category
            if loop.category != "paradoxical"
            else "shaky"
            if self._needed(loop.part)
            else "related"
            if loop.part.related >= loop.part.surplus > 0
            else "paradoxical"
            for loop in self.loops
        }

    @property
    def undecided(self) -> bool:
        """Whether rounding may be all that forbids more motions."""
        reading = self.mechanism.reading
        return reading is not None and reading.as_ == "undecided"

    @cached_property
    def advice(self) -> tuple[Advice, ...]:
        """Return the joint changes, the best first, and whether the model file can hold them."""
        if self.undecided:
            return ()
        if self.trials is not None:
            return self.trials.advice
        return advise(self.reduction, self.cures, fit=self.fit, engine=self.engine)

    @cached_property
    def components(self) -> tuple[Component, ...]:
        """Return the biconnected parts of the graph that contain loops."""
        return tuple(
            Component(name, part, tuple(loop for loop in self.loops if loop.component == name))
            for i, part in enumerate(self.reduction.parts, start=1)
            for name in [f"component {i}"]
        )

    @validated(select=NAMES, ignore=NAMES)
    def selected(self, select: Sequence[str] = (), ignore: Sequence[str] = ()) -> Self:
        """Return a copy of the report with only some of its findings.

        Args:
            select: Codes or beginnings of codes to keep, such as ``REG2``; all if empty.
            ignore: Codes or beginnings of codes to leave out.
        """
        first, left_out = tuple(select) or "", tuple(ignore)
        kept = (d for d in self.diagnostics if d.code.startswith(first))
        return replace(self, diagnostics=tuple(d for d in kept if not d.code.startswith(left_out)))

    @validated(suppressions=several(instance(Suppression)))
    def accepting(self, suppressions: Sequence[Suppression] = ()) -> Self:
        """Return a copy in which accepted findings are moved to ``suppressed``.

        Args:
            suppressions: What is accepted; comments in the model's own files count in any case.
        """
        comments = in_comments(self.mechanism)
        meant = [s for s in (*comments, *suppressions) if s.reason]
        findings = by_severity([*self.diagnostics, *unexplained(comments)])
        stay, accepted = divided(findings, self.mechanism, meant)
        return replace(self, diagnostics=stay, suppressed=accepted)

    @property
    def summary(self) -> dict[str, int]:
        """Return the number of findings of each severity."""
        return {s: sum(d.severity == s for d in self.diagnostics) for s in SEVERITIES}

    @validated(fail_on=TEXT)
    def exit_status(self, fail_on: Severity | str = "warning") -> int:
        """Return 1 if a finding is at or above a severity, else 0; 0 for ``never``.

        Raises:
            ModelError: There is no such severity.
        """
        if fail_on == "never":
            return 0
        if fail_on not in SEVERITIES:
            severities = ", ".join((*SEVERITIES, "never"))
            raise ModelError(f"there is no severity {fail_on!r}; known: {severities}")
        worst = SEVERITIES.index(fail_on)
        return int(any(SEVERITIES.index(d.severity) <= worst for d in self.diagnostics))

    def as_dict(self) -> dict[str, Any]:
        """Return the JSON report, schema version 1."""
        r = self.reduction
        here = sum(cell.here.rank for cell in r.cells)
        return {
            "schema_version": SCHEMAS["report"],
            "tool": {"name": "regularize", "version": __version__},
            "model": model_entry(r),
            "settings": {"rtol": r.rtol, "seed": r.seed},
            "assembly": {
                "closed": r.assembly.closed,
                "residual_before": _gap(*r.assembly.worst_before),
                "residual_after": _gap(*r.assembly.worst_after),
                "noise": r.tolerances.closed,
            },
            "mobility": {
                "gruebler": r.gruebler,
                "actual": r.mobility,
                "finite": r.finite_mobility,
                "finite_evidence": r.finite_evidence,
                "components": motion_components(r),
                "components_complete": r.components_complete,
                "kinematotropic": r.kinematotropic,
                "shaky": r.shaky,
                "passive": len(self.passive),
                "redundant": r.redundant,
                "consistent": r.assembly.closed,
                "here": {
                    "mobility": r.freedoms - here,
                    "redundant": r.equations - here,
                    "singular": here < r.rank,
                },
            },
            "reading": (self.mechanism.reading or Reading()).as_dict(),
            "as_designed": None
            if self.meant is None
            else self.meant.as_dict() | {"binding": [each.as_dict() for each in self.binding]},
            "misfit": None if self.misfit is None else self.misfit.as_dict(),
            "stress": None if self.misfit is None else self.misfit.stress(),
            "redundancy": self.redundancy,
            "needed_at_second_order": self.needed,
            "reduction": {
                "constraints": r.constraints,
                "kept": r.kept,
                "removed": r.removed,
                "remaining_redundant": r.remaining,
                "lengths_tried": max((part.lengths_tried for part in r.parts), default=0),
                "same_relations": self.related,
                "certified_configurations": r.certificate.configurations,
                "solved_configurations": r.certificate.solved,
                "distinct_configurations": r.certificate.distinct,
                "travelled": _gap(*r.certificate.travelled),
                "worst_closure_error": r.certificate.worst,
                "nearest": nearest_entry(r),
                "numerical": r.numerical,
                "special_lengths": [each.as_dict() for each in self.special],
                **held_entries(r),
            },
            "components": [component.as_dict() for component in self.components],
            "loops": [loop.as_dict() for loop in self.loops],
            "moving": [body.as_dict() for body in self.moving],
            "platform": [
                next((p.as_dict() for p in self.platforms if p.component == k), None)
                for k in range(1, 1 + len(r.components))
            ],
            "platforms": [platform.as_dict() for platform in self.platforms],
            "why": [reason.as_dict() for reason in self.reasons],
            "passive": [
                {
                    "bodies": list(row.bodies),
                    "joints": list(row.joints),
                    "direction": [float(x) for x in row.axis],
                    "slides": row.slides,
                }
                for row in self.passive
            ],
            "reactions": [
                {
                    "joint": reaction.joint,
                    "unique": reaction.unique,
                    "indeterminate": [d.words("force", "moment") for d in reaction.indeterminate],
                }
                for reaction in self.reactions
            ],
            "cures": [
                {
                    "changes": [
                        {"joint": c.joint, "before": c.before, "after": c.after, "axis": _axis(c)}
                        for c in cure.changes
                    ],
                    "mobility": cure.mobility,
                    "idle": list(cure.idle),
                    "freed": cure.freed,
                }
                for cure in self.cures
            ],
            "advice": [entry.as_dict() for entry in self.advice],
            "diagnostics": [d.as_dict() for d in self.diagnostics],
            "suppressed": [each.as_dict() for each in self.suppressed],
            "summary": self.summary,
        }


def model_entry(reduction: Reduction) -> dict[str, Any]:
    """Return the entry ``model`` of the JSON report: file, format, name and counts."""
    graph, mechanism = reduction.graph, reduction.mechanism
    welds = len(graph.rigid_loops)  # which close loops though nothing marks them
    return {
        "path": mechanism.path,
        "format": mechanism.format,
        "name": mechanism.name,
        "bodies": sum(bool(members) for members in graph.members),
        "joints": sum(j.freedoms > 0 or j.closure for j in mechanism.joints) + welds,
        "loops": graph.loops,
        "couplings": len(graph.couplings),
        "complete": mechanism.complete,
    }


def _commands_tried(finding: Diagnostic, entries: Sequence[Advice]) -> Diagnostic:
    """Keep only those commands of a finding that work on the model's file."""
    if finding.code != "REG218":
        return finding
    kept = []
    for line in finding.help:
        words, _, command = line.partition(": regularize ")
        works = [e.command for e in entries if shlex.join(e.arguments) in line]
        if works and len(command) > COMMAND:
            line = f"{words}: {works[0]}"
        kept.append(line if works else words)
    return replace(finding, help=tuple(kept))


def _axis(change: JointChange) -> list[float] | None:
    """Return the direction of a new joint's axis on the ground, where there is a choice."""
    return None if change.choice is None else [float(x) for x in change.choice]


def _gap(translation: float, rotation: float) -> dict[str, float]:
    """Return a gap as a JSON entry."""
    return {"translation_m": translation, "rotation_rad": rotation}
