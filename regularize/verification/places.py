"""Whether joints stand at the same places and let the same motions happen."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from regularize.lie.screw import Array, adjoint, inverse, log, transform
from regularize.model.joint import Joint
from regularize.verification.pairing import Pairing
from regularize.verification.reference import Reference

#: Kinds whose freedoms have no order and no axes of their own.
SPACES = ("spherical", "planar", "free")


@dataclass(frozen=True, eq=False)
class Placement:
    """Two paired mechanisms at their reference poses.

    Attributes:
        pairing: Their bodies and joints.
        before: The one that was meant.
        after: The one that was read back.
        size: Length by which distances are divided, metres.
    """

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
        """How far the freedoms of a joint lie from where they ought to; radians, scaled lengths.

        Infinite where their number differs.
        """
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
            worst = max(worst, self._largest(gaps[1] - gaps[0]))
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

    def _largest(self, twist: Array) -> float:
        return float(max(np.max(np.abs(twist[:3])) / self.size, np.max(np.abs(twist[3:]))))

    @property
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
