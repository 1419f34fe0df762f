"""The programs of a tree with closed loops: its acceleration and its step."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from regularize.dynamics.step.multibody import MultibodyTree
from regularize.dynamics.tape.changes import StateChanges, derivatives_of
from regularize.dynamics.tape.kinematics import PlacedLinks, TracedTree, require_known
from regularize.dynamics.tape.languages import PYTHON, Compiled, executed
from regularize.dynamics.tape.motion_equations import MotionEquations
from regularize.dynamics.tape.program import ON_NUMBERS, Number, Program, Recording, needed
from regularize.dynamics.tape.stepping import errors, row_rates, step
from regularize.dynamics.tape.vectors import Vector
from regularize.errors import UnsupportedExport
from regularize.lie.arrays import Array

#: Operations of a program beyond which compilers of straight-line code take minutes.
MOST = 30_000


@dataclass(frozen=True, eq=False, repr=False)
class Routine:
    """A program with the lengths of its arrays; results behind these are margins, all positive."""

    program: Program
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]


@dataclass(frozen=True, eq=False, repr=False)
class RobotPrograms:
    """The programs of a tree with closed loops, with springs and dampers in steps.

    ``sample`` is a closed configuration, velocity and joint forces, by which orders of elimination
    are chosen; ``joints`` are damping, stiffness and rest of springs of the velocities, (3, nv).
    Programs of more than the ``most`` numbers are refused.
    """

    tree: MultibodyTree
    sample: tuple[Array, Array, Array]
    joints: Array
    most: int | None = None

    def _given(self) -> tuple[TracedTree, list[Vector]]:
        """Begin a recording: return the tree's tables in it, and the inputs q, v and tau."""
        require_known(self.tree)
        recording = Recording(self.most)
        names = ("q", "v", "tau")
        inputs = [recording.variables(*x) for x in zip(names, self.sample, strict=True)]
        return TracedTree(recording, self.tree), inputs

    @cached_property
    def acceleration(self) -> Program:
        """Program from q, v and tau to the acceleration, and its margins behind it."""
        tables, (q, v, tau) = self._given()
        equations = MotionEquations(PlacedLinks(tables, q), v, tau)
        return Program((*q, *v, *tau), (*equations.a, *equations.margins()))

    @cached_property
    def dynamics(self) -> Program:
        """Program of the acceleration without margins, refused where compilers take minutes."""
        return written(self.acceleration).first(self.tree.nv)

    def routine(self, name: str) -> Routine:
        """Return the program of a kernel's entry; raise where it has none."""
        nq, nv, rows = self.tree.nq, self.tree.nv, self.tree.rows
        match name:
            case "forward_dynamics":
                return Routine(self.acceleration, (nq, nv, nv), (nv,))
            case "fixed_step":
                return self._step()
            case "decaying_dynamics":
                return Routine(self._decaying(), (nq, nv, nv, 2), (nv,))
            case "dynamics_derivatives":
                return Routine(self._derivatives(), (nq, nv, nv), (nv, *[nv * nv] * 3))
            case "decaying_derivatives":
                program = self._decaying(derivatives=True)
                return Routine(program, (nq, nv, nv, 2), (nv, *[nv * nv] * 3))
            case "residual" if rows:
                return Routine(self._residual, (nq,), (rows,))
            case "jacobian" if rows:
                return Routine(self._jacobian, (nq,), (rows * nv,))
        raise UnsupportedExport(f"no straight-line code of {name}")

    def _derivatives(self) -> Program:
        """Program from q, v and tau to the acceleration and its derivatives."""
        tables, (q, v, tau) = self._given()
        equations = MotionEquations(PlacedLinks(tables, q), v, tau)
        changes = derivatives_of(equations)
        return Program((*q, *v, *tau), (*equations.a, *changes, *equations.margins()))

    def _decaying(self, *, derivatives: bool = False) -> Program:
        """Program from q, v, tau and factors of the rows' rates and errors to the acceleration.

        Behind it are its derivatives where wanted.
        """
        tables, (q, v, tau) = self._given()
        factors, placed = tables.recording.variables("factor", (1.0, 1.0)), PlacedLinks(tables, q)
        margins: list[Number] = []
        rates = row_rates(placed, placed.rows_on_velocities(), v)
        pairs = zip(rates, errors(placed, margins), strict=True)
        wanted = [factors[0] * rate + factors[1] * error for rate, error in pairs]
        equations = MotionEquations(placed, v, tau, wanted)
        changes = derivatives_of(equations, factors) if derivatives else []
        results = (*equations.a, *changes, *margins, *equations.margins())
        return Program((*q, *v, *tau, *factors), results)

    @property
    def _residual(self) -> Program:
        """Program from q to the errors of the rows."""
        tables, (q, _, _) = self._given()
        margins: list[Number] = []
        return Program(tuple(q), (*errors(PlacedLinks(tables, q), margins), *margins))

    @property
    def _jacobian(self) -> Program:
        """Program from q to the rows on velocities, row by row."""
        tables, (q, _, _) = self._given()
        rows, columns = PlacedLinks(tables, q).rows_on_velocities(), range(self.tree.nv)
        return Program(tuple(q), tuple(row.get(j, tables.zero) for row in rows for j in columns))

    def _step(self) -> Routine:
        """Program from q, v, tau and h to the next q and v, the error left, and margins."""
        tables, (q, v, tau) = self._given()
        h = tables.recording.variable("h", 1e-3)
        after, margins = step(tables, q, v, self._with_joints(tables, q, v, tau), h)
        nq, nv = self.tree.nq, self.tree.nv
        program = Program((*q, *v, *tau, h), (*after, *margins))
        return Routine(program, (nq, nv, nv, 1), (nq, nv, 1))

    def _with_joints(self, tables: TracedTree, q: Vector, v: Vector, tau: Vector) -> Vector:
        """Return joint forces with those of dampers and springs."""
        damping, stiffness, rest = self.joints
        result: list[Number] = [f - u * float(d) for f, u, d in zip(tau, v, damping, strict=True)]
        for link in self.tree.links:
            k = stiffness[link.rate]
            if k and not link.follows:
                result[link.rate] = result[link.rate] - (
                    q[link.coordinate] - float(rest[link.rate])
                ) * float(k)
        return result


def changes_of(tree: MultibodyTree) -> Compiled:
    """Return a function of numbers q, v, a and multipliers to changes with the state.

    They are those of forces, of the rows' rates, (2 nv) wide, and of the rows' values, (nv) wide.
    """
    recording = Recording()
    lengths = {"q": tree.nq, "v": tree.nv, "a": tree.nv, "multiplier": tree.rows}
    given = [recording.variables(name, [math.nan] * n) for name, n in lengths.items()]
    tables, (q, *others) = TracedTree(recording, tree), given
    changes, nv, rows = StateChanges(PlacedLinks(tables, q), *others), tree.nv, range(tree.rows)
    forces, rates, values = changes.forces(), changes.rates(), changes.values()
    places = [(forces, i, j) for i in range(nv) for j in range(2 * nv)]
    places += [(rates, i, j) for i in rows for j in range(2 * nv)]
    places += [(values, i, j) for i in rows for j in range(nv)]
    results = [matrix.get((i, j), tables.zero) for matrix, i, j in places]
    lines = [*PYTHON.assignments(needed(results)), f"return ({PYTHON.listed(results)})"]
    names = ", ".join(str(x.data) for vector in given for x in vector)
    source = [f"def program({names}):", *(f"    {line}" for line in lines)]
    return executed(source, {**vars(math), **ON_NUMBERS})


def written(program: Program) -> Program:
    """Return a program that is written for a compiler; raise where that would take minutes."""
    if program.work > MOST:
        raise UnsupportedExport(
            f"straight-line code would have {program.work} operations, and compilers take minutes "
            f"for more than {MOST}: forward_dynamics(..., threads=) computes many states of such "
            "robots"
        )
    return program


def joints_of(laws: Array, closing: Array, tree: MultibodyTree) -> Array:
    """Return damping, stiffness and rest of springs, (3, nv), from laws; refuse others of these."""
    single = np.zeros(tree.nv, dtype=bool)
    for link in tree.links:
        single[link.rate] |= link.kind in ("revolute", "prismatic") and not link.follows
    if laws[2].any() or closing[:3].any() or laws[[1, 3]][:, ~single].any():
        raise UnsupportedExport("no straight-line code of friction, or of forces in such joints")
    return np.asarray(laws[[1, 3, 4]])
