"""Reading of CAD assemblies: placed bodies, joints between frames on them, nested instances."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Generic, TypeAlias, TypeVar

import numpy as np

from regularize.adapters.cad.mates import Relation, merge, resolve
from regularize.adapters.common.draft import Draft, Side, joint_between
from regularize.adapters.common.pairs import pair
from regularize.adapters.common.values import Located
from regularize.errors import ReadError
from regularize.escape import listed, unique
from regularize.lie.arrays import Array
from regularize.lie.screw import inverse, log_rotation
from regularize.mechanism.body import Body, Geometry, Inertia
from regularize.mechanism.diagnostic import Diagnostic, Source
from regularize.mechanism.joint import Joint, JointLimits, relative_pose
from regularize.mechanism.mechanism import STANDARD_GRAVITY, Mechanism

#: Gaps of joints at the saved placements above this are reported, in metres and radians.
MISFIT = (1e-5, 1e-4)
#: Number of the freedom that slides, by joint kind.
SLIDING = {"prismatic": 0, "cylindrical": 0}
#: Longest plausible link in metres: beyond it the unit is wrong.
LARGEST = 50.0
#: Above this length in metres the unit is wrong if the mean density is implausible.
LARGE = 3.0
#: Lowest plausible mass per cube of the longest link, in kg/m³.
THINNEST = 1e-3
#: Shortest plausible length of the longest link, in metres.
SMALLEST = 1e-4


@dataclass(eq=False)
class CadDraft(Draft):
    """The mechanism of an assembly under construction; the assembly itself is the ground."""

    T_ground_body: dict[str, Array] = field(default_factory=dict)  # saved placement of each body
    mates: list[str] = field(default_factory=list)
    relations: list[Relation] = field(default_factory=list)  # gears, racks and screws

    def __post_init__(self) -> None:
        """Add the ground."""
        self.ground = self.place(self.name or "ground", np.eye(4))

    def place(
        self,
        name: str,
        T_ground_body: Array,
        inertia: Inertia | None = None,
        source: Source | None = None,
        geometry: tuple[Geometry, ...] = (),
    ) -> str:
        """Add a body at its saved placement; return its name, numbered if it was taken."""
        name = unique(name or "body", self.bodies)
        self.bodies[name] = Body(name, inertia, geometry, source)
        self.T_ground_body[name] = T_ground_body
        return name

    def placed(self, side: Side) -> Array:
        """Return a frame on a body in coordinates of the ground, at the saved placement (4, 4)."""
        return self.T_ground_body[side[0]] @ side[1]

    def between(self, first: Side, second: Side) -> Array:
        """Return the second frame relative to the first one at the saved placements (4, 4)."""
        return inverse(self.placed(first)) @ self.placed(second)

    def join(
        self,
        name: str,
        kind: str,
        first: Side,
        second: Side,
        value: float = 0.0,
        *,
        mate: bool = False,
        source: Source | None = None,
    ) -> str | None:
        """Add the joint of a pair (a key of ``PAIRS``) between two frames; return its name."""
        name = self.joint_name(name or kind)
        (body_i, T_i), (body_j, T_j) = first, second
        if body_i == body_j:
            message = f"joint `{name}` connects `{body_i}` to itself: left out"
            self.unread(message, source, joints=(name,))
            return None
        made = pair(kind, self.between(first, second), value)
        self.joints[name] = joint_between(
            name,
            made.kind,
            (body_i, T_i @ made.T_i_joint),
            (body_j, T_j @ made.T_j_joint),
            made.screws,
            position=made.position,
            source=source,
        )
        for k, (one, other) in enumerate(made.equal):
            title = name if k == 0 else f"{name}_{k + 1}"
            self.couple(title, "mimic", ((name, one, 1.0), (name, other, -1.0)), 0.0, source)
        if mate:
            self.mates.append(name)
        return name

    def fix(self, name: str, first: str, second: str, source: Source | None = None) -> None:
        """Fix a body to another one at their saved placements."""
        identity = np.eye(4)
        T = self.between((first, identity), (second, identity))
        self.join(name, "fixed", (first, T), (second, identity), source=source)

    def actuate(self, name: str) -> None:
        """Mark a joint as driven by a motor."""
        self.joints[name] = replace(self.joints[name], actuated=True)

    def fewer_constraints(self, what: str, source: Source | None) -> None:
        """Warn that an element which joins bodies is not read, so that constraints are missing."""
        self.unread(f"{what}: the mechanism has fewer constraints than the file", source)

    def note_motions(self, what: str, source: Source | None, joints: Iterable[str] = ()) -> None:
        """Note that prescribed motions of the file are not counted as constraints."""
        message = f"motions are listed, not counted as constraints: {what}"
        self.skip(message, source, joints=joints)

    def limit(self, name: str, freedom: int, lower: float, upper: float) -> None:
        """Bound one freedom of a joint; infinite where it has no bound."""
        joint = self.joints[name]
        unlimited = np.tile([-np.inf, np.inf], (joint.freedoms, 1))
        bounds = np.array(unlimited if joint.limits is None else joint.limits)
        bounds[freedom] = max(bounds[freedom, 0], lower), min(bounds[freedom, 1], upper)
        self.joints[name] = replace(joint, limits=JointLimits.of(bounds))

    def finish(self, format: str, gravity: Array = STANDARD_GRAVITY) -> Mechanism:
        """Return the mechanism: mates merged, relations resolved, all parts connected to ground."""
        self._report_misfits()
        merged, findings = merge([*self.joints.values()], self.mates)
        self.findings += findings
        self.joints = {joint.name: joint for joint in merged}
        for relation in self.relations:
            self._resolve(relation)
        bodies, joints = [*self.bodies.values()], [*self.joints.values()]
        self.findings += suspect(bodies, joints, Source(str(self.path)))
        self.ground_parts(lambda body: self.T_ground_body[body])
        return self.mechanism(format, gravity)

    def _resolve(self, relation: Relation) -> None:
        """Add the coupling of a gear, rack or screw relation, or report it as not read."""
        joints = [*self.joints.values()]
        terms = resolve(relation, joints)
        if terms is None and relation.kind == "rack":
            swapped = replace(relation, first=relation.second, second=relation.first)
            terms = resolve(swapped, joints)
            if terms is not None:
                self.skip(
                    f"rack and pinion `{relation.name}`: the file names the pinion first",
                    relation.source,
                )
        if terms is not None:
            self.couple(relation.name, relation.kind, terms, self.value(terms), relation.source)
            return
        self.unread(
            f"the {relation.kind} relation `{relation.name}` between `{relation.first[0]}` and "
            f"`{relation.second[0]}` is not linear in the joints between them: left out",
            relation.source,
            "hold both parts by joints on one common part whose axes are those of the relation",
        )

    def _report_misfits(self) -> None:
        """Warn of joints whose two frames do not fit at the saved placements, and by how much."""
        misfits = []
        for joint in self.joints.values():
            wanted = self.T_ground_body[joint.parent] @ relative_pose(joint, joint.position)
            gap = inverse(wanted @ joint.T_child_joint) @ self.placed(
                (joint.child, joint.T_child_joint)
            )
            distance = float(np.linalg.norm(gap[:3, 3]))
            angle = float(np.linalg.norm(log_rotation(gap[:3, :3])))
            if distance > MISFIT[0] or angle > MISFIT[1]:
                misfits.append((distance / MISFIT[0] + angle / MISFIT[1], joint, distance, angle))
        if not misfits:
            return
        misfits.sort(key=lambda m: -m[0])
        _, worst, distance, angle = misfits[0]
        others = [joint.name for _, joint, _, _ in misfits[1:]]
        also = f"; also {listed(others, 3)}" if others else ""
        off = round(distance * 1e3, 6), round(float(np.degrees(angle)), 6)  # 1e-16 is none
        self.warn(
            "REG017",
            f"the saved placements do not fit joint `{worst.name}`: they are off by "
            f"{off[0]:.3g} mm and {off[1]:.3g} degrees{also}",
            worst.source,
            "solve the assembly in the CAD system and save it again",
            joints=[joint.name for _, joint, _, _ in misfits],
        )


def longest_link(joints: Iterable[Joint]) -> float:
    """Return the largest extent of the joints on one body, in metres; 0 if none has two."""
    origins: dict[str, list[np.ndarray]] = {}
    for joint in joints:
        if joint.kind == "free":
            continue
        origins.setdefault(joint.parent, []).append(joint.T_parent_joint[:3, 3])
        origins.setdefault(joint.child, []).append(joint.T_child_joint[:3, 3])
    spans = [np.ptp(np.array(points), axis=0) for points in origins.values()]
    return max((float(np.linalg.norm(span)) for span in spans), default=0.0)


def suspect(
    bodies: Sequence[Body], joints: Sequence[Joint], source: Source | None = None
) -> list[Diagnostic]:
    """A warning (REG012) if the lengths of a model look like millimetres, or far too small."""
    length = longest_link(joints)
    masses = [body.inertia.mass for body in bodies if body.inertia is not None]
    thin = length > LARGE and 0.0 < sum(masses) < THINNEST * length**3
    if length > LARGEST or thin:
        why = f" and weighs {sum(masses):.3g} kg in all" if thin else ""
        message = f"a link is {length:.4g} m long{why}: the lengths look like millimetres"
        way = "write the lengths in metres, or declare the unit where the format allows it"
    elif 0.0 < length < SMALLEST:
        message = f"the longest link is {length * 1e3:.3g} mm long: the lengths look too small"
        way = "check the unit of length and the scale of the model"
    else:
        return []
    return [Diagnostic("REG012", "warning", message, source=source, help=(way,))]


def expression_of(text: str, scale: float) -> str:
    """Return an expression such as ``2.0d*pi*time^2`` as a scaled one of t in Python."""
    plain = re.sub(r"(?<=[\d.])d\b", "", text.strip()).replace("^", "**")
    plain = re.sub(r"\btime\b", "t", plain)
    return plain if scale == 1.0 else f"{scale!r}*({plain})"


#: Deepest nesting of assemblies.
DEEPEST = 64

InstancePath: TypeAlias = tuple[str, ...]
Definition = TypeVar("Definition", bound=Located)


@dataclass(frozen=True, eq=False)
class SubAssembly(Generic[Definition]):
    """One occurrence of an assembly."""

    path: InstancePath  # instances that lead to it; empty for the root
    definition: Definition  # the element of the file that defines the assembly
    title: str = ""  # beginning of the names of its parts, such as ``arm/hand/``

    def inner(self, step: str, name: str, definition: Definition) -> SubAssembly[Definition]:
        """Return the sub-assembly that an instance in this one is."""
        return SubAssembly((*self.path, step), definition, f"{self.title}{name}/")


@dataclass(eq=False)
class Occurrences:
    """The placed instances of an assembly and of its sub-assemblies, at any depth."""

    draft: CadDraft  # the assembly
    placed: dict[InstancePath, Array] = field(default_factory=lambda: {(): np.eye(4)})  # in ground
    bodies: dict[InstancePath, str] = field(default_factory=dict)  # body of every part
    rigid: dict[InstancePath, list[InstancePath]] = field(default_factory=dict)
    unread: list[tuple[str, Located]] = field(default_factory=list)

    def is_rigid(self, path: InstancePath) -> bool:
        """Whether an instance is, or lies in, a rigid sub-assembly."""
        return any(path[: len(key)] == key for key in self.rigid)

    def parts(self, path: InstancePath) -> list[InstancePath]:
        """Return the paths of all parts in a sub-assembly, or the path itself for a part."""
        return [part for part in self.bodies if part[: len(path)] == path]

    def body(self, path: InstancePath, at: Located) -> str:
        """Return the name of an instance's body; of a sub-assembly the body of its first part."""
        if not path:
            return self.draft.ground
        parts = self.parts(path)
        if not parts:
            raise _unknown(path, at)
        return self.bodies[parts[0]]

    def side(self, path: InstancePath, T: Array, at: Located, what: str) -> Side:
        """Return the body of an instance, and a frame T of the instance as a frame on that body."""
        if path not in self.placed:
            raise _unknown(path, at)
        body = self.body(path, at)
        if path and path not in self.bodies and not self.is_rigid(path):
            self.draft.warn(
                "REG013",
                f"{what} joins the sub-assembly `{body.rpartition('/')[0]}` as a whole, whose "
                f"parts move: its first part `{body}` is taken",
                at.source,
                "join the part that is meant, or make the sub-assembly rigid",
            )
        return body, inverse(self.draft.T_ground_body[body]) @ self.placed[path] @ T

    def fasten(self, name: str, paths: Iterable[InstancePath], at: Located) -> None:
        """Fix parts to the first one at their saved placements."""
        first, *others = dict.fromkeys(self.body(path, at) for path in paths)
        for other in others:
            self.draft.fix(name, first, other, at.source)

    def fasten_groups(self, at: Located) -> None:
        """Fix the parts of rigid sub-assemblies, and the members of rigid groups, to each other."""
        for path, members in self.rigid.items():
            parts: Sequence[InstancePath] = members or self.parts(path)
            if parts:
                self.fasten(f"rigid {path[-1]}", parts, at)

    def report_unread(self, what: str) -> None:
        """Report the joints and mates that are not read; ``what`` is the format's word for them."""
        if self.unread:
            names = listed(name for name, _ in self.unread)
            self.draft.fewer_constraints(f"{what} not read: {names}", self.unread[0][1].source)


def _unknown(path: InstancePath, at: Located) -> ReadError:
    """Return the error for a path that leads to no instance."""
    return at.error(f"there is no instance `{'/'.join(path)}`; export the model again")
