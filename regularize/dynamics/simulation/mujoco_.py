"""The same model in MuJoCo, for comparison: soft welds instead of exact constraints."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from regularize.dynamics.pinocchio import pin
from regularize.dynamics.pinocchio.robot import Robot
from regularize.dynamics.simulation.loads import Loads
from regularize.dynamics.simulation.recording import Counters, Sample
from regularize.errors import MissingExtra, ModelError, UnsupportedExport
from regularize.lie import screw
from regularize.lie.arrays import Array, Configuration, Velocity
from regularize.tolerances import ROUNDING

AXES = dict(zip("XYZ", np.eye(3), strict=True))
#: Impedance of the welds: as hard as MuJoCo allows.
IMPEDANCE = (0.9999, 0.9999, 0.001, 0.5, 2.0)


def mujoco_model(robot: Robot, step: float) -> Any:
    """Return a ``mujoco.MjModel`` with the joints in order, and a soft weld for every cut."""
    try:
        import mujoco
    except ImportError as error:
        raise MissingExtra("this engine", "mujoco", "mujoco") from error
    if len(robot.constraints.coupling):
        raise UnsupportedExport("couplings are not carried over to MuJoCo; use the engine 'rows'")
    model = robot.expanded.model
    spec = mujoco.MjSpec()
    spec.compiler.degree = False
    spec.option.timestep = step
    spec.option.integrator = mujoco.mjtIntegrator.mjINT_RK4
    spec.option.gravity = np.array(model.gravity.linear)
    spec.option.disableflags = int(mujoco.mjtDisableBit.mjDSBL_CONTACT)
    spec.option.iterations, spec.option.tolerance = 100, ROUNDING
    # Joints of massless links move into the next body with mass; a body may have several.
    bodies: dict[int, tuple[Any, Any]] = {0: (spec.worldbody, pin.SE3.Identity())}
    waiting: dict[int, list[tuple[int, Any]]] = {}
    for i in range(1, model.njoints):
        parent, placement = int(model.parents[i]), model.jointPlacements[i]
        before = waiting.get(parent, [])
        if before:
            # What a chain of massless links hangs on, and where its end is there.
            parent, placement = int(model.parents[before[0][0]]), before[-1][1] * placement
        owner, chain = bodies[parent][0], [*before, (i, placement)]
        if model.inertias[i].mass == 0.0:
            waiting[i] = chain
            continue
        body = owner.add_body(
            name=f"body {i}", pos=placement.translation, quat=_quaternion(placement)
        )
        for k, T_owner_joint in chain:
            joint = _add_joint(body, model, k, placement.actInv(T_owner_joint))
            _set_values(joint, robot.expanded, int(model.idx_vs[k]))
        _set_inertia(body, model.inertias[i])
        bodies[i] = (body, placement)
    for closure in robot.expanded.constraints.closures:
        _add_weld(spec, closure, step)
    try:
        return spec.compile()
    except (ValueError, mujoco.FatalError) as error:
        reason = " ".join(str(error).split())
        raise UnsupportedExport(
            f"MuJoCo refuses the model ({reason}): it needs mass at the end of every chain; use "
            "the engine 'rows'"
        ) from error


def _quaternion(pose: Any) -> Array:
    """Return the quaternion (w x y z) of a pose."""
    x, y, z, w = pin.Quaternion(pose.rotation).coeffs()
    return np.array([w, x, y, z])


def _add_joint(body: Any, model: Any, index: int, T_body_joint: Any) -> Any:
    """Add a joint of the robot to a body of the MuJoCo model."""
    import mujoco

    kinds = mujoco.mjtJoint
    joint, name = model.joints[index], str(model.names[index])
    short = joint.shortname().removeprefix("JointModel")
    point = T_body_joint.translation
    if short == "FreeFlyer":
        return body.add_joint(name=name, type=kinds.mjJNT_FREE)
    if short == "Spherical":
        return body.add_joint(name=name, type=kinds.mjJNT_BALL, pos=point)
    if short in ("RevoluteUnaligned", "PrismaticUnaligned"):
        axis = np.array(joint.extract().axis)
    elif len(short) == 2 and short[0] in "RP":
        axis = AXES[short[1]]
    else:
        raise UnsupportedExport(f"joint {name!r}: MuJoCo has no joint like Pinocchio's {short}")
    kind = kinds.mjJNT_HINGE if short[0] == "R" else kinds.mjJNT_SLIDE
    return body.add_joint(name=name, type=kind, pos=point, axis=T_body_joint.rotation @ axis)


def _set_values(joint: Any, robot: Robot, index: int) -> None:
    """Give a joint its damping, friction, rotor and spring; ball joints have one of each."""
    passive, column = robot.passive.joints, int(robot.passive.coordinates.columns[index])
    if column < 0:
        return
    joint.damping = np.where(np.arange(len(joint.damping)) == 0, passive.damping[column], 0.0)
    joint.frictionloss, joint.armature = passive.friction[column], passive.armature[column]
    joint.stiffness = np.where(np.arange(len(joint.stiffness)) == 0, passive.stiffness[column], 0.0)
    joint.springref = passive.rest_position[column]


def _set_inertia(body: Any, inertia: Any) -> None:
    """Give a body of the MuJoCo model its mass properties."""
    moments, axes = np.linalg.eigh(np.array(inertia.inertia))
    axes = axes * np.sign(np.linalg.det(axes))
    body.explicitinertial = True
    body.mass, body.ipos = inertia.mass, np.array(inertia.lever)
    body.inertia = moments
    body.iquat = _quaternion(pin.SE3(axes, np.zeros(3)))


def _add_weld(spec: Any, closure: Any, step: float) -> None:
    """Add a weld between the two bodies of a cut, as stiff as the step allows."""
    import mujoco

    names = [f"body {i}" if i else "world" for i in (closure.first, closure.second)]
    weld = spec.add_equality()
    weld.name1, weld.name2 = names
    weld.objtype = mujoco.mjtObj.mjOBJ_BODY
    weld.solref, weld.solimp = [2 * step, 1.0], IMPEDANCE
    data = np.zeros(len(weld.data))
    if closure.edge is None:
        weld.type = mujoco.mjtEq.mjEQ_WELD
        relative = pin.SE3(closure.first_frame) * pin.SE3(closure.second_frame).inverse()
        data[:3] = closure.second_frame[:3, 3]
        data[3:6] = closure.first_frame[:3, 3]
        data[6:10], data[10] = _quaternion(relative), 1.0
    else:
        weld.type = mujoco.mjtEq.mjEQ_CONNECT
        data[:3] = closure.first_frame[:3, 3]
    weld.data = data


class MujocoEngine:
    """Steps of MuJoCo."""

    name = "mujoco"
    explained = total = np.inf

    def __init__(self, robot: Robot, loads: Loads, q: Array, v: Array, step: float) -> None:
        compiled = mujoco_model(robot, step)
        import mujoco

        self.counters = Counters()
        self._loads, self._step = loads, step
        model = robot.expanded.model
        #: Where quaternions begin, and those of free bodies with their velocities.
        self._quaternions, self._floating = list[int](), list[tuple[int, int]]()
        for i in range(1, model.njoints):
            short, start = model.joints[i].shortname(), int(model.idx_qs[i])
            if short == "JointModelSpherical":
                self._quaternions.append(start)
            elif short == "JointModelFreeFlyer":
                self._quaternions.append(start + 3)
                self._floating.append((start + 3, int(model.idx_vs[i])))
        self._data = mujoco.MjData(compiled)
        self._data.qpos[:], self._data.qvel[:] = self._to_mujoco(q, v)
        self._next: Callable[[], None] = lambda: mujoco.mj_step(compiled, self._data)
        self._q, self._v, self._work = q, v, 0.0

    def ends(self, times: Array) -> Array:
        """Return the ends of steps nearest to given times."""
        return self._step * np.unique(np.rint(times / self._step))

    @property
    def end(self) -> float:
        """End of the last step in seconds."""
        return self._step * self.counters.steps

    def step(self, until: float, sampled: float = 0.0) -> None:
        """Make one step."""
        t = self.end
        tau = self._loads.applied(t, self._q, self._v)
        power = float(self._loads.working(t, self._q, self._v) @ self._v)
        floating = self._floating
        self._data.qfrc_applied[:] = self._to_mujoco(self._q, tau)[1] if floating else tau
        from regularize.adapters.mjcf.compiled import collected  # with MuJoCo, which is there now

        with collected() as warnings:
            self._next()
        if warnings:
            raise ModelError(f"MuJoCo warns at {t:.6g} s: {' '.join(warnings[0].split())}")
        self._q, self._v = self._from_mujoco(self._data.qpos, self._data.qvel)
        power += float(self._loads.working(t + self._step, self._q, self._v) @ self._v)
        self._work += self._step * power / 2
        self.counters.steps += 1
        self.counters.evaluations += 4

    def sample(self, t: float) -> Sample:
        """Return the motion at the end of the last step."""
        return Sample(t, self._q, self._v, self._work)

    def _to_mujoco(self, q: Configuration, v: Velocity) -> tuple[Array, Array]:
        """Return coordinates and velocities of MuJoCo, whose quaternions begin with the scalar."""
        q_new, v_new = np.array(q), self._turned(q, v, back=False)
        for start in self._quaternions:
            q_new[start : start + 4] = q[[start + 3, start, start + 1, start + 2]]
        return q_new, v_new

    def _from_mujoco(self, q: Array, v: Array) -> tuple[Configuration, Velocity]:
        """Return the configuration and the velocity of MuJoCo's coordinates."""
        q_new = np.array(q)
        for start in self._quaternions:
            q_new[start : start + 4] = q[[start + 1, start + 2, start + 3, start]]
        return q_new, self._turned(q_new, v, back=True)

    def _turned(self, q: Configuration, v: Array, *, back: bool) -> Array:
        """Return velocities with the linear ones of free bodies in ground axes, or back."""
        turned = np.array(v)
        for quaternion, rate in self._floating:
            R = screw.rotation_of(np.asarray(q[quaternion : quaternion + 4]))
            turned[rate : rate + 3] = (R.T if back else R) @ v[rate : rate + 3]
        return turned
