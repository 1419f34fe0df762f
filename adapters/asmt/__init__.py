"""ASMT: the assemblies of the solver inside FreeCAD, as FreeCAD exports them."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from regularize.adapters.cad.draft import SLIDING, CadDraft, expression_of
from regularize.adapters.cad.mates import TURNING, Relation
from regularize.adapters.common.draft import Side
from regularize.adapters.common.edits import Edit, EditedText, LineIndex, Patch, WantedKind
from regularize.adapters.common.input_files import read_bytes
from regularize.adapters.common.pairs import PARALLEL
from regularize.adapters.common.patching import Patcher
from regularize.adapters.common.quantities import principal
from regularize.adapters.common.values import Located
from regularize.errors import ReadError
from regularize.escape import FileText, listed, suggestion
from regularize.lie.arrays import Array
from regularize.lie.screw import transform
from regularize.mechanism.body import Inertia
from regularize.mechanism.diagnostic import Source
from regularize.mechanism.joint import Joint
from regularize.mechanism.mechanism import Mechanism, PrescribedMotion

#: Pair (a key of ``pairs.PAIRS``) of each joint type.
JOINTS = {
    **{"FixedJoint": "fixed", "RevoluteJoint": "revolute", "CylindricalJoint": "cylindrical"},
    **{"TranslationalJoint": "prismatic", "SphericalJoint": "spherical"},
    **{"AtPointJoint": "spherical", "UniversalJoint": "universal"},
    **{"ConstantVelocityJoint": "constant_velocity", "NoRotationJoint": "no_rotation"},
    **{"ParallelAxesJoint": "parallel", "PerpendicularJoint": "perpendicular"},
    **{"AngleJoint": "angle", "PointInLineJoint": "point_on_line", "InLineJoint": "point_on_line"},
    **{"PlanarJoint": "planar", "PointInPlaneJoint": "point_in_plane"},
    **{"LineInPlaneJoint": "line_in_plane", "SphSphJoint": "sphere_sphere"},
    **{"CylSphJoint": "cylinder_sphere", "RevCylJoint": "revolute_cylinder"},
    "RevRevJoint": "revolute_revolute",
}
#: The line that the value of a pair stands under.
VALUES = {
    "angle": "theIzJz",
    **dict.fromkeys(("planar", "point_in_plane", "line_in_plane"), "offset"),
    **dict.fromkeys(("sphere_sphere", "cylinder_sphere"), "distanceIJ"),
    **dict.fromkeys(("revolute_cylinder", "revolute_revolute"), "distanceIJ"),
}
#: Kind of relation of each joint type that couples two joints, and the lines of its values.
RELATIONS = {
    "GearJoint": ("gear", ("radiusI", "radiusJ")),
    "RackPinionJoint": ("rack", ("pitchRadius",)),
    "ScrewJoint": ("screw", ("pitch",)),
}
TURN, TRAVEL = "RotationZ", "TranslationZ"
#: Where the expression of a motion stands, by its type and by the kind of its joint.
MOTIONS = {("RotationalMotion", "revolute"): TURN, ("TranslationalMotion", "prismatic"): TRAVEL}
LIMITS = ("RotationLimit", "TranslationLimit")
#: Names of types as FreeCAD writes them on Linux, without what the solver's names there begin with.
CUT = {
    f"{name[4:]}E": name
    for name in (*JOINTS, *RELATIONS, *(motion for motion, _ in MOTIONS), "GeneralMotion", *LIMITS)
}
HEADINGS = ("OndselSolver", "freeCAD: 3D CAD with Motion Simulation")
#: Name that FreeCAD gives to every assembly that it exports.
FREECAD = "OndselAssembly"
UNITS = {"mm": 1e-3, "m": 1.0}
_LIMIT = re.compile(r"([-+]?[\d.]+(?:[eE][-+]?\d+)?)\s*(\*\s*pi\s*/\s*180(?:\.0*)?)?")
#: Deepest nesting.
DEEPEST = 40


def read(path: str, *, units: str | None = None) -> Mechanism:
    """Read an ASMT file."""
    if units is not None and units not in UNITS:
        raise ReadError(path, f"unit of length {units!r} is unknown; known are {', '.join(UNITS)}")
    root = asmt_tree(path)
    assembly = root.get("Assembly")
    if assembly is None or not root.children[0].text.startswith(HEADINGS):
        raise ReadError(path, "does not begin with `OndselSolver` and `Assembly`; no ASMT file")
    return _Reader(path, assembly, units).read()


class _Reader:
    """Reads one assembly; holds the draft, the unit and the markers by their paths."""

    def __init__(self, path: str, assembly: AsmtLine, units: str | None) -> None:
        self.assembly = assembly
        self.draft = CadDraft(path, assembly.value("Name") or "assembly")
        exported = assembly.value("Name") == FREECAD
        self.scale = UNITS[units or ("mm" if exported else "m")]
        if exported and units is None:
            self.draft.note(
                "REG012",
                "lengths are read as millimetres: FreeCAD exports them so",
                assembly.source,
                "read the file with units='m' if its lengths are metres",
            )
        self.markers: dict[str, Side] = {}
        self.placeholders: list[str] = []

    def read(self) -> Mechanism:
        """Return the mechanism of the assembly."""
        self._add_markers(self.assembly, self.draft.ground, f"/{self.assembly.value('Name')}")
        for part in self.assembly.need("Parts").all("Part"):
            self._add_part(part)
        sets = self.assembly.need("ConstraintSets")
        names: dict[str, str] = {}
        for item in sets.need("Joints").children:
            self._add_joint(item, names)
        self._read_motions(sets, names)
        self._read_limits(sets, names)
        if self.placeholders:
            self.draft.note(
                "REG014",
                f"the mass properties of {listed(self.placeholders, 3)} are placeholders: left out",
                self.assembly.source,
            )
        forces = self.assembly.get("ForceTorques")
        if forces is not None and forces.children:
            shown = listed([force.value("Name") or force.text for force in forces.children], 3)
            self.draft.skip(f"forces not read: {shown}", forces.source)
        gravity = self.assembly.get("ConstantGravity")
        g = np.zeros(3) if gravity is None else gravity.rows(1, 3)[0] * self.scale
        return self.draft.finish("asmt", g)

    def _add_part(self, part: AsmtLine) -> None:
        """Add a part as a body with its markers."""
        name = part.value("Name")
        mass = part.get("PrincipalMassMarker")
        inertia = None if mass is None else self._inertia(mass, name)
        body = self.draft.place(name, part.pose(self.scale), inertia, part.source)
        prefix = f"/{self.assembly.value('Name')}/{name}"
        self._add_markers(part, body, prefix)
        if mass is not None:
            self.markers.setdefault(f"{prefix}/{mass.value('Name')}", (body, mass.pose(self.scale)))

    def _inertia(self, item: AsmtLine, part: str) -> Inertia | None:
        """Return mass properties; None where they are zero or FreeCAD's placeholder of ones."""
        mass = item.number("Mass", 0.0)
        moments = item.get("MomentOfInertias")
        diagonal = np.zeros(3) if moments is None else moments.rows(1, 3)[0]
        if mass <= 0.0 or (mass == 1.0 and np.array_equal(diagonal, np.ones(3))):
            self.placeholders.append(part)
            return None
        T = item.pose(self.scale)
        return Inertia(mass, T[:3, 3], principal(T[:3, :3], diagonal * self.scale**2))

    def _add_markers(self, owner: AsmtLine, body: str, prefix: str) -> None:
        """Register the markers under reference points, curves and surfaces."""
        for group in owner.all("RefPoints", "RefCurves", "RefSurfaces"):
            for reference in group.children:
                T = reference.pose(self.scale)
                for marker in (m for group in reference.all("Markers") for m in group.children):
                    key = f"{prefix}/{marker.value('Name')}"
                    self.markers.setdefault(key, (body, T @ marker.pose(self.scale)))

    def _marker(self, item: AsmtLine, tag: str) -> Side:
        """Return body and frame of the marker that a joint names under a tag."""
        path = item.need(tag)
        key = path.children[0].text if path.children else ""
        if key not in self.markers:
            raise item.error(f"{tag} names no marker `{key}`{suggestion(key, self.markers)}")
        return self.markers[key]

    def _add_joint(self, item: AsmtLine, names: dict[str, str]) -> None:
        """Add a joint or a relation; ``names`` maps paths in the file to names of joints."""
        kind = item.type
        if kind not in JOINTS and kind not in RELATIONS:
            what = f"`{item.value('Name') or kind}` of type {kind} is not read"
            self.draft.fewer_constraints(what, item.source)
            return
        first, second = self._marker(item, "MarkerI"), self._marker(item, "MarkerJ")
        written = item.value("Name")
        title = written or item.value("MarkerI").rsplit("/", 1)[-1]
        source = Source(item.path, item.line, FileText(f"{kind} {title}"))
        if kind in RELATIONS:
            relation, tags = RELATIONS[kind]
            values = tuple(item.number(tag) * self.scale for tag in tags)
            self.draft.relations.append(Relation(title, relation, first, second, values, source))
            return
        pair = JOINTS[kind]
        tag = VALUES.get(pair)
        value = 0.0 if tag is None else item.number(tag, 0.0)
        value *= 1.0 if pair == "angle" else self.scale
        if tag == "distanceIJ" and value < 0.0:
            raise item.error("distanceIJ is negative; a distance is not")
        if pair == "angle" and abs(math.sin(value)) <= PARALLEL:
            self.draft.skip(
                f"joint `{title}` keeps axes parallel: read as 2 equations, for the one that its "
                "type writes has no derivative there",
                source,
            )
        name = self.draft.join(title, pair, first, second, value, source=source)
        if name is not None:
            names[f"/{self.assembly.value('Name')}/{written}"] = name

    def _read_motions(self, sets: AsmtLine, names: dict[str, str]) -> None:
        """Mark driven joints and list their motions, which are not counted as constraints."""
        motions = [m for group in sets.all("Motions") for m in group.children]
        for motion in motions:
            joint = names.get(motion.value("MotionJoint"))
            if joint is None or motion.type == "AllowRotation":
                continue
            self.draft.actuate(joint)
            tag = MOTIONS.get((motion.type, self.draft.joints[joint].kind))
            if tag is not None and motion.value(tag):
                expression = expression_of(motion.value(tag), 1.0 if tag == TURN else self.scale)
                name = motion.value("Name") or joint
                source = Source(motion.path, motion.line, FileText(f"{motion.type} {name}"))
                self.draft.motions.append(PrescribedMotion(name, joint, expression, source))
        if motions:
            shown = listed([motion.value("Name") or motion.type for motion in motions], 3)
            self.draft.note_motions(shown, motions[0].source)

    def _read_limits(self, sets: AsmtLine, names: dict[str, str]) -> None:
        """Give joints their limits of travel and rotation."""
        unread = []
        for limit in (item for group in sets.all("Limits") for item in group.children):
            name = names.get(limit.value("MotionJoint")) or self._joint_between(limit)
            bound = _LIMIT.fullmatch(limit.value("Limit").strip('" '))
            joint = self.draft.joints.get(name or "")
            rotation = limit.type == LIMITS[0]
            freedoms = TURNING if rotation else SLIDING
            if joint is None or bound is None or joint.kind not in freedoms:
                unread.append(limit)
                continue
            value = float(bound[1]) * (math.pi / 180.0 if bound[2] else 1.0)
            value *= 1.0 if rotation else self.scale
            lower = limit.value("Type").strip('" ') == "=>"
            span = (value, math.inf) if lower else (-math.inf, value)
            self.draft.limit(joint.name, freedoms[joint.kind], *span)
        if unread:
            shown = listed([limit.value("Name") or limit.type for limit in unread], 3)
            self.draft.skip(f"limits not read: {shown}", unread[0].source)

    def _joint_between(self, limit: AsmtLine) -> str | None:
        """Return the name of the joint between the two markers that a limit names."""
        ends = limit.value("MarkerI"), limit.value("MarkerJ")
        joints = self.assembly.need("ConstraintSets").need("Joints").children
        for joint in joints:
            if (joint.value("MarkerI"), joint.value("MarkerJ")) == ends:
                return joint.value("Name") or ends[0].rsplit("/", 1)[-1]
        return None


@dataclass
class AsmtLine(Located):
    """One line of the file and the lines indented below it."""

    path: str  # the file as the user named it
    line: int  # line number, counted from 1
    text: str  # the line without indentation
    children: list[AsmtLine] = field(default_factory=list)  # what stands below it

    @property
    def source(self) -> Source:
        """File, line and text of the item."""
        return Source(self.path, self.line, FileText(self.text[:60]))

    @property
    def last(self) -> int:
        """Number of the last line below the item, its own where there is none."""
        return self.children[-1].last if self.children else self.line

    def walk(self) -> Iterator[AsmtLine]:
        """Yield the item and all below it, in file order."""
        yield self
        for child in self.children:
            yield from child.walk()

    @property
    def type(self) -> str:
        """The text as the name of a type of joint, motion or limit."""
        return CUT.get(self.text, self.text)

    def all(self, *tags: str) -> Iterator[AsmtLine]:
        """Yield the children whose text is one of the tags."""
        return (child for child in self.children if child.text in tags)

    def get(self, tag: str) -> AsmtLine | None:
        """Return the first child whose text is the tag, in capital letters or not; else None."""
        return next((c for c in self.children if c.text.lower() == tag.lower()), None)

    def need(self, tag: str) -> AsmtLine:
        """Return the first child with the tag; raises ``ReadError`` without one."""
        found = self.get(tag)
        if found is None:
            raise self.error(f"has no {tag}; the file is incomplete, export it again")
        return found

    def value(self, tag: str, default: str = "") -> str:
        """Return the text below the child with the tag."""
        found = self.get(tag)
        return found.children[0].text if found is not None and found.children else default

    def number(self, tag: str, default: float | None = None) -> float:
        """Return the number below the child with the tag."""
        if default is not None and self.get(tag) is None:
            return default
        return float(self.need(tag).rows(1, 1)[0, 0])

    def rows(self, count: int, width: int) -> Array:
        """Return the rows of numbers below the item, shape (count, width)."""
        lines = self.children[:count]
        if len(lines) < count:
            raise self.error(f"has {len(lines)} of the {count} lines of numbers expected")
        return np.array([child.numbers(width) for child in lines])

    def numbers(self, width: int) -> list[float]:
        """Return the text of the item as a row of so many finite numbers."""
        try:
            row = [float(word) for word in self.text.split()]
        except ValueError:
            raise self.error("is not a row of numbers; correct it") from None
        if len(row) != width or not all(map(math.isfinite, row)):
            raise self.error(f"has {len(row)} numbers, expected {width} finite ones; correct it")
        return row

    def pose(self, scale: float) -> Array:
        """Return the frame that ``Position3D`` and ``RotationMatrix`` give, lengths scaled."""
        position, rotation = self.get("Position3D"), self.get("RotationMatrix")
        p = np.zeros(3) if position is None else position.rows(1, 3)[0]
        R = np.eye(3)
        if rotation is not None:
            R = rotation.rotation(rotation.rows(3, 3))
        return transform(R, scale * p)


def asmt_tree(path: str) -> AsmtLine:
    """Parse an ASMT file; the root's children are its lines without indentation."""
    text = read_bytes(path).decode("latin-1")
    root = AsmtLine(path, 1, "")
    stack = [root]
    for number, line in enumerate(text.splitlines(), start=1):
        stripped = line.lstrip("\t")
        if not stripped.strip():
            continue
        depth = len(line) - len(stripped)
        if depth > DEEPEST:
            raise ReadError(path, f"is nested deeper than {DEEPEST} levels", line=number)
        if depth >= len(stack):
            raise ReadError(path, "is indented under no heading; the file is damaged", line=number)
        item = AsmtLine(path, number, stripped.strip())
        del stack[depth + 1 :]
        stack[depth].children.append(item)
        stack.append(item)
    return root


#: Joint type to write for a joint kind: the first one in ``JOINTS``.
TYPES = {
    kind: next(word for word, pair in JOINTS.items() if pair == kind)
    for kind in (
        *("revolute", "prismatic", "cylindrical", "spherical", "universal"),
        *("planar", "fixed", "point_on_line", "parallel"),
    )
}
#: Kinds that a joint can become, by its kind: those that need no other markers than those it has,
#: whose Z is the axis.
GAINS = {
    "revolute": ("cylindrical", "spherical", "point_on_line", "parallel"),
    "prismatic": ("cylindrical",),
    "spherical": (),
    "fixed": (),
}


class AsmtPatcher(Patcher):
    """Edits an ASMT file."""

    def __init__(self, mechanism: Mechanism) -> None:
        super().__init__(mechanism)
        self._text = self.text(self.path)
        self._lines = LineIndex(self._text.text)
        self._items = {item.line: item for item in asmt_tree(self.path).walk()}

    def text(self, path: str) -> EditedText:
        """Return the text of a file, one character a byte."""
        return EditedText(path, self.data(path).decode("latin-1"), "latin-1")

    def kinds(self, joint: Joint) -> Collection[str]:
        """Return the kinds that a joint can become with the markers that it has."""
        return GAINS.get(joint.kind, ()) if self._type_line(joint) is not None else ()

    def patch(self, wanted: Sequence[WantedKind]) -> Patch:
        """Return the edits that write the new type of each joint, and its value."""
        patch = Patch()
        for change in wanted:
            line = self._type_line(change.joint)
            if line is None or change.kind not in TYPES:
                raise self.refuse(change, TYPES)
            patch.edits += self._edits(line, change)
        return patch

    def _type_line(self, joint: Joint) -> AsmtLine | None:
        """Return the line with the type of a joint; None where there is none."""
        item = None if joint.source is None else self._items.get(joint.source.line or 0)
        return item if item is not None and item.type in JOINTS else None

    def _edits(self, item: AsmtLine, wanted: WantedKind) -> Iterator[Edit]:
        """Yield edits of the type in a line, and of the value that stands below it."""
        start, end = self._lines.span(item.line)
        written = self._text.text[start:end]
        depth = len(written) - len(written.lstrip("\t"))
        kind = TYPES[wanted.kind]
        yield Edit(self.path, start + depth, start + depth + len(item.text), kind)
        needed = VALUES.get(JOINTS[kind])
        values = [child for child in item.children if child.text in VALUES.values()]
        for value in values:
            if value.text != needed:
                begin = self._lines.span(value.line)[0]
                yield Edit(self.path, begin, self._lines.span(value.last)[1], "")
        if needed is not None and all(value.text != needed for value in values):
            end = self._lines.span(item.last)[1]
            newline, tabs = self._text.newline, "\t" * (depth + 1)
            yield Edit(self.path, end, end, f"{tabs}{needed}{newline}{tabs}\t0.0{newline}")
