"""MJCF files, compiled by MuJoCo: several joints of one body get massless bodies between them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import mujoco
import numpy as np

from regularize.adapters.common.quantities import MASSLESS, principal
from regularize.adapters.common.values import FilePlace
from regularize.adapters.mjcf.bodies import KINDS, wxyz
from regularize.adapters.mjcf.compiled import Compiled, MeshShape, compiled
from regularize.adapters.mjcf.equality import read_equalities
from regularize.adapters.mjcf.model import (
    Model,
    actuated_joints,
    close_by_sites,
    joint_dynamics,
    joint_limits,
    not_of_joints,
    one_sided,
    poses,
    read_actuators,
    unread_values,
    with_states,
)
from regularize.errors import ReadError
from regularize.escape import listed, suggestion, unique
from regularize.lie.arrays import Array
from regularize.lie.screw import exp, inverse, log, log_rotation, transform
from regularize.mechanism.body import Body, Geometry, Inertia
from regularize.mechanism.graph import coordinate_names
from regularize.mechanism.joint import Joint
from regularize.mechanism.joint_kinds import joint_screws
from regularize.mechanism.mechanism import Mechanism, PrescribedMotion

HOME = "home"  # the keyframe that is taken for the reference pose unasked


def read(path: str, *, keyframe: str | bool | None = None, close: str | None = None) -> Mechanism:
    """Read an MJCF file."""
    return _read(compiled(path), Path(path).stem, keyframe, close)


def read_model(model: Any, *, keyframe: str | bool | None = None) -> Mechanism:
    """Read a compiled ``mujoco.MjModel``, whose meshes have lost their files; see ``read``."""
    named = _model_name(model) or "model"
    source = Compiled(f"<MjModel {named}>", model)
    return replace(_read(source, named, keyframe), path=None)


def _read(
    source: Compiled, stem: str, keyframe: str | bool | None, close: str | None = None
) -> Mechanism:
    """Return the mechanism of a compiled model at a keyframe, its loops closed by sites."""
    m, path = source.model, source.path
    bodies, joints = element_names(m)
    q, shown = _reference(m, path, keyframe)
    model = Model(
        path,
        _model_name(m) or stem,
        bodies[0],
        files=[*source.files],
        compiled=source,
        body_names=bodies,
        joint_names=joints,
        start=poses(m, m.qpos0),
        reference=poses(m, q),
    )
    if shown:
        model.note("REG016", f"the reference pose is the keyframe `{shown}`")
    model.bodies = {name: _body(model, i) for i, name in enumerate(bodies)}
    for i in range(1, m.nbody):
        _join(model, i, q)
    read_equalities(model)
    close_by_sites(model, close)
    read_actuators(model)
    if shown:
        model.motions += _prescribed(model, shown)
    _report(model)
    return model.mechanism("mjcf", m.opt.gravity)


def _model_name(m: Any) -> str:
    name: str = m.names[: m.names.index(b"\0")].decode()
    return name if name != "MuJoCo Model" else ""


def element_names(m: Any) -> tuple[list[str], list[str]]:
    """Return names of all bodies and joints, those of unnamed ones made of numbers and bodies."""
    bodies = _named([m.body(i).name for i in range(m.nbody)], (f"body_{i}" for i in range(m.nbody)))
    stems = [f"{bodies[body]}_joint" for body in m.jnt_bodyid]
    return bodies, _named([m.joint(i).name for i in range(m.njnt)], stems)


def _named(names: list[str], stems: Iterable[str]) -> list[str]:
    """Return names, in which unnamed entries get a unique name made of their stem."""
    taken = {name for name in names if name}
    result = []
    for name, stem in zip(names, stems, strict=True):
        result.append(name or unique(stem, taken))
        taken.add(result[-1])
    return result


def _reference(m: Any, path: str, keyframe: str | bool | None) -> tuple[Array, str | None]:
    """Return ``qpos`` of the reference pose and the name of its keyframe, if it is one."""
    names = [str(m.key(i).name) for i in range(m.nkey)]
    if keyframe is None or keyframe is True:
        if HOME not in names and keyframe is None:
            return np.array(m.qpos0), None
        keyframe = HOME if HOME in names or not names else names[0]
    if keyframe is False:
        return np.array(m.qpos0), None
    if keyframe not in names:
        raise ReadError(path, f"there is no keyframe `{keyframe}`{suggestion(keyframe, names)}")
    return np.array(m.key_qpos[names.index(keyframe)]), keyframe


def _join(model: Model, i: int, q: Array) -> None:
    """Add the joints of body i, and the massless bodies between them, at ``qpos`` q."""
    m, name = model.m, model.body_names[i]
    parent, T = model.body_names[int(m.body_parentid[i])], model.body_frame(i)
    first, count = int(m.body_jntadr[i]), int(m.body_jntnum[i])
    where = model.compiled.source("body", name)
    if count == 0:
        fixed, screws = model.joint_name(f"{name}_fixed"), joint_screws("fixed")
        model.joints[fixed] = Joint(fixed, parent, name, "fixed", screws, T, source=where)
    moved = actuated_joints(m)
    for j in range(first, first + count):
        child = name
        if j < first + count - 1:
            child = unique(f"{name}/{model.joint_names[j]}", model.bodies)
            model.bodies[child] = Body(child, MASSLESS, source=where)
        joint = _joint(model, j, parent, child, T, q)
        model.joints[joint.name] = replace(
            joint,
            actuated=j in moved if model.has_actuators else None,
            limits=joint_limits(m, j),
            source=model.compiled.source("joint", joint.name),
            dynamics=joint_dynamics(m, j),
        )
        parent, T = child, np.eye(4)


def _joint(model: Model, j: int, parent: str, child: str, T: Array, q: Array) -> Joint:
    """Return joint j between two bodies at ``qpos`` q; T is its body's frame in the parent."""
    m, kind, at = model.m, int(model.m.jnt_type[j]), int(model.m.jnt_qposadr[j])
    name, place = model.joint_names[j], transform(translation=m.jnt_pos[j])
    if kind == mujoco.mjtJoint.mjJNT_FREE:
        now = transform(model.rotation(q[at + 3 : at + 7]), q[at : at + 3])
        position = log(inverse(T) @ now)
        return Joint(name, parent, child, "free", np.eye(6), T, position=position)
    if kind == mujoco.mjtJoint.mjJNT_BALL:
        screws = joint_screws("spherical")
        position = log_rotation(model.rotation(q[at : at + 4]))
        return Joint(name, parent, child, "spherical", screws, T @ place, place, position)
    what = KINDS.read["hinge" if kind == mujoco.mjtJoint.mjJNT_HINGE else "slide"]
    screws = joint_screws(what, m.jnt_axis[j])
    back = exp(-screws[:, 0] * float(m.qpos0[at]))  # stands as the file places it at q = ref
    return Joint(name, parent, child, what, screws, T @ place @ back, place, q[at : at + 1])


def _prescribed(model: Model, keyframe: str) -> list[PrescribedMotion]:
    """Return target positions of servos that a keyframe's ``ctrl`` sets, as motions."""
    m, motions = model.m, []
    ctrl = m.key_ctrl[[str(m.key(i).name) for i in range(m.nkey)].index(keyframe)]
    for i in range(m.nu if np.any(ctrl) else 0):
        servo = m.actuator_biastype[i] == mujoco.mjtBias.mjBIAS_AFFINE
        servo &= m.actuator_gainprm[i, 0] == -m.actuator_biasprm[i, 1] != 0.0
        j, gear = int(m.actuator_trnid[i, 0]), float(m.actuator_gear[i, 0])
        joint = m.actuator_trntype[i] == mujoco.mjtTrn.mjTRN_JOINT
        if servo and joint and gear and m.jnt_type[j] in Model.SCALAR:
            name = m.actuator(i).name or model.joint_names[j]
            value = repr(float(ctrl[i]) / gear)
            motions.append(PrescribedMotion(name, model.joint_names[j], value))
    return motions


def _body(model: Model, i: int) -> Body:
    """Return body i with its inertia and geometry."""
    m, name, inertia = model.m, model.body_names[i], None
    source = model.compiled.source("body", name)
    if i > 0 and i not in model.compiled.unknown:
        w = m if model.compiled.weighed is None else model.compiled.weighed
        if not np.any(w.body_iquat[i]):
            raise FilePlace(source.path, source.element, source.line).error(
                "the quaternion of the inertia is zero; leave it out, or give a rotation"
            )
        matrix = principal(model.rotation(w.body_iquat[i]), w.body_inertia[i])
        inertia = Inertia(float(w.body_mass[i]), w.body_ipos[i], matrix)
    first, count = int(m.body_geomadr[i]), int(m.body_geomnum[i])
    unshaped, meshes = model.compiled.unshaped, model.compiled.meshes
    held = (g for g in range(first, first + count) if g not in unshaped)
    shapes = [_shape(model, g, meshes.get(g)) for g in held]
    return Body(name, inertia, tuple(shape for shape in shapes if shape is not None), source)


def _shape(model: Model, g: int, mesh: MeshShape | None) -> Geometry | None:
    """Return the geometry of geom g; None for kinds that a mechanism does not hold."""
    m, kind = model.m, int(model.m.geom_type[g])
    a, b, c = (float(x) for x in m.geom_size[g])
    shapes: dict[int, tuple[str, list[float]]] = {
        int(mujoco.mjtGeom.mjGEOM_SPHERE): ("sphere", [a]),
        int(mujoco.mjtGeom.mjGEOM_ELLIPSOID): ("ellipsoid", [a, b, c]),
        int(mujoco.mjtGeom.mjGEOM_CAPSULE): ("capsule", [a, 2 * b]),
        int(mujoco.mjtGeom.mjGEOM_CYLINDER): ("cylinder", [a, 2 * b]),
        int(mujoco.mjtGeom.mjGEOM_BOX): ("box", [2 * a, 2 * b, 2 * c]),
    }
    if mesh is not None:
        name, size = "mesh", [*mesh[1]]
    elif kind in shapes:
        name, size = shapes[kind]
    else:
        return None
    red, green, blue, opacity = (float(x) for x in m.geom_rgba[g])
    touched = bool(m.geom_contype[g] or m.geom_conaffinity[g])
    T, uri = transform(model.rotation(m.geom_quat[g]), m.geom_pos[g]), mesh[0] if mesh else None
    stated = np.array(size), T, uri, (red, green, blue, opacity), touched
    return Geometry(name, *stated, friction=float(m.geom_friction[g, 0]) if touched else None)


def _report(model: Model) -> None:
    """Report what of the model is not read into the mechanism."""
    m = model.m
    for lost in model.compiled.lost:
        structure = not lost.startswith("plugins")  # MuJoCo's are shapes, forces and sensors
        model.note("REG013", f"{lost} are not read", severity="warning", unread=structure)
    for words in model.compiled.warnings:
        model.skip(f"MuJoCo warns: {words}")
    unknown = [model.body_names[i] for i in sorted(model.compiled.unknown)]
    if unknown:
        model.note(
            "REG014",
            "no mass properties, for meshes that are not found or have no volume: "
            + listed(unknown),
            None,
            "write an <inertial> into these bodies, or give a density",
        )
    for j in one_sided(m):
        name, (low, high) = model.joint_names[j], m.jnt_actfrcrange[j]
        model.skip(
            f"the motors of `{name}` have {low:g} to {high:g} at their disposal: its effort is the "
            "larger magnitude, in both directions",
            model.compiled.source("joint", name),
            joints=[name],
        )
    if slow := with_states(m):
        model.skip(
            "activation states of actuators are not read, their forces follow the controls at "
            f"once: {listed(slow, len(slow))}"
        )
    if others := not_of_joints(m):
        model.skip(
            "actuators on sites, bodies or spatial tendons are no motors of joints: "
            + listed(others, len(others))
        )
    starts = m.wrap_type[m.tendon_adr] if m.ntendon else ()
    spatial = [
        m.tendon(k).name or f"tendon_{k}"
        for k, kind in enumerate(starts)
        if kind != mujoco.mjtWrap.mjWRAP_JOINT
    ]
    ignored = {
        **unread_values(m),
        "gravity compensation of bodies": np.any(m.body_gravcomp),
        "forces of a fluid": bool(m.opt.density or m.opt.viscosity),
        f"spatial tendons {listed(spatial)}": bool(spatial),
        "bodies moved from outside (mocap), which are read as fixed": bool(m.nmocap),
    }
    named = [what for what, present in ignored.items() if present]
    if named:
        model.skip(f"not a part of the mechanism: {'; '.join(named)}")


def compiled_model(source: Any, mechanism: Mechanism) -> Any | None:
    """Return the ``mujoco.MjModel`` that a mechanism was read from; None if it was not."""
    if mechanism.format != "mjcf":
        return None
    if hasattr(source, "qpos0"):
        return source
    if hasattr(source, "compile"):
        return source.compile()
    return None if mechanism.path is None else compiled(mechanism.path).model


def qpos(m: Any, mechanism: Mechanism, coordinates: Array) -> Array:
    """Return ``qpos`` (n, nq) of an ``mujoco.MjModel`` for coordinates of all joints (n, k)."""
    names = coordinate_names(mechanism)
    result = np.repeat(np.array(m.qpos0)[None], len(coordinates), axis=0)
    for j, name in enumerate(element_names(m)[1]):
        at, columns = int(m.jnt_qposadr[j]), [*range(mechanism.joint(name).freedoms)]
        first = names.index(name if len(columns) == 1 else f"{name}[0]")
        values = coordinates[:, first : first + len(columns)]
        if int(m.jnt_type[j]) in Model.SCALAR:
            result[:, at] = values[:, 0]
        elif len(columns) == 3:  # rotation vectors to quaternions, w first
            moved = exp(np.concatenate([np.zeros_like(values), values], axis=1))
            result[:, at : at + 4] = [wxyz(T[:3, :3]) for T in moved]
        else:  # counted from the pose in the file
            body = int(m.jnt_bodyid[j])
            home = transform(Model.rotation(m.body_quat[body]), m.body_pos[body])
            moved = home @ exp(values)
            result[:, at : at + 7] = [[*T[:3, 3], *wxyz(T[:3, :3])] for T in moved]
    return result
