"""A model and what was read back from its file, paired and placed, so that numbers compare.

Formats force names and rows upon a model: the ground is called ``world``, a joint of two freedoms
becomes two in a row, a closing joint leads to a twin of its child. Bodies and joints are paired
through that.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from regularize.adapters.common.serial import serial, slide_name, twin_name
from regularize.adapters.common.write import reference_poses, spanning
from regularize.lie.arrays import Array, Coordinates, Space
from regularize.lie.screw import adjoint, inverse, log, transform
from regularize.mechanism.body import Inertia
from regularize.mechanism.diagnostic import Diagnostic, Severity
from regularize.mechanism.joint import Joint, joint_position, motion, reversed_joint
from regularize.mechanism.mechanism import Mechanism

#: Differences that count as none: of angles, and relative to the size of what is compared.
SAME = 1e-9
#: Between the file of a USD stage or of a CAD system and what is meant inside it.
INSIDE = "#"
#: Kinds whose freedoms have no order and no axes of their own.
SPACES = ("spherical", "planar", "free")
#: Kinds of joints that some formats nest or leave out without naming them.
UNNAMED = ("fixed", "free")


class Comparison:
    """A model and the mechanism read back from its file, ``target``, each at its stored pose."""

    def __init__(
        self, before: Mechanism, after: Mechanism, target: str = "the file", rtol: float = SAME
    ) -> None:
        self.before, self.after, self.target, self.rtol = before, after, target, rtol
        self.bodies, self.joints, self.slides, self.added = pair(before, after)
        self.model, self.file = ReferencePose(before), ReferencePose(after)
        #: Length by which distances are divided, metres.
        self.size = self.model.size
        self._center = np.mean([T[:3, 3] for T in self.model.poses.values()], axis=0)

    def find(
        self, code: str, message: str, *joints: str, severity: Severity = "warning"
    ) -> Diagnostic:
        """Return a finding about the file, with its name before the message."""
        return Diagnostic(code, severity, f"{self.target}: {message}", joints=joints)

    def same(self, one: ArrayLike, two: ArrayLike) -> bool:
        """Say whether numbers agree within the tolerance of the comparison."""
        return bool(np.allclose(two, one, rtol=self.rtol, atol=self.rtol))

    def freedoms(self, joint: Joint) -> list[tuple[Joint, int]]:
        """Return for each freedom of a model's joint the file's joint and the index in it."""
        return [(part, k) for part in self.joints[joint.name] for k in range(part.freedoms)]

    @cached_property
    def comparable(self) -> dict[str, Joint]:
        """Joints by name whose freedoms correspond to those of the file one to one."""
        joints = self.before.joints
        return {j.name: j for j in joints if j.freedoms and len(self.freedoms(j)) == j.freedoms}

    def factors(self, joint: Joint) -> Coordinates:
        """Return, by freedom, the file's coordinate over the model's."""
        one, two = self.model.screws(joint), self._screws(joint, False)
        return np.asarray(np.array(_sizes(one)) / np.array(_sizes(two)))

    def shifts(self, joint: Joint) -> Coordinates:
        """Return the model's coordinates at which the file's coordinates are zero."""
        if joint.name in self.model.closures or joint.group:
            return np.zeros(joint.freedoms)
        parts = self.joints[joint.name]
        after = np.concatenate([self.file.coordinates(part) for part in parts] or [np.zeros(0)])
        shifts = self.model.coordinates(joint) - after / self.factors(joint)
        return np.asarray(np.where(np.abs(shifts) > self.rtol, shifts, 0.0))

    def pitch(self, hinge: str, slide: str) -> float:
        """Return metres of the slide per radian of the hinge, by the coupling in the file."""
        for coupling in self.after.couplings:
            terms = {name: coefficient for name, _, coefficient in coupling.terms}
            if terms.keys() == {hinge, slide}:
                return -terms[hinge] / terms[slide]
        return 0.0

    def off(self, joint: Joint) -> float:
        """Return how far the axes of a joint differ in the file, in radians or model sizes."""
        worst = 0.0
        # A twin of the child has its own place; whether it comes to lie there is the loop's matter.
        ends = self.joints[joint.name][-1:]
        twin = any(self.bodies.get(end.child, end.child) != end.child for end in ends)
        for child in (False,) if twin else (False, True):
            one, two = self.model.screws(joint, child=child), self._screws(joint, child)
            if one.shape != two.shape:
                return float("inf")
            worst = max(worst, self._apart(one, two, joint.kind))
        if joint.kind == "fixed" and joint.closure:
            [part] = self.joints[joint.name]
            off = np.abs(self.file.gap(part) - self.model.gap(joint))
            worst = max(worst, float(np.max(off[:3])) / self.size, float(np.max(off[3:])))
        return worst

    def apart(self) -> tuple[float, float]:
        """Return the largest difference of joint axes and the sum of differences of body poses."""
        worst = max((self.off(j) for j in self.before.joints if self.joints[j.name]), default=0.0)
        common = self.model.poses.keys() & self.file.poses.keys()
        there = [b for b in self.file.poses if b in common]
        moved = sum(np.abs(self.model.poses[b] - self.file.poses[b]).sum() for b in there)
        return max(worst, self.rtol), float(moved)

    def _screws(self, joint: Joint, child: bool) -> Space:
        """Return the file's screws of a model's joint, which may be several joints there."""
        columns = [np.zeros((6, 0))]
        for part in self.joints[joint.name]:
            screws = self.file.screws(part, child=child)
            slide = self.slides.get(part.name)
            if slide is not None:  # the hinge of a screw, which a slide follows
                turned = part.parent != self.after.joint(part.name).parent
                pitch = self.pitch(part.name, slide.name)
                screws = screws + (-pitch if turned else pitch) * self.file.screws(slide)
            columns.append(screws)
        return np.hstack(columns)

    def _apart(self, one: Space, two: Space, kind: str) -> float:
        """Return how far two sets of screws differ: one by one, or as spaces they span."""
        to_center = adjoint(transform(translation=-self._center))
        one, two = (to_center @ screws for screws in (one, two))
        one, two = (screws / _sizes(screws) for screws in (one, two))
        for screws in (one, two):
            screws[:3] /= self.size
        if kind in SPACES:
            basis = np.linalg.qr(one)[0]
            return float(np.max(np.abs(two - basis @ (basis.T @ two)), initial=0.0))
        return float(np.max(np.abs(two - one), initial=0.0))


def _sizes(screws: Space) -> list[float]:
    """Return the length of the angular part of each screw, or of the linear part if it is zero."""
    return [float(np.linalg.norm(s[3:]) or np.linalg.norm(s[:3])) for s in screws.T]


class ReferencePose:
    """A mechanism with the world poses of its bodies at the stored coordinates."""

    def __init__(self, mechanism: Mechanism) -> None:
        self.mechanism = mechanism
        tree = spanning(mechanism)
        self.closures = {joint.name for joint in tree.closures}
        self.poses = reference_poses(mechanism, tree.tree)

    @property
    def size(self) -> float:
        """Largest distance in metres of a joint from the middle of all joints; 1 if it is zero."""
        points = np.array(
            [(self.poses[j.parent] @ j.T_parent_joint)[:3, 3] for j in self.mechanism.joints]
        ).reshape(-1, 3)
        if len(points) == 0:
            return 1.0
        center = 0.5 * (points.min(axis=0) + points.max(axis=0))
        return float(np.max(np.linalg.norm(points - center, axis=1))) or 1.0

    def coordinates(self, joint: Joint) -> Coordinates:
        """Return the stored coordinates of a joint, or those by which a closing joint is closed."""
        if joint.name not in self.closures:
            return joint.position
        first = self.poses[joint.parent] @ joint.T_parent_joint
        second = self.poses[joint.child] @ joint.T_child_joint
        return joint_position(joint, inverse(first) @ second)

    def screws(self, joint: Joint, *, child: bool = False) -> Space:
        """Return a joint's world screws, with the joint placed on its parent or its child."""
        q = self.coordinates(joint)
        frame = self.poses[joint.parent] @ joint.T_parent_joint
        if child:  # which is another place where a loop is open
            frame = self.poses[joint.child] @ joint.T_child_joint @ inverse(motion(joint, q))
        if joint.group:
            return np.asarray(adjoint(frame @ motion(joint, q)) @ joint.screws)
        poses = (frame @ motion(joint, q, k) for k in range(joint.freedoms))
        columns = [adjoint(T) @ s for T, s in zip(poses, joint.screws.T, strict=True)]
        return np.array(columns).reshape(-1, 6).T

    def gap(self, joint: Joint) -> Array:
        """Return the closure error of a weld, shape (6,)."""
        first = self.poses[joint.parent] @ joint.T_parent_joint
        second = self.poses[joint.child] @ joint.T_child_joint
        return np.asarray(adjoint(first) @ log(inverse(first) @ second))

    def inertia(self, body: str) -> Inertia | None:
        """Return the mass properties of a body."""
        inertia = self.mechanism.body(body).inertia
        return None if inertia is None else inertia.transformed(self.poses[body])


class Pairing(NamedTuple):
    """Correspondence of bodies and joints between a model and its file."""

    #: Body of the model that each body of the file is, or is a part of.
    bodies: dict[str, str]
    #: Joints of the file that are one of the model, in a row from its parent.
    joints: dict[str, tuple[Joint, ...]]
    #: By the name of a hinge the slide that follows, where the two are a screw.
    slides: dict[str, Joint]
    #: Joints of the file that are none of the model.
    added: tuple[Joint, ...]


def pair(before: Mechanism, after: Mechanism) -> Pairing:
    """Pair bodies and joints by their names, and by the names that writers make of these."""
    bodies = _bodies(before, after)
    joints_after = {joint.name: joint for joint in after.joints}

    def body(name: str) -> str:
        """Return the model's body for a body of the file; the same name without any."""
        return bodies.get(name, name)

    unnamed = {
        (j.kind, body(j.parent), body(j.child)): j for j in after.joints if j.kind in UNNAMED
    }
    joints: dict[str, tuple[Joint, ...]] = {}
    slides: dict[str, Joint] = {}
    for joint in before.joints:
        parts = [joint] if joint.name in joints_after else serial(joint)
        row = [joints_after[p.name] for p in parts if p.name in joints_after]
        row = row if len(row) == len(parts) else []
        for part in row:
            turns = part.kind == "revolute" and joint.kind in ("helical", "composite")
            if turns and (slide := joints_after.get(slide_name(part.name))) is not None:
                slides[part.name] = slide
        for a, b in ((joint.parent, joint.child), (joint.child, joint.parent)):
            if not row and (joint.kind, a, b) in unnamed:
                row = [unnamed[joint.kind, a, b]]
        joints[joint.name] = _led(joint, row, slides, bodies) if row else ()
    used = {part.name for parts in joints.values() for part in parts}
    used |= {slide.name for slide in slides.values()}
    inner = {j.name for j in after.joints if j.kind == "fixed" and body(j.parent) == body(j.child)}
    added = tuple(joint for joint in after.joints if joint.name not in used | inner)
    return Pairing(bodies, joints, slides, added)


def _bodies(before: Mechanism, after: Mechanism) -> dict[str, str]:
    """Map bodies of the file to bodies of the model; twins map to the body they double."""
    turned = [reversed_joint(joint) for joint in before.joints]
    known = {twin_name(joint): joint.child for joint in (*before.joints, *turned)}
    known |= {after.ground: before.ground} | {body.name: body.name for body in before.bodies}
    found = {body.name: known[body.name] for body in after.bodies if body.name in known}
    _rename(before, after, found)
    # A link without mass that a fixed joint holds is a frame, which some formats need for a loop.
    bare = {
        body.name
        for body in after.bodies
        if body.name not in found and not body.geometry
        if body.inertia is None or body.inertia.mass == 0.0
    }
    for joint in after.joints:
        for one, other in ((joint.parent, joint.child), (joint.child, joint.parent)):
            if joint.kind == "fixed" and not joint.closure and one in found and other in bare:
                found.setdefault(other, found[one])
    return found


def _rename(before: Mechanism, after: Mechanism, found: dict[str, str]) -> None:
    """Pair renamed bodies by joints that lead to bodies with unchanged names."""
    joints = {joint.name: joint for joint in before.joints}
    for _ in after.joints:
        known = len(found)
        missing = {body.name for body in before.bodies} - {*found.values()}
        for joint in after.joints:
            own = joints.get(joint.name)
            if own is None:
                continue
            for here, there in ((joint.parent, joint.child), (joint.child, joint.parent)):
                far = own.child if found.get(here) == own.parent else own.parent
                if found.get(here) in (own.parent, own.child) and far in missing:
                    found.setdefault(there, far)
        if len(found) == known:
            return


def _led(
    joint: Joint, row: list[Joint], slides: Mapping[str, Joint], bodies: Mapping[str, str]
) -> tuple[Joint, ...]:
    """Order and reverse joints in series so that they lead from the model's parent to its child."""

    def body(name: str) -> str:
        return bodies.get(name, name)

    end = row[-1]
    if len(row) > 1 and joint.parent in (body(end.parent), body(end.child)):
        row = row[::-1]
    led, here = [], joint.parent
    for part in row:
        onward = part if body(part.parent) == here else reversed_joint(part)
        led.append(onward)
        here = body(onward.child)
        slide = slides.get(part.name)
        if slide is not None:
            here = body(slide.child) if body(slide.parent) == here else body(slide.parent)
    return tuple(led)
