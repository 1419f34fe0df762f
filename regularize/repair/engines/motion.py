"""Models moved in engines: what each consists of there, and how far its loops open on the way.

An engine gives the poses of all bodies along half a second. How far apart the two sides of a
closure get in directions in which it does not slide is measured here, alike for all engines.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from regularize.errors import UnsupportedExport
from regularize.lie.arrays import Array
from regularize.lie.screw import inverse, log_rotation
from regularize.mechanism.mechanism import Mechanism

#: Seconds of motion, and at how many moments the bodies are looked at.
DURATION, MOMENTS = 0.5, 50
#: A body that gets no farther, in sizes of the model, does not move.
STILL = 1e-3
#: Gaps that are no wider than this part of the size are never too wide; others may double.
NARROW, WIDER = 1e-4, 2.0
#: Masses and gains that differ by no more are the same: engines compute in single precision.
SINGLE = 1e-4


def load(name: str, mass: float, inertia: float) -> Array:
    """Return a force like the weight and a torque by which about anything moves, of any body."""
    ways = np.random.default_rng(zlib.crc32(name.encode())).normal(size=(2, 3))
    ways *= 9.81 / np.linalg.norm(ways, axis=1, keepdims=True)
    return np.concatenate([mass * ways[0], 0.5 * inertia * ways[1]])


class NotMoved(UnsupportedExport):
    """An engine holds a model in a way in which it cannot be moved here."""


@dataclass(frozen=True, eq=False)
class EngineMotion:
    """A model in an engine, and the poses of its bodies while it moved there."""

    #: Velocities that the joints and loops leave independent, as the engine has them.
    freedoms: int
    #: Number of motors, and by joint the sum of their gains along it: force per control, and servo
    #: stiffness.
    motors: int
    gains: Mapping[str, tuple[float, float]]
    masses: Mapping[str, float]
    #: World poses by body, shape (moments, 4, 4).
    poses: Mapping[str, Array] = field(repr=False)
    #: What the engine was handed, as it is read here.
    mechanism: Mechanism | None = field(default=None, repr=False)

    def travel(self, size: float) -> float:
        """Return how far any body gets from where it began, in metres; angles count by the size."""
        ways = ((p - p[0])[:, :3] * [size, size, size, 1.0] for p in self.poses.values())
        return max((float(np.linalg.norm(way, axis=(1, 2)).max()) for way in ways), default=0.0)

    def gap(self, size: float) -> float:
        """Return the largest gap of all closures, in metres; of welds angles count by the size."""
        largest, mechanism = 0.0, self.mechanism
        if mechanism is None:
            return largest
        for joint in (joint for joint in mechanism.joints if joint.closure):
            ends = (joint.parent, joint.T_parent_joint), (joint.child, joint.T_child_joint)
            sides = [self._pose(body, mechanism) @ T for body, T in ends]
            between = np.array([inverse(a) @ b for a, b in zip(*sides, strict=True)])
            slides = joint.screws[:3, ~joint.screws[3:].any(axis=0)]
            basis = np.linalg.qr(slides)[0] if slides.size else np.zeros((3, 0))
            apart = between[:, :3, 3] - between[:, :3, 3] @ basis @ basis.T
            gap = np.linalg.norm(apart, axis=1)
            if joint.kind == "fixed":
                turned = [np.linalg.norm(log_rotation(T[:3, :3])) for T in between]
                gap = np.maximum(gap, size * np.array(turned))
            largest = max(largest, float(gap.max()))
        return largest

    def _pose(self, body: str, mechanism: Mechanism) -> Array:
        """Return the poses of a body; the ground stands still without a body of its own."""
        moments = max((len(poses) for poses in self.poses.values()), default=1)
        if body not in self.poses and body == mechanism.ground:
            return np.tile(np.eye(4), (moments, 1, 1))
        name = body if body in self.poses else re.sub(r"\W", "_", body)  # USD writes it so
        if name not in self.poses:
            raise NotMoved(f"it has no body `{body}` there")
        return self.poses[name]


def differences(
    before: EngineMotion,
    after: EngineMotion,
    gaps: tuple[float, float],
    size: float,
    freedoms: range,
    wider: float = WIDER,
) -> list[str]:
    """List what a changed model does otherwise in an engine; ``freedoms`` more are planned."""
    wrong = []
    if after.freedoms - before.freedoms not in freedoms:
        wrong.append(f"freedoms: {before.freedoms} before, {after.freedoms} after")
    moved, moves = before.travel(size), after.travel(size)
    if freedoms.stop > 0 and moved > STILL * size > 10.0 * moves:
        now, then = (f"{1e3 * way:.3g} mm" for way in (moves, moved))
        wrong.append(f"it is locked: bodies move by {now}, and moved by {then}")
    if gaps[1] > max(wider * gaps[0], NARROW * size):
        wrong.append(f"loops open by {1e3 * gaps[1]:.3g} mm, and opened by {1e3 * gaps[0]:.3g} mm")
    if after.motors != before.motors:
        wrong.append(f"motors: {before.motors} before, {after.motors} after")
    wrong += [
        f"motors of joint `{name}` have gains {_listed(after.gains[name])} in place of "
        f"{_listed(before.gains[name])}"
        for name in before.gains.keys() & after.gains.keys()
        if not np.allclose(before.gains[name], after.gains[name], rtol=SINGLE)
    ]
    wrong += [
        f"body `{name}` has {after.masses[name]:.6g} kg in place of {before.masses[name]:.6g} kg"
        for name in before.masses.keys() & after.masses.keys()
        if not np.isclose(before.masses[name], after.masses[name], rtol=SINGLE)
    ]
    return wrong


def _listed(values: Sequence[float]) -> str:
    """Write numbers in a message."""
    return " and ".join(f"{value:.4g}" for value in values)
