"""The programs of a robot: its acceleration and its step."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from regularize.errors import UnsupportedExport
from regularize.lie.screw import Array
from regularize.step.multibody import MultibodyTree
from regularize.tape.c_code import GeneratedC
from regularize.tape.graph import Number, Recording, StraightLine
from regularize.tape.motion_equations import Accelerated
from regularize.tape.statement import PlacedLinks, TracedTree, require_known
from regularize.tape.stepping import step
from regularize.tape.vectors import Vector

#: Operations of a program beyond which compilers of straight-line code take minutes.
MOST = 30_000


@dataclass(frozen=True, eq=False, repr=False)
class RobotPrograms:
    """RobotPrograms of a tree with closed loops.

    Attributes:
        tree: The tree.
        sample: A closed configuration, velocity and joint forces, as good as any, by which orders
            of elimination are chosen.
        joints: Damping, stiffness and rest of springs of the velocities in steps, shape (3, nv).
    """

    tree: MultibodyTree
    sample: tuple[Array, Array, Array]
    joints: Array

    def _given(self) -> tuple[TracedTree, list[Vector]]:
        require_known(self.tree)
        recording = Recording()
        return TracedTree(recording, self.tree), [recording.inputs(x) for x in self.sample]

    @cached_property
    def acceleration(self) -> StraightLine:
        """From q, v and tau the acceleration, shape (nv,), and two margins behind it.

        Raises:
            UnsupportedExport: Its equations have no factors by one order, or there are too many
                operations.
        """
        of, (q, v, tau) = self._given()
        found = Accelerated(PlacedLinks(of, q), v, tau)
        return _checked(of.tape.program([*found.a, *found.margins()]))

    @cached_property
    def dynamics(self) -> StraightLine:
        """The same without margins."""
        return self.acceleration.first(self.tree.nv)

    @cached_property
    def step(self) -> StraightLine:
        """From q, v, tau and h the next q and v, the error left, and margins; errors as above."""
        of, (q, v, tau) = self._given()
        (h,) = of.tape.inputs([1e-3])
        found = step(of, q, v, self._with_joints(of, q, v, tau), h)
        return _checked(of.tape.program([*found.q, *found.v, found.residual, *found.margins]))

    def _with_joints(self, of: TracedTree, q: Vector, v: Vector, tau: Vector) -> Vector:
        """Joint forces with those of damping and springs."""
        damping, stiffness, rest = self.joints
        result: list[Number] = [f - u * float(d) for f, u, d in zip(tau, v, damping, strict=True)]
        for link in self.tree.links:
            k = stiffness[link.rate]
            if k and not link.follows:
                result[link.rate] = result[link.rate] - (
                    q[link.coordinate] - float(rest[link.rate])
                ) * float(k)
        return result

    def c_code(self, name: str, *, steps: bool) -> GeneratedC:
        """C code of the acceleration, and of steps where there is such code and it is wanted."""
        made = None
        if steps:
            try:
                made = self.step
            except UnsupportedExport:
                made = None
        return GeneratedC(name, self.tree.nq, self.tree.nv, self.acceleration, made)


def _checked(program: StraightLine) -> StraightLine:
    if program.work > MOST:
        raise UnsupportedExport(
            f"straight-line code would have {program.work} operations, and compilers take minutes "
            f"for more than {MOST}: forward_dynamics(..., threads=) computes many states of such "
            "robots"
        )
    return program


def joints_of(laws: Array, closing: Array, tree: MultibodyTree) -> Array:
    """Damping, stiffness and rest of springs of the velocities, shape (3, nv).

    Args:
        laws: What acts within the joints, as ``joint_laws.within_joints`` has it, shape (7, nv).
        closing: The same of joints that close loops, shape (4, f).
        tree: The tree.

    Raises:
        UnsupportedExport: Dry friction acts, something in a joint that closes a loop, or in one
            whose coordinates are no single numbers.
    """
    single = np.zeros(tree.nv, dtype=bool)
    for link in tree.links:
        single[link.rate] |= link.kind in ("revolute", "prismatic") and not link.follows
    if laws[2].any() or closing[:3].any() or laws[[1, 3]][:, ~single].any():
        raise UnsupportedExport("no straight-line code of friction, or of forces in such joints")
    return np.asarray(laws[[1, 3, 4]])
