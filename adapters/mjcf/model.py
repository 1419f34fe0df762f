"""A compiled MJCF model while it is being read: names, frames, values of joints, motors."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import mujoco
import numpy as np

from regularize.adapters.common.draft import Draft
from regularize.adapters.common.loops import close_named, report_loop_candidates
from regularize.adapters.common.quantities import rotation_quaternion
from regularize.adapters.mjcf.compiled import Compiled
from regularize.escape import FileText, unique
from regularize.lie.arrays import Array
from regularize.lie.screw import inverse, log_rotation, transform
from regularize.mechanism.diagnostic import Source
from regularize.mechanism.joint import JointDynamics, JointLimits, joint_position
from regularize.mechanism.mechanism import Actuator, ActuatorGains


@dataclass(eq=False)
class Model(Draft):
    """Draft of the mechanism of a compiled MuJoCo model."""

    compiled: Compiled = field(kw_only=True)  # muJoCo's compiled model and the XML
    body_names: list[str] = field(kw_only=True)  # name of each body, the world first
    joint_names: list[str] = field(kw_only=True)  # name of each joint
    start: Array = field(kw_only=True)
    reference: Array = field(kw_only=True)

    SCALAR = (int(mujoco.mjtJoint.mjJNT_HINGE), int(mujoco.mjtJoint.mjJNT_SLIDE))

    @property
    def m(self) -> Any:
        """The ``mujoco.MjModel``."""
        return self.compiled.model

    @property
    def has_actuators(self) -> bool:
        """Whether the model says which joints are motors."""
        return bool(self.m.nu)

    def joint_name(self, wanted: str) -> str:
        """Return a joint name like ``wanted`` that no joint of the file or draft has."""
        return unique(wanted, {*self.joint_names, *self.joints})

    @staticmethod
    def rotation(wxyz: Array) -> Array:
        """Rotation matrix of a quaternion in MuJoCo's order."""
        w, x, y, z = (float(value) for value in wxyz)
        return rotation_quaternion(x, y, z, w)

    def body_frame(self, number: int) -> Array:
        """Return the frame of a body in its parent at MuJoCo's ``qpos0``."""
        return transform(self.rotation(self.m.body_quat[number]), self.m.body_pos[number])

    def site_frame(self, number: int) -> Array:
        """Frame of a site in its body."""
        return transform(self.rotation(self.m.site_quat[number]), self.m.site_pos[number])

    def equality_name(self, number: int) -> str:
        """Return the name of an equality constraint, or one made of the names that it joins."""
        name = self.m.eq(number).name
        if name:
            return str(name)
        kind = str(mujoco.mjtEq(int(self.m.eq_type[number])).name).removeprefix("mjEQ_").lower()
        ends = (int(ids[number]) for ids in (self.m.eq_obj1id, self.m.eq_obj2id))
        return f"{kind}_{'_'.join(self._object(number, end) for end in ends if end >= 0)}"

    def _object(self, equality: int, number: int) -> str:
        """Return the name of a body, site, joint or tendon that an equality constraint joins."""
        kind = int(self.m.eq_type[equality])
        if kind == mujoco.mjtEq.mjEQ_JOINT:
            return self.joint_names[number]
        if kind == mujoco.mjtEq.mjEQ_TENDON:
            return str(self.m.tendon(number).name) or f"tendon_{number}"
        if self.m.eq_objtype[equality] == mujoco.mjtObj.mjOBJ_SITE:
            return str(self.m.site(number).name) or f"site_{number}"
        if self.m.eq_objtype[equality] == mujoco.mjtObj.mjOBJ_BODY:
            return self.body_names[number]
        return str(number)

    def equality_source(self, number: int) -> Source:
        """Return the place of an equality constraint in the user's files."""
        rows = self.compiled.rows
        if len(rows) == self.m.neq:
            return rows[number].source
        name = self.equality_name(number)
        for tag in ("connect", "weld", "joint", "tendon"):
            if (tag, name) in self.compiled.texts:
                return self.compiled.texts[tag, name].source
        own = self.m.eq(number).name and not self.compiled.texts  # of no file, so by its name
        named = f"@name='{name}'" if own else str(number + 1)
        return Source(self.compiled.path, element=FileText(f"equality[{named}]"))


def poses(m: Any, q: Array) -> Array:
    """Return world poses of all bodies at ``qpos`` q by MuJoCo's kinematics, (nbody, 4, 4)."""
    data = mujoco.MjData(m)
    data.qpos[:] = q
    mujoco.mj_kinematics(m, data)
    T = np.tile(np.eye(4), (m.nbody, 1, 1))
    T[:, :3, :3] = data.xmat.reshape(-1, 3, 3)
    T[:, :3, 3] = data.xpos
    return T


def close_by_sites(model: Model, close: str | None) -> None:
    """Close loops between sites as ``close`` asks; report sites that may close others (REG019)."""
    marks = _unused(model)
    at = {name: i for i, name in enumerate(model.body_names)}

    def pose(body: str) -> Array:
        while body not in at:  # it is between several joints of one body
            body = next(each.child for each in model.joints.values() if each.parent == body)
        T: Array = model.start[at[body]]
        return T

    for joint in close_named(model, pose, close, marks) if close is not None else ():
        ends = (joint.parent, joint.T_parent_joint), (joint.child, joint.T_child_joint)
        first, second = (model.reference[at[body]] @ T for body, T in ends)
        position = joint_position(joint, inverse(first) @ second)
        actuated = False if model.has_actuators else None
        model.joints[joint.name] = replace(joint, position=position, actuated=actuated)

    def lines(one: str, other: str, axis: bool) -> tuple[str, ...]:
        """Return the <connect> element that joins two sites, or two body frames, by a ball."""
        sites = [name in marks for name in (one, other)]
        if any(sites) != all(sites):
            return ()
        kind, rest = ("site", "") if all(sites) else ("body", ' anchor="0 0 0"')
        return (
            f'a ball joint, in <equality>: <connect name="{one}-{other}" {kind}1="{one}" '
            f'{kind}2="{other}"{rest}/>',
        )

    report_loop_candidates(model, pose, lines, marks)


def _unused(model: Model) -> dict[str, tuple[str, Array]]:
    """Return body and frame of each named site that no tendon, equality, sensor or motor uses."""
    m, site = model.m, mujoco.mjtObj.mjOBJ_SITE
    used = {*m.wrap_objid[m.wrap_type == mujoco.mjtWrap.mjWRAP_SITE]}
    used |= {*m.eq_obj1id[m.eq_objtype == site], *m.eq_obj2id[m.eq_objtype == site]}
    used |= {*m.sensor_objid[m.sensor_objtype == site]}
    of_sites = (mujoco.mjtTrn.mjTRN_SITE, mujoco.mjtTrn.mjTRN_SLIDERCRANK)
    used |= {*m.actuator_trnid[np.isin(m.actuator_trntype, of_sites)].ravel()}
    return {
        name: (model.body_names[int(m.site_bodyid[i])], model.site_frame(i))
        for i in range(m.nsite)
        if i not in used and (name := m.site(i).name) and name not in model.body_names
    }


#: Freedoms of each type of joint.
FREEDOMS = {
    int(mujoco.mjtJoint.mjJNT_FREE): 6,
    int(mujoco.mjtJoint.mjJNT_BALL): 3,
    int(mujoco.mjtJoint.mjJNT_SLIDE): 1,
    int(mujoco.mjtJoint.mjJNT_HINGE): 1,
}
#: Elements of the actuators that act on joints.
TAGS = ("motor", "position", "velocity", "intvelocity", "general", "damper", "cylinder", "muscle")
DIRECT = (int(mujoco.mjtTrn.mjTRN_JOINT), int(mujoco.mjtTrn.mjTRN_JOINTINPARENT))


def joint_limits(m: Any, j: int) -> JointLimits | None:
    """Return range and effort limit of a hinge or slide; None for other joints."""
    if m.jnt_type[j] not in Model.SCALAR:
        return None
    forced = bool(m.jnt_actfrclimited[j])
    if not m.jnt_limited[j] and not forced:
        return None
    bounds = m.jnt_range[j] if m.jnt_limited[j] else [-np.inf, np.inf]
    effort = float(np.max(np.abs(m.jnt_actfrcrange[j]))) if forced else None
    return JointLimits.of(bounds, effort=effort)


def one_sided(m: Any) -> list[int]:
    """Return numbers of joints whose actuator force range is not symmetric."""
    uneven = (m.jnt_actfrclimited != 0) & (m.jnt_actfrcrange[:, 0] != -m.jnt_actfrcrange[:, 1])
    return [*map(int, np.flatnonzero(uneven & np.isin(m.jnt_type, Model.SCALAR)))]


def joint_dynamics(m: Any, j: int) -> JointDynamics:
    """Return what a joint, with its actuators, has of damping, friction, armature and spring."""
    kind, start = int(m.jnt_type[j]), int(m.jnt_dofadr[j])
    freedoms = slice(start, start + FREEDOMS[kind])
    values: dict[str, Array] = {
        "damping": m.dof_damping[freedoms] + _of_actuators(m, j, "actuator_damping"),
        "friction": m.dof_frictionloss[freedoms],
        "armature": m.dof_armature[freedoms] + _of_actuators(m, j, "actuator_armature"),
    }
    if m.jnt_stiffness[j] and kind != mujoco.mjtJoint.mjJNT_FREE:
        values["stiffness"] = np.full(FREEDOMS[kind], m.jnt_stiffness[j])
        at = int(m.jnt_qposadr[j])
        values["rest_position"] = m.qpos_spring[at : at + 1]
        if kind == mujoco.mjtJoint.mjJNT_BALL:
            values["rest_position"] = log_rotation(Model.rotation(m.qpos_spring[at : at + 4]))
    return JointDynamics(**{key: value for key, value in values.items() if np.any(value)})


def _of_actuators(m: Any, j: int, name: str) -> float:
    """Sum damping or armature of the actuators of a joint, times their gears squared."""
    values = getattr(m, name, np.zeros(m.nu))
    if m.jnt_type[j] not in Model.SCALAR:
        return 0.0
    mine = (m.actuator_trntype == mujoco.mjtTrn.mjTRN_JOINT) & (m.actuator_trnid[:, 0] == j)
    return float(np.sum(np.square(m.actuator_gear[mine, 0]) * values[mine]))


def unread_values(m: Any) -> dict[str, bool]:
    """Tell for each feature of joints that a mechanism cannot hold whether the model has it."""
    several, free = ~np.isin(m.jnt_type, Model.SCALAR), m.jnt_type == mujoco.mjtJoint.mjJNT_FREE
    growing = ("dof_dampingpoly", "jnt_stiffnesspoly", "jnt_springyield", "actuator_dampingpoly")
    acting = ("stiffness", "damping", "frictionloss", "armature", "limited", "actfrclimited")
    tied = np.isin(m.tendon_adr, np.flatnonzero(m.wrap_type == mujoco.mjtWrap.mjWRAP_JOINT))
    return {
        "springs of free joints": bool(np.any(m.jnt_stiffness[free])),
        "springs, damping, friction, armature and limits of fixed tendons": any(
            np.any(getattr(m, f"tendon_{name}", np.zeros(m.ntendon))[tied]) for name in acting
        ),
        "limits of ball joints": bool(np.any(m.jnt_limited[several])),
        "damping and stiffness beyond their linear terms": any(
            np.any(getattr(m, name, 0.0)) for name in growing
        ),
    }


def actuated_joints(m: Any) -> set[int]:
    """Return numbers of the joints that an actuator moves, directly or by a fixed tendon."""
    return {joint for i in range(m.nu) for joint, _, _ in moved(m, i)}


def read_actuators(model: Model) -> None:
    """Add the actuators that act on joints, directly or by a fixed tendon."""
    m, texts = model.m, model.compiled.texts
    stated = {m.actuator(i).name for i in range(m.nu)}
    for i in range(m.nu):
        coordinates, own, motor = moved(m, i), m.actuator(i).name, ""
        control = _range(m.actuator_ctrllimited[i], m.actuator_ctrlrange[i])
        force = _range(m.actuator_forcelimited[i], m.actuator_forcerange[i])
        source = next((texts[tag, own].source for tag in TAGS if (tag, own) in texts), None)
        for k, (joint, freedom, gear) in enumerate(coordinates):
            taken = {a.name for a in model.actuators} | (stated - ({own} if k == 0 else set()))
            name = unique(own or f"{model.joint_names[joint]}_actuator", taken)
            motor = name if k == 0 else motor
            acts, shared = model.joint_names[joint], motor if len(coordinates) > 1 else None
            values = acts, freedom, _kind(m, i), gear, control, force, _gains(m, i)
            model.actuators.append(Actuator(name, *values, source, shared))


def with_states(m: Any) -> list[str]:
    """Return names of actuators with activation states that move joints."""
    filtered = np.flatnonzero(m.actuator_dyntype != mujoco.mjtDyn.mjDYN_NONE)
    return [m.actuator(int(i)).name or f"actuator[{i + 1}]" for i in filtered if moved(m, int(i))]


def not_of_joints(m: Any) -> list[str]:
    """Return names of actuators on sites, bodies or spatial tendons."""
    return [m.actuator(i).name or f"actuator[{i + 1}]" for i in range(m.nu) if not moved(m, i)]


def moved(m: Any, i: int) -> list[tuple[int, int, float]]:
    """Return (joint number, freedom, gear) of each coordinate that actuator i acts on."""
    target, gear = int(m.actuator_trnid[i, 0]), m.actuator_gear[i]
    if int(m.actuator_trntype[i]) in DIRECT:
        if m.jnt_type[target] in Model.SCALAR:
            return [(target, 0, float(gear[0]))]
        return [(target, k, float(g)) for k, g in enumerate(gear) if g]
    if m.actuator_trntype[i] != mujoco.mjtTrn.mjTRN_TENDON:
        return []
    start = int(m.tendon_adr[target])
    wraps = range(start, start + int(m.tendon_num[target]))
    return [
        (int(m.wrap_objid[w]), 0, float(gear[0] * m.wrap_prm[w]))
        for w in wraps
        if m.wrap_type[w] == mujoco.mjtWrap.mjWRAP_JOINT
    ]


def _kind(m: Any, i: int) -> str:
    """Return the kind of actuator i: motor, position, velocity or general."""
    gain, bias = m.actuator_gainprm[i], m.actuator_biasprm[i]
    if m.actuator_gaintype[i] != mujoco.mjtGain.mjGAIN_FIXED:
        return "general"
    if m.actuator_biastype[i] == mujoco.mjtBias.mjBIAS_NONE:
        return "motor"
    if m.actuator_biastype[i] != mujoco.mjtBias.mjBIAS_AFFINE or bias[0]:
        return "general"
    if gain[0] and gain[0] == -bias[1]:
        return "position"
    return "velocity" if gain[0] and gain[0] == -bias[2] and not bias[1] else "general"


def _range(limited: Any, bounds: Any) -> tuple[float, float] | None:
    return (float(bounds[0]), float(bounds[1])) if limited else None


def _gains(m: Any, i: int) -> ActuatorGains | None:
    """Return gains of actuator i from control, position and velocity to its force, if fixed."""
    if m.actuator_gaintype[i] != mujoco.mjtGain.mjGAIN_FIXED:
        return None
    control = float(m.actuator_gainprm[i, 0])
    if m.actuator_biastype[i] != mujoco.mjtBias.mjBIAS_AFFINE:
        return ActuatorGains(control)
    position, velocity = (0.0 - float(value) for value in m.actuator_biasprm[i, 1:3])
    return ActuatorGains(control, position, velocity)
