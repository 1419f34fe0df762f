"""A compiled MJCF model while it is being read: names, frames, sites that mark loops."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import mujoco
import numpy as np

from regularize.adapters.common.draft import Draft
from regularize.adapters.common.marked_loops import close_named, report_loop_candidates
from regularize.adapters.common.quantities import rotation_quaternion
from regularize.adapters.mjcf.compiled import Compiled
from regularize.escape import unique
from regularize.lie.arrays import Array
from regularize.lie.screw import inverse, transform
from regularize.mechanism.diagnostic import Source
from regularize.mechanism.joint import joint_position


@dataclass(eq=False)
class Model(Draft):
    """The model, and the mechanism that grows out of it."""

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
        """A name that neither a joint of the file nor one added so far has."""
        return unique(wanted, {*self.joint_names, *self.joints})

    @staticmethod
    def rotation(wxyz: Array) -> Array:
        """Rotation matrix of a quaternion in MuJoCo's order."""
        w, x, y, z = (float(value) for value in wxyz)
        return rotation_quaternion(x, y, z, w)

    def body_frame(self, number: int) -> Array:
        """Frame of a body in its parent, all coordinates at their start values."""
        return transform(self.rotation(self.m.body_quat[number]), self.m.body_pos[number])

    def site_frame(self, number: int) -> Array:
        """Frame of a site in its body."""
        return transform(self.rotation(self.m.site_quat[number]), self.m.site_pos[number])

    def equality_name(self, number: int) -> str:
        """Name of an equality constraint, or one made of what it joins."""
        name = self.m.eq(number).name
        if name:
            return str(name)
        kind = str(mujoco.mjtEq(int(self.m.eq_type[number])).name).removeprefix("mjEQ_").lower()
        ends = []
        for numbers in (self.m.eq_obj1id, self.m.eq_obj2id):
            if numbers[number] >= 0:
                ends.append(self._object(number, int(numbers[number])))
        return f"{kind}_{'_'.join(ends)}"

    def _object(self, equality: int, number: int) -> str:
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
        """Where an equality constraint stands."""
        rows = self.compiled.rows
        if len(rows) == self.m.neq:
            return rows[number].source
        name = self.equality_name(number)
        for tag in ("connect", "weld", "joint", "tendon"):
            if (tag, name) in self.compiled.texts:
                return self.compiled.texts[tag, name].source
        own = self.m.eq(number).name and not self.compiled.texts  # of no file, so by its name
        named = f"@name='{name}'" if own else str(number + 1)
        return Source(self.compiled.path, element=f"equality[{named}]")


def poses(m: Any, q: Array) -> Array:
    """World pose of every body at a configuration, by MuJoCo's own kinematics, (nbody, 4, 4)."""
    data = mujoco.MjData(m)
    data.qpos[:] = q
    mujoco.mj_kinematics(m, data)
    T = np.tile(np.eye(4), (m.nbody, 1, 1))
    T[:, :3, :3] = data.xmat.reshape(-1, 3, 3)
    T[:, :3, 3] = data.xpos
    return T


def close_by_sites(model: Model, close: str | None) -> None:
    """Close the loops that are asked for, and offer those that other sites mark (REG019)."""
    marks = _unused(model)
    at = {name: i for i, name in enumerate(model.body_names)}

    def pose(body: str) -> Array:
        while body not in at:  # it is between several joints of one body
            body = next(each.child for each in model.joints.values() if each.parent == body)
        found: Array = model.start[at[body]]
        return found

    for joint in close_named(model, pose, close, marks) if close is not None else ():
        ends = (joint.parent, joint.T_parent_joint), (joint.child, joint.T_child_joint)
        first, second = (model.reference[at[body]] @ T for body, T in ends)
        position = joint_position(joint, inverse(first) @ second)
        actuated = False if model.has_actuators else None
        model.joints[joint.name] = replace(joint, position=position, actuated=actuated)

    def lines(one: str, other: str, axis: bool) -> tuple[str, ...]:
        """What to write for a ball at two sites, or at the frames of two bodies."""
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
    """Named sites that nothing in the model is fastened to, on which body and where."""
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
