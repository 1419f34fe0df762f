r"""Time derivatives of a recorded solution, recorded in the same program.

An angle found from A cos x + B sin x + C = 0 turns at the rate that keeps the equation:

.. math:: \dot x = -(\dot A \cos x + \dot B \sin x + \dot C) / (B \cos x - A \sin x)

so no further branch has to be chosen. Deriving the derivatives gives accelerations.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

import numpy as np

from regularize.assembly_modes.closed_form import equations, vectors
from regularize.assembly_modes.closed_form.plan import Plan
from regularize.assembly_modes.closed_form.tape import Operation, Scalar
from regularize.assembly_modes.closed_form.vectors import Matrix, Vector
from regularize.model.graph import Edge, Graph

#: Denominators below this fraction of their terms are zero but for rounding.
ROUNDING = 1e-6


class Derivative:
    """Rates of the quantities of a plan.

    Args:
        plan: The solution.
        graph: The mechanism's graph.
        inputs: Columns of the inputs, in the order in which the program takes them.
    """

    def __init__(self, plan: Plan, graph: Graph, inputs: Sequence[int]) -> None:
        """Enter the rates of the inputs and their rates as further inputs of the program."""
        self.plan, self.graph, self.tape = plan, graph, plan.tape
        self._rates: dict[int, Scalar] = {}
        first = [self.tape.input() for _ in inputs]
        second = [self.tape.input() for _ in inputs]
        self._first = dict(zip(inputs, first, strict=True))
        self._second = dict(zip(inputs, second, strict=True))
        coordinates = plan.known.coordinates
        for column, rate, acceleration in zip(inputs, first, second, strict=True):
            self._rates[coordinates[column].index] = rate
            self._rates[rate.index] = acceleration
        for edge in graph.edges:
            if edge.group and edge.columns[0] in self._first:
                self._enter_group(edge)

    def velocities(self, columns: Sequence[int]) -> list[Scalar]:
        """Joint velocities; of spherical and free joints twists in the moving frame."""
        # Random inputs on branches that always coincide with others have no rates.
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            return [self._velocity(column) for column in columns]

    def accelerations(self, columns: Sequence[int]) -> list[Scalar]:
        """Their rates."""
        velocities = self.velocities(columns)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            return [self.rate(velocity) for velocity in velocities]

    def rate(self, x: Scalar) -> Scalar:
        """Time derivative of a quantity."""
        for index in self.tape.needed([x]):
            if index not in self._rates:
                operation = self.tape.operations[index]
                if operation.name not in ("circle", "quadratic", "unit", "across", "exponential"):
                    self._rates[index] = self._of(index)
        return self._rates[x.index]

    def _velocity(self, column: int) -> Scalar:
        if column in self._first:
            return self._first[column]
        if self.plan.known.coordinates[column].constant is not None:
            return self.tape.scalar(0.0)
        edge = next(e for e in self.graph.edges if column in e.columns)
        if not edge.group:
            return self.rate(self.plan.known.coordinates[column])
        # The twist in the moving frame of a rotation is R^T dR/dt.
        R = self.plan.known.groups[edge.columns[0]].rotation
        assert R is not None
        x, y, z = vectors.columns(R)
        k = edge.columns.index(column)
        a, b = ((y, z), (z, x), (x, y))[k]
        rate = (self.rate(a[0]), self.rate(a[1]), self.rate(a[2]))
        return vectors.dot(b, rate)

    def _of(self, index: int) -> Scalar:
        """Rate of one operation, those of its arguments being known."""
        tape, operation = self.tape, self.tape.operations[index]
        x = [Scalar(tape, a) for a in operation.arguments]
        own = Scalar(tape, index)
        name = operation.name
        if name == "item":
            return self._of_item(x[0].index, int(operation.data))
        d = [self._rates.get(a, tape.scalar(0.0)) for a in operation.arguments]
        if name == "add":
            return d[0] + d[1]
        if name == "subtract":
            return d[0] - d[1]
        if name == "negative":
            return -d[0]
        if name == "multiply":
            return d[0] * x[1] + x[0] * d[1]
        if name == "divide":
            return (d[0] - own * d[1]) / x[1]
        if name == "sin":
            return d[0] * tape.cosine_sine(x[0])[0]
        if name == "cos":
            return -(d[0] * tape.cosine_sine(x[0])[1])
        if name in ("angle", "angle_from"):
            s, c = x
            return c * d[0] - s * d[1]
        return tape.scalar(0.0)

    def _of_item(self, index: int, k: int) -> Scalar:
        """Rate of one result of an operation with several."""
        tape, operation = self.tape, self.tape.operations[index]
        x = [Scalar(tape, a) for a in operation.arguments]
        d = [self._rates[a] for a in operation.arguments]
        if operation.name == "circle":
            c, s, _ = equations.circle(tape, x[0], x[1], x[2], x[3], operation.data)
            if k == 2:
                return (x[0] * d[0] + x[1] * d[1] - x[2] * d[2]) * 2.0
            turning = self._quotient(-(d[0] * c + d[1] * s + d[2]), x[1] * c - x[0] * s, x[:3])
            return -(s * turning) if k == 0 else c * turning
        if operation.name == "quadratic":
            shift, _ = equations.quadratic(tape, x[0], x[1], x[2], x[3], operation.data)
            if k == 1:
                return x[1] * d[1] * 2.0 - d[0] * x[2] - x[0] * d[2]
            change = (d[0] * shift + d[1] * 2.0) * shift + d[2]
            terms = [x[0] * shift, x[1]]
            return self._quotient(-change, (terms[0] + terms[1]) * 2.0, terms)
        if operation.name == "across":
            n = equations.across(tape, x[:3], x[3:])
            m, rate = (x[0], x[1], x[2]), (d[0], d[1], d[2])
            return (d[k] - n[k] * vectors.dot(n, rate)) / vectors.dot(n, m)
        if operation.name == "unit":
            # Asked for again, for a result that equals an earlier quantity was not entered anew.
            found, i = self._item(index)
            size = x[found].probe / Scalar(tape, i).probe
            c, s = equations.unit(tape, x[0], x[1], size, operation.data)
            turning = (c * d[1] - s * d[0]) / (c * x[0] + s * x[1])
            return -(s * turning) if k == 0 else c * turning
        return tape.scalar(0.0)

    def _quotient(self, a: Scalar, b: Scalar, terms: Sequence[Scalar]) -> Scalar:
        """The quotient a / b, unknown at the random inputs where b is rounding.

        Quotients of rounding errors are of any size and would make others look like rounding.

        Args:
            a: Numerator.
            b: Denominator.
            terms: What it is computed from.
        """
        size = reduce(np.maximum, [np.abs(term.probe) for term in terms])
        vanishing = ~(np.abs(b.probe) > ROUNDING * size)
        if not vanishing.any():
            return a / b
        probe = np.where(vanishing, np.nan, a.probe / b.probe)
        return self.tape.enter(Operation("divide", (a.index, b.index)), probe)

    def _item(self, index: int) -> tuple[int, int]:
        """Which result of an operation with several is on the tape, and where."""
        for i, operation in enumerate(self.tape.operations):
            if operation.name == "item" and operation.arguments == (index,):
                return int(operation.data), i
        raise ValueError(f"no result of operation {index} is on the tape")

    def _enter_group(self, edge: Edge) -> None:
        """Rates of the motion of a group joint whose coordinates are inputs."""
        motion = self.plan.known.groups[edge.columns[0]]
        assert motion.rotation is not None
        zero = self.tape.scalar(0.0)

        def twist(rates: dict[int, Scalar]) -> tuple[Vector, Vector]:
            parts = [
                sum((rates[c] * float(row[k]) for k, c in enumerate(edge.columns)), zero)
                for row in edge.screws
            ]
            return (parts[0], parts[1], parts[2]), (parts[3], parts[4], parts[5])

        v, w = twist(self._first)
        R = motion.rotation
        rate = self._spun(R, w)
        moving = vectors.apply(R, v)
        self._set(R, rate)
        self._set_vector(motion.translation, moving)

    def _spun(self, R: Matrix, w: Vector) -> Matrix:
        """R times the cross-product matrix of w."""
        rows = [vectors.cross(row, w) for row in R]
        return rows[0], rows[1], rows[2]

    def _set(self, R: Matrix, rate: Matrix) -> None:
        for row, change in zip(R, rate, strict=True):
            self._set_vector(row, change)

    def _set_vector(self, x: Vector, rate: Vector) -> None:
        for a, b in zip(x, rate, strict=True):
            if a.constant is None:
                self._rates[a.index] = b
