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
from regularize.repair.fix.advice import advise
from regularize.repair.fix.proposals import Advice
from regularize.repair.nominal.idealise import Idealised, idealise
from regularize.repair.nominal.other_lengths import with_other_lengths
from regularize.repair.statics.cure import Cure
from regularize.repair.statics.cures import TRIES, cures, freeing
from regularize.repair.statics.joint_changes import JointChange
from regularize.repair.statics.passive_freedoms import PassiveBody, passive_bodies
from regularize.repair.statics.per_joint import PerJoint
from regularize.repair.statics.reactions import Reaction, reactions
from regularize.report.findings import by_severity, findings, moves_less
from regularize.report.loop_report import Component, LoopReport, loop_reports, open_parts
from regularize.report.misfit import Misfit, misfit_where_asked
from regularize.report.mobility_findings import held_entries, motion_components
from regularize.report.motion import BodyMotion, PlatformMotion, moving, platforms
from regularize.report.nearly import BindingJoint, as_designed, binding_joints
from regularize.report.reasons import Reason, reasons
from regularize.report.suppression import Suppressed, Suppression, divided, in_comments, unexplained
from regularize.validation import NAMES, TEXT, instance, relative, several, validated
from regularize.version import SCHEMAS, __version__
from regularize.words import LISTED, SLIGHT, counted

if TYPE_CHECKING:
    from typing_extensions import Self

    from regularize.repair.fix.advice import Trials

#: Changes of joint types that are proposed.
CURES = 3
#: Joints up to which they are looked for: the number of combinations grows fast.
MOST_JOINTS = 30


@dataclass(frozen=True, eq=False)
class Analysis:
    """What is known of a mechanism's loops; ``checking.Report`` says what its fields are."""

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

    @cached_property
    def platforms(self) -> tuple[PlatformMotion, ...]:
        """How bodies that several legs hold move, by name."""
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
    ) -> Self:
        """Everything that follows from a reduction.

        Args:
            reduction: From ``reduce``.
            near: Tolerance within which a loop is called nearly special; radians, and distances
                relative to the size of its part.
            began: When the work began, by ``time.perf_counter``; by default now.
            tolerance: Of the joints; see ``misfit``.
            stiffness: Of the joints; see ``misfit``.

        Raises:
            ModelError: ``near`` is no positive number.
        """
        relative("near", near)
        began = time.perf_counter() if began is None else began
        reduction = with_other_lengths(reduction)
        special = special_lengths(reduction)
        loops = tuple(loop_reports(reduction, special))
        found = reactions(reduction) if reduction.assembly.closed else ()
        passive = tuple(passive_bodies(reduction))
        # More changes than a list names are no help.
        few = reduction.redundant <= LISTED and len(reduction.graph.edges) <= MOST_JOINTS
        search = cures if few else freeing
        ways = search(reduction, limit=CURES, tries=TRIES)
        meant = idealise(reduction, near=near, seed=reduction.seed)
        binding = tuple(binding_joints(meant, stiffness))
        own = findings(reduction, loops, found, ways, passive, near, special)
        if any(cure.freed for cure in ways) and reduction.mechanism.format != "pinocchio":
            held = [entry for entry in advise(reduction, ways) if entry.in_file]
            own = [_commands_tried(finding, held) for finding in own]
        diagnostics = by_severity([*own, *as_designed(meant, binding)])
        return cls(
            reduction=reduction,
            loops=loops,
            moving=moving(reduction),
            reasons=reasons(reduction),
            passive=passive,
            reactions=found,
            cures=ways,
            meant=meant if meant.changed else None,
            diagnostics=tuple(diagnostics),
            seconds=time.perf_counter() - began,
            misfit=misfit_where_asked(reduction, loops, tolerance, stiffness),
            binding=binding,
            special=special,
        )

    def __repr__(self) -> str:
        """The report in one line; ``str`` is the report itself."""
        r, name = self.reduction, shortened(self.mechanism.name)
        counts = ", ".join(counted(count, severity) for severity, count in self.summary.items())
        return f"<Report on {name!r}: mobility {r.mobility}, {r.redundant} redundant; {counts}>"

    @property
    def mechanism(self) -> Mechanism:
        """The mechanism that was checked."""
        return self.reduction.mechanism

    @property
    def seen(self) -> int:
        """Equations that were removed on numerical evidence."""
        return sum(cut.numerical.shape[1] for cut in self.reduction.cuts)

    @cached_property
    def redundancy(self) -> dict[str, int]:
        """Redundant equations by name; the counts add up to all redundant equations.

        Those of loops that stay open are ``unclassified``.
        """
        r = self.reduction
        proved, left = r.removed - self.seen, r.remaining + self.seen
        trivial = min(proved, sum(part.trivial for part in r.parts if part.proved))
        topological = min(max(left, 0), sum(p.topological for p in r.parts if p.proved))
        unknown = min(left - topological, sum(part.surplus for part in open_parts(r)))
        return {
            "trivial": trivial,
            "exceptional": proved - trivial,
            "topological": topological,
            "paradoxical": left - topological - unknown,
            **({} if r.assembly.closed else {"unclassified": unknown}),
        }

    @cached_property
    def needed(self) -> int:
        """Equations that depend on the others at first order, and are needed all the same.

        They are counted as dependent, and paradoxical, in ``redundancy``; without them the motion
        would be another one.
        """
        return sum(map(self._needed, self.reduction.parts))

    def _needed(self, part: Block) -> int:
        needed = part.proved and moves_less(self.reduction, part)
        return max(part.surplus - max(part.topological, 0), 0) if needed else 0

    @cached_property
    def kinds(self) -> dict[str, str]:
        """Class of each loop in words: ``shaky`` if what its equations depend on needs them."""
        return {
            loop.name: "shaky"
            if loop.category == "paradoxical" and self._needed(loop.part)
            else loop.category
            for loop in self.loops
        }

    @cached_property
    def advice(self) -> tuple[Advice, ...]:
        """Which joints to change, the best way first; the file's text tells what it can hold."""
        return advise(self.reduction, self.cures) if self.trials is None else self.trials.advice

    @cached_property
    def components(self) -> tuple[Component, ...]:
        """The biconnected parts of the graph that contain loops."""
        return tuple(
            Component(name, part, tuple(loop for loop in self.loops if loop.component == name))
            for i, part in enumerate(self.reduction.parts, start=1)
            for name in [f"component {i}"]
        )

    @validated(select=NAMES, ignore=NAMES)
    def selected(self, select: Sequence[str] = (), ignore: Sequence[str] = ()) -> Self:
        """The same report with some findings only.

        Args:
            select: Codes or beginnings of codes to keep, such as ``REG2``; all if empty.
            ignore: Codes or beginnings of codes to leave out.
        """
        first, left_out = tuple(select) or "", tuple(ignore)
        kept = (d for d in self.diagnostics if d.code.startswith(first))
        return replace(self, diagnostics=tuple(d for d in kept if not d.code.startswith(left_out)))

    @validated(suppressions=several(instance(Suppression)))
    def accepting(self, suppressions: Sequence[Suppression] = ()) -> Self:
        """The same report without the findings that somebody has accepted, which are kept apart.

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
        """Number of findings of each severity."""
        return {s: sum(d.severity == s for d in self.diagnostics) for s in SEVERITIES}

    @validated(fail_on=TEXT)
    def exit_status(self, fail_on: Severity | str = "warning") -> int:
        """1 if there is a finding at or above a severity, else 0; ``never`` gives 0.

        Raises:
            ModelError: There is no such severity.
        """
        if fail_on == "never":
            return 0
        if fail_on not in SEVERITIES:
            known = ", ".join((*SEVERITIES, "never"))
            raise ModelError(f"there is no severity {fail_on!r}; known: {known}")
        worst = SEVERITIES.index(fail_on)
        return int(any(SEVERITIES.index(d.severity) <= worst for d in self.diagnostics))

    def as_dict(self) -> dict[str, Any]:
        """The JSON report, schema version 1."""
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
    return {
        "path": mechanism.path,
        "format": mechanism.format,
        "name": mechanism.name,
        "bodies": sum(bool(members) for members in graph.members),
        "joints": sum(j.freedoms > 0 or j.closure for j in mechanism.joints),
        "loops": graph.loops,
        "couplings": len(graph.couplings),
    }


def _commands_tried(finding: Diagnostic, entries: Sequence[Advice]) -> Diagnostic:
    """Keep only those commands of a finding that work on the model's file."""
    if finding.code != "REG218":
        return finding
    held = [" ".join(map(shlex.quote, entry.arguments)) for entry in entries]
    kept = (
        line if any(words in line for words in held) else line.partition(": regularize ")[0]
        for line in finding.help
    )
    return replace(finding, help=tuple(kept))


def _axis(change: JointChange) -> list[float] | None:
    """Return the direction of a new joint's axis on the ground, where there is a choice."""
    return None if change.choice is None else [float(x) for x in change.choice]


def _gap(translation: float, rotation: float) -> dict[str, float]:
    """Return a gap as a JSON entry."""
    return {"translation_m": translation, "rotation_rad": rotation}
