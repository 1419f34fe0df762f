"""What the reports for people say, as plain values: the terminal and the HTML page lay them out."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from regularize.causes import Chain
from regularize.curing import Cure
from regularize.diagnostic import Diagnostic
from regularize.directions import Direction, axis_words
from regularize.loop_report import Equation, LoopReport
from regularize.nearly import in_world
from regularize.report import Component, Report
from regularize.words import (
    counted,
    directions_words,
    listed,
    millimetres,
    milliradians,
    motion_words,
    plural,
)

#: Joints named one by one in a row of a table; longer chains are numbered below it.
FEW = 3
#: Bodies that turn about axes of their own before they are told together.
MANY = 6
#: Names of motions that read badly in a table.
SPATIAL = {"full": "spatial"}


@dataclass(frozen=True)
class Row:
    """One direction at a closing joint.

    Attributes:
        direction: ``translation along Y``.
        status: ``kept``, ``redundant`` or ``free``.
        because: The joints that fix it already, or that it belongs to.
        residual: Closure error at the assembled pose with its unit, empty for a freedom.
    """

    direction: str
    status: str
    because: str
    residual: str


@dataclass(frozen=True, eq=False)
class Group:
    """Loops that are alike: same motion, same joints count, same equations.

    Attributes:
        loops: The loops; the first stands for all.
    """

    loops: tuple[LoopReport, ...]

    @property
    def first(self) -> LoopReport:
        """The loop that stands for all."""
        return self.loops[0]

    @property
    def name(self) -> str:
        """``L1``, or ``L1 to L12`` or ``L1, L4 and L7``."""
        found = [loop.name for loop in self.loops]
        numbers = [int(name[1:]) for name in found]
        if len(found) > 2 and numbers == list(range(numbers[0], numbers[-1] + 1)):
            return f"{found[0]} to {found[-1]}"
        return listed(found, most=4)


def headline(report: Report) -> tuple[str, str]:
    """Name of the model, and its format and counts."""
    model = report.as_dict()["model"]
    counts = [
        counted(model["bodies"], "body"),
        counted(model["joints"], "joint"),
        counted(model["loops"], "loop"),
    ]
    if len(report.components) > 1:
        counts.append(counted(len(report.components), "component"))
    if model["couplings"]:
        counts.append(counted(model["couplings"], "coupling"))
    name = report.mechanism.path or report.mechanism.name
    return name, " · ".join([model["format"], *counts])


def verdict(report: Report) -> tuple[str, str]:
    """How it stands (``good``, ``warning`` or ``error``) and the sentence that says so."""
    r = report.reduction
    if not r.assembly.closed:
        count = len({d.loop or d.joints for d in report.diagnostics if d.severity == "error"})
        which = "A loop" if count == 1 else "The loops"
        return "error", f"{which} cannot be closed: the model contradicts itself."
    if not report.loops:
        return "good", "No kinematic loops, so nothing can be redundant."
    if r.redundant == 0 and r.finite_mobility == 0:
        return "warning", "Locked: the loops allow no motion. No redundant constraints."
    if r.redundant == 0:
        return "good", "No redundant constraints."
    sentence = f"{counted(r.redundant, 'redundant constraint equation')}, consistent: "
    if r.finite_mobility == 0:
        sentence = f"Locked: the loops allow no motion. {sentence}"
    if r.removed >= r.redundant:
        sentence += (
            "it can be dropped in every configuration."
            if r.redundant == 1
            else f"{'both' if r.redundant == 2 else 'all'} can be dropped in every configuration."
        )
    elif r.removed:
        sentence += f"{r.removed} can be dropped in every configuration, {r.remaining} cannot."
    else:
        sentence += "kept, because the joint axes alone do not prove that they can be dropped."
    return "warning", sentence


def counts(report: Report) -> str:
    """Mobility in truth and by counting, in one sentence."""
    r = report.reduction
    if not r.assembly.closed:
        return f"Grübler count {_signed(r.gruebler)}."
    text = f"True mobility {r.mobility}, Grübler count {_signed(r.gruebler)}"
    if r.finite_mobility != r.mobility:
        text += f"; only {r.finite_mobility} of the {r.mobility} by finite motions"
    return text + "."


def _signed(number: int) -> str:
    return str(number).replace("-", "−")


def groups(loops: Iterable[LoopReport]) -> list[Group]:
    """Loops that are alike, together, in the order of their first."""
    found: dict[object, list[LoopReport]] = {}
    for loop in loops:
        alike = (
            loop.component if loop.category == "paradoxical" else None,
            loop.category,
            loop.motion.name,
            loop.cut.constraints,
            loop.cut.kept,
            tuple(equation.label for equation in loop.removed),
            len(loop.joints),
            bool(loop.locked),
        )
        found.setdefault(alike, []).append(loop)
    return [Group(tuple(entries)) for entries in found.values()]


def chain(loop: LoopReport, ground: str) -> list[tuple[str, str]]:
    """The loop as pairs (kind, name): bodies and joints in turn, from the ground if it is there."""
    start = loop.bodies.index(ground) if ground in loop.bodies else 0
    bodies = (*loop.bodies[start:], *loop.bodies[:start])
    joints = (*loop.joints[start:], *loop.joints[:start])
    links: list[tuple[str, str]] = [("body", bodies[0])]
    for joint, body in zip(joints, (*bodies[1:], bodies[0]), strict=True):
        links += [("cut" if joint == loop.closing else "joint", joint), ("body", body)]
    return links


def motion(loop: LoopReport) -> str:
    """The motion type of a loop in words."""
    if loop.motion.dimension == 6:
        return "spatial: its joints keep to no motion group"
    of = " of the ground" if loop.motion.direction is not None else ""
    return motion_words(loop.motion) + of


def rows(loop: LoopReport) -> list[Row]:
    """The six directions at the closing joint: translations first, then along X, Y, Z."""
    found = [
        *((e.direction, Row(e.label, "kept", "", residual(e))) for e in loop.kept),
        *(
            (e.direction, Row(e.label, "redundant", _because(loop, e), residual(e)))
            for e in loop.removed
        ),
        *(
            (d, Row(d.words("translation", "rotation"), "free", f"{loop.closing} moves here", ""))
            for d in loop.free
        ),
    ]
    return [row for _, row in sorted(found, key=lambda entry: _order(entry[0]))]


def _order(direction: Direction) -> tuple[int, bool, str]:
    axis = direction.covector[3:] if direction.kind == "angular" else direction.covector[:3]
    words = axis_words(axis)
    return ("linear", "angular", "mixed").index(direction.kind), len(words) > 1, words


def residual(equation: Equation) -> str:
    """A closure error with its unit."""
    if equation.direction.kind == "linear":
        return millimetres(equation.residual)
    return milliradians(equation.residual)


def _because(loop: LoopReport, equation: Equation) -> str:
    joints = [joint for link in equation.fixed_by for joint in link.joints]
    if not joints:
        return "the other loops"
    if len(joints) <= FEW:
        return ", ".join(joints)
    if len(joints) == len(set(loop.joints)) - 1:
        return f"the other {len(joints)} joints"
    return ", ".join(joints[:FEW]) + " …"


def reasons(loop: LoopReport) -> list[str]:
    """One sentence for each distinct proof that equations are redundant."""
    found: dict[tuple[tuple[str, ...], ...], list[Equation]] = {}
    for equation in loop.removed:
        found.setdefault(tuple(link.joints for link in equation.fixed_by), []).append(equation)
    sentences = []
    for equations_ in found.values():
        chains = equations_[0].fixed_by
        sentence = "; ".join(_generates(loop, link) for link in chains)
        if not chains:
            sentence = "ruled out by the other loops that share bodies with this one"
        if len(found) > 1:
            sentence = f"{listed([e.label for e in equations_])}: {sentence}"
        sentences.append(sentence)
    return sentences


def _generates(loop: LoopReport, link: Chain) -> str:
    motion = motion_words(in_world(link.motion, loop.part.center, loop.part.length))
    name, _, details = motion.partition(", ")
    verb = "generates" if len(link.joints) == 1 else "generate"
    where = f" ({details})" if details else ""
    return f"{listed(link.joints, most=8)} {verb} {name} motion only{where}"


def choices(loop: LoopReport) -> str | None:
    """Where else the loop could be closed, or None."""
    others = [joint for joint in loop.interchangeable if joint != loop.closing]
    if not others:
        return None
    where = (
        listed(others, last="or")
        if len(others) <= FEW
        else f"any of the other {len(others)} joints"
    )
    return (
        f"{loop.closing} is one choice: closed at {where} instead, "
        f"{loop.redundant} would be redundant just as well"
    )


def moves(report: Report) -> list[tuple[str, list[str]]]:
    """Kinds of motion and the bodies that make them, rest last.

    Many bodies that turn about axes of their own make one kind.
    """
    alone = sum(body.joint is not None for body in report.moving)
    found: dict[str, list[str]] = {}
    for body in report.moving:
        words = body.words if alone <= MANY else replace(body, joint=None, point=False).words
        found.setdefault(words, []).append(body.body)
    rest = found.pop("stays at rest", None)
    entries = [*found.items(), *([("stays at rest", rest)] if rest else [])]
    return [(words if len(bodies) == 1 else plural(words), bodies) for words, bodies in entries]


def untrusted(report: Report) -> list[tuple[str, list[str]]]:
    """Components of reactions that the model does not determine, and the joints concerned."""
    found: dict[str, list[str]] = {}
    for reaction in report.reactions:
        if not reaction.unique:
            words = directions_words(reaction.indeterminate, "force", "moment", short=True)
            found.setdefault(words, []).append(reaction.joint)
    return list(found.items())


def remedies(report: Report) -> list[tuple[str, str]]:
    """What can be done about the redundancies: in words, and the command if there is one."""
    r, path = report.reduction, report.mechanism.path or "MODEL"
    found = []
    if r.removed:
        found.append(
            (
                "drop the redundant equation in the simulation model"
                if r.removed == 1
                else f"drop the {r.removed} redundant equations in the simulation model",
                f"regularize reduce {path} -o reduced/",
            )
        )
    if r.remaining > 0 and r.assembly.closed and not r.numerical:
        found.append(
            (
                f"drop {counted(r.remaining, 'more equation' if r.removed else 'equation')} on "
                "numerical evidence, for this assembly mode only",
                "regularize.reduce(mechanism, numerical=True)",
            )
        )
    if report.cures:
        # Universal joints may differ in their axes only, which words do not tell.
        first, *others = dict.fromkeys(_changes(cure) for cure in report.cures)
        words = f"or build it without redundancy: {first}"
        if others:
            words += "; other ways: " + ", or ".join(others)
        found.append((words, ""))
    return found


def _changes(cure: Cure) -> str:
    """``make C spherical and D cylindrical``."""
    changes = [f"{change.joint} {change.after}" for change in cure.changes]
    text = f"make {listed(changes)}"
    return f"{text} ({listed(cure.idle)} can then spin idly)" if cure.idle else text


def equations(component: Component | Report) -> tuple[int, int, int]:
    """Constraint equations at the closing joints, kept and redundant ones."""
    if isinstance(component, Report):
        r = component.reduction
        return r.constraints, r.kept, r.removed
    return component.constraints, component.kept, component.constraints - component.kept


def kinds(report: Report) -> str:
    """Redundant equations by name, or an empty string."""
    words = {
        "trivial": "trivial (the loop's own motion group)",
        "exceptional": "exceptional (chains or loops together)",
        "topological": "topological (any lengths)",
        "paradoxical": "paradoxical (these lengths only)",
    }
    return ", ".join(f"{n} {words[kind]}" for kind, n in report.redundancy.items() if n)


def evidence(report: Report) -> str:
    """What was checked by walking, or an empty string."""
    r = report.reduction
    if not r.certificate.configurations or not r.removed:
        return ""
    worst = "0" if r.certificate.worst < 1e-9 else f"{r.certificate.worst:.1e} of its size"
    return (
        f"on the kept equations alone every loop stayed closed at {r.certificate.configurations} "
        f"configurations (largest error {worst})"
    )


def found(report: Report) -> str:
    """``1 warning and 3 notes``."""
    entries = [
        counted(report.summary[severity], severity)
        for severity in ("error", "warning", "note")
        if report.summary[severity]
    ]
    return listed(entries) or "nothing to report"


def merged(report: Report) -> list[tuple[Diagnostic, tuple[Diagnostic, ...]]]:
    """Findings, those about loops that are alike behind the first of them."""
    alike = {loop.name: group.name for group in groups(report.loops) for loop in group.loops}
    found: dict[object, list[Diagnostic]] = {}
    for i, diagnostic in enumerate(report.diagnostics):
        grouped = diagnostic.code == "REG201" and diagnostic.loop is not None
        key = (diagnostic.code, alike[str(diagnostic.loop)]) if grouped else i
        found.setdefault(key, []).append(diagnostic)
    return [(entries[0], tuple(entries[1:])) for entries in found.values()]
