"""Sites of MJCF that mark where loops close, as exporters leave them that write trees alone."""

from __future__ import annotations

from collections.abc import Container, Iterator
from dataclasses import replace

import mujoco
import numpy as np

from regularize.adapters.common.marked_loops import close_named, report_loop_candidates
from regularize.adapters.mjcf.model import Model
from regularize.lie.screw import Array, inverse
from regularize.mechanism.joint import joint_position


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
        return tuple(_line(one, other, marks))

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


def _line(one: str, other: str, marks: Container[str]) -> Iterator[str]:
    """What to write for a ball at two sites, or at the frames of two bodies."""
    sites = [name in marks for name in (one, other)]
    if all(sites) or not any(sites):
        kind, rest = ("site", "") if all(sites) else ("body", ' anchor="0 0 0"')
        yield (
            f'a ball joint, in <equality>: <connect name="{one}-{other}" {kind}1="{one}" '
            f'{kind}2="{other}"{rest}/>'
        )
