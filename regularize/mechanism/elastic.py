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
from dataclasses import replace
from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike

from regularize.errors import ModelError, NotTaken
from regularize.lie import screw
from regularize.lie.arrays import Array
from regularize.mechanism.body import Beam, Body, Inertia, Modes
from regularize.mechanism.component_modes import ModalBody, modal_ends, with_modal_body
from regularize.mechanism.joint import Joint
from regularize.mechanism.joint_limits import JointDynamics
from regularize.mechanism.mechanism import Mechanism

#: Points of a beam; the third frequency of a slender cantilever is right to 0.07 % by them.
POINTS = 12
#: By Cowper (1966) about 5/6 for rectangles, 9/10 for circles.
SHEAR = 5.0 / 6.0
#: Freedoms whose lowest frequency is higher are rigid: under their own weight they give 1e-9 m.
RIGID = 1e5
#: Squares of radius of gyration by length beyond which shear and stretch count.
THICK = {"shear": 2e-5, "stretch": 3e-4}


def has_elastic(mechanism: Mechanism) -> list[str]:
    """Name the bodies that are elastic."""
    return [body.name for body in mechanism.bodies if body.elastic is not None]


def refuse_elastic(mechanism: Mechanism) -> None:
    """Raise ``ModelError`` where some body is elastic."""
    if names := has_elastic(mechanism):
        raise ModelError(
            f"body {names[0]!r} is elastic, and would be taken for rigid here: pass "
            "rg.segments(model), rigid bodies with springs; check, simulate, reduced_model "
            "and metamodel make it themselves"
        )


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
    """Return where springs stand along a beam, and how much of its length is theirs, in metres."""
    weights, ends = np.ones(POINTS), np.array([2.0, -3.0, 1.0]) / 24
    weights[:3] += ends
    weights[-3:] += ends[::-1]
    return (np.arange(POINTS) + 0.5) * beam.length / POINTS, weights * beam.length / POINTS


def _freedoms(beam: Beam) -> tuple[Array, list[int]]:
    """Return stiffness times length of the six strains (v, ω), and which of them give."""
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
        every = k % 3 == 1
        here = [c for c in kept if every or c > 3]
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
