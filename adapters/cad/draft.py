"""A CAD assembly while it is being read: placed bodies, and joints between marked frames."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from regularize.adapters.cad import mates as mating
from regularize.adapters.cad.pairs import pair
from regularize.adapters.cad.relations import Relation, resolve
from regularize.adapters.common.ground import connect
from regularize.adapters.common.names import listed, unique
from regularize.adapters.common.notes import Notes
from regularize.adapters.common.units import suspect
from regularize.lie.screw import (
    Array,
    exp,
    inverse,
    log_rotation,
)
from regularize.model.diagnostic import Diagnostic, Source
from regularize.model.mechanism import (
    STANDARD_GRAVITY,
    Body,
    Coupling,
    Geometry,
    Inertia,
    Joint,
    Mechanism,
)

#: Misfits of saved placements above this are reported, in metres and radians.
MISFIT = (1e-5, 1e-4)


@dataclass
class CadDraft(Notes):
    """An assembly under construction; its ground is a body that stands for the assembly itself.

    Attributes:
        path: The file as the user named it.
        name: Name of the assembly.
        ground: Name of the ground body.
        bodies: Bodies by name, in file order, the ground first.
        T_ground_body: Saved placement of each body.
        joints: Joints by name, in file order.
        mates: Names of the joints that are mates, to be merged.
        relations: Gears, racks and screws.
        couplings: Relations that are couplings already.
        findings: What was noticed.
        files: Further files that were read.
    """

    path: str
    name: str
    ground: str = ""
    bodies: dict[str, Body] = field(default_factory=dict)
    T_ground_body: dict[str, Array] = field(default_factory=dict)
    joints: dict[str, Joint] = field(default_factory=dict)
    mates: list[str] = field(default_factory=list)
    relations: list[Relation] = field(default_factory=list)
    couplings: list[Coupling] = field(default_factory=list)
    findings: list[Diagnostic] = field(default_factory=list)
    files: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Add the ground."""
        self.ground = self.add_body(self.name or "ground", np.eye(4))

    def add_body(
        self,
        name: str,
        T_ground_body: Array,
        inertia: Inertia | None = None,
        source: Source | None = None,
        geometry: tuple[Geometry, ...] = (),
    ) -> str:
        """Add a body at its saved placement; returns its name, numbered if it was taken."""
        name = unique(name or "body", self.bodies)
        self.bodies[name] = Body(name, inertia, geometry, source)
        self.T_ground_body[name] = T_ground_body
        return name

    def add_joint(
        self,
        name: str,
        kind: str,
        body_i: str,
        T_i: Array,
        body_j: str,
        T_j: Array,
        value: float = 0.0,
        *,
        mate: bool = False,
        source: Source | None = None,
    ) -> str | None:
        """Add the joint that a pair leaves between frame I on one body and J on another.

        Args:
            name: Name in the user's model; numbered if it was taken.
            kind: A key of ``_cad_pairs.PAIRS``.
            body_i: Body of frame I, the parent.
            T_i: Frame I on its body.
            body_j: Body of frame J, the child.
            T_j: Frame J on its body.
            value: Offset or distance in metres, or angle in radians.
            mate: Whether it is a mate, to be merged with others of its bodies.
            source: Where it stands.

        Returns:
            The name given, or None for a joint of a body with itself, which is reported.
        """
        name = unique(name or kind, self.joints)
        if body_i == body_j:
            self.note(
                "REG013",
                "warning",
                f"joint `{name}` connects `{body_i}` to itself: left out",
                source,
                joints=(name,),
            )
            return None
        T_i_j = inverse(self.T_ground_body[body_i] @ T_i) @ self.T_ground_body[body_j] @ T_j
        found = pair(kind, T_i_j, value)
        self.joints[name] = Joint(
            name,
            body_i,
            body_j,
            found.kind,
            found.screws,
            T_i @ found.T_i_joint,
            T_j @ found.T_j_joint,
            found.position,
            source=source,
        )
        for k, (first, second) in enumerate(found.equal):
            row = ((name, first, 1.0), (name, second, -1.0))
            title = name if k == 0 else f"{name}_{k + 1}"
            self.couplings.append(Coupling(title, "mimic", row, 0.0, source))
        if mate:
            self.mates.append(name)
        return name

    def add_ground(self, name: str, body: str, source: Source | None = None) -> None:
        """Fix a body to the ground at its saved placement."""
        identity = np.eye(4)
        placed = self.T_ground_body[body]
        self.add_joint(name, "fixed", self.ground, placed, body, identity, source=source)

    def actuate(self, name: str) -> None:
        """Mark a joint as driven by a motor."""
        self.joints[name] = replace(self.joints[name], actuated=True)

    def note_whole(self, what: str, assembly: str, body: str, source: Source | None) -> None:
        """Say that something joins a sub-assembly as a whole, whose parts move."""
        self.note(
            "REG013",
            "warning",
            f"{what} joins the sub-assembly `{assembly}` as a whole, whose parts move: its first "
            f"part `{body}` is taken",
            source,
            "join the part that is meant, or make the sub-assembly rigid",
        )

    def limit(self, name: str, freedom: int, lower: float, upper: float) -> None:
        """Bound one freedom of a joint; infinite where it has no bound."""
        joint = self.joints[name]
        unlimited = np.tile([-np.inf, np.inf], (joint.freedoms, 1))
        limits = np.array(unlimited if joint.limits is None else joint.limits)
        limits[freedom] = max(limits[freedom, 0], lower), min(limits[freedom, 1], upper)
        self.joints[name] = replace(joint, limits=limits)

    def finish(self, format: str, gravity: Array = STANDARD_GRAVITY) -> Mechanism:
        """The mechanism: mates merged, relations resolved, every part connected to the ground."""
        self._report_misfits()
        merged = mating.merge([*self.joints.values()], self.mates)
        self.findings += merged.findings
        joints = list(merged.joints)
        self._resolve_relations(joints)
        self.findings += suspect([*self.bodies.values()], joints, Source(self.path))
        added, findings = connect([*self.bodies.values()], joints, self.ground)
        self.findings += findings
        joints += [replace(j, T_parent_joint=self.T_ground_body[j.child]) for j in added]
        return Mechanism(
            name=self.name or self.ground,
            bodies=tuple(self.bodies.values()),
            joints=tuple(joints),
            couplings=tuple(self.couplings),
            ground=self.ground,
            gravity=gravity,
            findings=tuple(self.findings),
            path=self.path,
            format=format,
            files=tuple(self.files),
        )

    def _resolve_relations(self, joints: list[Joint]) -> None:
        taken = {coupling.name for coupling in self.couplings}
        for relation in self.relations:
            coupling = resolve(relation, joints)
            if coupling is None and relation.kind == "rack":
                coupling = resolve(relation.swapped(), joints)
                if coupling is not None:
                    self.note(
                        "REG013",
                        "note",
                        f"rack and pinion `{relation.name}`: the file names the pinion first",
                        relation.source,
                    )
            if coupling is not None:
                name = unique(coupling.name, taken)
                taken.add(name)
                self.couplings.append(replace(coupling, name=name))
                continue
            self.note(
                "REG013",
                "warning",
                f"the {relation.kind} relation `{relation.name}` between `{relation.body_i}` and "
                f"`{relation.body_j}` is not linear in the joints between them: left out",
                relation.source,
                "hold both parts by joints on one common part whose axes are those of the relation",
            )

    def _report_misfits(self) -> None:
        """Say how far the saved placements are from what the joints allow."""
        misfits = []
        for joint in self.joints.values():
            gap = self._gap(joint)
            distance = float(np.linalg.norm(gap[:3, 3]))
            angle = float(np.linalg.norm(log_rotation(gap[:3, :3])))
            if distance > MISFIT[0] or angle > MISFIT[1]:
                misfits.append((distance / MISFIT[0] + angle / MISFIT[1], joint, distance, angle))
        if not misfits:
            return
        misfits.sort(key=lambda m: -m[0])
        _, worst, distance, angle = misfits[0]
        others = [joint.name for _, joint, _, _ in misfits[1:]]
        also = f"; also {listed(others, 3)}" if others else ""
        self.note(
            "REG017",
            "warning",
            f"the saved placements do not fit joint `{worst.name}`: they are off by "
            f"{distance * 1e3:.3g} mm and {np.degrees(angle):.3g} degrees{also}",
            worst.source,
            "solve the assembly in the CAD system and save it again",
            joints=tuple(joint.name for _, joint, _, _ in misfits),
        )

    def _gap(self, joint: Joint) -> Array:
        """The saved child frame seen from where the joint puts it."""
        if joint.group:
            motion = exp(joint.screws @ joint.position)
        else:
            motion = np.eye(4)
            for column, q in zip(joint.screws.T, joint.position, strict=True):
                motion = motion @ exp(column * q)
        wanted = self.T_ground_body[joint.parent] @ joint.T_parent_joint @ motion
        saved = self.T_ground_body[joint.child] @ joint.T_child_joint
        return inverse(wanted) @ saved
