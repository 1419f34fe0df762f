"""Reader of MBDyn models (``.mbd``): nodes, bodies, joints and beams.

Structural nodes become bodies; every statement that joins nodes and is not read is reported. A
clamp fixes a node to the ground. Numbers are SI.

Beams become joints of six freedoms with springs where strains are evaluated: the middle between
two nodes, and the two Gauss points of three (Ghiringhelli, Masarati and Mantegazza 2000). Forces
there are those of MBDyn's finite volumes for small strains. Beams have no mass, and
no stress in the pose of the file.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from regularize.adapters.cad.draft import CadDraft
from regularize.adapters.common.draft import Draft, Side, joint_between
from regularize.adapters.mbdyn.statements import Statement, statements
from regularize.errors import ReadError
from regularize.escape import listed, suggestion
from regularize.lie.arrays import Array
from regularize.lie.screw import IDENTITY, exp, inverse, log_rotation
from regularize.mechanism.body import Inertia
from regularize.mechanism.joint import JointDynamics
from regularize.mechanism.joint_kinds import perpendiculars
from regularize.mechanism.mechanism import Mechanism

#: Number of nodes of each type of beam.
BEAMS = {"beam2": 2, "beam3": 3, "beam": 3}


def add_beam(
    draft: Draft, statement: Statement, label: str, ends: list[Side], frames: list[Array]
) -> str | None:
    """Add the joints of a beam; return the reason in words where it is not read."""
    count, joints = len(ends), []
    along = np.polyfit(np.linspace(-1, 1, count), [T[:3, 3] for T in frames], count - 1)
    at = [0.0] if count == 2 else [-(3**-0.5), 3**-0.5]  # in [-1, 1] along the beam
    R: Array | None = None
    law: tuple[Array, Array] | None = None
    for k, x in enumerate(at):
        one, two = frames[k], frames[k + 1]
        if not (k and statement.take("same")):
            R = None if statement.take("from nodes") else statement.turn(IDENTITY)[:3, :3]
        if not (k and statement.take("same")):
            kind = " ".join(statement.word().lower().split())
            law = _law(statement, kind)
            if law is None or any(np.any(m - np.diag(np.diag(m))) for m in law):
                return f"a law `{kind}` that is not linear, or ties strains to each other,"
        assert law is not None
        T = np.eye(4)
        T[:3, 3] = np.vander([x], count)[0] @ along
        turn = np.array([0, 0, 0, *log_rotation(one[:3, :3].T @ two[:3, :3])]) / 2
        T[:3, :3] = one[:3, :3] @ exp(turn)[:3, :3] if R is None else R
        slope = along[0] if count == 2 else 2 * x * along[0] + along[1]
        length = float(np.linalg.norm(slope)) * 2 / len(at)
        if length == 0.0:
            raise statement.error("has no length; correct the places of its nodes")
        stiffness, damping = (np.diag(m) / length for m in law)
        first, second = (
            (node, T_node @ inverse(frame) @ T)
            for (node, T_node), frame in zip(ends[k : k + 2], frames[k : k + 2], strict=True)
        )
        name = label if k == 0 else f"{label}_{k + 1}"
        joint = joint_between(name, "composite", first, second, np.eye(6), source=statement.source)
        spring = JointDynamics(stiffness=stiffness, damping=damping, rest_position=np.zeros(6))
        joints.append(replace(joint, actuated=False, dynamics=spring))
    for joint in joints:
        name = draft.joint_name(joint.name)
        draft.joints[name] = replace(joint, name=name)
    return None


def _law(statement: Statement, kind: str) -> tuple[Array, Array] | None:
    """Return stiffness and damping (6, 6) of a beam's section; None where not linear."""
    words = kind.split()
    if words[:-1] not in (["linear", "elastic"], ["linear", "viscoelastic"]):
        return None
    if words[-1] not in ("generic", "isotropic"):
        return None

    def matrix() -> Array:
        return statement.matrix(6) if words[-1] == "generic" else statement.number() * np.eye(6)

    stiffness = matrix()
    if words[1] == "elastic":
        return stiffness, np.zeros((6, 6))
    if statement.take("proportional"):
        return stiffness, statement.number() * stiffness
    return stiffness, matrix()


#: Pair of a total joint by the positions along X, Y, Z and the rotations that it holds.
TOTAL: dict[tuple[tuple[int, ...], ...], str] = {
    ((1, 1, 1), (1, 1, 1)): "fixed",
    ((1, 1, 0), (1, 1, 1)): "prismatic",
    ((1, 1, 1), (1, 1, 0)): "revolute",
    ((1, 1, 0), (1, 1, 0)): "cylindrical",
    ((1, 1, 1), (0, 0, 0)): "spherical",
    ((0, 0, 1), (1, 1, 0)): "planar",
    ((0, 0, 0), (1, 1, 1)): "no_rotation",
    ((1, 1, 0), (0, 0, 0)): "point_on_line",
    ((0, 0, 1), (0, 0, 0)): "point_in_plane",
}
#: Pair of each joint, and the method ``_NAME`` that reads each of its ends.
JOINTS = {
    "axial rotation": ("revolute", "end", "end"),
    "revolute hinge": ("revolute", "end", "end"),
    "spherical hinge": ("spherical", "end", "end"),
    "revolute pin": ("revolute", "end", "on_ground"),
    "in line": ("point_on_line", "line", "point"),
    "in plane": ("point_in_plane", "plane", "point"),
    "prismatic": ("no_rotation", "turn", "turn"),
}
#: Elements that are read; and with them the other statements that are.
ELEMENTS = frozenset({"body", "joint", "gravity", *BEAMS})
QUIET = ELEMENTS | {"begin", "end", "set", "reference", "structural"}


def read(path: str) -> Mechanism:
    """Read an MBDyn file."""
    return _Reader(path).read()


class _Reader:
    """Reads one file; holds the draft, gravity and the names of driven joints."""

    def __init__(self, path: str) -> None:
        self.draft = CadDraft(path, Path(path).stem)
        self.gravity: Array = np.zeros(3)
        self.driven: list[str] = []

    def read(self) -> Mechanism:
        """Return the mechanism of the file."""
        block, elements, path = "", [], str(self.draft.path)
        for statement in statements(path):
            if statement.head == "begin":
                block = statement.word().lower()
            elif statement.head == "end":
                block = ""
            elif statement.head == "set":
                name, _, text = ", ".join(statement.words).partition("=")
                statement.values[name.split()[-1]] = statement.value(text.strip())
            elif statement.head == "reference":
                self._reference(statement)
            elif block == "nodes" and statement.head == "structural":
                self._node(statement)
            elif block == "elements" and statement.head in ELEMENTS:
                elements.append(statement)
            elif block in ("nodes", "elements") and statement.head not in QUIET:
                self.draft.ignore(statement.head, statement)
        if block:
            raise ReadError(path, f"ends inside the block `{block}`: it is cut off")
        if len(self.draft.bodies) < 2:
            raise ReadError(path, "has no structural node; there is nothing to read")
        for statement in elements:
            getattr(self, "_beam" if statement.head in BEAMS else f"_{statement.head}")(statement)
        self.draft.report_ignored()
        if self.driven:
            self.draft.note_motions(f"{listed(self.driven)} are driven", None, self.driven)
        return self.draft.finish("mbdyn", self.gravity)

    def _reference(self, statement: Statement) -> None:
        """Define a reference frame."""
        label = statement.word()
        place = statement.place(IDENTITY)
        statement.frames[label] = place @ statement.turn(IDENTITY)

    def _node(self, statement: Statement) -> None:
        """Add a structural node as a body without mass."""
        label, kind = statement.word(), statement.word().lower()
        if kind not in ("static", "dynamic"):
            self.draft.ignore(f"structural, {kind}", statement)
            return
        T = statement.place(IDENTITY)
        self.draft.place(label, T @ statement.turn(IDENTITY), source=statement.source)

    def _named(self, statement: Statement) -> tuple[str, Array]:
        """Return the node that the next argument names, and its pose in the world."""
        name = statement.word()
        if name not in self.draft.bodies:
            raise statement.error(f"there is no node `{name}`{suggestion(name, self.draft.bodies)}")
        return name, self.draft.T_ground_body[name]

    def _body(self, statement: Statement) -> None:
        """Add mass properties to a node."""
        statement.word()
        name, T_node = self._named(statement)
        if statement.take("condense"):
            message = "a body of several masses is not read: no mass"
            self.draft.warn("REG013", message, statement.source)
            return
        mass, center = statement.number(), statement.place(T_node)[:3, 3]
        matrix = statement.matrix(3)
        if statement.take("orientation", "inertial"):
            R = statement.turn(T_node)[:3, :3]
            matrix = R @ matrix @ R.T
        body = self.draft.bodies[name]
        parts = [Inertia(mass, center, matrix)]
        parts += [] if body.inertia is None else [body.inertia]
        total = Inertia.total(parts)
        self.draft.bodies[name] = type(body)(name, total, body.geometry, body.source)

    def _beam(self, statement: Statement) -> None:
        """Add a beam, or report why it is not read."""
        label = statement.word()
        ends = [self._end(statement) for _ in range(BEAMS[statement.head])]
        frames = [self.draft.placed(end) for end in ends]
        if unread := add_beam(self.draft, statement, label, ends, frames):
            self.draft.fewer_constraints(
                f"`{label}`, a {statement.head} of {unread} is not read", statement.source
            )

    def _gravity(self, statement: Statement) -> None:
        """Set uniform gravity."""
        if statement.word().lower() != "uniform":
            self.draft.warn("REG013", "gravity that is not uniform is not read", statement.source)
            return
        direction = statement.vector()
        statement.take("const", "string")
        size = statement.value(statement.word().strip('"'))
        self.gravity = size * direction / max(float(np.linalg.norm(direction)), 1e-300)

    def _joint(self, statement: Statement) -> None:
        """Add a joint, or report that its type is not read."""
        label, kind = statement.word(), " ".join(statement.word().lower().split())
        if kind == "clamp":
            node, _ = self._named(statement)
            self.draft.fix(label, self.draft.ground, node, statement.source)
        elif kind == "total joint":
            self._total(statement, label)
        elif kind in JOINTS:
            pair, *reads = JOINTS[kind]
            ends = [getattr(self, f"_{read}")(statement) for read in reads]
            if kind == "revolute pin":  # the ground comes second
                ends.reverse()
            name = self.draft.join(label, pair, *ends, source=statement.source)
            if kind == "axial rotation" and name is not None:
                self.draft.actuate(name)
                self.driven.append(name)
        else:
            self.draft.fewer_constraints(f"`{label}` of type {kind} is not read", statement.source)

    def _end(self, statement: Statement) -> Side:
        """Read a node with a frame on it: a point, and an orientation if one follows."""
        name, T_node = self._named(statement)
        T = statement.place(T_node)
        if statement.take("hinge", "orientation"):
            T = T @ statement.turn(T_node)
        return name, T

    def _on_ground(self, statement: Statement) -> Side:
        """Read a frame in the world: a point, and an orientation if one follows."""
        T = statement.place(IDENTITY)
        if statement.take("hinge", "orientation"):
            T = T @ statement.turn(IDENTITY)
        return self.draft.ground, T

    def _line(self, statement: Statement) -> Side:
        """Read a node with a frame on it whose Z is the line."""
        name, T_node = self._named(statement)
        T = statement.place(T_node)
        statement.take("orientation")
        return name, T @ statement.turn(T_node)

    def _plane(self, statement: Statement) -> Side:
        """Read a node with a frame on it whose Z is the normal of the plane."""
        name, T_node = self._named(statement)
        T = statement.place(T_node)
        normal = statement.direction(statement.vector())
        T[:3, :3] = np.column_stack([*perpendiculars(normal), normal])
        return name, T

    def _point(self, statement: Statement) -> Side:
        """Read a node and a point on it, its origin where no offset follows."""
        name, T_node = self._named(statement)
        return name, statement.place(T_node) if statement.take("offset") else IDENTITY

    def _turn(self, statement: Statement) -> Side:
        """Read a node with an orientation on it if one follows."""
        name, T_node = self._named(statement)
        turned = statement.take("hinge", "orientation")
        return name, statement.turn(T_node) if turned else IDENTITY

    def _total(self, statement: Statement, label: str) -> None:
        """Add a total joint by the positions and rotations that it holds."""
        sides: list[Side] = []
        for _ in range(2):
            name, T_node = self._named(statement)
            T, turns = IDENTITY, [IDENTITY]
            if statement.take("position"):
                T = statement.place(T_node)
            for which in ("position orientation", "rotation orientation"):
                if statement.take(which):
                    turns.append(statement.turn(T_node))
            if len(turns) == 3 and not np.allclose(turns[1], turns[2], atol=1e-9):
                raise statement.error("has different orientations for positions and rotations")
            sides.append((name, T @ turns[-1]))
        held, driven = [], False
        for what in ("position constraint", "orientation constraint"):
            row: tuple[int, ...] = (0, 0, 0)
            if statement.take(what):
                words = [statement.word().lower() for _ in range(3)]
                driven = driven or any(w not in ("active", "inactive", "0", "1") for w in words)
                row = tuple(int(w in ("active", "1")) for w in words)
                while statement.words and not statement.words[0].endswith("constraint"):
                    statement.words.pop(0)
            held.append(row)
        pair = TOTAL.get((held[0], held[1]))
        if pair is None:
            self.draft.fewer_constraints(
                f"`{label}`, a total joint that holds {held[0]} and {held[1]}, is not read",
                statement.source,
            )
            return
        joined = self.draft.join(label, pair, sides[0], sides[1], source=statement.source)
        if driven and joined is not None:
            self.draft.actuate(joined)
            self.driven.append(joined)
