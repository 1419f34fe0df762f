"""What the panel shows of an assembly: a verdict, redundant joints, changes, fit and motions.

Nothing here needs a window, and FreeCAD is not imported: a document is whatever has ``Objects``,
``saveCopy``, ``recompute`` and transactions as FreeCAD's documents do. Lengths are in millimetres,
as FreeCAD has them, where that is said, else in SI units.
"""

import os
import re
import sys
import tempfile
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

if os.path.dirname(__file__) not in sys.path:  # FreeCAD has it there
    sys.path.append(os.path.dirname(__file__))
from regularize_words import translated

#: Types of FreeCAD's joints by the kinds of joints that changes name.
TYPES = {
    "revolute": "Revolute",
    "cylindrical": "Cylindrical",
    "prismatic": "Slider",
    "spherical": "Ball",
    "fixed": "Fixed",
    "parallel": "Parallel",
}
#: What a joint becomes that is left with play.
LOOSE = "Suppressed"
#: The internal name of an object in ``App::FeaturePython Joint001 (hinge)``.
OBJECT = re.compile(r"\S+ (\S+) \(")
#: Properties of a joint that give its tolerance and its stiffness, as texts with units.
TOLERANCE, STIFFNESS = "Tolerance", "Stiffness"


class Cancelled(Exception):
    """The user has stopped the analysis."""


@dataclass(frozen=True)
class Change:
    """Joints to change together so that less is redundant and the motion stays.

    Attributes:
        joints: Labels of the joints.
        types: What each joint becomes: a type of FreeCAD's joints, or the kind's name where
            FreeCAD has none.
        objects: Internal names of the joint objects; empty where one is in another document.
        text: One line for the user.
        left: Redundant equations that stay.
        possible: Whether FreeCAD has all these types and the joints are in this document.
        arrangement: What designers call the arrangement, or None.
        load: Largest force that lack of fit causes before and after, N; None without tolerances.
    """

    joints: tuple[str, ...]
    types: tuple[str, ...]
    objects: tuple[str, ...]
    text: str
    left: int
    possible: bool
    arrangement: str | None = None
    load: tuple[float, float] | None = None


@dataclass(frozen=True)
class RedundantJoint:
    """A joint that closes a loop, and how many of its equations other joints hold already."""

    label: str
    object: str | None
    equations: int
    text: str


@dataclass(frozen=True)
class Fit:
    """Lack of fit in one redundant direction: m or rad, one standard deviation and the worst."""

    joint: str
    text: str
    std: float
    worst: float
    force: float | None


@dataclass(frozen=True)
class Panel:
    """What is shown of one assembly.

    Attributes:
        verdict: One or two sentences.
        redundant: Number of redundant equations.
        mobility: Degrees of freedom.
        joints: Joints with redundant equations.
        changes: Proposals, the best first.
        fit: Lack of fit, where joints have a property ``Tolerance``.
        findings: Findings as (severity, sentence).
    """

    verdict: str
    redundant: int
    mobility: int
    joints: tuple[RedundantJoint, ...]
    changes: tuple[Change, ...]
    fit: tuple[Fit, ...]
    findings: tuple[tuple[str, str], ...]
    report: object = field(repr=False)


def analyse(document, progress=None, language="en"):
    """Analyse the assembly of a document as it stands, saved or not.

    Args:
        document: The document; it is not changed.
        progress: Called with the fraction done; what it raises ends the analysis.
        language: ``en`` or ``de``, of the panel's own sentences.

    Raises:
        regularize.RegularizeError: There is no assembly, or it cannot be read.
    """
    with copy_of(document) as path:
        return analyse_file(path, fit_of(document), progress, language)


def analyse_file(path, fit=None, progress=None, language="en"):
    """Analyse a copy of a document; safe in a thread of its own. ``fit`` is of `fit_of`."""
    import regularize as rg

    options = {name: value for name, value in (fit or {}).items() if value}
    report = rg.check(path, progress=progress, **options)
    advice = report.advice
    if not report.reduction.assembly.closed:
        # What frees a redundant direction also takes the misfit that stands in it.
        absorbed = rg.absorb_gaps(report.mechanism)
        advice = () if absorbed.left else rg.check(absorbed.mechanism, **options).advice
    return _panel(report, advice, language)


@contextmanager
def copy_of(document):
    """Write a copy of a document with all unsaved changes; it is removed at the end."""
    file = getattr(document, "FileName", "")
    documents = getattr(document, "getDependentDocuments", list)()
    # Paths to other documents are relative to the file, so the copy stands beside it.
    folder = os.path.dirname(file) if file and len(documents) > 1 else None
    handle, path = tempfile.mkstemp(prefix=".regularize-", suffix=".FCStd", dir=folder)
    os.close(handle)
    try:
        document.saveCopy(path)
        yield path
    finally:
        with suppress(FileNotFoundError):
            os.remove(path)


def fit_of(document):
    """Return tolerances and stiffnesses that joints of a document have as properties."""
    found = {"tolerance": {}, "stiffness": {}}
    for each in joint_objects(document):
        for name, key in ((TOLERANCE, "tolerance"), (STIFFNESS, "stiffness")):
            text = getattr(each, name, "")
            if isinstance(text, str) and text.strip():
                found[key][each.Label] = tuple(part.strip() for part in text.split(","))
    return found


def joint_objects(document):
    """Return the joints of a document's assemblies."""
    return [each for each in document.Objects if hasattr(each, "JointType")]


def apply(document, change):
    """Make a change in the document, as one step that undo takes back.

    Raises:
        ValueError: FreeCAD has no such type of joint, or a joint is not in this document.
    """
    if not change.possible:
        raise ValueError(f"FreeCAD cannot hold this change: {change.text}")
    by_name = {each.Name: each for each in joint_objects(document)}
    missing = [name for name in change.objects if name not in by_name]
    if missing:
        raise ValueError(f"joints that are gone: {', '.join(missing)}; check again")
    document.openTransaction("Regularize: " + ", ".join(change.joints))
    try:
        for name, kind in zip(change.objects, change.types, strict=True):
            if kind == LOOSE:
                by_name[name].Suppressed = True
            else:
                by_name[name].JointType = kind
        document.recompute()
    except Exception:
        document.abortTransaction()
        raise
    document.commitTransaction()


def give_fit(document, tolerance, stiffness=""):
    """Give every joint the properties for tolerance and stiffness, where it has none yet."""
    document.openTransaction("Regularize: tolerances")
    for each in joint_objects(document):
        for name, text in ((TOLERANCE, tolerance), (STIFFNESS, stiffness)):
            if not hasattr(each, name):
                help = "0.05mm,0.1deg" if name == TOLERANCE else "50N/um,2000Nm/rad"
                each.addProperty("App::PropertyString", name, "Fit", help)
                setattr(each, name, text)
    document.commitTransaction()


def motions(panel, frames=60):
    """Return how parts move, one entry for each freedom: its name, and matrices by part.

    Matrices are displacements from the assembled pose in the frame of the assembly, lengths in
    millimetres: lists of four rows for every frame, by the internal names of the parts.
    """
    import numpy as np

    from regularize.guests.page import animation

    reduction = panel.report.reduction
    home = np.linalg.inv(reduction.reference.T_world_node[0])
    found = []
    for motion in animation.motions(reduction):
        last = len(motion.q) - 1
        if motion.cyclic:
            rows = np.arange(frames) * len(motion.q) // frames
        else:
            rows = np.round(last * (0.5 - 0.5 * np.cos(2 * np.pi * np.arange(frames) / frames)))
        poses = reduction.loops.state(motion.q[rows.astype(int)]).T_world_node
        moved = poses @ home
        moved[..., :3, 3] *= 1000.0
        parts = {}
        for node, names in enumerate(reduction.graph.members):
            row = reduction.loops.row(node)
            for name in names:
                part = _object_name(reduction.mechanism.body(name))
                if part is not None:
                    parts[part] = moved[:, row].tolist()
        found.append((motion.name, parts))
    return found


def _panel(report, advice, language):
    reduction = report.reduction
    say = translated(language)
    return Panel(
        verdict=_verdict(report, say),
        redundant=reduction.redundant,
        mobility=reduction.mobility,
        joints=tuple(_joints(report, say)),
        changes=tuple(_change(entry, report, say) for entry in advice),
        fit=tuple(_fit(report)),
        findings=tuple((each.severity, each.message) for each in report.diagnostics),
        report=report,
    )


def _verdict(report, say):
    errors = [each.message for each in report.diagnostics if each.severity == "error"]
    if say.language == "en":
        return f"{report.verdict} {errors[0]}" if errors else report.verdict
    reduction = report.reduction
    if not reduction.assembly.closed:
        return say("A loop cannot be closed: the joints contradict each other.")
    count = reduction.redundant
    first = (
        say("{} redundant equations").format(count) if count else say("No redundant constraints")
    )
    return f"{first}. " + say("Degrees of freedom: {}.").format(reduction.mobility)


def _joints(report, say):
    loops = {}
    for loop in report.loops:
        if loop.redundant:
            loops.setdefault(loop.closing, []).append(loop)
    mechanism = report.mechanism
    for name, several in loops.items():
        others = [label for loop in several for label in loop.joints if label != name]
        text = say("{} equations are held already by {}").format(
            sum(loop.redundant for loop in several), ", ".join(dict.fromkeys(others))
        )
        equations = sum(loop.redundant for loop in several)
        yield RedundantJoint(name, _object_name(mechanism.joint(name)), equations, text)


def _change(entry, report, say):
    mechanism = report.mechanism
    here = mechanism.path
    joints = [mechanism.joint(change.joint) for change in entry.changes]
    objects = [_object_name(joint) for joint in joints]
    local = all(
        name is not None and joint.source is not None and joint.source.path == here
        for name, joint in zip(objects, joints, strict=True)
    )
    types = tuple(TYPES.get(change.after, change.words) for change in entry.changes)
    if all(change.after == "clearance" for change in entry.changes):
        types = (LOOSE,) * len(types)
    parts = [
        f"{change.joint}: {say(TYPES.get(change.before, change.before))} → {say(kind)}"
        for change, kind in zip(entry.changes, types, strict=True)
    ]
    arrangement = getattr(entry, "arrangement", None)
    text = "; ".join(parts)
    load = getattr(entry, "load", None)
    held = (
        entry.in_file if report.reduction.assembly.closed else {*types} <= {*TYPES.values(), LOOSE}
    )
    return Change(
        joints=tuple(change.joint for change in entry.changes),
        types=types,
        objects=tuple(objects) if local else (),
        text=f"{say(arrangement)}: {text}" if arrangement else text,
        left=entry.left,
        possible=bool(local and held),
        arrangement=arrangement,
        load=None if load is None else tuple(load),
    )


def _fit(report):
    for entry in report.misfit.entries if report.misfit is not None else ():
        yield Fit(entry.joint, entry.label, entry.std, entry.worst, entry.force_worst)


def _object_name(named):
    """Return the internal name of the object that a joint or body was read from."""
    match = None if named.source is None else OBJECT.match(named.source.element or "")
    return None if match is None else match[1]
