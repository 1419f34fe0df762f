r"""Elastic bodies, and how a beam becomes a chain of rigid segments with springs between them.

Bodies of component modes are those of ``component_modes``.

The curvatures :math:`\kappa` of a beam that vibrates or bends solve an integral equation of the
second kind, :math:`EI\,\kappa(x) = \int G(x, s)\,\kappa(s)\,ds`, whose kernel is what inertia and
loads make of a bend at s. Its Nyström solution by the points :math:`x_i` and weights :math:`w_i` of
a quadrature is a chain of rigid segments of the true mass, hinged at the points with springs of
stiffness :math:`EI / w_i`: no parameter is fitted. The quadrature is the midpoint rule with
Gregory's corrections at both ends, exact to the third power of the width, and its springs are far
softer than those of Gauss's points, which crowd at the ends. Torsion, and of beams that are not
slender shear and stretch (Timoshenko), stand at every third point. Deflections may be large;
strains are small.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike

from regularize.errors import ModelError, NotTaken
from regularize.lie import screw
from regularize.lie.arrays import Array, Space
from regularize.mechanism.body import Beam, Body, Inertia, Modes
from regularize.mechanism.joint import Joint, JointDynamics
from regularize.mechanism.mechanism import Coupling, Mechanism, has_elastic

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
        """Return mass, places (p, 3), motions (p, 3, e) of points for what is not ``taken``."""
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
    """Read mass properties from a mass matrix; refuse one that no rigid body has."""
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

        along_end = np.hstack([modal.screws[:3], np.zeros((3, e - b))])
        add(f"{name} segment 2", terms[0][0], modal.screws, modal.distance, light, along_end)
        for k in range(b, e):
            slides = np.zeros((3, e))
            slides[0, k] = 1.0
            label, light_mass = terms[k][0], SMALL * min(mass, modal.mass[6 + k, 6 + k])
            add(label, label, np.eye(6)[:, :1], modal.inertia.center, light_mass, slides)
        stiff = [modal.stiffness[:b], *modal.stiffness[b:, None]]
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
    moved = [*mechanism.joints]
    if e and len(joints) == 2:
        side = "parent" if joints[1].parent == name else "child"
        at_end = replace(joints[1], **{side: f"{name} segment 2"})  # type: ignore[arg-type]
        moved[moved.index(joints[1])] = at_end
    return replace(
        mechanism,
        bodies=tuple(b for old in mechanism.bodies for b in (bodies if old is body else [old])),
        joints=(*moved, *springs),
        couplings=(*mechanism.couplings, *couplings),
    )


#: Points of a beam; the third frequency of a slender cantilever is right to 0.07 % by them.
POINTS = 12
#: By Cowper (1966) about 5/6 for rectangles, 9/10 for circles.
SHEAR = 5.0 / 6.0
#: Freedoms whose lowest frequency is higher are rigid: under their own weight they give 1e-9 m.
RIGID = 1e5
#: Squares of radius of gyration by length beyond which shear and stretch count.
THICK = {"shear": 2e-5, "stretch": 3e-4}


def segments(mechanism: Mechanism) -> Mechanism:
    """The mechanism with every elastic body as rigid ones with springs between them.

    A beam becomes a chain of segments. A body of modes keeps its name at its first end, its second
    is ``NAME segment 2`` behind the joint ``NAME spring 1``; modes that move neither are slides
    ``NAME spring 2`` and so on, and its mass stands in bodies ``NAME point 1`` and so on that
    follow them by couplings.

    The first segment has the name of the body, the others are ``NAME segment 2`` and so on, and
    ``NAME spring 1`` is the joint between the first two. The frames of all segments are that of
    the body where it is straight. A joint of the body moves to the segment that it stands on. A
    freedom whose lowest frequency lies beyond 1e5 rad/s is left out, and so are shear and stretch
    of beams that are slender enough.

    Args:
        mechanism: The mechanism.

    Raises:
        ModelError: The mass that a body states is not that of its beam or modes, or modes do not
            fit their body.
    """
    if not isinstance(mechanism, Mechanism):
        raise NotTaken(f"takes a Mechanism, as load makes one; got {type(mechanism).__name__!r}")
    for name in has_elastic(mechanism):
        body = mechanism.body(name)
        if isinstance(body.elastic, Modes):
            mechanism = with_modal_body(mechanism, body, RIGID)
        else:
            mechanism = _segmented(mechanism, body)
    return mechanism


def segment_at(mechanism: Mechanism, name: str, point: ArrayLike = (0, 0, 0)) -> str:
    """Name the segment on which a point of an elastic body's frame stands, or the rigid body."""
    body = mechanism.body(name)
    beam = body.elastic
    if isinstance(beam, Modes):
        modal = ModalBody.of(name, beam, RIGID)
        start = modal_ends(mechanism, body, modal.distance)[1]
        for end, label in ((start, name), (start + modal.distance, f"{name} segment 2")):
            if np.allclose(end, point, rtol=0, atol=1e-6):
                return label if len(modal.stiffness) else name
        raise ModelError(
            f"body {name!r} is given by modes, and moves at its ends alone: let what acts there "
            f"act at {start.tolist()} or {(start + modal.distance).tolist()}, body axes"
        )
    if beam is None or not _freedoms(beam)[1]:
        return name
    return _name(name, int(np.searchsorted(_points(beam)[0], np.asarray(point)[0])))


def spring_joints(mechanism: Mechanism) -> list[str]:
    """Name the joints that the springs of all elastic bodies become."""
    counts = {}
    for body in mechanism.bodies:
        if isinstance(body.elastic, Modes):
            modal = ModalBody.of(body.name, body.elastic, RIGID)
            counts[body.name] = 1 + len(modal.stiffness) - modal.screws.shape[1]
        elif body.elastic is not None and _freedoms(body.elastic)[1]:
            counts[body.name] = POINTS
    return [f"{name} spring {k + 1}" for name, count in counts.items() for k in range(count)]


Load = TypeVar("Load")


def loads_on_segments(mechanism: Mechanism, loads: Mapping[str, Load]) -> dict[str, Load]:
    """Move loads on elastic bodies to the segments where they act, one on each."""
    moved: dict[str, Load] = {}
    for name, load in loads.items():
        segment = segment_at(mechanism, name, getattr(load, "point", (0, 0, 0)))
        if segment in moved:
            raise ModelError(f"two loads act on {segment!r}; give them as one")
        moved[segment] = load
    return moved


def _name(body: str, k: int) -> str:
    return f"{body} segment {k + 1}" if k else body


def _points(beam: Beam) -> tuple[Array, Array]:
    """Return the places of springs along a beam and the length that each stands for, in metres."""
    weights, ends = np.ones(POINTS), np.array([2.0, -3.0, 1.0]) / 24
    weights[:3] += ends
    weights[-3:] += ends[::-1]
    return (np.arange(POINTS) + 0.5) * beam.length / POINTS, weights * beam.length / POINTS


def _freedoms(beam: Beam) -> tuple[Array, list[int]]:
    """Return stiffness times length of the six strains (v, ω), and which of them are elastic."""
    A, (Iy, Iz), L = beam.area, beam.moments, beam.length
    stiff = np.array([beam.E * A, *[SHEAR * beam.G * A] * 2, beam.G * (Iy + Iz), *beam.flexural])
    inertia = beam.density * np.array([A, A, A, Iy + Iz, A, A])
    lowest = np.pi / 2 / L * np.sqrt(stiff / inertia)
    lowest[4:] = 1.8751**2 / L**2 * np.sqrt(stiff[4:] / inertia[4:])
    thick = max(Iy, Iz) / A / L**2
    counts = [thick > THICK["stretch"], *[thick > THICK["shear"]] * 2, True, True, True]
    return stiff, [k for k in range(6) if counts[k] and lowest[k] < RIGID]


def _part(beam: Beam, start: float, end: float) -> Inertia:
    """Return the mass properties of the part of a beam between two places, in the body's frame."""
    mass = beam.density * beam.area * (end - start)
    Iy, Iz = (beam.density * I * (end - start) for I in beam.moments)  # noqa: E741
    slender = mass * (end - start) ** 2 / 12
    return Inertia(
        mass, np.array([(start + end) / 2, 0, 0]), np.diag([Iy + Iz, Iy + slender, Iz + slender])
    )


def _segmented(mechanism: Mechanism, body: Body) -> Mechanism:
    beam = body.elastic
    assert isinstance(beam, Beam)
    mass = beam.density * beam.area * beam.length
    if body.inertia is not None and abs(body.inertia.mass - mass) > 0.01 * mass:
        raise ModelError(
            f"body {body.name!r} has a mass of {body.inertia.mass:.6g} kg, and its beam of "
            f"{mass:.6g} kg; the beam's counts, so state that one or none"
        )
    stiff, kept = _freedoms(beam)
    if not kept:
        rigid = replace(body, elastic=None, inertia=_part(beam, 0.0, beam.length))
        return replace(mechanism, bodies=tuple(rigid if b is body else b for b in mechanism.bodies))
    at, weights = _points(beam)
    ends = [0.0, *at.tolist(), beam.length]
    names = [_name(body.name, k) for k in range(POINTS + 1)]
    parts = [
        replace(
            body,
            name=name,
            elastic=None,
            inertia=_part(beam, ends[k], ends[k + 1]),
            geometry=() if k else body.geometry,
        )
        for k, name in enumerate(names)
    ]
    joints = [_moved(joint, body.name, names, at) for joint in mechanism.joints]
    springs = []
    for k in range(POINTS):
        frame = screw.transform(None, [at[k], 0, 0])
        here = [c for c in kept if k % 3 == 1 or c > 3]
        width = np.where(np.array(here) > 3, weights[k], 3 * beam.length / POINTS)
        springs.append(
            Joint(
                f"{body.name} spring {k + 1}",
                names[k],
                names[k + 1],
                "composite" if here else "fixed",
                np.eye(6)[:, here],
                frame,
                frame,
                actuated=False,
                dynamics=JointDynamics(stiffness=stiff[here] / width, rest_position=0.0 * width),
            )
        )
    bodies = [b for old in mechanism.bodies for b in (parts if old is body else [old])]
    return replace(mechanism, bodies=tuple(bodies), joints=(*joints, *springs))


def _moved(joint: Joint, name: str, names: list[str], at: Array) -> Joint:
    """Move a joint of an elastic body to the segment where its frame is."""
    for end, frame in (("parent", joint.T_parent_joint), ("child", joint.T_child_joint)):
        if getattr(joint, end) == name:
            segment = names[int(np.searchsorted(at, frame[0, 3]))]
            joint = replace(joint, **{end: segment})  # type: ignore[arg-type]
    return joint
