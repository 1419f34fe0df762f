"""Newton's ``ModelBuilder``: bodies, joints and equality constraints as they stand in its lists.

Joints outside of articulations close loops. Labels that are paths, as those from USD and MJCF, are
called by their last part where that tells them apart.
"""

from __future__ import annotations

import copy
from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from regularize.adapters.common.draft import WORLD, Draft
from regularize.adapters.common.edits import Patch, WantedKind
from regularize.adapters.common.patching import Patcher
from regularize.adapters.common.quantities import rotation_quaternion
from regularize.adapters.common.values import FilePlace
from regularize.adapters.common.write import quaternion
from regularize.errors import ModelError, ReadError
from regularize.escape import listed, unique
from regularize.lie.arrays import Array
from regularize.lie.screw import log, log_rotation, transform
from regularize.mechanism.body import Body, Inertia
from regularize.mechanism.joint import Joint, JointLimits
from regularize.mechanism.joint_kinds import joint_screws
from regularize.mechanism.mechanism import Mechanism

#: Kinds by the names of Newton's types, where these say all; of ``D6`` its axes do.
KINDS = {
    "BALL": "spherical",
    "FIXED": "fixed",
    "FREE": "free",
    "REVOLUTE": "revolute",
    "PRISMATIC": "prismatic",
}
#: What a joint can become: everything whose axes pass through one point, as those of ``D6`` do.
HELD = (
    *("revolute", "prismatic", "universal", "cylindrical", "spherical", "fixed", "planar"),
    *("point_on_line", "point_on_plane"),
)
#: What other joints can become.
TREE = {"revolute": HELD[2:5], "prismatic": ("cylindrical",), "universal": ("spherical",)}
#: Lists of a builder by what they have an entry of.
PER = {
    "dof": (
        *("joint_axis", "joint_qd", "joint_f", "joint_act", "joint_armature", "joint_damping"),
        *("joint_target_mode", "joint_target_ke", "joint_target_kd", "joint_target_qd"),
        *("joint_limit_lower", "joint_limit_upper", "joint_limit_ke", "joint_limit_kd"),
        *("joint_effort_limit", "joint_velocity_limit", "joint_friction", "joint_stiffness"),
    ),
    "coord": ("joint_q", "joint_target_q", "joint_rest_q", "_joint_rest_q_authored"),
    "constraint": ("joint_cts",),
}
#: Kinds by how many axes turn, all of them through one point.
NAMES = {2: "universal", 3: "spherical"}
ROUNDED = 1e-6  # of products of its unit vectors
UNLIMITED = 1e9  # coordinates beyond which Newton's limits stand for none


def read(builder: Any) -> Mechanism:
    """Read a ``newton.ModelBuilder`` with one world, which is left as it is."""
    if not builder.joint_count:
        raise ReadError("<newton.ModelBuilder>", "has no joints; add some before it is read")
    if max(builder.joint_world) > 0:
        raise ReadError("<newton.ModelBuilder>", "has several worlds; give the builder of one")
    return _Reading(builder).mechanism_of_all()


def _names(labels: Sequence[str], taken: Collection[str] = ()) -> list[str]:
    """Last parts of labels, or the whole of them where several end alike."""
    short = [label.rpartition("/")[2] or label for label in labels]
    found: list[str] = []
    for name, label in zip(short, labels, strict=True):
        wanted = name if short.count(name) == 1 else label.strip("/")
        found.append(unique(wanted, {*taken, *found}))
    return found


def _pose(value: Any) -> Array:
    x = [float(each) for each in value]
    return transform(rotation_quaternion(*x[3:7]), x[:3])


class _Reading(Draft):
    """A builder while it is being read."""

    def __init__(self, builder: Any) -> None:
        super().__init__(None, "builder")
        self.builder = b = builder
        self.body_names = [*_names(b.body_label, {WORLD}), WORLD]  # -1 is the world
        self.joint_names = _names(b.joint_label)

    def place(self, what: str, label: str) -> FilePlace:
        return FilePlace("<newton.ModelBuilder>", f"{what}[{label!r}]", None)

    def mechanism_of_all(self) -> Mechanism:
        b = self.builder
        self.bodies[WORLD] = Body(WORLD)
        for i, name in enumerate(self.body_names[:-1]):
            inertia = None
            if b.body_mass[i] > 0.0:
                matrix = np.array(b.body_inertia[i], dtype=np.float64).reshape(3, 3)
                center = np.array(b.body_com[i], dtype=np.float64)
                inertia = Inertia(float(b.body_mass[i]), center, (matrix + matrix.T) / 2)
            self.bodies[name] = Body(
                name, inertia, source=self.place("body", b.body_label[i]).source
            )
        unread = [self.joint_names[j] for j in range(b.joint_count) if not self._join(j)]
        if unread:
            self.unread(f"joints of types that are not read: {listed(unread)}")
        for j in range(b.joint_count):
            if b.joint_mimic_joint[j] >= 0:
                offset, factor = (float(x) for x in b.joint_mimic_coeffs[j])
                pair = self.joint_names[j], self.joint_names[b.joint_mimic_joint[j]]
                terms = ((pair[0], 0, 1.0), (pair[1], 0, -factor))
                self.couple(f"mimic {pair[0]}", "mimic", terms, offset, None)
        closing = sum(joint.closure for joint in self.joints.values()) + len(self.couplings)
        equal = getattr(b, "_equality_constraint_count", 0)
        if equal > closing:  # what Newton makes joints of is kept beside them
            self.unread(
                f"{equal - closing} of {equal} equality constraints of MuJoCo are no joints"
            )
        self.ground_parts(lambda name: _pose(b.body_q[self.body_names.index(name)]), usual=True)
        return self.mechanism("newton", np.array([float(x) for x in b.gravity]))

    def _join(self, j: int) -> bool:
        """Add a joint; False where its type is not read."""
        from newton import JointType  # where there is a builder, there is Newton

        b, kind = self.builder, JointType(int(self.builder.joint_type[j])).name
        if kind not in (*KINDS, "D6"):
            return False
        if not b.joint_enabled[j]:
            self.skip(f"joint `{self.joint_names[j]}` is not enabled: not read")
            return True
        linear, angular = b.joint_dof_dim[j]
        first, at = b.joint_qd_start[j], b.joint_q_start[j]
        axes = np.array([[*map(float, a)] for a in b.joint_axis[first : first + linear + angular]])
        screws = np.zeros((6, linear + angular))
        if len(axes):
            screws[:3, :linear], screws[3:, linear:] = axes[:linear].T, axes[linear:].T
        known, several = KINDS.get(kind), kind in ("BALL", "FREE")  # with a quaternion
        q = position = np.array(b.joint_q[at : at + linear + angular + several])
        if known == "spherical":
            screws, position = joint_screws(known), log_rotation(rotation_quaternion(*q))
        elif known == "free":
            screws, position = np.eye(6), log(_pose(q))
        where = self.place("joint", b.joint_label[j])
        motors = [int(mode) for mode in b.joint_target_mode[first : first + linear + angular]]
        joint = Joint(
            self.joint_names[j],
            self.body_names[b.joint_parent[j]],
            self.body_names[b.joint_child[j]],
            known or _kind(screws, position),
            screws,
            _pose(b.joint_X_p[j]),
            _pose(b.joint_X_c[j]),
            position=position,
            limits=None
            if known in ("spherical", "free", "fixed")
            else self._limits(first, len(axes)),
            actuated=any(motors) if any(b.joint_target_mode) else None,
            closure=b.joint_articulation[j] < 0 and self._has_tree(j),
            source=where.source,
        )
        self.add_joint(joint, where)
        return True

    def _has_tree(self, j: int) -> bool:
        """Whether another joint, of an articulation, leads to the child of a joint already."""
        b = self.builder
        return any(
            b.joint_child[k] == b.joint_child[j] and (b.joint_articulation[k] >= 0 or k < j)
            for k in range(b.joint_count)
            if k != j
        )

    def _limits(self, first: int, count: int) -> JointLimits | None:
        b, those = self.builder, slice(first, first + count)
        lower, upper = (np.array(x[those]) for x in (b.joint_limit_lower, b.joint_limit_upper))
        lower[lower < -UNLIMITED], upper[upper > UNLIMITED] = -np.inf, np.inf
        limits = JointLimits(lower, upper)
        return limits if limits.bounded else None


def _kind(screws: Array, q: Array) -> str:
    """Kind of joint that the axes of a ``D6`` make up; a series of single freedoms else."""
    slides, turns = (part[:, np.any(part, axis=0)] for part in (screws[:3], screws[3:]))
    counts = slides.shape[1], turns.shape[1]
    if sum(counts) < 2:
        return {(0, 0): "fixed", (1, 0): "prismatic", (0, 1): "revolute"}[counts]
    if np.any(q):
        return "composite"
    upright = np.allclose(turns.T @ turns, np.eye(counts[1]), atol=ROUNDED)
    if counts == (1, 1) and np.allclose(np.cross(slides[:, 0], turns[:, 0]), 0.0, atol=ROUNDED):
        return "cylindrical"
    if counts == (2, 1) and np.allclose(slides.T @ turns, 0.0, atol=ROUNDED):
        return "planar"
    if upright and counts[0] == 0:
        return NAMES[counts[1]]
    return "composite"


class BuilderPatcher(Patcher):
    """Makes a copy of a builder in which some joints are others."""

    def __init__(self, mechanism: Mechanism, source: Any) -> None:
        super().__init__(mechanism)
        self._builder = source
        self._numbers = {name: j for j, name in enumerate(_names(source.joint_label))}

    def kinds(self, joint: Joint) -> Collection[str]:
        """Kinds that joint types of Newton can hold; free and driven joints stay what they are."""
        if joint.name not in self._numbers or joint.kind == "free" or joint.actuated:
            return ()
        return HELD if joint.closure else TREE.get(joint.kind, ())

    def patch(self, wanted: Sequence[WantedKind]) -> Patch:
        """Raise an error, since a builder has no file to edit."""
        raise ModelError("a builder stands in no file that could be edited")

    def changed(self, wanted: Sequence[WantedKind]) -> Any:
        """Return a changed copy of the builder with the same indices."""
        builder = copy.deepcopy(self._builder)
        for each in wanted:
            if each.kind not in (held := self.kinds(each.joint)):
                raise self.refuse(each, held)
            _replace(builder, self._numbers[each.joint.name], each.replacement)
        finished = copy.deepcopy(builder).finalize(device="cpu")  # Newton's own checks
        if finished.joint_count != self._builder.joint_count:
            raise ModelError("Newton builds another number of joints of the new builder")
        return builder


def _replace(builder: Any, j: int, joint: Joint) -> None:
    """Replace a joint, and shift all arrays that are indexed by freedoms."""
    alone = type(builder)()
    for _ in range(2):  # the bodies of the one joint
        alone.add_link()
    config = type(builder).JointDofConfig
    slides, turns = (
        [config(axis=tuple(map(float, c))) for c in part.T if np.any(c)]
        for part in (joint.screws[:3], joint.screws[3:])
    )
    places = {
        "parent_xform": _transform(joint.T_parent_joint),
        "child_xform": _transform(joint.T_child_joint),
    }
    plain = {"revolute": alone.add_joint_revolute, "prismatic": alone.add_joint_prismatic}
    if joint.kind in plain:
        plain[joint.kind](0, 1, axis=(slides or turns)[0], **places)
    elif joint.kind == "spherical":
        alone.add_joint_ball(0, 1, **places)
    elif joint.kind == "fixed":
        alone.add_joint_fixed(0, 1, **places)
    else:
        alone.add_joint_d6(0, 1, linear_axes=slides, angular_axes=turns, **places)
    old = {
        "dof": (builder.joint_qd_start, builder.joint_dof_count),
        "coord": (builder.joint_q_start, builder.joint_coord_count),
        "constraint": (builder.joint_cts_start, builder.joint_constraint_count),
    }
    for what, names in PER.items():
        starts, total = old[what]
        end = starts[j + 1] if j + 1 < len(starts) else total
        more = getattr(alone, f"joint_{what}_count") - (end - starts[j])
        for name in names:
            getattr(builder, name)[starts[j] : end] = getattr(alone, name)
        starts[j + 1 :] = [start + more for start in starts[j + 1 :]]
        setattr(builder, f"joint_{what}_count", total + more)
        for each in builder.custom_attributes.values():
            if getattr(each.frequency, "name", "") == f"JOINT_{what.upper()}" and each.values:
                kept = ((k, v) for k, v in each.values.items() if not starts[j] <= k < end)
                each.values = {k + more * (k >= end): value for k, value in kept}
    for name in ("joint_type", "joint_X_p", "joint_X_c", "joint_dof_dim"):
        getattr(builder, name)[j] = getattr(alone, name)[0]


def _transform(T: Array) -> tuple[float, ...]:
    return (*map(float, T[:3, 3]), *map(float, quaternion(T[:3, :3])))
