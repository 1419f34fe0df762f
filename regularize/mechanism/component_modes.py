r"""A body given by component modes (Craig and Bampton 1968) as bodies that move as its modes say.

The six motions without stiffness are those of the rigid body; measured at its first end they move
a body there. The other coordinates leave that end where it is: those that move the second end
become one joint with springs in between, and those that move neither end a slide with a spring
each. Their inertia is that of equal points of mass, whose places have the moments of the rigid
body and whose motions are linear in the elastic coordinates, so that mass and stiffness are those
given, to the last digit. Of the integrals over the body that mass and shapes do not tell, which
matter where it turns fast, those of a slender body are taken.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from regularize.errors import ModelError
from regularize.lie import screw
from regularize.lie.arrays import Array, Space
from regularize.mechanism.body import Body, Inertia, Modes
from regularize.mechanism.joint import Joint
from regularize.mechanism.joint_limits import JointDynamics
from regularize.mechanism.mechanism import Coupling, Mechanism

#: Part of the mass that stands at the second end and on the slides, where none may be missing.
SMALL = 1e-4
#: Relative size of what has to vanish, and of what counts as nothing.
EXACT, NOTHING = 1e-5, 1e-9
#: Most points of mass; 12 conditions and one for each elastic coordinate take a third as many.
POINTS = 30


@dataclass(frozen=True, eq=False)
class ModalBody:
    """Modes in the coordinates of the bodies that stand for them."""

    distance: Array  # from the first end to the second, body axes, m
    screws: Space  # unit motions of the second end by b elastic coordinates
    stiffness: Array  # of these and of the inner coordinates, (e,)
    inertia: Inertia  # of the rigid body, about the first end
    mass: Array  # of the rigid body's six and the elastic coordinates, (6 + e, 6 + e)

    @classmethod
    def of(cls, name: str, modes: Modes, stiffest: float) -> ModalBody:
        """Split modes into rigid and elastic ones; those beyond ``stiffest`` (rad/s) are rigid."""
        M, K, (first, second) = modes.mass, modes.stiffness, modes.shapes
        try:
            vectors, squares = _modes(M, K)
        except np.linalg.LinAlgError:
            raise ModelError(f"body {name!r}: the mass of its modes is not positive") from None
        free = vectors[:, :6]
        if len(squares) < 7 or np.abs(squares[:6]).max() > EXACT * squares[6]:
            raise ModelError(
                f"body {name!r}: six of its modes have no stiffness, the motions of the rigid "
                "body; keep all six coordinates of both ends when it is condensed"
            )
        at_first = first @ free
        if np.linalg.cond(at_first) > 1e9:
            raise ModelError(f"body {name!r}: rigid motions leave its first end where it is")
        free = free @ np.linalg.inv(at_first)
        carried = second @ free
        distance = np.array([carried[1, 5], carried[2, 3], carried[0, 4]])
        rigid = np.block(
            [[np.eye(3), -screw.cross_matrix(distance)], [np.zeros((3, 3)), np.eye(3)]]
        )
        if np.abs(carried - rigid).max() > EXACT * (1.0 + np.abs(distance).max()):
            raise ModelError(
                f"body {name!r}: shapes say that rigid motions bend it; they are (v, ω) of both "
                "ends in body axes"
            )
        elastic = _null(first)
        K_e = elastic.T @ K @ elastic
        ends = second @ elastic
        length = np.diag([1.0] * 3 + [float(np.linalg.norm(distance)) or 1.0] * 3)
        gives = length @ ends @ np.linalg.solve(K_e, ends.T @ length)
        values, axes = np.linalg.eigh(gives)
        kept = values > NOTHING * values[-1]
        moves = np.linalg.solve(K_e, ends.T @ length @ axes[:, kept]) / values[kept]
        parts = []
        for part in (elastic @ moves, elastic @ _null(ends)):
            vectors, squares = _modes(part.T @ M @ part, part.T @ K @ part)
            parts.append(part @ vectors[:, squares < stiffest**2])
        screws = second @ parts[0]
        size = np.linalg.norm(screws[3:], axis=0)
        turns = size * length[5, 5] > NOTHING * np.linalg.norm(screws[:3], axis=0)
        parts[0] = parts[0] / np.where(turns, size, np.linalg.norm(screws[:3], axis=0))
        basis = np.hstack([free, *parts])
        mass = basis.T @ M @ basis
        return cls(
            distance,
            second @ parts[0] * np.where(turns, 1.0, [[1.0]] * 3 + [[0.0]] * 3),
            np.array([c @ K @ c for c in np.hstack(parts).T]),
            _rigid(name, mass[:6, :6]),
            mass,
        )

    def points(self, taken: Array) -> tuple[float, Array, Array]:
        """Find equal points of mass that make up for what is not taken of the mass matrix.

        Returned are the mass of a point, places about the first end (p, 3), and motions by the
        elastic coordinates (p, 3, e).
        """
        remaining = self.mass - taken
        rigid, count = _rigid("", remaining[:6, :6]), len(remaining) - 6
        second = np.trace(rigid.matrix) / 2 * np.eye(3) - rigid.matrix
        moments, axes = np.linalg.eigh(second)
        root = axes * np.sqrt(np.maximum(moments, 0.0)) @ axes.T
        coupling, elastic = remaining[:6, 6:], remaining[6:, 6:]
        like_rigid = np.linalg.pinv(remaining[:6, :6], NOTHING, hermitian=True) @ coupling
        values, vectors = np.linalg.eigh(elastic - coupling.T @ like_rigid)
        modes = (np.sqrt(np.maximum(values, 0.0)) * vectors).T
        for p in range(4, POINTS):
            waves = np.cos(np.pi * np.outer(np.arange(1, 4), np.arange(p) + 0.5) / p)
            spread = np.sqrt(2.0 / p) * waves * np.sqrt(p / rigid.mass)
            places = rigid.center + (root @ spread).T
            moved = np.vstack([np.hstack([np.eye(3), -screw.cross_matrix(r)]) for r in places])
            affine = np.vstack([np.kron(np.eye(3), [1.0, *r]) for r in places])
            apart = _null(affine.T)
            if apart.shape[1] >= count:
                motions = moved @ like_rigid
                motions = motions + np.sqrt(p / rigid.mass) * apart[:, :count] @ modes
                return rigid.mass / p, places, motions.reshape(p, 3, count)
        raise ModelError(f"{count} elastic coordinates are too many; keep fewer modes")


def _modes(M: Array, K: Array) -> tuple[Array, Array]:
    """Return vectors of unit mass as columns, and squares of their frequencies, lowest first."""
    root = np.linalg.inv(np.linalg.cholesky((M + M.T) / 2)).T
    squares, vectors = np.linalg.eigh(root.T @ (K + K.T) @ root / 2)
    return root @ vectors, squares


def _null(rows: Array) -> Array:
    """Return an orthonormal basis of the null space of rows."""
    _, s, vt = np.linalg.svd(rows)
    return np.asarray(vt[int(np.sum(s > NOTHING * max(s.max(initial=0.0), 1e-300))) :].T)


def _rigid(name: str, mass: Array) -> Inertia:
    """Read mass properties from a mass matrix about the origin; refuse what no rigid body has."""
    m = float(np.trace(mass[:3, :3]) / 3)
    moment = (mass[3:, :3] - mass[:3, 3:]) / (2 * m)
    center = np.array([moment[2, 1], moment[0, 2], moment[1, 0]])
    cross = screw.cross_matrix(center)
    inertia = Inertia(m, center, mass[3:, 3:] + m * cross @ cross)
    if np.abs(inertia.spatial - mass).max() > EXACT * np.abs(mass).max():
        raise ModelError(f"body {name!r}: the mass of its rigid modes is that of no rigid body")
    return inertia


def modal_ends(mechanism: Mechanism, body: Body, distance: Array) -> tuple[list[Joint], Array]:
    """Return the joints at the first and second end, and the place of the first in the body."""
    joints = [j for j in mechanism.joints if body.name in (j.parent, j.child)]
    places = [
        (j.T_parent_joint if j.parent == body.name else j.T_child_joint)[:3, 3] for j in joints
    ]
    if len(joints) == 1:
        return joints, places[0]
    if len(joints) == 2:
        for one, two in ((0, 1), (1, 0)):
            if np.allclose(places[two] - places[one], distance, rtol=0, atol=1e-6 + EXACT):
                return [joints[one], joints[two]], places[one]
    apart = np.round(distance, 6).tolist()
    raise ModelError(
        f"body {body.name!r}: its modes have two ends, {apart} m apart in body axes, and its "
        f"joints {', '.join(repr(j.name) for j in joints)} do not stand there"
    )


def with_modal_body(mechanism: Mechanism, body: Body, stiffest: float) -> Mechanism:
    """Replace a body of modes by ends, slides and points of mass; see ``segments``."""
    assert isinstance(body.elastic, Modes)
    modal = ModalBody.of(body.name, body.elastic, stiffest)
    mass, name = modal.inertia.mass, body.name
    if body.inertia is not None and abs(body.inertia.mass - mass) > 0.01 * mass:
        raise ModelError(
            f"body {name!r} has a mass of {body.inertia.mass:.6g} kg, and its modes of "
            f"{mass:.6g} kg; the modes' counts, so state that one or none"
        )
    joints, start = modal_ends(mechanism, body, modal.distance)
    here = screw.transform(None, start)
    rigid = replace(body, elastic=None, inertia=modal.inertia.transformed(here))
    bodies, springs, couplings = [rigid], list[Joint](), list[Coupling]()
    b, e = modal.screws.shape[1], len(modal.stiffness)
    if e:
        terms = [(f"{name} spring 1", k, 1.0) for k in range(b)]
        terms += [(f"{name} spring {2 + k}", 0, 1.0) for k in range(e - b)]
        light = SMALL * mass
        bodies[0] = replace(rigid, inertia=Inertia(light, start, np.zeros((3, 3))))
        taken = np.zeros_like(modal.mass)
        taken[:3, :3] = light * np.eye(3)

        def add(label: str, joint: str, screws: Array, at: Array, m: float, along: Array) -> None:
            """Add a point of mass on a joint of its own, and count what it takes of the mass."""
            frame = screw.transform(None, start + at)
            zero = np.zeros((3, 3))
            bodies.append(Body(label, Inertia(m, start + at, zero)))
            rates = np.hstack([np.eye(3), -screw.cross_matrix(at), along])
            taken[...] += m * rates.T @ rates
            kind = "composite" if screws.shape[1] else "fixed"
            springs.append(Joint(joint, name, label, kind, screws, frame, frame, actuated=False))

        none = np.zeros((3, e))
        at_end = none + 0.0
        at_end[:, :b] = modal.screws[:3]
        add(f"{name} segment 2", terms[0][0], modal.screws, modal.distance, light, at_end)
        for k in range(b, e):
            slides = none + 0.0
            slides[0, k] = 1.0
            label, light_mass = terms[k][0], SMALL * min(mass, modal.mass[6 + k, 6 + k])
            add(label, label, np.eye(6)[:, :1], modal.inertia.center, light_mass, slides)
        held = iter(np.split(modal.stiffness, [b]))
        stiff = [next(held), *next(held)[:, None]]
        springs = [
            replace(joint, dynamics=JointDynamics(stiffness=k, rest_position=0.0 * k))
            if len(k)
            else joint
            for joint, k in zip(springs, stiff, strict=True)
        ]
        m, places, motions = modal.points(np.array(taken))
        for j, (at, along) in enumerate(zip(places, motions, strict=True)):
            axes, size, _ = np.linalg.svd(along, full_matrices=False)
            axes = axes[:, size > NOTHING * np.abs(motions).max()]
            label = f"{name} point {j + 1}"
            add(label, label, np.vstack([axes, 0 * axes]), at, m, along)
            for c, row in enumerate(axes.T @ along):
                follows = [
                    (joint, k, -float(value))
                    for (joint, k, _), value in zip(terms, row, strict=True)
                    if abs(value) > NOTHING * np.abs(motions).max()
                ]
                couplings.append(Coupling(f"{label}[{c}]", "gear", ((label, c, 1.0), *follows)))
    moved = []
    for joint in mechanism.joints:
        if e and len(joints) == 2 and joint is joints[1]:
            side = "parent" if joint.parent == name else "child"
            joint = replace(joint, **{side: f"{name} segment 2"})  # type: ignore[arg-type]
        moved.append(joint)
    return replace(
        mechanism,
        bodies=tuple(b for old in mechanism.bodies for b in (bodies if old is body else [old])),
        joints=(*moved, *springs),
        couplings=(*mechanism.couplings, *couplings),
    )
