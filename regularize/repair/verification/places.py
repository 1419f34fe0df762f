"""Whether joints stand at the same places and let the same motions happen."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from regularize.adapters.common.write import reference_poses, spanning
from regularize.lie.arrays import Array
from regularize.lie.screw import adjoint, inverse, log, transform
from regularize.mechanism.joint import joint_position, motion
from regularize.mechanism.mechanism import Inertia, Joint, Mechanism
from regularize.repair.verification.pairing import Pairing

#: Kinds whose freedoms have no order and no axes of their own.
SPACES = ("spherical", "planar", "free")


@dataclass(frozen=True, eq=False)
class Placement:
    """Two paired mechanisms at their reference poses."""

    pairing: Pairing
    before: Reference
    after: Reference
    size: float

    @classmethod
    def of(cls, pairing: Pairing) -> Placement:
        """Both at the coordinates that they store."""
        before = Reference.of(pairing.before)
        return cls(pairing, before, Reference.of(pairing.after), before.size)

    def off(self, joint: Joint) -> float:
        """How far the freedoms of a joint lie from where they ought to; radians, scaled lengths."""
        worst = 0.0
        # A twin of the child has its own place; whether it comes to lie there is the loop's matter.
        ends = self.pairing.joints[joint.name][-1:]
        twin = any(self.pairing.bodies.get(end.child, end.child) != end.child for end in ends)
        for child in (False,) if twin else (False, True):
            one, two = self.before.screws(joint, child=child), self._screws(joint, child)
            if one.shape != two.shape:
                return float("inf")
            worst = max(worst, self._apart(one, two, joint.kind))
        if joint.kind == "fixed" and joint.closure:
            [part] = self.pairing.joints[joint.name]
            gaps = [_gap(self.before, joint), _gap(self.after, part)]
            off = np.abs(gaps[1] - gaps[0])
            worst = max(worst, float(np.max(off[:3])) / self.size, float(np.max(off[3:])))
        return worst

    def worst(self) -> float:
        """The largest distance of all joints that are paired."""
        joints = [joint for joint in self.pairing.before.joints if self.pairing.joints[joint.name]]
        return max((self.off(joint) for joint in joints), default=0.0)

    def apart(self) -> float:
        """How far bodies of one name lie from each other, summed up; says which pose was meant."""
        there = {b for b in self.after.poses if b in self.before.poses}
        return float(sum(np.abs(self.before.poses[b] - self.after.poses[b]).sum() for b in there))

    def factors(self, joint: Joint) -> Array:
        """The file's coordinates by those of the model, one per freedom, shape (freedoms,)."""
        one, two = self.before.screws(joint), self._screws(joint, False)
        return np.asarray(np.array(_sizes(one)) / np.array(_sizes(two)))

    def shifts(self, joint: Joint) -> Array:
        """Coordinates of the model where those of the file are zero, shape (freedoms,)."""
        parts = self.pairing.joints[joint.name]
        after = np.concatenate([self.after.coordinates(part) for part in parts] or [np.zeros(0)])
        return np.asarray(self.before.coordinates(joint) - after / self.factors(joint))

    def _screws(self, joint: Joint, child: bool) -> Array:
        columns = [np.zeros((6, 0))]
        for part in self.pairing.joints[joint.name]:
            found = self.after.screws(part, child=child)
            slide = self.pairing.slides.get(part.name)
            if slide is not None:  # the hinge of a screw, which a slide follows
                turned = part.parent != self.pairing.after.joint(part.name).parent
                pitch = self.pitch(part.name, slide.name)
                found = found + (-pitch if turned else pitch) * self.after.screws(slide)
            columns.append(found)
        return np.hstack(columns)

    def pitch(self, hinge: str, slide: str) -> float:
        """Metres of the slide per radian of the hinge, by the coupling in the file."""
        for coupling in self.pairing.after.couplings:
            terms = {name: coefficient for name, _, coefficient in coupling.terms}
            if terms.keys() == {hinge, slide}:
                return -terms[hinge] / terms[slide]
        return 0.0

    def _apart(self, one: Array, two: Array, kind: str) -> float:
        center = transform(translation=-self._center)
        one, two = (adjoint(center) @ screws for screws in (one, two))
        one, two = (screws / _sizes(screws) for screws in (one, two))
        for screws in (one, two):
            screws[:3] /= self.size
        if kind in SPACES:
            basis = np.linalg.qr(one)[0]
            return float(np.max(np.abs(two - basis @ (basis.T @ two)), initial=0.0))
        return float(np.max(np.abs(two - one), initial=0.0))

    @cached_property
    def _center(self) -> Array:
        return np.asarray(np.mean([T[:3, 3] for T in self.before.poses.values()], axis=0))


def _sizes(screws: Array) -> list[float]:
    """Length of each screw: of its rotation, or of its translation where it does not turn."""
    return [float(np.linalg.norm(s[3:]) or np.linalg.norm(s[:3])) for s in screws.T]


def _gap(reference: Reference, joint: Joint) -> Array:
    """The closure error of a weld in the world, shape (6,)."""
    first = reference.poses[joint.parent] @ joint.T_parent_joint
    second = reference.poses[joint.child] @ joint.T_child_joint
    return np.asarray(adjoint(first) @ log(inverse(first) @ second))


@dataclass(frozen=True, eq=False)
class Reference:
    """A mechanism at its reference pose."""

    mechanism: Mechanism
    poses: Mapping[str, Array]
    closures: frozenset[str]

    @classmethod
    def of(cls, mechanism: Mechanism) -> Reference:
        """The mechanism at its stored coordinates."""
        found = spanning(mechanism)
        closures = frozenset(joint.name for joint in found.closures)
        return cls(mechanism, reference_poses(mechanism, found.tree), closures)

    @property
    def size(self) -> float:
        """Largest distance of a joint from the centre of all, metres; 1 where there is none."""
        points = np.array(
            [(self.poses[j.parent] @ j.T_parent_joint)[:3, 3] for j in self.mechanism.joints]
        ).reshape(-1, 3)
        if len(points) == 0:
            return 1.0
        center = 0.5 * (points.min(axis=0) + points.max(axis=0))
        return float(np.max(np.linalg.norm(points - center, axis=1))) or 1.0

    def coordinates(self, joint: Joint) -> Array:
        """Coordinates of a joint: those stored, or those by which a closing joint is closed."""
        if joint.name not in self.closures:
            return joint.position
        first = self.poses[joint.parent] @ joint.T_parent_joint
        second = self.poses[joint.child] @ joint.T_child_joint
        return joint_position(joint, inverse(first) @ second)

    def screws(self, joint: Joint, *, child: bool = False) -> Array:
        """Screws of a joint's freedoms in the world, shape (6, freedoms)."""
        q = self.coordinates(joint)
        frame = self.poses[joint.parent] @ joint.T_parent_joint
        if child:
            frame = self.poses[joint.child] @ joint.T_child_joint @ inverse(motion(joint, q))
        if joint.group:
            return np.asarray(adjoint(frame @ motion(joint, q)) @ joint.screws)
        columns = [
            adjoint(frame @ motion(joint, q, k)) @ column for k, column in enumerate(joint.screws.T)
        ]
        return np.array(columns).reshape(-1, 6).T

    def inertia(self, body: str) -> Inertia | None:
        """Mass properties of a body in the world."""
        inertia = self.mechanism.body(body).inertia
        return None if inertia is None else inertia.transformed(self.poses[body])
