"""Reader and patcher of Newton's ``ModelBuilder``; joints outside of articulations close loops."""

from __future__ import annotations

import copy
from collections.abc import Callable, Collection, Iterator, Sequence
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
from regularize.mechanism.body import Body, Geometry, Inertia
from regularize.mechanism.joint import Joint, JointDynamics, JointLimits
from regularize.mechanism.joint_kinds import joint_screws
from regularize.mechanism.mechanism import Actuator, ActuatorGains, Mechanism

#: Joint kind for each joint type of Newton but ``D6``, whose kind follows from its axes.
KINDS = {
    **{"BALL": "spherical", "FIXED": "fixed", "FREE": "free"},
    **{"REVOLUTE": "revolute", "PRISMATIC": "prismatic"},
}
#: Kinds that a closing joint can become: those whose axes meet in one point, as in ``D6``.
HELD = (
    *("revolute", "prismatic", "universal", "cylindrical", "spherical", "fixed", "planar"),
    *("point_on_line", "point_on_plane"),
)
#: Kinds that a tree joint can become, by its kind.
TREE = {"revolute": HELD[2:5], "prismatic": ("cylindrical",), "universal": ("spherical",)}
#: Lists of a builder that have an entry for each degree of freedom, coordinate or constraint.
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
#: Kind of a joint of so many rotations about axes through one point.
NAMES = {2: "universal", 3: "spherical"}
#: List of a builder with each value of a freedom's dynamics.
DYNAMICS = {key: f"joint_{key}" for key in ("damping", "friction", "stiffness", "armature")}
RATED = {"velocity": "joint_velocity_limit", "effort": "joint_effort_limit"}
UNRATED = 1e6  # Newton's default for rates and efforts that nothing limits
#: What drives are controlled by, by Newton's ``JointTargetMode``.
DRIVES = {1: "position", 2: "velocity", 3: "position", 4: "motor"}
#: Kind of each of Newton's shapes, and its size of Newton's scale, which has half lengths.
SHAPES: dict[str, tuple[str, Callable[[Array], Array]]] = {
    "SPHERE": ("sphere", lambda s: s[:1]),
    "BOX": ("box", lambda s: 2 * s),
    "CAPSULE": ("capsule", lambda s: s[:2] * [1, 2]),
    "CYLINDER": ("cylinder", lambda s: s[:2] * [1, 2]),
    "ELLIPSOID": ("ellipsoid", lambda s: s),
}
#: Lists of a builder whose entries are not read, and what they are called.
UNREAD = {
    "muscle_start": "muscles",
    "tendon_start": "tendons",
    "spring_indices": "springs of particles",
    "attachment_particle_body_body": "particles fastened to bodies",
    "actuator_entries": "actuators",
}
KINEMATIC = 2  # of the flags of a body
#: Entries of MuJoCo's attributes whose joints or drives are read elsewhere, or are none.
ELSEWHERE = ("equality_constraint", "pair", "tendon_joint", "tendon_wrap")
ROUNDED = 1e-6  # error of products of unit vectors in single precision
UNLIMITED = 1e9  # a limit beyond this stands for none in Newton


def read(builder: Any) -> Mechanism:
    """Read a ``newton.ModelBuilder`` with one world, which is left as it is."""
    if not builder.joint_count:
        raise ReadError("<newton.ModelBuilder>", "has no joints; add some before it is read")
    if max(builder.joint_world) > 0:
        raise ReadError("<newton.ModelBuilder>", "has several worlds; give the builder of one")
    return _Reading(builder).mechanism_of_all()


def names_of(labels: Sequence[str], taken: Collection[str] = ()) -> list[str]:
    """Return the last part of each label, or the whole label where several end alike."""
    short = [label.rpartition("/")[2] or label for label in labels]
    names: list[str] = []
    for name, label in zip(short, labels, strict=True):
        wanted = name if short.count(name) == 1 else label.strip("/")
        names.append(unique(wanted, {*taken, *names}))
    return names


def _pose(value: Any) -> Array:
    x = [*map(float, value)]  # position, and quaternion x, y, z, w
    return transform(rotation_quaternion(*x[3:7]), x[:3])


class _Reading(Draft):
    """The mechanism under construction while a builder is read."""

    def __init__(self, builder: Any) -> None:
        super().__init__(None, "builder")
        self.builder = b = builder
        self.body_names = [*names_of(b.body_label, {WORLD}), WORLD]  # -1 is the world
        self.joint_names = names_of(b.joint_label)

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
            source = self.place("body", b.body_label[i]).source
            self.bodies[name] = Body(name, inertia, tuple(self._shapes(i)), source)
        unread = [self.joint_names[j] for j in range(b.joint_count) if not self._join(j)]
        if unread:
            self.unread(f"joints of types that are not read: {listed(unread)}")
        mimics = [
            (j, b.joint_mimic_joint[j], b.joint_mimic_coeffs[j]) for j in range(b.joint_count)
        ]
        for k, enabled in enumerate(b.constraint_mimic_enabled):
            leader = b.constraint_mimic_joint1[k] if enabled else -1
            numbers = b.constraint_mimic_coef0[k], b.constraint_mimic_coef1[k]
            mimics.append((b.constraint_mimic_joint0[k], leader, numbers))
        for follower, leader, (offset, factor) in mimics:
            one, other = self.joint_names[follower], self.joint_names[leader]
            if leader >= 0 and {one, other} <= self.joints.keys():
                terms = ((one, 0, 1.0), (other, 0, -float(factor)))
                self.couple(f"mimic {one}", "mimic", terms, float(offset), None)
        closing = sum(joint.closure for joint in self.joints.values()) + len(self.couplings)
        equal = getattr(b, "_equality_constraint_count", 0)
        if equal > closing:  # what Newton makes joints of is kept beside them
            self.unread(
                f"{equal - closing} of {equal} equality constraints of MuJoCo are no joints"
            )
        moved = {joint.child for joint in self.joints.values()}
        for i in (i for i, flags in enumerate(b.body_flags) if int(flags) & KINEMATIC):
            name, source = self.body_names[i], self.place("body", b.body_label[i]).source
            words = "its joint is read, and not what moves it"
            if name not in moved:
                self.hold(f"{name}_fixed", name, _pose(b.body_q[i]), source)
                words = "read as fixed to the world"
            self.skip(f"`{name}` is kinematic: {words}", source)
        self.ground_parts(lambda name: _pose(b.body_q[self.body_names.index(name)]), usual=True)
        self._report_unread()
        return self.mechanism("newton", np.array([float(x) for x in b.gravity]))

    def _report_unread(self) -> None:
        """Report entries of the builder that act on bodies and are not read."""
        counts = {words: len(getattr(self.builder, name, ())) for name, words in UNREAD.items()}
        for name, count in getattr(self.builder, "_custom_frequency_counts", {}).items():
            if name.partition(":")[2] not in ELSEWHERE:
                counts[f"entries of `{name}`"] = count
        unread = [f"{count} {words}" for words, count in counts.items() if count]
        if unread:
            self.skip(f"not read: {listed(unread)}")

    def _shapes(self, body: int) -> Iterator[Geometry]:
        """Yield the shapes of a body; meshes and planes are reported."""
        from newton import GeoType, ShapeFlags  # as below

        b, unread = self.builder, []
        for i in b.body_shapes.get(body, ()):
            kind, flags = GeoType(int(b.shape_type[i])).name, int(b.shape_flags[i])
            if flags & ShapeFlags.SITE:
                continue
            if kind not in SHAPES:
                unread.append(b.shape_label[i])
                continue
            name, size = SHAPES[kind]
            touched = bool(flags & ShapeFlags.COLLIDE_SHAPES)
            extent, T = size(np.array(b.shape_scale[i], float)), _pose(b.shape_transform[i])
            friction = float(b.shape_material_mu[i]) if touched else None
            yield Geometry(name, extent, T, collision=touched, friction=friction)
        if unread:
            self.skip(f"shapes of `{self.body_names[body]}` are not read: {listed(unread)}")

    def _join(self, j: int) -> bool:
        """Add joint number j; return False where its type is not read."""
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
        plain_kind, quaternions = KINDS.get(kind), int(kind in ("BALL", "FREE"))
        q = position = np.array(b.joint_q[at : at + linear + angular + quaternions])
        if plain_kind == "spherical":
            screws, position = joint_screws(plain_kind), log_rotation(rotation_quaternion(*q))
        elif plain_kind == "free":
            screws, position = np.eye(6), log(_pose(q))
        where = self.place("joint", b.joint_label[j])
        freedoms = slice(first, first + linear + angular)
        driven = any(b.joint_target_mode[freedoms])
        dynamics = {k: np.array(getattr(b, n)[freedoms], float) for k, n in DYNAMICS.items()}
        dynamics = {key: values for key, values in dynamics.items() if np.any(values)}
        if "stiffness" in dynamics and plain_kind != "free":
            rest = np.array(b.joint_rest_q[at : at + linear + angular + quaternions], float)
            rest = log_rotation(rotation_quaternion(*rest)) if quaternions else rest
            dynamics["rest_position"] = rest
        joint = Joint(
            self.joint_names[j],
            self.body_names[b.joint_parent[j]],
            self.body_names[b.joint_child[j]],
            plain_kind or _kind(screws, position),
            screws,
            _pose(b.joint_X_p[j]),
            _pose(b.joint_X_c[j]),
            position=position,
            limits=self._limits(freedoms, plain_kind not in ("spherical", "free")),
            actuated=driven if any(b.joint_target_mode) else None,
            closure=b.joint_articulation[j] < 0 and self._has_tree(j),
            source=where.source,
            dynamics=JointDynamics(**dynamics),
        )
        self.add_joint(joint, where)
        self._add_drives(joint, freedoms)
        return True

    def _add_drives(self, joint: Joint, freedoms: slice) -> None:
        """Add the motors of a joint; report targets, for motors here wait for a control."""
        b = self.builder
        for k, mode in enumerate(b.joint_target_mode[freedoms]):
            kind, i = DRIVES.get(int(mode)), freedoms.start + k
            if kind is None:
                continue
            stiffness = float(b.joint_target_ke[i]) if kind == "position" else 0.0
            damping = float(b.joint_target_kd[i]) if kind != "motor" else 0.0
            gains = ActuatorGains(stiffness or damping or None, stiffness, damping)
            name = joint.name if joint.freedoms == 1 else f"{joint.name}_{k}"
            name = unique(name, {actuator.name for actuator in self.actuators})
            gains_of = None if kind == "motor" else gains
            self.actuators.append(
                Actuator(name, joint.name, k, kind, gains=gains_of, source=joint.source)
            )
        first = b.joint_q_start[self.joint_names.index(joint.name)]
        targets = [*b.joint_target_q[first : first + joint.freedoms], *b.joint_target_qd[freedoms]]
        if joint.actuated and joint.kind not in ("spherical", "free") and any(targets):
            words = "has targets, which are not read: motors here wait for a control"
            self.skip(
                f"the drive of joint `{joint.name}` {words}", joint.source, joints=[joint.name]
            )

    def _has_tree(self, j: int) -> bool:
        """Whether an earlier or an articulated joint leads to the child of joint j too."""
        b = self.builder
        return any(
            b.joint_child[k] == b.joint_child[j] and (b.joint_articulation[k] >= 0 or k < j)
            for k in range(b.joint_count)
            if k != j
        )

    def _limits(self, freedoms: slice, bounded: bool) -> JointLimits | None:
        """Return the limits of freedoms, without bounds of position unless ``bounded``."""
        b = self.builder
        rated = {k: np.array(getattr(b, name)[freedoms], float) for k, name in RATED.items()}
        rated = {k: np.where(v < UNRATED, v, np.inf) for k, v in rated.items()}
        rated = {k: v for k, v in rated.items() if np.isfinite(v).any()}
        lower = np.array(b.joint_limit_lower[freedoms], dtype=np.float64)
        upper = np.array(b.joint_limit_upper[freedoms], dtype=np.float64)
        lower[(lower < -UNLIMITED) | (not bounded)] = -np.inf
        upper[(upper > UNLIMITED) | (not bounded)] = np.inf
        limits = JointLimits(lower, upper, **rated)
        return limits if limits.bounded or rated else None


def _kind(screws: Array, q: Array) -> str:
    """Return the kind of a ``D6`` with these screws; ``composite`` where no other fits."""
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
    """Makes a copy of a builder in which the kinds of some joints are changed."""

    def __init__(self, mechanism: Mechanism, source: Any) -> None:
        super().__init__(mechanism)
        self.builder = source
        self._numbers = {name: j for j, name in enumerate(names_of(source.joint_label))}

    def kinds(self, joint: Joint) -> Collection[str]:
        """Return the kinds that a joint can become; none for free and for driven joints."""
        if joint.name not in self._numbers or joint.kind == "free" or joint.actuated:
            return ()
        return HELD if joint.closure else TREE.get(joint.kind, ())

    def patch(self, wanted: Sequence[WantedKind]) -> Patch:
        """Raise an error, since a builder has no file to edit."""
        raise ModelError("a builder stands in no file that could be edited")

    def changed(self, wanted: Sequence[WantedKind]) -> Any:
        """Return a changed copy of the builder with the same indices."""
        builder = copy.deepcopy(self.builder)
        for each in wanted:
            if each.kind not in (held := self.kinds(each.joint)):
                raise self.refuse(each, held)
            _replace(builder, self._numbers[each.joint.name], each.replacement)
        finished = copy.deepcopy(builder).finalize(device="cpu")  # Newton's own checks
        if finished.joint_count != self.builder.joint_count:
            raise ModelError("Newton builds another number of joints of the new builder")
        return builder


def _replace(builder: Any, j: int, joint: Joint) -> None:
    """Replace joint j by another joint, whose freedoms that it had before keep their values."""
    alone = type(builder)()  # holds the new joint and its two bodies alone
    for _ in range(2):
        alone.add_link()
    config = type(builder).JointDofConfig
    slides, turns = (
        [config(axis=tuple(map(float, c))) for c in part.T if np.any(c)]
        for part in (joint.screws[:3], joint.screws[3:])
    )
    ends = _transform(joint.T_parent_joint), _transform(joint.T_child_joint)
    places = dict(zip(("parent_xform", "child_xform"), ends, strict=True))
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
    same = _same_freedoms(builder, alone, j)
    for unit, names in PER.items():
        starts, total = old[unit]
        end = starts[j + 1] if j + 1 < len(starts) else total
        plain = len(alone.joint_q) == alone.joint_dof_count  # no quaternion among coordinates
        for name in {"dof": names[1:], "coord": names[2:] if plain else ()}.get(unit, ()):
            for new, before in same.items():
                getattr(alone, name)[new] = getattr(builder, name)[starts[j] + before]
        more = getattr(alone, f"joint_{unit}_count") - (end - starts[j])
        for name in names:
            getattr(builder, name)[starts[j] : end] = getattr(alone, name)
        starts[j + 1 :] = [start + more for start in starts[j + 1 :]]
        setattr(builder, f"joint_{unit}_count", total + more)
        for attribute in builder.custom_attributes.values():
            frequency = getattr(attribute.frequency, "name", "")
            if frequency == f"JOINT_{unit.upper()}" and attribute.values:
                kept = ((k, v) for k, v in attribute.values.items() if not starts[j] <= k < end)
                attribute.values = {k + more * (k >= end): value for k, value in kept}
    for name in ("joint_type", "joint_X_p", "joint_X_c", "joint_dof_dim"):
        getattr(builder, name)[j] = getattr(alone, name)[0]


def _same_freedoms(builder: Any, alone: Any, j: int) -> dict[int, int]:
    """Return numbers of freedoms of a new joint, and of joint j, that slide or turn alike."""
    first, (slides, turns) = builder.joint_qd_start[j], builder.joint_dof_dim[j]
    old = [np.array(a) for a in builder.joint_axis[first : first + slides + turns]]
    new_slides = alone.joint_dof_dim[0][0]
    return {
        n: k
        for n, axis in enumerate(np.array(a) for a in alone.joint_axis)
        for k, before in enumerate(old)
        if (n < new_slides) == (k < slides) and float(axis @ before) > 1.0 - ROUNDED
    }


def _transform(T: Array) -> tuple[float, ...]:
    return (*map(float, T[:3, 3]), *map(float, quaternion(T[:3, :3])))
