"""A model while it is being read: bodies and joints by name, couplings, and what was noticed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partialmethod
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from regularize.adapters.common.values import Located
from regularize.adapters.common.xml import Node
from regularize.escape import listed, suggestion, unique
from regularize.lie.arrays import Array, Space, Transform
from regularize.lie.screw import IDENTITY
from regularize.mechanism.body import Body
from regularize.mechanism.diagnostic import Diagnostic, Severity, Source
from regularize.mechanism.graph import DisjointSets
from regularize.mechanism.joint import Joint
from regularize.mechanism.joint_kinds import joint_screws
from regularize.mechanism.mechanism import (
    STANDARD_GRAVITY,
    Actuator,
    Coupling,
    Mechanism,
    PrescribedMotion,
)

WORLD = "world"
#: One side of a joint: a body, and the joint's frame on it.
Side: TypeAlias = tuple[str, Transform]
#: Coordinates with their coefficients, as of ``Coupling``.
Terms: TypeAlias = tuple[tuple[str, int, float], ...]


@dataclass(eq=False)
class Draft:
    """A model while it is being read; bodies and joints by name, in file order."""

    path: str | None  # as the user named it; None for a model that comes from no file
    name: str = ""
    ground: str = WORLD
    bodies: dict[str, Body] = field(default_factory=dict)
    joints: dict[str, Joint] = field(default_factory=dict)
    couplings: list[Coupling] = field(default_factory=list)
    motions: list[PrescribedMotion] = field(default_factory=list)
    actuators: list[Actuator] = field(default_factory=list)
    findings: list[Diagnostic] = field(default_factory=list)
    files: list[str] = field(default_factory=list)  # further ones that were read
    #: Elements that mean nothing to this package, by tag.
    ignored: dict[str, list[Located]] = field(default_factory=dict)

    def note(
        self,
        code: str,
        message: str,
        source: Source | None = None,
        *help: str,
        joints: Iterable[str] = (),
        severity: Severity = "note",
        unread: bool = False,
    ) -> None:
        """Add a finding, about the whole file without a place; ``help`` names the ways out."""
        where = source or (None if self.path is None else Source(self.path))
        self.findings.append(
            Diagnostic(code, severity, message, None, tuple(joints), where, help, unread)
        )

    #: Add a finding that needs a look.
    warn = partialmethod(note, severity="warning")
    #: Warn that a joint, closure or coupling is not read: the mechanism is not complete.
    unread = partialmethod(note, "REG013", severity="warning", unread=True)
    #: Note that something is not read, or not as it is written, which does no harm.
    skip = partialmethod(note, "REG013")

    def ignore(self, tag: str, at: Located) -> None:
        """Pass over an element that means nothing to this package, to be reported by its tag."""
        self.ignored.setdefault(tag, []).append(at)

    def report_repeated(self, node: Node, name: str, *tags: str) -> None:
        """Warn that a joint or link has elements several times of which one counts."""
        if twice := [tag for tag in tags if len(node.children(tag)) > 1]:
            words = f"{node.tag} `{name}` has several {listed(f'<{tag}>' for tag in twice)}"
            joints = (name,) * (node.tag != "link")
            self.warn("REG022", f"{words}: the first counts", node.source, joints=joints)

    def report_ignored(self, why: str = "") -> None:
        """Say which elements were passed over."""
        for tag, places in self.ignored.items():
            times = "" if len(places) == 1 else f" ({len(places)} times)"
            self.skip(f"element <{tag}> ignored{times}{why}", places[0].source)

    def add_body(self, body: Body, at: Located) -> None:
        """Add a body; raises ``ReadError`` for a repeated name."""
        _require_free("link", body.name, self.bodies, at)
        self.bodies[body.name] = body

    def add_joint(self, joint: Joint, at: Located) -> None:
        """Add a joint; raises ``ReadError`` for a repeated name or a joint on one body."""
        _require_free("joint", joint.name, self.joints, at)
        if joint.parent == joint.child:
            raise at.error(f"connects link `{joint.child}` to itself; name two different links")
        self.joints[joint.name] = joint

    def close(
        self,
        at: Located,
        name: str | None,
        kind: str,
        first: Side,
        second: Side,
        screws: Space | None = None,
        closure: bool = True,
        **more: Any,
    ) -> Joint:
        """Add a joint that closes a loop; its screws are those of its kind about Z by default."""
        name = name or self.joint_name(f"{first[0]}-{second[0]}")
        more |= {"closure": closure, "source": at.source}
        joint = joint_between(name, kind, first, second, screws, **more)
        self.add_joint(joint, at)
        return joint

    def couple(
        self,
        name: str,
        kind: str,
        terms: Terms,
        offset: float,
        source: Source | None,
        coefficients: Sequence[float] = (),
    ) -> None:
        """Add a coupling, under a new name if its name is taken."""
        name = unique(name, {coupling.name for coupling in self.couplings})
        self.couplings.append(Coupling(name, kind, terms, offset, source, tuple(coefficients)))

    def value(self, terms: Terms) -> float:
        """Return the sum of coefficient times stored coordinate over the terms of a coupling."""
        return sum(c * float(self.joints[name].position[k]) for name, k, c in terms)

    def body_named(self, name: str, at: Located) -> str:
        """Return a name if a body has it; raises ``ReadError`` otherwise."""
        if name not in self.bodies:
            raise at.error(f"there is no link `{name}`{suggestion(name, self.bodies)}")
        return name

    def joint_named(self, name: str, at: Located) -> Joint:
        """Return the joint of that name; raises ``ReadError`` if there is none."""
        if name not in self.joints:
            raise at.error(f"there is no joint `{name}`{suggestion(name, self.joints)}")
        return self.joints[name]

    def joint_name(self, wanted: str) -> str:
        """Return a name for a new joint, with a number behind it if it is taken."""
        return unique(wanted, self.joints)

    def hold(self, name: str, body: str, T_ground_body: Transform, source: Source | None) -> None:
        """Fix a body to the ground, by a joint whose name gets a number if it is taken."""
        name = self.joint_name(name)
        ends = (self.ground, T_ground_body), (body, IDENTITY)
        self.joints[name] = joint_between(name, "fixed", *ends, source=source)

    def free(self, name: str, base: str, T_ground_base: ArrayLike = IDENTITY) -> Joint:
        """Add a joint by which a body moves freely from its place."""
        name, source = self.joint_name(name), self.bodies[base].source
        ends = (self.ground, np.asarray(T_ground_base)), (base, IDENTITY)
        joint = self.joints[name] = joint_between(name, "free", *ends, source=source)
        return joint

    def let_float(self) -> None:
        """Join the ground by a free joint to a new ground, named ``world`` if that is free."""
        base, ground = self.ground, unique(WORLD, self.bodies)
        self.bodies = {ground: Body(ground, source=self.bodies[base].source), **self.bodies}
        self.ground = ground
        joint = self.free("floating_base", base)
        self.joints = {joint.name: joint, **self.joints}

    def connected(self) -> DisjointSets[str]:
        """Return sets of bodies that joints connect, closing joints included."""
        joined = DisjointSets(self.bodies)
        for joint in self.joints.values():
            joined.union(joint.parent, joint.child)
        return joined

    def ground_parts(
        self,
        pose: Callable[[str], Transform] = lambda body: IDENTITY,
        *,
        bases: Iterable[str] = (),
        usual: bool = False,
    ) -> None:
        """Join parts without a path to the ground to it by free joints (REG103)."""
        children = {joint.child for joint in self.joints.values() if not joint.closure}
        order = [*bases, *(name for name in self.bodies if name not in children), *self.bodies]
        first = {name: k for k, name in reversed([*enumerate(order)])}
        for members in self.connected().groups():
            part = [name for name in members if name in self.bodies]
            if self.ground in part:
                continue
            base = min(part, key=first.__getitem__)
            name = self.free(f"floating_base_{base}", base, pose(base)).name
            source = self.bodies[base].source
            if usual:
                self.note(
                    "REG103",
                    f"nothing joins `{base}` to the world: it moves freely, by the 6-freedom base "
                    f"joint `{name}`",
                    source,
                    "add a fixed joint to the world if it stands still",
                    joints=(name,),
                )
                continue
            many = "body" if len(part) == 1 else f"part of {len(part)} bodies"
            self.warn(
                "REG103",
                f"the {many} {listed(part, 3)} is not connected to the ground `{self.ground}`: it "
                f"gets the 6-freedom base joint `{name}`",
                source,
                f"join `{base}` to the rest of the model by a joint, or delete it",
                "leave it if the part is meant to move freely",
                joints=(name,),
            )

    def mechanism(self, format: str, gravity: Array = STANDARD_GRAVITY) -> Mechanism:
        """Return the mechanism of all bodies, joints and findings read."""
        return Mechanism(
            name=self.name or self.ground,
            bodies=tuple(self.bodies.values()),
            joints=tuple(self.joints.values()),
            couplings=tuple(self.couplings),
            ground=self.ground,
            gravity=gravity,
            findings=tuple(self.findings),
            path=self.path,
            format=format,
            files=tuple(self.files),
            motions=tuple(self.motions),
            # Of joints that other files or findings have made fixed, nothing is left to move.
            actuators=tuple(
                actuator
                for actuator in self.actuators
                if actuator.joint in self.joints
                and actuator.freedom < self.joints[actuator.joint].freedoms
            ),
        )


def joint_between(
    name: str, kind: str, first: Side, second: Side, screws: Space | None = None, **more: Any
) -> Joint:
    """Make a joint between two sides; its screws are those of its kind by default."""
    (parent, T_parent), (child, T_child) = first, second
    freedoms = joint_screws(kind) if screws is None else screws
    return Joint(name, parent, child, kind, freedoms, T_parent, T_child, **more)


def _require_free(
    what: str, name: str, named: Mapping[str, Body] | Mapping[str, Joint], at: Located
) -> None:
    """Raise ``ReadError`` for a name that a body or a joint has already."""
    if name in named:
        source = named[name].source
        line = "" if source is None or source.line is None else f" by line {source.line}"
        raise at.error(f"the {what} name `{name}` is taken{line}; give every {what} its own name")
