"""FreeCAD assemblies (``.FCStd`` of FreeCAD 1.0 and later): parts, joints, ground, links."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from regularize.adapters.cad.draft import SLIDING, CadDraft, expression_of
from regularize.adapters.cad.mates import TURNING, Relation
from regularize.adapters.common.draft import Side
from regularize.adapters.freecad.document import METRES, Library, Object, load
from regularize.adapters.freecad.parts import Parts, shapes_of, top_assembly
from regularize.adapters.shapes.solids import ShapeElement
from regularize.escape import listed
from regularize.lie.arrays import Array
from regularize.lie.screw import inverse, transform, unit
from regularize.mechanism.mechanism import Mechanism, PrescribedMotion

#: Types of joints, in the order of the enumeration.
TYPES = (
    *("Fixed", "Revolute", "Cylindrical", "Slider", "Ball", "Distance", "Parallel"),
    *("Perpendicular", "Angle", "RackPinion", "Screw", "Gears", "Belt"),
)
PAIRS = {
    **{"Fixed": "fixed", "Revolute": "revolute", "Cylindrical": "cylindrical"},
    **{"Slider": "prismatic", "Ball": "spherical", "Parallel": "parallel"},
    **{"Perpendicular": "perpendicular", "Angle": "angle"},
}
#: Types of joints that keep the origins of both frames together, or on one line, and an axis.
COINCIDENT = frozenset({"Fixed", "Revolute", "Cylindrical", "Slider", "Ball"})
#: Types that say how two bodies lie to each other rather than which joint they have.
MATES = frozenset({"Distance", "Parallel", "Perpendicular", "Angle"})
#: Kinds of motions, in the order of the enumeration, and of the joints that they move.
MOTIONS = {"Angular": "revolute", "Linear": "prismatic"}
RELATIONS = {"RackPinion": "rack", "Screw": "screw", "Gears": "gear", "Belt": "gear"}


def read(path: str, *, assembly: str | None = None) -> Mechanism:
    """Read an assembly from a FreeCAD document."""
    return read_unmerged(path, assembly).finish("freecad")


def read_unmerged(path: str, assembly: str | None) -> CadDraft:
    """Read an assembly in which mates are joints of their own."""
    library = Library(load(path))
    return _Reader(path, Parts(library, top_assembly(library, assembly))).read()


class _Reader:
    """Reader of one assembly, with its parts and the draft of the mechanism."""

    def __init__(self, path: str, parts: Parts) -> None:
        self.parts = parts
        self.draft = CadDraft(path, parts.assembly.label)
        self.body: dict[str, str] = {}
        self.joint_of: dict[str, str] = {}

    def read(self) -> CadDraft:
        """Return the draft of the mechanism."""
        objects = self.parts.assembly.document.objects
        for name, T in self.parts.T_assembly_part.items():
            item = objects[name]
            shapes = shapes_of(self.parts, item)
            self.body[name] = self.draft.place(
                item.label, T, source=item.source, geometry=tuple(shapes.shapes)
            )
            self.draft.findings += shapes.findings(self.body[name])
        members = self.parts.members.values()
        grounded = [item for item in members if "ObjectToGround" in item.properties]
        for item in grounded:
            self._ground(item)
        skipped, related = [], []
        for item in members:
            if "JointType" not in item.properties or item in grounded:
                continue
            if item.flag("Suppressed", False) or not item.flag("Activated", True):
                skipped.append(item)
            elif item.choice("JointType", TYPES) in RELATIONS:
                related.append(item)
            else:
                self._add_joint(item)
        for item in related:
            self._add_relation(item, self._kind(item), self._frames(item))
        if skipped:
            self.draft.skip(
                f"suppressed joints are left out: {listed([item.label for item in skipped])}",
                skipped[0].source,
            )
        self._read_motions()
        self.draft.files += self.parts.library.files
        return self.draft

    def _ground(self, item: Object) -> None:
        reference = item.reference("ObjectToGround")
        if reference is None:
            return
        _, target, sub = reference
        names = [target, *sub.split(".")]
        parts = [name for name in names if name in self.body]
        if not parts:
            raise item.error(f"grounds {'.'.join(names)!r}, which is no part of the assembly")
        self.draft.fix(item.label, self.draft.ground, self.body[parts[0]], item.source)

    def _kind(self, item: Object) -> str:
        return item.choice("JointType", TYPES) or TYPES[0]

    def _frames(self, item: Object) -> list[Side]:
        """Return body and frame of both ends of a joint."""
        frames: list[Side] = []
        absent = None
        for number in (1, 2):
            end = self.parts.end(item, f"Reference{number}")
            body = self.draft.ground if end.part is None else self.body[end.part.name]
            if end.T_part_object is None:
                if absent is not None or self._kind(item) not in COINCIDENT:
                    raise item.error(
                        f"its frame on `{body}` is known to a document only that is absent; put it "
                        "beside the assembly"
                    )
                absent = number
                frames.append((body, np.eye(4)))
            else:
                frames.append((body, end.T_part_object @ item.placement(f"Placement{number}")))
        if absent is not None:
            body, known = frames[absent - 1][0], frames[2 - absent]
            frames[absent - 1] = body, self.draft.between((body, np.eye(4)), known)
            self.draft.skip(
                f"joint `{item.label}`: its frame on `{body}` is taken from the saved placements, "
                "for the document of that part is absent",
                item.source,
                joints=(item.label,),
            )
        return frames

    def _distance(self, item: Object, frames: list[Side]) -> tuple[str, float, list[Side]]:
        """Return pair, value and ordered ends of a joint of type Distance."""
        ends = [self.parts.end(item, f"Reference{number}") for number in (1, 2)]
        picked = [self.parts.picked(end) for end in ends]
        one, two = (
            Pick(end.element, reading) for end, (reading, _) in zip(ends, picked, strict=True)
        )
        distance = METRES * item.number("Distance")
        reading = distance_reading(one, two, self.draft.between(*frames), distance)
        if not reading.sure:
            self.draft.skip(
                f"joint `{item.label}` is read as {reading.words}, as the saved placements have "
                f"it: of which kind {one.name} and {two.name} are is told by shapes, and "
                + next(why for _, why in picked if why),
                item.source,
            )
        return reading.pair, reading.value, frames[::-1] if reading.turned else frames

    def _add_joint(self, item: Object) -> None:
        kind, frames = self._kind(item), self._frames(item)
        if kind == "Distance":
            pair, value, frames = self._distance(item, frames)
        elif kind in PAIRS:
            pair, value = PAIRS[kind], 0.0
            if kind == "Angle":
                stored = "Angle" if "Angle" in item.properties else "Distance"
                value = abs(math.radians(item.number(stored)))
        else:
            self.draft.fewer_constraints(
                f"joint `{item.label}` of type {kind} is not read", item.source
            )
            return
        first, second = frames
        mate = kind in MATES
        name = self.draft.join(
            item.label, pair, first, second, value, mate=mate, source=item.source
        )
        if name is not None:
            self.joint_of[item.name] = name
            self._limit(item, name)

    def _limit(self, item: Object, name: str) -> None:
        """Set the bounds of lengths and angles that are enabled."""
        for what, freedoms, unit_ in (
            ("Length", SLIDING, METRES),
            ("Angle", TURNING, math.pi / 180),
        ):
            freedom = freedoms.get(self.draft.joints[name].kind)
            bounds = [
                unit_ * item.number(f"{what}{end}")
                if item.flag(f"Enable{what}{end}", False)
                else default
                for end, default in (("Min", -math.inf), ("Max", math.inf))
            ]
            if freedom is not None and any(map(math.isfinite, bounds)):
                self.draft.limit(name, freedom, min(bounds), max(bounds))

    def _add_relation(self, item: Object, kind: str, frames: list[Side]) -> None:
        if RELATIONS[kind] != "gear" and not any(self._slides(*frame) for frame in frames):
            self.draft.warn(
                "REG013",
                f"{kind} joint `{item.label}` has no effect: in FreeCAD it needs a Slider joint "
                "of one of its parts along the axis that is picked on that part",
                item.source,
                "add the Slider joint, or suppress this one",
                joints=(item.label,),
            )
            return
        values: tuple[float, ...] = (METRES * item.number("Distance"),)
        if RELATIONS[kind] == "gear":
            second = METRES * item.number("Distance2")
            values = (*values, -second if kind == "Belt" else second)
        if kind == "RackPinion":
            frames = self._rack_first(frames)
        one, other = frames
        self.draft.relations.append(
            Relation(item.label, RELATIONS[kind], one, other, values, item.source)
        )

    def _rack_first(self, frames: list[Side]) -> list[Side]:
        """Return rack and pinion, the rack's frame with Z as the pinion's and X along its slide."""
        if not self._slides(*frames[0]) and self._slides(*frames[1]):
            frames = frames[::-1]
        (rack, T_rack), pinion = frames
        z = self.draft.between((rack, np.eye(4)), pinion)[:3, 2]
        along = T_rack[:3, 2] - (T_rack[:3, 2] @ z) * z
        if np.linalg.norm(along) < 1e-6:  # it slides along the pinion's axis: no rack at all
            return frames
        x = unit(along)
        turned = transform(np.column_stack([x, np.cross(z, x), z]), T_rack[:3, 3])
        return [(rack, turned), pinion]

    def _slides(self, body: str, T: Array) -> bool:
        for joint in self.draft.joints.values():
            if joint.kind != "prismatic" or body not in (joint.parent, joint.child):
                continue
            T_joint = joint.T_parent_joint if joint.parent == body else joint.T_child_joint
            if abs(float(T_joint[:3, 2] @ T[:3, 2])) > 1.0 - 1e-6:
                return True
        return False

    def _read_motions(self) -> None:
        """Mark driven joints and note their motions, which constrain nothing."""
        motions = [
            item
            for item in self.parts.assembly.document.objects.values()
            if "MotionType" in item.properties and "Joint" in item.properties
        ]
        driven = []
        for motion in motions:
            reference = motion.reference("Joint")
            name = self.joint_of.get(reference[1]) if reference else None
            if name is not None:
                self.draft.actuate(name)
                driven.append(name)
                self._add_motion(motion, name)
        if driven:
            self.draft.note_motions(f"{listed(driven)} are driven", motions[0].source, driven)

    def _add_motion(self, motion: Object, joint: str) -> None:
        """Record the formula of a motion that fits the joint, in rad or m."""
        kind, formula = motion.choice("MotionType", (*MOTIONS,)), motion.text("Formula")
        if not formula or self.draft.joints[joint].kind != MOTIONS.get(kind or ""):
            return
        expression = expression_of(formula, 1.0 if kind == "Angular" else METRES)
        self.draft.motions.append(PrescribedMotion(motion.label, joint, expression, motion.source))


#: How exactly a reading has to be fulfilled, in radians and metres.
ANGLE = 1e-4
LENGTH = 1e-6
RANK = {"Face": 0, "Edge": 1, "Vertex": 2}
#: Kinds of elements in the order in which FreeCAD puts the two of a joint.
ORDER = (
    *("plane", "cylinder", "cone", "torus", "sphere", "surface"),
    *("line", "circle", "curve", "point"),
)
#: Pair of two elements by their kinds; any other two are read as planes.
BY_ELEMENTS = {
    **dict.fromkeys([("plane", "cylinder"), ("plane", "line")], "line_in_plane"),
    **dict.fromkeys([("plane", "sphere"), ("plane", "point")], "point_in_plane"),
    **dict.fromkeys([("circle", "point"), ("curve", "point")], "point_in_plane"),
    **dict.fromkeys([("cylinder", "cylinder"), ("cylinder", "torus")], "revolute_cylinder"),
    **dict.fromkeys([("line", "line"), ("line", "circle")], "revolute_cylinder"),
    ("circle", "circle"): "revolute_cylinder",
    **dict.fromkeys([("cylinder", "sphere"), ("cylinder", "point")], "cylinder_sphere"),
    **dict.fromkeys([("torus", "sphere"), ("line", "point")], "cylinder_sphere"),
    **dict.fromkeys([("sphere", "sphere"), ("sphere", "point")], "sphere_sphere"),
    ("point", "point"): "sphere_sphere",
}
#: Pairs whose value is an offset along Z, with a sign.
OFFSETS = frozenset({"planar", "line_in_plane", "point_in_plane"})


@dataclass(frozen=True)
class DistanceReading:
    """The pair, and its value, that a distance joint is read as."""

    pair: str  # a key of ``pairs.PAIRS``
    value: float  # offset or distance in metres
    words: str  # what the elements are taken for
    sure: bool = False  # whether the kinds of elements leave no other reading
    turned: bool = False  # whether the second element has the part of the first one


@dataclass(frozen=True)
class Pick:
    """The element picked at one end of a distance joint."""

    name: str  # the picked element, such as ``Face6``; empty for an object as a whole
    element: ShapeElement | None = None  # what it is; None if the shape is not there to tell

    @property
    def rank(self) -> int | None:
        """0 for faces, 1 for edges, 2 for vertices, None for objects as a whole."""
        return RANK.get(self.name.rstrip("0123456789"))

    @property
    def kind(self) -> str | None:
        """One of ``ORDER``, if the shape is there to tell."""
        if self.element is None or self.element.kind != "other":
            return None if self.element is None else self.element.kind
        return "curve" if self.rank == RANK["Edge"] else "surface"

    @property
    def radius(self) -> float:
        """In metres; zero for elements without one."""
        return 0.0 if self.element is None else self.element.radius


def distance_reading(one: Pick, two: Pick, T_one_two: Array, distance: float) -> DistanceReading:
    """Return the pair that FreeCAD makes of the two picked elements of a distance joint."""
    if one.rank is None or two.rank is None:  # what FreeCAD does not tell apart it takes as planes
        return DistanceReading("planar", _signed(distance, T_one_two), "two planes", sure=True)
    known = one.kind is not None and two.kind is not None
    if known:
        turned = ORDER.index(str(one.kind)) > ORDER.index(str(two.kind))
    else:
        turned = one.rank > two.rank
    if turned:
        one, two, T_one_two = two, one, inverse(T_one_two)
    if known:
        reading = _known(one, two, T_one_two, distance)
    else:
        reading = distance_pair((one.name, two.name), T_one_two, distance)
    return replace(reading, turned=reading.turned != turned)


def _known(one: Pick, two: Pick, T_i_j: Array, distance: float) -> DistanceReading:
    """Return the reading between two elements of known shape, in order."""
    kinds = str(one.kind), str(two.kind)
    pair = BY_ELEMENTS.get(kinds, "planar")
    flat = pair == "planar" or kinds == ("circle", "point")
    value = distance if flat else distance + one.radius + two.radius
    value = _signed(value, T_i_j) if pair in OFFSETS else abs(value)
    return DistanceReading(pair, value, " and ".join(kinds), sure=True)


def _signed(value: float, T_i_j: Array) -> float:
    """Return an offset along Z with the sign that the saved placements show, if its size fits."""
    offset = float(T_i_j[2, 3])
    return math.copysign(value, offset) if abs(abs(offset) - abs(value)) < LENGTH else value


def distance_pair(elements: Sequence[str], T_i_j: Array, distance: float) -> DistanceReading:
    """Return the reading that fits the saved placements; of the two elements, faces come first."""
    kinds = tuple(name.rstrip("0123456789") for name in elements)
    if kinds == ("Vertex", "Vertex"):
        return DistanceReading("sphere_sphere", abs(distance), "two points", sure=True)
    offset = float(T_i_j[2, 3])
    apart = math.hypot(*T_i_j[:2, 3])
    parallel = math.hypot(*T_i_j[:2, 2]) < ANGLE
    across = abs(float(T_i_j[2, 2])) < ANGLE
    exact = abs(abs(offset) - abs(distance)) < LENGTH
    signed = _signed(distance, T_i_j)
    if kinds == ("Face", "Face"):
        if parallel and exact:
            return DistanceReading("planar", signed, "two planes")
        return _curved(T_i_j, distance, offset, apart, parallel, across)
    if kinds == ("Face", "Edge"):
        if parallel and exact:
            return DistanceReading("planar", signed, "a plane and a curve in a parallel plane")
        return DistanceReading("line_in_plane", signed, "a plane and a line")
    if kinds == ("Face", "Vertex"):
        if not exact and apart >= distance - LENGTH:
            return DistanceReading("cylinder_sphere", apart, "a cylinder and a point")
        return DistanceReading("point_in_plane", signed, "a plane and a point")
    if kinds == ("Edge", "Vertex"):
        if exact and abs(apart - distance) >= LENGTH:
            return DistanceReading("point_in_plane", signed, "a point in the plane of a curve")
        return DistanceReading("cylinder_sphere", distance, "a line and a point")
    if parallel and apart >= distance - LENGTH:
        return DistanceReading("revolute_cylinder", apart, "two lines or circles")
    return DistanceReading("revolute_cylinder", distance, "two lines")


def _curved(
    T_i_j: Array, distance: float, offset: float, apart: float, parallel: bool, across: bool
) -> DistanceReading:
    """Return the reading of two faces that are not two planes at their distance."""
    if across and abs(offset) >= distance - LENGTH:
        return DistanceReading("line_in_plane", offset, "a plane and a cylinder")
    back = float(inverse(T_i_j)[2, 3])
    if across and abs(back) >= distance - LENGTH:
        return DistanceReading("line_in_plane", back, "a cylinder and a plane", turned=True)
    if parallel and apart >= distance - LENGTH and apart > LENGTH:
        return DistanceReading("revolute_cylinder", apart, "two cylinders")
    if parallel:
        return DistanceReading("planar", distance, "two planes")
    if np.linalg.norm(T_i_j[:3, 3]) >= distance - LENGTH and abs(offset) < distance - LENGTH:
        return DistanceReading("sphere_sphere", float(np.linalg.norm(T_i_j[:3, 3])), "two spheres")
    return DistanceReading("planar", distance, "two planes")
