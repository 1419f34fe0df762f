"""Single loops with every joint a little off, assembled by Pinocchio: rigid, and on springs.

Run as a script, it compares 10,000 of each with what ``rg.misfit`` says of them.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass

import mechanisms
import numpy as np
import pinocchio as pin

import regularize as rg

TOLERANCE = (5e-5, np.deg2rad(0.1))
STIFFNESS = (5e7, 2e4)
SPRINGS = (
    *(pin.JointModelPX, pin.JointModelPY, pin.JointModelPZ),
    *(pin.JointModelRX, pin.JointModelRY, pin.JointModelRZ),
)


@dataclass(frozen=True)
class Case:
    """A loop, and by hand: which components of the gap at its last joint are redundant."""

    mechanism: rg.Mechanism  # of hinges; bodies' frames are the world's; one of them is held
    joints: tuple[str, ...]  # around the loop, the closing one last
    signs: tuple[int, ...]  # 1 where a joint is passed from parent to child
    redundant: tuple[int, ...]  # components that coordinates cannot change, X, Y, Z, rotations


CASES = {
    "four-bar": Case(mechanisms.planar_fourbar(), tuple("ABCD"), (1, 1, 1, 1), (2, 3, 4)),
    "Sarrus": Case(
        mechanisms.sarrus(), ("a1", "a2", "a3", "b3", "b2", "b1"), (1, 1, 1, -1, -1, -1), (5,)
    ),
}


def chain(case: Case, places: np.ndarray, *, elastic: bool) -> pin.Model:
    """The open chain around the loop; every joint moves at its place, then springs if there are."""
    model, parent, last = pin.Model(), 0, pin.SE3.Identity()
    for name, place in zip(case.joints, places, strict=True):
        joint = case.mechanism.joint(name)
        axis = place[:3, :3].T @ joint.T_parent_joint[:3, :3] @ joint.screws[3:, 0]
        here = pin.SE3(place)
        hinge = pin.JointModelRevoluteUnaligned(axis)
        parent = model.addJoint(parent, hinge, last.actInv(here), name)
        last = here
        for k, spring in enumerate(SPRINGS if elastic else ()):
            parent = model.addJoint(parent, spring(), pin.SE3.Identity(), f"{name} {k}")
    return model


def assembled(case: Case, found: rg.Misfit, errors: np.ndarray, *, elastic: bool) -> np.ndarray:
    """Redundant components of the gap of a loop whose joints have errors, shape (joints, 6).

    Or, where joints give way so that it closes, the wrenches of their springs, shape (joints, 6).
    """
    order = [found.joints.index(name) for name in case.joints]
    places = found.places[order]
    model, end = chain(case, places, elastic=elastic), pin.SE3.Identity()
    step = model.njoints // len(case.joints)
    for k, sign in enumerate(case.signs):
        error = pin.exp6(errors[order[k]]) if sign > 0 else pin.exp6(-errors[order[k]])
        after = 1 + (k + 1) * step
        if after < model.njoints:
            model.jointPlacements[after] = error * model.jointPlacements[after]
        else:
            end = error * pin.SE3(places[-1]).inverse()
    closing = pin.Frame("end", model.njoints - 1, 0, end, pin.FrameType.OP_FRAME)
    frame = model.addFrame(closing)
    data, q = model.createData(), np.zeros(model.nq)
    moving = np.arange(1, model.nv)  # the first hinge is held
    kept = [k for k in range(6) if elastic or k not in case.redundant]
    spring = np.tile(np.append(0.0, np.repeat(STIFFNESS, 3)), len(case.joints))[moving]
    about = pin.SE3(np.eye(3), places[-1][:3, 3])
    for _ in range(6):
        pin.computeJointJacobians(model, data, q)
        pin.updateFramePlacements(model, data)
        J = pin.getFrameJacobian(model, data, frame, pin.ReferenceFrame.WORLD)
        gap = pin.log6(data.oMf[frame])
        gap = about.actInv(data.oMf[frame].act(gap)).vector
        if not elastic:
            rows = (about.toActionMatrixInverse() @ J)[np.ix_(kept, moving)]
            q[moving] -= np.linalg.lstsq(rows, gap[kept], rcond=1e-9)[0]
            continue
        rows = about.toActionMatrixInverse() @ J[:, moving]
        scale = np.sqrt(STIFFNESS[1])
        n = len(moving)
        kkt = np.zeros((n + 6, n + 6))
        kkt[:n, :n] = np.diag(spring) / scale**2
        kkt[:n, n:], kkt[n:, :n] = rows.T, rows
        right = np.concatenate([-spring * q[moving] / scale**2, -gap])
        q[moving] += np.linalg.solve(kkt, right)[:n]
    if not elastic:
        return gap[list(case.redundant)]
    wrench = (np.append(0.0, spring) * q).reshape(len(case.joints), 7)[:, 1:]
    return wrench[np.argsort(order)]


@dataclass(frozen=True)
class Comparison:
    """Statistics of perturbed loops over those that are predicted."""

    gaps: np.ndarray  # standard deviations of the gaps in redundant directions
    forces: np.ndarray  # root mean squares of forces and moments in all joints that have any
    worst: np.ndarray  # gaps of the loops that are off in the worst ways
    each: float  # largest difference of a gap from its linear prediction, standard deviations


def compare(case: Case, count: int, *, balanced: bool = False, seed: int = 0) -> Comparison:
    """Draw loops with independent normal errors and compare.

    Balanced draws have exactly the covariance of the distribution, without statistical error.
    """
    found = rg.misfit(rg.reduce(case.mechanism, cuts=[case.joints[-1]]), TOLERANCE, STIFFNESS)
    rng = np.random.default_rng(seed)
    sizes = np.repeat(TOLERANCE, 3)
    draws = rng.normal(size=(count, 6 * len(case.joints)))
    if balanced:
        draws = np.linalg.qr(draws - draws.mean(axis=0))[0] * np.sqrt(count)
    errors = draws.reshape(count, len(case.joints), 6) * sizes
    gaps = np.array([assembled(case, found, each, elastic=False) for each in errors])
    by_hand = np.eye(6)[list(case.redundant)]
    # Directions by hand are combinations of those of the report.
    covectors = np.array([entry.covector for entry in found.entries])
    mix = np.linalg.lstsq(covectors.T, by_hand.T, rcond=None)[0].T
    influence = np.tensordot(mix, found.influence, axes=1)
    linear = np.einsum("ajk,njk->na", influence, errors)
    linear *= np.sign(np.einsum("na,na->a", linear, gaps))
    predicted = np.linalg.norm(influence * sizes, axis=(1, 2))
    extreme = np.sign(influence) * sizes
    furthest = [assembled(case, found, each, elastic=False) for each in extreme]
    largest = np.abs(influence * sizes).sum(axis=(1, 2))
    wrenches = np.array([assembled(case, found, each, elastic=True) for each in errors])
    rms = np.sqrt(np.mean(wrenches**2, axis=0)).reshape(-1, 2, 3)
    seen = np.linalg.norm(rms, axis=2).ravel()
    loads = {load.joint: (load.force_std, load.moment_std) for load in found.loads}
    said = np.array([loads[name] for name in found.joints]).ravel()
    some = said > 1e-6 * said.max()
    return Comparison(
        gaps.std(axis=0) / predicted,
        seen[some] / said[some],
        np.abs(np.diag(furthest)) / largest,
        float((np.abs(gaps - linear) / predicted).max()),
    )


if __name__ == "__main__":
    for name, case in CASES.items():
        result = compare(case, int(sys.argv[1]) if len(sys.argv) > 1 else 10_000)
        print(name, "gaps", result.gaps.round(4), "forces", result.forces.round(4))
        print("    worst cases", result.worst, "largest difference of a loop, in σ", result.each)
