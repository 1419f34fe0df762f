"""From a mechanism to its reduced constraints, with the mobility and the certificate.

The order of events: close what was saved open, take the rank at generic configurations, close the
loops in the order that keeps the fewest rows, check the result by walking on the kept rows alone.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from regularize.errors import ModelError
from regularize.lie.arrays import Array
from regularize.loops.assembly import Assembly, assemble, with_coordinates
from regularize.loops.finite import EVIDENCE, Evidence
from regularize.loops.kinematics import LoopKinematics, State
from regularize.mechanism.cycles import Cycle
from regularize.mechanism.graph import EdgeId, Graph
from regularize.mechanism.graph_building import as_graph
from regularize.mechanism.joint import Joint
from regularize.mechanism.mechanism import Mechanism, Model, shortened
from regularize.mechanism.named_columns import table_html
from regularize.reduction.block import Block
from regularize.reduction.context import Context, Progress, forward, prescribed_cuts, uncoupled_cuts
from regularize.reduction.coupled import CONFIGURATIONS, Certificate, reduce_cell
from regularize.reduction.cuts import Cut, ReducedLoops
from regularize.reduction.mobility import CellMobility
from regularize.tolerances import RTOL, Tolerances
from regularize.validation import (
    ARRAY,
    FLAG,
    NAMES,
    POSITIVE,
    TEXT,
    WHOLE,
    numbers,
    place_of,
    relative,
    validated,
)

if TYPE_CHECKING:
    from regularize.reduction.numerical import Numerical
    from regularize.reduction.virtual_joints import VirtualJointConstraint

__all__ = ["CONFIGURATIONS", "Block", "Certificate", "Reduction", "reduce"]


@dataclass(frozen=True, eq=False)
class Reduction:
    """Reduced loop constraints of a mechanism.

    Attributes:
        graph: The mechanism's graph.
        assembly: The configuration at which everything was derived.
        cells: Mobility of each coupled component of loops.
        parts: Reduced constraints of each biconnected block.
        certificate: What following the kept rows alone found.
        rtol: Tolerance that was asked for.
        seed: Seed of all random choices.
        numerical: Whether rows were removed on numerical evidence as well.
        plain: Whether no other option than the seed was given.
    """

    graph: Graph
    assembly: Assembly
    cells: tuple[CellMobility, ...]
    parts: tuple[Block, ...]
    certificate: Certificate
    rtol: float
    seed: int
    numerical: bool
    plain: bool

    def __repr__(self) -> str:
        """The reduction in one line."""
        return (
            f"<Reduction of {shortened(self.mechanism.name)!r}: {self.constraints} equations, "
            f"{self.kept} kept, {self.redundant} redundant, mobility {self.mobility}>"
        )

    def _repr_html_(self) -> str:
        """A small table for notebooks."""
        counts = {"kept": self.kept, "redundant": self.redundant, "mobility": self.mobility}
        return table_html(f"Reduction of {shortened(self.mechanism.name)}", counts)

    @property
    def mechanism(self) -> Mechanism:
        """The mechanism that was reduced."""
        return self.graph.mechanism

    @property
    def q(self) -> Array:
        """Assembled reference coordinates, shape (n,)."""
        return self.assembly.q

    @cached_property
    def tolerances(self) -> Tolerances:
        """What counts as closed and as dependent, in the component that is the least exact."""
        exact = Tolerances.of(self.rtol)
        return max((cell.tolerances for cell in self.cells), key=lambda t: t.closed, default=exact)

    @cached_property
    def cuts(self) -> tuple[Cut, ...]:
        """All cuts, by edge."""
        return tuple(sorted((c for p in self.parts for c in p.cuts), key=lambda c: c.edge.index))

    def parts_of(self, cell: CellMobility) -> list[Block]:
        """Return the blocks of a coupled component."""
        if not isinstance(cell, CellMobility) or self.cell_at.get(cell.edges[0]) is not cell:
            place_of(cell, self.cells)  # says that it is none of them
        return [part for part in self.parts if self.cell_at[part.edges[0]] is cell]

    def cycles(self, cell: CellMobility) -> list[Cycle]:
        """Return short independent loops of a coupled component."""
        return [cycle for part in self.parts_of(cell) for cycle in part.cycles]

    @cached_property
    def tree(self) -> frozenset[EdgeId]:
        """Edges of the spanning tree that remains when the cuts are open."""
        return frozenset(self.graph.every_edge).difference(c.edge.index for c in self.cuts)

    @property
    def held(self) -> tuple[VirtualJointConstraint, ...]:
        """Bodies that rows of their own hold in a group."""
        return tuple(held for part in self.parts for held in part.held)

    @cached_property
    def coupled(self) -> Graph:
        """The graph with the rows that hold bodies in groups among its couplings."""
        return self.graph.coupled_by([row for part in self.parts for row in part.rows])

    @cached_property
    def by_cuts(self) -> Reduction:
        """The reduction with rows of cuts alone: what it needs where nothing else can be held."""
        parts = tuple(part.alone or part for part in self.parts)
        return replace(self, parts=parts) if self.held else self

    @cached_property
    def loops(self) -> LoopKinematics:
        """Kinematics of the whole mechanism, cut at the cuts, in metres."""
        return LoopKinematics(self.graph, self.graph.every_edge, self.tree)

    @cached_property
    def reference(self) -> State:
        """State at the assembled configuration, world frame."""
        return self.loops.state(self.q)

    @validated(configurations=ARRAY)
    def condition(self, configurations: Array | None = None) -> Array:
        """Condition number of the kept rows, to monitor a numerical reduction; shape (N,).

        Args:
            configurations: Joint coordinates, shape (N, n); by default the assembled ones.
        """
        q = np.atleast_2d(self.q if configurations is None else numbers(configurations))
        if q.ndim != 2 or q.shape[1] != len(self.q):
            raise ModelError(f"configurations have shape {q.shape}; pass (N, {len(self.q)})")
        worst = np.ones(len(q))
        cut_at = {cut.edge.index: cut for cut in self.cuts}
        for cell in self.cells:
            tree = [e for e in cell.edges if e not in cut_at]
            loops = LoopKinematics(self.coupled, cell.edges, tree)
            rows = ReducedLoops(loops, [cut_at[chord] for chord in loops.chords])
            jacobian = rows.residual_jacobian(loops.state(q[:, loops.columns])) * loops.units
            if jacobian.shape[1]:
                s = np.linalg.svd(jacobian, compute_uv=False)
                smallest = s[:, -1] if jacobian.shape[1] <= jacobian.shape[2] else 0.0 * s[:, 0]
                with np.errstate(divide="ignore"):
                    worst = np.maximum(worst, s[:, 0] / smallest)
        return worst

    @property
    def constraints(self) -> int:
        """Constraint rows at the cuts, and those that mates state more than once."""
        return sum(cut.constraints for cut in self.cuts) + self.repeated

    @property
    def kept(self) -> int:
        """Rows kept, with those that hold bodies in groups."""
        return sum(part.kept for part in self.parts)

    @property
    def removed(self) -> int:
        """Rows removed."""
        return self.constraints - self.kept

    @property
    def freedoms(self) -> int:
        """Sum of all joint freedoms."""
        return self.graph.freedoms

    @property
    def equations(self) -> int:
        """Six per loop, one per coupling, and those that mates state more than once."""
        return 6 * self.graph.loops + len(self.graph.couplings) + self.repeated

    @property
    def repeated(self) -> int:
        """Rows that mates of one joint state more than once, outside of all loops."""
        return sum(joint.repeated for joint in self.mechanism.joints)

    @property
    def rank(self) -> int:
        """Rank of all closure equations and couplings at generic configurations."""
        return sum(cell.generic.rank for cell in self.cells)

    @cached_property
    def idle_joints(self) -> tuple[Joint, ...]:
        """Joints within loops whose bodies fixed joints hold together without them."""
        places = self.graph.node_of
        joints = dict.fromkeys(edge.joint for edge in self.graph.edges)
        return tuple(j for j in joints if places[j.parent] == places[j.child])

    @property
    def idle_rows(self) -> int:
        """Redundant rows that no other kind of joint takes away, only leaving joints out does."""
        return self.repeated + sum(6 - joint.freedoms for joint in self.idle_joints)

    @property
    def curable(self) -> list[CellMobility]:
        """Components whose redundancy other kinds of joints can take away."""
        idle = {joint.name for joint in self.idle_joints}
        edges = self.graph.edges
        return [
            cell
            for cell in self.cells
            if cell.redundant and not idle.issuperset(edges[e].joint.name for e in cell.edges)
        ]

    @property
    def gruebler(self) -> int:
        """Freedoms minus equations."""
        return self.freedoms - self.equations

    @property
    def mobility(self) -> int:
        """Freedoms minus generic rank."""
        return self.freedoms - self.rank

    @property
    def finite_mobility(self) -> int | None:
        """Dimension of the set of configurations; None where it is not known."""
        known = [mobility for mobility, _ in self.components if mobility is not None]
        return max(known, default=None)

    @cached_property
    def cell_at(self) -> dict[EdgeId, CellMobility]:
        """The coupled component that each edge belongs to."""
        return {e: cell for cell in self.cells for e in cell.edges}

    @property
    def kinematotropic(self) -> bool:
        """Whether components of different mobility meet at the assembled pose."""
        return any(cell.kinematotropic for cell in self.cells)

    @property
    def shaky(self) -> bool:
        """Whether velocities are possible all along a component that no motion follows."""
        return any(cell.shaky for cell in self.cells)

    @property
    def followed(self) -> bool:
        """Whether motions are known to follow all velocities."""
        return not self.shaky and all(cell.finite is not None for cell in self.cells)

    @property
    def components(self) -> tuple[tuple[int | None, int], ...]:
        """Mobility (None: not known) and rank of the components that meet at the assembled pose.

        Each is made of one branch of every coupled component, those of the last following each
        other. Equal ones stand once where there are more than a hundred.
        """
        outside = self.freedoms - sum(cell.freedoms for cell in self.cells)
        many = math.prod(len(cell.components) for cell in self.cells) > 100
        together: list[tuple[int | None, int]] = [(outside, 0)]
        for cell in self.cells:
            together = [
                (None if a is None or b is None else a + b, r + s)
                for a, r in together
                for b, s in cell.components
            ]
            together = list(dict.fromkeys(together)) if many else together
        return tuple(together)

    @property
    def components_complete(self) -> bool:
        """Whether no other components meet at the assembled pose, for all that numbers tell."""
        return self.assembly.closed and all(cell.complete for cell in self.cells)

    def branch_numbers(self, cell: CellMobility) -> range:
        """Numbers for ``on_branch`` of a coupled component's branches, with the first of others."""
        after = self.cells[place_of(cell, self.cells) + 1 :]
        stride = math.prod(len(other.components) for other in after)
        return range(1, 1 + stride * len(cell.components), stride)

    @validated(number=WHOLE)
    def on_branch(self, number: int) -> Array:
        """Coordinates of a configuration near the assembled pose on one of the components there.

        Args:
            number: Which of them, as ``components`` orders them, the first being 1.

        Returns:
            Coordinates of all joints, shape (n,).

        Raises:
            ModelError: There are not so many.
        """
        q = np.array(self.q)
        for cell, place in zip(self.cells, self.branch_places(number), strict=True):
            if cell.branches:
                q[self.graph.columns(cell.edges)] = cell.branches[place].ends[0]
        return q

    @validated(number=WHOLE)
    def branch_places(self, number: int) -> list[int]:
        """Return the place of a component's branch in each coupled component; see ``on_branch``."""
        sizes = [len(cell.components) for cell in self.cells]
        count = math.prod(sizes)
        if not 1 <= number <= count:
            known = "there is one alone" if count == 1 else f"there are {count}"
            if not self.components_complete:
                known = "one was found" if count == 1 else f"{count} were found"
                known += ", and others are not ruled out"
            raise ModelError(f"branch {number} of the motions at the assembled pose: {known}")
        return [(number - 1) // math.prod(sizes[k + 1 :]) % n for k, n in enumerate(sizes)]

    @property
    def finite_evidence(self) -> Evidence:
        """What the finite mobility rests on: of all components the evidence that is the weakest."""
        evidence = {cell.local.evidence for cell in self.cells}
        return max(evidence, key=EVIDENCE.index, default="counted")

    @property
    def redundant(self) -> int:
        """Equations that depend on the others at generic configurations."""
        return self.equations - self.rank

    @property
    def remaining(self) -> int:
        """Redundant rows that are still among the kept ones."""
        return self.redundant - self.removed


@validated(
    rtol=POSITIVE,
    length_scale=POSITIVE,
    keep_cuts=FLAG,
    cuts=NAMES,
    numerical=FLAG | TEXT,
    configurations=WHOLE,
    seed=WHOLE,
    groups=FLAG,
)
def reduce(
    model: Model | Graph,
    *,
    rtol: float = RTOL,
    length_scale: float | None = None,
    keep_cuts: bool = False,
    cuts: Sequence[str] | None = None,
    numerical: Numerical = False,
    configurations: int = CONFIGURATIONS,
    seed: int = 0,
    groups: bool = True,
    progress: Progress | None = None,
    format: str | None = None,
) -> Reduction:
    """Find the loop constraints that can never matter and keep the others.

    Args:
        model: The mechanism, or its graph.
        rtol: Tolerance of ranks and of geometric relations: radians, and lengths relative to the
            size of each block.
        length_scale: Size in metres to divide lengths by; by default each block's own.
        keep_cuts: Close every loop where the file itself closes it.
        cuts: Names of the joints at which to close the loops.
        numerical: Also remove rows that are dependent at the configurations visited although the
            motion algebras do not prove it. Valid on this assembly mode only. Rows that descents
            find to be needed at ``Block.needed_at`` are kept; ``"anyway"`` removes them as well.
        configurations: Number of configurations for the certificate. Many of them are taken from
            closed forms where there are any, all others walked to.
        seed: Seed of all random choices.
        groups: Whether linear relations of joints may hold bodies in groups of motions that no leg
            confines them to, and parallelograms are told from other loops, see ``held``.
        progress: Called now and then with the fraction done.
        format: Format of a file or a text that does not say what it is.

    Raises:
        ModelError: ``cuts`` names a joint twice, an unknown one, or not one per loop; a negative
            number of configurations; a length that is no positive number, or a tolerance
            that is none below 1.
    """
    relative("rtol", rtol)
    if configurations < 0:
        raise ModelError(f"{configurations} configurations cannot be checked")
    graph = as_graph(model, format)
    assembly = assemble(graph, seed=seed)
    options = (prescribed_cuts(graph, keep_cuts, cuts), rtol, length_scale, seed, groups)
    context = Context(graph, assembly, *options, progress=forward(progress))
    reduced = [
        reduce_cell(context, edges, numerical=numerical, configurations=configurations)
        for edges in graph.cells
    ]
    certificates = [certificate for _, parts, certificate in reduced if parts]
    # What can never move has one configuration, and says nothing of how many the others have.
    mobile = [c for mobility, parts, c in reduced if parts and mobility.finite != 0]
    blocks = tuple(part for _, parts, _ in reduced for part in parts)
    certificate = Certificate.of_all(certificates, mobile or certificates)
    usual = (rtol, configurations, groups) == (RTOL, CONFIGURATIONS, True)
    plain = usual and not (isinstance(model, Graph) or length_scale or keep_cuts or cuts)
    found = tuple(mobility for mobility, _, _ in reduced), blocks, certificate
    evidence = bool(numerical)
    result = Reduction(graph, assembly, *found, rtol, seed, evidence, plain and not evidence)
    freer = None if keep_cuts or cuts else uncoupled_cuts(graph, [c.edge for c in result.cuts])
    if freer is None:
        return result
    limits: dict[str, Any] = {"numerical": numerical, "configurations": configurations}
    limits |= {"rtol": rtol, "length_scale": length_scale, "seed": seed, "groups": groups}
    other = reduce(graph, cuts=freer, **limits)
    return replace(other, plain=result.plain) if other.kept == result.kept else result


def as_reduction(model: Model, format: str | None = None) -> Reduction:
    """Return a model's own reduction, or what ``reduce`` finds; raise as `as_mechanism` does."""
    reduction = getattr(model, "reduction", model)
    return reduction if isinstance(reduction, Reduction) else reduce(model, format=format)


def on_branch(mechanism: Mechanism, number: int) -> Mechanism:
    """The mechanism moved a little, onto one of the components that meet at the assembled pose."""
    return with_coordinates(mechanism, reduce(mechanism, configurations=0).on_branch(number))
