"""The benchmark problems in other programs, at the settings that suit them best.

Mechanisms are trees of hinges with hinges that close loops. MuJoCo closes them by points that are
connected, one in a plane and two on the axis else; EXUDYN has all hinges as constraints, in a plane
planar ones, so that none is redundant there. Both take the spring and the torque of Andrews'
squeezer. Each function yields settings with what builds the model and runs it, so that both can be
timed; states are returned as ``Problem.measure`` reads them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

import regularize as rg

Array = NDArray[np.float64]
#: Runs a model and returns, for each time, where its bodies are; nothing where it gives up.
Run = Callable[[], "list[Poses]"]


@dataclass(frozen=True)
class Poses:
    """Where bodies are: positions of their reference points, and rotations from the start."""

    position: Mapping[str, Array]
    rotation: Mapping[str, Array]


@dataclass(frozen=True, eq=False)
class Problem:
    """A mechanism with what acts on it."""

    name: str
    mechanism: rg.Mechanism
    times: tuple[float, ...]
    planar: bool
    measure: Callable[[Poses], Array]
    rates: Mapping[str, float] = field(default_factory=dict)
    torques: Mapping[str, float] = field(default_factory=dict)
    spring: tuple[str, Array, Array, float, float] | None = None

    def reference(self, body: str) -> Array:
        """The point of a body that stands for its position: its centre."""
        return np.asarray(self.inertia(body).center)

    def inertia(self, body: str) -> rg.Inertia:
        """The mass properties of a body; rods of a plane have no thickness, and some across it."""
        inertia = self.mechanism.body(body).inertia
        assert inertia is not None
        return replace(inertia, matrix=inertia.matrix[2, 2] * np.eye(3)) if self.planar else inertia

    def tree(self) -> Iterator[rg.Joint]:
        """Joints that close no loops, each behind that of its parent."""
        placed, waiting = {self.mechanism.ground}, [*self.mechanism.joints]
        waiting = [joint for joint in waiting if not joint.closure]
        while waiting:
            joint = next(joint for joint in waiting if joint.parent in placed)
            waiting.remove(joint)
            placed.add(joint.child)
            yield joint

    def moving(self) -> list[str]:
        """Bodies with mass."""
        return [body.name for body in self.mechanism.bodies if body.inertia is not None]


def _words(values: Any) -> str:
    return " ".join(repr(float(value)) for value in np.atleast_1d(values))


def mjcf(problem: Problem, step: float, integrator: str, stiff: float) -> str:
    """The problem as MJCF: the tree of hinges, and points that are connected."""
    mechanism = problem.mechanism
    closing = [j for j in mechanism.joints if j.closure]
    children: dict[str, list[rg.Joint]] = {}
    for joint in problem.tree():
        children.setdefault(joint.parent, []).append(joint)

    def bodies(parent: str, at: Array) -> str:
        text = ""
        for joint in children.get(parent, []):
            origin = joint.T_parent_joint[:3, 3]
            inertia = problem.inertia(joint.child)
            m = inertia.matrix
            entries = [m[0, 0], m[1, 1], m[2, 2], m[0, 1], m[0, 2], m[1, 2]]
            end = ""
            if problem.spring is not None and problem.spring[0] == joint.child:
                end = f'<site name="end" pos="{_words(problem.spring[1] - origin)}"/>'
            text += (
                f'<body name="{joint.child}" pos="{_words(origin - at)}">'
                f'<joint name="{joint.name}" axis="{_words(joint.screws[3:, 0])}"/>{end}'
                f'<inertial pos="{_words(inertia.center - origin)}" mass="{inertia.mass}" '
                f'fullinertia="{_words(entries)}"/>{bodies(joint.child, origin)}</body>'
            )
        return text

    base = {joint.child: joint.T_parent_joint[:3, 3] for joint in problem.tree()}
    connects = ""
    for joint in closing:
        one, two = joint.parent, joint.child
        first, second = (two, one) if one == mechanism.ground else (one, two)
        pivot = joint.T_parent_joint[:3, 3] - base[first]
        for shift in (0.0,) if problem.planar else (0.0, 1.0):
            other = "" if second == mechanism.ground else f'body2="{second}" '
            connects += (
                f'<connect body1="{first}" {other}solref="{stiff * step} 1" '
                f'solimp="0.9999 0.9999 0.001 0.5 2" '
                f'anchor="{_words(pivot + shift * joint.screws[3:, 0])}"/>'
            )
    site = tendon = ""
    if problem.spring is not None:
        _, _, fixed, stiffness, rest = problem.spring
        site = f'<site name="fixed" pos="{_words(fixed)}"/>'
        tendon = (
            f'<tendon><spatial stiffness="{stiffness}" springlength="{rest}">'
            '<site site="fixed"/><site site="end"/></spatial></tendon>'
        )
    return (
        f'<mujoco><compiler angle="radian"/><option timestep="{step!r}" integrator="{integrator}" '
        f'iterations="100" tolerance="1e-14" gravity="{_words(mechanism.gravity)}">'
        f'<flag contact="disable"/></option><worldbody>{site}'
        f"{bodies(mechanism.ground, np.zeros(3))}</worldbody>"
        f"<equality>{connects}</equality>{tendon}</mujoco>"
    )


def begun(problem: Problem) -> dict[str, float]:
    """Rates of all joints of the tree at the beginning."""
    if not problem.rates:
        return {}
    robot = rg.to_pinocchio(rg.reduce(problem.mechanism), "anchors")
    v = robot.admissible_velocity(robot.q0, dict(problem.rates))
    return {j.name: float(v[robot.velocity_index(j.name)]) for j in problem.tree()}


def mujoco_run(text: str, problem: Problem, rates: Mapping[str, float], step: float) -> Run:
    """Compile a model, and what runs it."""
    import mujoco

    model = mujoco.MjModel.from_xml_string(text)
    addresses = {n: model.joint(n).dofadr[0] for n in [*rates, *problem.torques]}

    def run() -> list[Poses]:
        data, found, done = mujoco.MjData(model), [], 0
        for name, rate in rates.items():
            data.qvel[addresses[name]] = rate
        for name, torque in problem.torques.items():
            data.qfrc_applied[addresses[name]] = torque
        for time in problem.times:
            steps = round(time / step)
            mujoco.mj_step(model, data, nstep=steps - done)
            done = steps
            mujoco.mj_kinematics(model, data)
            names = problem.moving()
            found.append(
                Poses(
                    {n: np.array(data.body(n).xipos) for n in names},
                    {n: np.array(data.body(n).xmat).reshape(3, 3) for n in names},
                )
            )
        return found

    return run


def of_mujoco(
    problem: Problem, steps: Sequence[float], integrators: tuple[str, ...] = ("RK4", "implicitfast")
) -> Iterator[tuple[str, float, Callable[[], Run]]]:
    """Integrators, steps in seconds from long to short, and what compiles a model."""
    rates = begun(problem)
    for integrator in integrators:
        for stiff in (2.0, 4.0):
            for step in steps:
                text = mjcf(problem, step, integrator, stiff)

                def build(text: str = text, step: float = step) -> Run:
                    return mujoco_run(text, problem, rates, step)

                yield f"{integrator}, {stiff:g} steps", step, build


def of_exudyn(
    problem: Problem,
    steps: Sequence[float],
    methods: tuple[str, ...] = ("GeneralizedAlpha", "TrapezoidalIndex2"),
) -> Iterator[tuple[str, float, Callable[[], Run]]]:
    """The same of EXUDYN."""
    for method in methods if problem.planar else methods[:1]:  # the other one diverges in space
        for step in steps:

            def build(step: float = step, method: str = method) -> Run:
                return exudyn_run(problem, step, method)

            yield method, step, build


def exudyn_run(problem: Problem, step: float, method: str) -> Run:
    """Assemble a model, and what runs it."""
    import exudyn as exu
    import exudyn.itemInterface as items

    exu.config.printToConsole = False
    container = exu.SystemContainer()
    system = container.AddSystem()
    add = _planar if problem.planar else _spatial
    bodies = add(problem, system, exu, items)
    variables = exu.OutputVariableType
    kinds = (variables.Position, variables.Rotation if problem.planar else variables.RotationMatrix)
    sensors = {
        (name, i): system.AddSensor(
            items.SensorBody(
                bodyNumber=bodies[name],
                localPosition=[0, 0, 0],
                outputVariableType=kind,
                storeInternal=True,
                writeToFile=False,
            )
        )
        for name in problem.moving()
        for i, kind in enumerate(kinds)
    }
    system.Assemble()
    settings = exu.SimulationSettings()
    many = len(problem.mechanism.joints) > 30
    settings.timeIntegration.endTime = problem.times[-1]
    settings.timeIntegration.numberOfSteps = round(problem.times[-1] / step)
    settings.timeIntegration.verboseMode = 0
    settings.solution.file.write = False
    period = np.gcd.reduce([round(1e6 * time) for time in problem.times]) / 1e6
    settings.solution.sensors.writePeriod = period
    linear = exu.LinearSolverType
    settings.linearSolver.solverType = linear.EigenSparse if many else linear.EigenDense
    settings.linearSolver.ignoreSingularJacobian = not problem.planar
    settings.timeIntegration.newton.useModifiedNewton = True

    def run() -> list[Poses]:
        try:
            system.SolveDynamic(settings, solverType=getattr(exu.DynamicSolverType, method))
        except exu.SolverError:
            return []
        found = []
        for time in problem.times:
            position, rotation = {}, {}
            for (name, i), sensor in sensors.items():
                rows = system.GetSensorStoredData(sensor)
                row = rows[int(np.argmin(np.abs(rows[:, 0] - time))), 1:]
                if i == 0:
                    position[name] = row
                else:
                    rotation[name] = _turned(row[-1]) if problem.planar else row.reshape(3, 3)
            found.append(Poses(position, rotation))
        return found

    return run


def _turned(angle: float) -> Array:
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])


def _spatial(problem: Problem, system: Any, exu: Any, items: Any) -> dict[str, Any]:
    """Rigid bodies and hinges."""
    from exudyn.rigidBodyUtilities import RigidBodyInertia

    mechanism = problem.mechanism
    bodies = {mechanism.ground: system.CreateGround()}
    for name in problem.moving():
        inertia = problem.inertia(name)
        bodies[name] = system.CreateRigidBody(
            referencePosition=[*inertia.center],
            inertia=RigidBodyInertia(mass=inertia.mass, inertiaTensor=np.array(inertia.matrix)),
            gravity=[*mechanism.gravity],
        )
    for joint in mechanism.joints:
        system.CreateRevoluteJoint(
            itemNumbers=[bodies[joint.parent], bodies[joint.child]],
            position=[*joint.T_parent_joint[:3, 3]],
            axis=[*joint.screws[3:, 0]],
            useGlobalFrame=True,
        )
    return bodies


def _planar(problem: Problem, system: Any, exu: Any, items: Any) -> dict[str, Any]:
    """Bodies and hinges of a plane."""
    mechanism = problem.mechanism
    bodies = {mechanism.ground: system.AddObject(items.ObjectGround())}
    speeds = {name: np.zeros(3) for name in problem.moving()}
    if problem.rates:
        speeds = planar_speeds(problem)
    for name in problem.moving():
        inertia = problem.inertia(name)
        x, y, _ = inertia.center
        node = system.AddNode(
            items.NodeRigidBody2D(
                referenceCoordinates=[x, y, 0.0], initialVelocities=[*speeds[name]]
            )
        )
        bodies[name] = system.AddObject(
            items.ObjectRigidBody2D(
                mass=inertia.mass, inertia=inertia.matrix[2, 2], nodeNumber=node
            )
        )
        if np.any(mechanism.gravity):
            mass = system.AddMarker(items.MarkerBodyMass(bodyNumber=bodies[name]))
            system.AddLoad(
                items.LoadMassProportional(markerNumber=mass, loadVector=[*mechanism.gravity])
            )

    def marker(body: str, point: Array, kind: Any = items.MarkerBodyPosition) -> Any:
        at = point if body == mechanism.ground else point - problem.reference(body)
        return system.AddMarker(kind(bodyNumber=bodies[body], localPosition=[*at]))

    for joint in mechanism.joints:
        point = joint.T_parent_joint[:3, 3]
        ends = [marker(joint.parent, point), marker(joint.child, point)]
        system.AddObject(items.ObjectJointRevolute2D(markerNumbers=ends))
        if joint.name in problem.torques:
            where = marker(joint.child, point, items.MarkerBodyRigid)
            torque = [0.0, 0.0, problem.torques[joint.name]]
            system.AddLoad(items.LoadTorqueVector(markerNumber=where, loadVector=torque))
    if problem.spring is not None:
        body, point, fixed, stiffness, rest = problem.spring
        ends = [marker(mechanism.ground, fixed), marker(body, point)]
        system.AddObject(
            items.ObjectConnectorSpringDamper(
                markerNumbers=ends, referenceLength=rest, stiffness=stiffness
            )
        )
    return bodies


def planar_speeds(problem: Problem) -> dict[str, Array]:
    """Velocities of the centres, and rates of turning, at the beginning."""
    rates, speeds = begun(problem), {problem.mechanism.ground: np.zeros(3)}
    centres = {problem.mechanism.ground: np.zeros(3)}
    for joint in problem.tree():
        vx, vy, turn = speeds[joint.parent]
        pivot, centre = joint.T_parent_joint[:3, 3], problem.reference(joint.child)
        (x, y), own = (pivot - centres[joint.parent])[:2], turn + rates[joint.name]
        vx, vy = vx - turn * y, vy + turn * x
        x, y = (centre - pivot)[:2]
        speeds[joint.child] = np.array([vx - own * y, vy + own * x, own])
        centres[joint.child] = centre
    return speeds
