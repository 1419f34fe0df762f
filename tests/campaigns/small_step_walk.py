"""An independent judge of mobility: closed configurations in the smallest neighbourhood of a pose.

Nothing of the project's mathematics is used, only its description of a mechanism: bodies and joints
with their frames and screws. From the pose many small steps go out along velocities that the loops
allow; each is corrected back onto the loops by Levenberg's method without truncation. Where the
correction takes everything back the pose is isolated. Where it does not, the same is done at the
configuration reached, which is generic on its component: directions that survive span its tangent.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.linalg import svd
from screws import adjoint, exp

import regularize as rg

Array = np.ndarray[Any, np.dtype[np.float64]]

#: First step away from the pose, lengths scaled, and the share of the way that was really gone that
#: steps at the configuration reached have: they must not see other components.
AWAY, NEAR = 0.05, 0.01
#: Shares of a step below which it was taken back.
FOLLOWED = 0.05
#: Closure error of a closed configuration.
CLOSED = 1e-13


class Loops:
    """Closure equations of a mechanism, lengths divided by its size."""

    def __init__(self, mechanism: rg.Mechanism) -> None:
        """Choose a spanning tree; bodies without a path to the ground hang on a held one."""
        assert not mechanism.couplings
        self.joints = list(mechanism.joints)
        self.first = np.cumsum([0, *(j.freedoms for j in self.joints)])
        self.tree: list[tuple[int, bool]] = []
        at: dict[str, list[int]] = {body.name: [] for body in mechanism.bodies}
        for i, joint in enumerate(self.joints):
            at[joint.parent].append(i)
            at[joint.child].append(i)
        self.root = [mechanism.ground]
        used: set[int] = set()
        known: set[str] = set()
        for start in [mechanism.ground, *at]:
            if start in known:
                continue
            if start != mechanism.ground:
                self.root.append(start)
            known.add(start)
            queue = deque([start])
            while queue:
                body = queue.popleft()
                for i in at[body]:
                    joint = self.joints[i]
                    other = joint.child if joint.parent == body else joint.parent
                    if i not in used and other not in known:
                        used.add(i)
                        known.add(other)
                        self.tree.append((i, joint.parent == body))
                        queue.append(other)
        self.chords = [i for i in range(len(self.joints)) if i not in used]
        self.start = np.concatenate([[0.0], *(j.position for j in self.joints)])[1:]
        for joint in self.joints:
            assert not (joint.group and np.any(joint.position)), "a ball joint away from zero"
        points = [T[:3, 3] for T in self.placements]
        spread = np.ptp(points, axis=0) if points else np.zeros(3)
        self.size = float(np.linalg.norm(spread)) or 1.0
        slides = [np.linalg.norm(s[3:]) == 0.0 for j in self.joints for s in j.screws.T]
        self.units = np.where(slides, self.size, 1.0) if slides else np.zeros(0)

    @cached_property
    def placements(self) -> list[Array]:
        """World poses of the joints' frames at the pose as it is saved."""
        poses = self.bodies(self.start)[0]
        return [poses[j.parent] @ j.T_parent_joint for j in self.joints]

    def joint(self, i: int, base: Array, q: Array) -> tuple[Array, list[Array]]:
        """Pose of a joint's frame after its motion, and its screws in the world."""
        T, screws = base, []
        for k, s in enumerate(self.joints[i].screws.T):
            screws.append(adjoint(T) @ s)
            T = T @ exp(s * q[self.first[i] + k])
        return T, screws

    def bodies(self, q: Array) -> tuple[dict[str, Array], dict[str, Array]]:
        """Poses of the bodies and the twists that the coordinates give them, shape (6, n)."""
        poses = {name: np.eye(4) for name in self.root}
        twists = {name: np.zeros((6, self.first[-1])) for name in self.root}
        for i, forward in self.tree:
            joint = self.joints[i]
            columns = slice(self.first[i], self.first[i + 1])
            if forward:
                T, screws = self.joint(i, poses[joint.parent] @ joint.T_parent_joint, q)
                poses[joint.child] = T @ np.linalg.inv(joint.T_child_joint)
                twist = twists[joint.parent].copy()
                if screws:
                    twist[:, columns] = np.array(screws).T
                twists[joint.child] = twist
            else:
                own, _ = self.joint(i, np.eye(4), q)
                behind = poses[joint.child] @ joint.T_child_joint @ np.linalg.inv(own)
                _, screws = self.joint(i, behind, q)
                poses[joint.parent] = behind @ np.linalg.inv(joint.T_parent_joint)
                twist = twists[joint.child].copy()
                if screws:
                    twist[:, columns] = -np.array(screws).T
                twists[joint.parent] = twist
        return poses, twists

    def equations(self, q: Array) -> tuple[Array, Array]:
        """Closure errors, shape (6 L,), and their derivatives in scaled coordinates."""
        poses, twists = self.bodies(q)
        errors, rows = [np.zeros(0)], [np.zeros((0, self.first[-1]))]
        for i in self.chords:
            joint = self.joints[i]
            end, screws = self.joint(i, poses[joint.parent] @ joint.T_parent_joint, q)
            goal = poses[joint.child] @ joint.T_child_joint
            turn = end[:3, :3] @ goal[:3, :3].T
            skew = 0.5 * (turn - turn.T)
            twist = twists[joint.parent] - twists[joint.child]
            if screws:
                twist[:, self.first[i] : self.first[i + 1]] += np.array(screws).T
            # The linear part is taken at the point where the gap is measured.
            at = goal[:3, 3]
            twist[:3] -= np.cross(at, twist[3:], axisa=0, axisb=0, axisc=0)
            errors.append((end[:3, 3] - at) / self.size)
            errors.append(np.array([skew[2, 1], skew[0, 2], skew[1, 0]]))
            rows.append(np.vstack([twist[:3] / self.size, twist[3:]]))
        return np.concatenate(errors), np.vstack(rows) * self.units

    def corrected(self, q: Array, steps: int = 150) -> Array | None:
        """The closed configuration near one that is not, by Levenberg's method, or None."""
        last = np.inf
        for _ in range(steps):
            error, jacobian = self.equations(q)
            size = float(np.max(np.abs(error), initial=0.0))
            # Where loops meet in a double root every correction halves the way: go on to rounding.
            if size < CLOSED and not 1e-16 < size < 0.7 * last:
                return q
            last = size
            # Undamped, equations that are redundant on the loops alone would throw the step far
            # away; damped by this power, double and triple roots still attract.
            # The other method of LAPACK, for numpy's gives up on a few matrices.
            u, values, vt = svd(jacobian, full_matrices=False, lapack_driver="gesvd")
            step = -vt.T @ (values / (values**2 + size**1.5) * (u.T @ error))
            length = float(np.max(np.abs(step), initial=0.0))
            if not length > 0.0:
                return None
            q = q + min(1.0, 0.1 / length) * step * self.units
        return None

    def velocities(self, q: Array, rtol: float = 1e-6) -> Array:
        """Orthonormal basis of the velocities that the loops allow, scaled, shape (n, k)."""
        jacobian = self.equations(q)[1]
        _, s, vt = np.linalg.svd(jacobian, full_matrices=True)
        rank = int(np.sum(s > rtol * max(1.0, float(s[0])))) if len(s) else 0
        return np.asarray(vt[rank:].T)

    def dimension(self, q: Array, step: float, rng: np.random.Generator) -> int:
        """Dimension of the closed configurations about one that is generic among them."""
        # A point that was itself found by halving lies on its component to a millionth only, so
        # velocities are taken with a coarse tolerance: too many are thinned out by the steps.
        basis = self.velocities(q, 1e-3)
        allowed = basis.shape[1]
        ways = []
        for _ in range(2 * allowed + 4 if allowed else 0):
            heading = basis @ rng.normal(size=allowed)
            heading /= np.linalg.norm(heading)
            reached = self.corrected(q + step * heading * self.units)
            if reached is not None:
                ways.append((reached - q) / self.units / step)
        if not ways:
            return 0
        s = np.linalg.svd(np.array(ways) / np.sqrt(len(ways)), compute_uv=False)
        return int(np.sum(s > FOLLOWED))


@dataclass(frozen=True)
class Judgement:
    """What was found about a pose."""

    infinitesimal: int  # dimension of the velocities that the loops allow at the pose
    finite: int  # largest dimension of the components that meet there
    dimensions: dict[int, int]  # how often configurations on components of each were met


def judge(
    mechanism: rg.Mechanism, samples: int = 24, away: float = AWAY, seed: int = 0
) -> Judgement:
    """Mobility at the pose in which a mechanism is saved."""
    loops, rng = Loops(mechanism), np.random.default_rng(seed)
    q = loops.corrected(loops.start)
    assert q is not None, "open"
    basis = loops.velocities(q)
    allowed = basis.shape[1]
    found: dict[int, int] = {}
    for _ in range(samples if allowed else 0):
        heading = basis @ rng.normal(size=allowed)
        heading *= away / np.linalg.norm(heading)
        reached = loops.corrected(q + heading * loops.units)
        if reached is None:
            continue
        gone = float(np.linalg.norm((reached - q) / loops.units))
        d = 0 if gone < FOLLOWED * away else loops.dimension(reached, NEAR * gone, rng)
        found[d] = found.get(d, 0) + 1
    # A single sight may be of a place where components nearly meet.
    sure = [d for d, times in found.items() if times > 1] or [*found]
    return Judgement(allowed, max(sure, default=0), found)


def largest(report: rg.Report) -> int | None:
    """Largest mobility of the components that the project says meet at the pose."""
    met = [one["mobility"] for one in report.as_dict()["mobility"]["components"]]
    return None if None in met else max(met)
