"""Elastic bodies: against closed solutions, finite elements, rigid bodies and each other."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.linalg import eigh

import regularize as rg

TEXTS = Path(__file__).parents[2] / "assets" / "metamodel"
#: Springs of a beam.
POINTS = 12
STEEL = {"E": 2.1e11, "G": 8.1e10, "density": 7850.0}


def cantilever(height=0.01, width=0.01, length=1.0, **material):
    """A beam that is welded to the ground, and its two flexural rigidities by mass per length."""
    moments = (width * height**3 / 12, height * width**3 / 12)
    beam = rg.Beam(length, width * height, moments, **{**STEEL, **material})
    bodies = (rg.Body("ground"), rg.Body("beam", elastic=beam))
    weld = rg.Joint("weld", "ground", "beam", "fixed", np.zeros((6, 0)))
    return rg.Mechanism("cantilever", bodies, (weld,)), beam


def frequencies(mechanism):
    """Natural frequencies at the reference from the reduced model, rad/s."""
    model = rg.reduced_model(mechanism)
    theta, step = model.theta, 1e-6
    slopes = [
        (model.p(theta + step * d) - model.p(theta - step * d)) / (2 * step)
        for d in np.eye(len(theta))
    ]
    K = -np.array(slopes)
    return np.sqrt(np.sort(np.linalg.eigvals(np.linalg.solve(model.H(theta), K)).real))


def of_cantilever(beam):
    """First three frequencies about both axes of a slender cantilever, rad/s."""
    roots, mass = np.array([1.8751041, 4.6940911, 7.8547574]), beam.density * beam.area
    both = [roots**2 / beam.length**2 * np.sqrt(beam.E * I / mass) for I in beam.moments]  # noqa: E741
    return np.sort(both, axis=None)


def balanced(model, steps=1):
    """Where forces balance, by Newton from the reference."""
    theta, h = model.theta, 1e-6
    for _ in range(steps):
        K = [(model.p(theta + h * d) - model.p(theta)) / h for d in np.eye(len(theta))]
        theta = theta - np.linalg.solve(np.transpose(K), model.p(theta))
    return theta


@pytest.mark.slow
def test_first_three_frequencies_of_a_cantilever():
    mechanism, beam = cantilever(0.01, 0.014)
    mechanism = replace(mechanism, gravity=np.zeros(3))
    np.testing.assert_allclose(frequencies(mechanism)[:6], of_cantilever(beam), rtol=0.005)


@pytest.mark.slow
def test_tip_deflection_under_load_and_weight():
    mechanism, beam = cantilever(0.01, 0.014)
    force, length, EI = 3.0, beam.length, beam.E * beam.moments[0]
    load = rg.BodyLoad(force=(0, 0, -force), point=(length, 0, 0))
    model = rg.reduced_model(mechanism, loads={"beam": load})
    theta = balanced(model, 4)
    q = model.configuration(theta)
    loops = model.equations.loops
    row = loops.row(loops.graph.node_of[f"beam segment {POINTS + 1}"])
    tip = loops.state(q[None]).T_world_node[0, row] @ [length, 0, 0, 1]
    weight = beam.density * beam.area * 9.81
    wanted = -(force * length**3 / 3 + weight * length**4 / 8) / EI
    assert tip[2] == pytest.approx(wanted, rel=0.01)


def four_bar(E=STEEL["E"], height=0.01, elastic=True):
    """A four-bar linkage in the plane x, z, its coupler a beam."""
    p, q = np.array([0, 0, 0.3]), np.array([1, 0, 0.5])
    length = float(np.linalg.norm(q - p))
    x, y = (q - p) / length, np.array([0, 1.0, 0])
    T = np.eye(4)
    T[:3] = np.column_stack([x, y, np.cross(x, y), p])
    beam = rg.Beam(length, height**2, (height**4 / 12,) * 2, E, E / 2.6, 7850.0)
    a = rg.assembly("four-bar")
    for name, start, end in (("crank", (0, 0, 0), p), ("rocker", (1, 0, 0), q)):
        middle = (np.array(start) + end) / 2
        a.body(name, mass=1.0, com=middle, inertia=0.01 * np.eye(3))
    a.body("coupler")
    a.hinge("A", "ground", "crank", at=(0, 0, 0), axis=(0, 1, 0), actuated=True)
    a.hinge("B", "crank", "coupler", at=p, axis=(0, 1, 0))
    a.hinge("C", "coupler", "rocker", at=q, axis=(0, 1, 0))
    a.hinge("D", "ground", "rocker", at=(1, 0, 0), axis=(0, 1, 0))
    built, back = a.mechanism(), np.linalg.inv(T)
    mass = 7850 * height**2 * length
    slender = mass * length**2 / 12
    twist = 7850 * height**4 / 12 * length
    inertia = rg.Inertia(
        mass, [length / 2, 0, 0], np.diag([2 * twist, slender + twist, slender + twist])
    )
    body = rg.Body("coupler", inertia=inertia, elastic=beam if elastic else None)
    joints = []
    for joint in built.joints:
        if joint.parent == "coupler":
            joint = replace(joint, T_parent_joint=back @ joint.T_parent_joint)
        if joint.child == "coupler":
            joint = replace(joint, T_child_joint=back @ joint.T_child_joint)
        joints.append(joint)
    bodies = [body if each.name == "coupler" else each for each in built.bodies]
    return replace(built, bodies=tuple(bodies), joints=tuple(joints))


def crank_angle(motion):
    return motion.coordinates[:, motion.names.index("A")]


def test_stiff_is_rigid():
    times = [0.0, 0.1, 0.2]
    rigid = rg.simulate(four_bar(elastic=False), duration=0.2, times=times)
    stiff = rg.simulate(four_bar(E=1e30), duration=0.2, times=times)
    np.testing.assert_allclose(crank_angle(stiff), crank_angle(rigid), atol=1e-8)
    rigid, steel = (
        rg.simulate(four_bar(E=2.1e12, elastic=elastic), duration=0.02, times=[0.0, 0.02])
        for elastic in (False, True)
    )
    np.testing.assert_allclose(crank_angle(steel), crank_angle(rigid), atol=5e-5)


def exudyn_four_bar(duration, E, height, elements=16):
    """The crank's end and the coupler's middle at the end, by ANCF cable elements in the plane."""
    exu = pytest.importorskip("exudyn")
    from exudyn import utilities as u
    from exudyn.beams import GenerateBeamElementsAlongLine

    container = exu.SystemContainer()
    mbs = container.AddSystem()
    ground = mbs.AddObject(u.ObjectGround())
    gravity = [0, -9.81, 0]
    ends = []
    for start, end in (((0, 0), (0, 0.3)), ((1, 0), (1, 0.5))):
        middle = (np.array(start) + end) / 2
        node = mbs.AddNode(u.NodeRigidBody2D(referenceCoordinates=[*middle, 0]))
        body = mbs.AddObject(
            u.ObjectRigidBody2D(nodeNumber=node, physicsMass=1, physicsInertia=0.01)
        )
        mass = mbs.AddMarker(u.MarkerBodyMass(bodyNumber=body))
        mbs.AddLoad(u.LoadMassProportional(markerNumber=mass, loadVector=gravity))
        half = (np.array(end) - start) / 2
        low, high = (
            mbs.AddMarker(u.MarkerBodyPosition(bodyNumber=body, localPosition=[*(s * half), 0]))
            for s in (-1, 1)
        )
        fixed = mbs.AddMarker(u.MarkerBodyPosition(bodyNumber=ground, localPosition=[*start, 0]))
        mbs.AddObject(u.ObjectJointRevolute2D(markerNumbers=[fixed, low]))
        ends.append(high)
    area, rho = height**2, 7850.0
    cable = u.ObjectANCFCable2D(
        physicsMassPerLength=rho * area,
        physicsBendingStiffness=E * height**4 / 12,
        physicsAxialStiffness=E * area,
        useReducedOrderIntegration=0,
    )
    nodes = GenerateBeamElementsAlongLine(
        mbs,
        positionStart=[0, 0.3, 0],
        positionEnd=[1, 0.5, 0],
        numberOfElements=elements,
        beamTemplate=cable,
        gravity=gravity,
    )["nodes"]
    for node, end in zip((nodes[0], nodes[-1]), ends, strict=True):
        mine = mbs.AddMarker(u.MarkerNodePosition(nodeNumber=node))
        mbs.AddObject(u.ObjectJointRevolute2D(markerNumbers=[end, mine]))
    mbs.Assemble()
    settings = exu.SimulationSettings()
    settings.timeIntegration.numberOfSteps = 6000
    settings.timeIntegration.endTime = duration
    settings.timeIntegration.verboseMode = 0
    settings.solution.file.write = False
    settings.timeIntegration.generalizedAlpha.spectralRadius = 0.9
    assert mbs.SolveDynamic(settings)
    places = [mbs.GetNodeOutput(n, exu.OutputVariableType.Position) for n in nodes]
    return places[0][:2], places[len(places) // 2][:2], places[-1][:2]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_four_bar_with_an_elastic_coupler_as_exudyn_has_it():
    duration, height, E = 0.12, 0.012, 2.0e9
    first, middle, last = map(np.array, exudyn_four_bar(duration, E, height))
    motion = rg.simulate(four_bar(E=E, height=height), duration=duration, times=[0.0, duration])
    robot, q = motion.robot, motion.q[-1]
    poses = robot.states.poses(q)

    def place(name, point):
        joint, frame = robot.places[name]
        return (poses[joint] @ frame @ [*point, 1.0])[[0, 2]]

    length = float(np.hypot(1, 0.2))
    ours = [
        place("coupler", (0, 0, 0)),
        place(f"coupler segment {POINTS // 2 + 1}", (length / 2, 0, 0)),
        place(f"coupler segment {POINTS + 1}", (length, 0, 0)),
    ]
    travelled = np.linalg.norm(middle - [0.5, 0.4])
    bent = middle - (first + last) / 2
    assert np.linalg.norm(bent) > 1e-3  # it does bend
    for mine, theirs in zip(ours, (first, middle, last), strict=True):
        assert np.linalg.norm(mine - theirs) < 0.01 * travelled
    mine = ours[1] - (ours[0] + ours[2]) / 2
    assert np.linalg.norm(mine - bent) < 0.01 * np.linalg.norm(bent) + 1e-5


@pytest.mark.slow
def test_reduced_model_and_metamodel_take_elastic_coordinates():
    mechanism = four_bar(E=2e9, height=0.012)
    model = rg.reduced_model(mechanism)
    assert model.inputs[0] == "A"
    assert len(model.inputs) == rg.reduce(rg.segments(mechanism)).mobility
    assert all(name.startswith("coupler spring") for name in model.inputs[1:])
    assert np.linalg.eigvalsh(model.H(model.theta))[0] > 0.0


def test_whatever_takes_bodies_to_be_rigid_refuses(tmp_path):
    mechanism, beam = cantilever()
    calls = (
        rg.reduce,
        rg.to_pinocchio,
        rg.reactions,
        rg.joint_forces,
        rg.assemble,
        rg.absolute_rows,
        rg.minimal_dynamics,
        rg.partition,
        lambda m: rg.save(m, tmp_path / "model.urdf"),
        lambda m: rg.save(m, tmp_path / "model.py", format="exudyn"),
        lambda m: rg.closed_form(m, ["A"]),
    )
    for call in calls:
        with pytest.raises(rg.RegularizeError, match="'beam' is elastic"):
            call(mechanism)
    heavy = rg.Inertia(9.0, [0.5, 0, 0], np.eye(3))
    given = replace(mechanism, bodies=(rg.Body("ground"), rg.Body("beam", heavy, elastic=beam)))
    with pytest.raises(rg.ModelError, match="mass of 9 kg"):
        rg.segments(given)


def test_the_own_format_holds_beams(tmp_path):
    mechanism, beam = cantilever()
    assert not rg.save(mechanism, tmp_path / "model.json")
    assert rg.load(tmp_path / "model.json").body("beam").elastic == beam


def test_shapes_and_numbers_are_checked():
    with pytest.raises(rg.ModelError, match="stiffness of 2 modes"):
        rg.Modes(np.eye(2), np.eye(3), np.zeros((2, 6, 2)))
    with pytest.raises(rg.ModelError, match="positive finite numbers"):
        rg.Beam(1.0, 0.0, (1, 1), 1, 1, 1)


def condensed(beam, elements=10, inner=6):
    """A beam of cubic finite elements, condensed to its ends and some modes with both ends held."""
    n, L = elements + 1, beam.length / elements
    (Iy, Iz), line = beam.moments, beam.density * L
    K, M = np.zeros((2, 6 * n, 6 * n))

    def put(freedoms, stiffness, mass):
        for e in range(elements):
            here = [6 * (e + end) + d for end in (0, 1) for d in freedoms]
            K[np.ix_(here, here)] += stiffness
            M[np.ix_(here, here)] += mass

    bar, bar_mass = np.array([[1, -1], [-1, 1]]), np.array([[2, 1], [1, 2]]) / 6
    put([0], beam.E * beam.area / L * bar, line * beam.area * bar_mass)
    put([3], beam.G * (Iy + Iz) / L * bar, line * (Iy + Iz) * bar_mass)
    bend = np.array([[12, 6, -12, 6], [6, 4, -6, 2], [-12, -6, 12, -6], [6, 2, -6, 4]])
    weigh = [[156, 22, 54, -13], [22, 4, 13, -3], [54, 13, 156, -22], [-13, -3, -22, 4]]
    for freedoms, second, s in (([1, 5], Iz, L), ([2, 4], Iy, -L)):
        to = np.diag([1, s, 1, s])
        mass = line * beam.area / 420 * to @ weigh @ to
        put(freedoms, beam.E * second / L**3 * to @ bend @ to, mass)
    ends = [*range(6), *range(6 * elements, 6 * n)]
    inside = [*range(6, 6 * elements)]
    T = np.zeros((6 * n, 12 + inner))
    T[ends, range(12)] = 1.0
    within = np.ix_(inside, inside)
    T[np.ix_(inside, range(12))] = -np.linalg.solve(K[within], K[np.ix_(inside, ends)])
    root = np.linalg.inv(np.linalg.cholesky(M[within])).T
    T[np.ix_(inside, range(12, 12 + inner))] = (
        root @ np.linalg.eigh(root.T @ K[within] @ root)[1][:, :inner]
    )
    return rg.Modes(T.T @ M @ T, T.T @ K @ T, np.stack([T[:6], T[6 * elements :]]))


def with_modes(mechanism, name, modes, **more):
    bodies = [replace(b, elastic=modes, **more) if b.name == name else b for b in mechanism.bodies]
    return replace(mechanism, bodies=tuple(bodies))


@pytest.mark.slow
def test_component_modes_have_the_frequencies_of_a_cantilever(tmp_path):
    mechanism, beam = cantilever(0.01, 0.014)
    modes = rg.Modes.load(condensed(beam).save(tmp_path / "beam.npz"))
    given = with_modes(replace(mechanism, gravity=np.zeros(3)), "beam", modes)
    mass = beam.density * beam.area
    np.testing.assert_allclose(frequencies(given)[:6], of_cantilever(beam), rtol=0.005)
    # All of it is the inertia that the modes have: weight, and moments about the fixed end.
    parts = rg.segments(given)
    assert sum(b.inertia.mass for b in parts.bodies if b.inertia) == pytest.approx(mass)
    rg.save(given, tmp_path / "beam.json")
    again = rg.load(tmp_path / "beam.json").body("beam").elastic
    np.testing.assert_array_equal(again.stiffness, modes.stiffness)
    np.testing.assert_array_equal(again.shapes, modes.shapes)


def pulled_four_bar(**options):
    return replace(four_bar(height=0.012, **options), gravity=np.array([6.0, 0.0, -9.81]))


def angles(mechanism):
    """Angles of the four hinges after 0.05 s and 0.1 s."""
    motion = rg.simulate(mechanism, duration=0.1, times=[0.0, 0.05, 0.1])
    assert motion.energy_drift < 1e-7 and motion.closure_drift < 1e-9
    return motion.coordinates[1:, [motion.names.index(name) for name in "ABCD"]]


@pytest.mark.slow
def test_component_modes_move_a_loop_as_the_beam_does_and_stiff_ones_as_a_rigid_body():
    bent, rigid = pulled_four_bar(E=2e10), angles(pulled_four_bar(elastic=False))
    modes = condensed(bent.body("coupler").elastic)
    by_modes, by_beam = (angles(m) - rigid for m in (with_modes(bent, "coupler", modes), bent))
    assert np.abs(by_modes - by_beam).max() < 0.02 * np.abs(by_beam).max()
    assert np.abs(by_modes).max() > 0.02
    stiff = rg.Modes(modes.mass, 1e20 * modes.stiffness, modes.shapes)
    np.testing.assert_allclose(angles(with_modes(bent, "coupler", stiff)), rigid, atol=1e-9)


def test_component_modes_carry_loads_at_their_ends_and_nowhere_else():
    mechanism, beam = cantilever(0.01, 0.014)
    given = with_modes(replace(mechanism, gravity=np.zeros(3)), "beam", condensed(beam))
    model = rg.reduced_model(
        given, loads={"beam": rg.BodyLoad(force=(0, 0, -3.0), point=(beam.length, 0, 0))}
    )
    theta, loops = balanced(model), model.equations.loops
    row = loops.row(loops.graph.node_of["beam segment 2"])
    tip = loops.state(model.configuration(theta)[None]).T_world_node[0, row]
    sag = (tip @ [beam.length, 0, 0, 1])[2]
    assert sag == pytest.approx(-3.0 * beam.length**3 / 3 / beam.flexural[0], rel=0.001)
    with pytest.raises(rg.ModelError, match="moves at its ends alone"):
        rg.reduced_model(given, loads={"beam": rg.BodyLoad(force=(0, 0, 1), point=(0.4, 0, 0))})


def test_modes_that_do_not_fit_are_refused_by_name(tmp_path):
    mechanism, beam = cantilever()
    modes = condensed(beam, elements=4, inner=0)
    M, K, shapes = modes.mass, modes.stiffness, modes.shapes
    held = np.s_[6:]
    wrong = [
        (rg.Modes(M[held, held], K[held, held], shapes[..., held]), "six of its modes have no"),
        (rg.Modes(-M, K, shapes), "mass of its modes is not positive"),
        (rg.Modes(M, K, shapes * np.array([[[1.0]], [[2.0]]])), "rigid motions bend"),
        (rg.Modes(M, K, 0 * shapes), "leave its first end"),
    ]
    for elastic, message in wrong:
        with pytest.raises(rg.ModelError, match=message):
            rg.simulate(with_modes(mechanism, "beam", elastic), duration=0.1)
    bar = four_bar()
    bare = tuple(replace(body, inertia=None) for body in bar.bodies)
    with pytest.raises(rg.ModelError, match="'B', 'C' do not stand there"):
        rg.segments(with_modes(replace(bar, bodies=bare), "coupler", modes))
    heavy = rg.Inertia(9.0, [0.5, 0, 0], np.eye(3))
    given = replace(mechanism, bodies=(rg.Body("ground"), rg.Body("beam", heavy, elastic=modes)))
    with pytest.raises(rg.ModelError, match="mass of 9 kg"):
        rg.segments(given)
    (tmp_path / "no.npz").write_text("no")
    with pytest.raises(rg.ReadError, match="no NumPy archive"):
        rg.Modes.load(tmp_path / "no.npz")


@pytest.mark.slow
def test_elastic_loops_have_fewer_redundant_rows():
    """And the report says in which joints rigid links would leave reactions open."""
    rigid = rg.check(four_bar(elastic=False)).as_dict()["mobility"]["redundant"]
    given = four_bar(height=0.05)
    modes = with_modes(given, "coupler", condensed(given.body("coupler").elastic))
    assert rigid == 3
    for mechanism in (given, modes):
        told = rg.check(mechanism).as_dict()
        assert told["mobility"]["redundant"] == 0
        assert all(entry["unique"] for entry in told["reactions"])
    (finding,) = [d for d in told["diagnostics"] if d["code"] == "REG220"]
    assert finding["message"].startswith("`coupler` is elastic: 0 equations of the loops redundant")
    assert finding["joints"] == ["A", "B", "C", "D"]
    assert "3 if all links were rigid" in finding["message"] and json.dumps(told)


def line_of(mechanism, name):
    """Where a link begins and ends, how long it is, and its direction."""
    joints = [j for j in mechanism.joints if name in (j.parent, j.child)]
    ends = [(j.T_parent_joint if j.parent == name else j.T_child_joint)[:3, 3] for j in joints]
    length = np.linalg.norm(ends[1] - ends[0])
    return ends, length, (ends[1] - ends[0]) / length


def with_bending(mechanism, name, hinge, E=2e9, width=0.02):
    """A link of Brüls' text as a bar with its first mode of bending across the axis of a hinge."""
    body, joint = mechanism.body(name), mechanism.joint(hinge)
    _, length, along = line_of(mechanism, name)
    axis = joint.T_child_joint[:3, :3] @ joint.screws[3:, 0]
    density = body.inertia.mass / (width**2 * length)
    moments = (9 * width**4 / 12, width**4 / 12)
    all_modes = condensed(rg.Beam(length, width**2, moments, E, E / 2.6, density))
    vectors = eigh(all_modes.stiffness, all_modes.mass)[1][:, :7]  # rigid ones, and the softest
    shapes = all_modes.shapes @ vectors
    turn = np.kron(np.eye(2), np.column_stack([along, np.cross(axis, along), axis]))
    mass, stiffness = (
        vectors.T @ matrix @ vectors for matrix in (all_modes.mass, all_modes.stiffness)
    )
    elastic = rg.Modes(mass, stiffness, turn @ shapes)
    return with_modes(mechanism, name, elastic, inertia=None)


@pytest.mark.slow
def test_metamodel_of_the_elastic_four_bar_of_the_text_is_faster_than_the_full_model():
    """By the text's count (eq. 32), against one acceleration, the loops not even closed."""
    rigid = rg.load(TEXTS / "swinging_fourbar.urdf")
    mechanism = with_bending(rigid, "coupler", "B")
    full = rg.reduced_model(mechanism)
    assert full.inputs == ("A", "coupler spring 1")
    bounds = [[-1.4, 1.4], [-0.002, 0.002]]
    model = rg.metamodel(full, bounds, size=[2.8 / 16, 1.0], held_out=100)
    robot = rg.to_pinocchio(rg.reduce(rg.segments(mechanism)))
    assert (model.boxes, model.operations) == (16, 119)
    assert model.operations < robot.programs.dynamics.work / 5
    assert model.accuracy.maximal["H"] < 0.01 and model.accuracy.maximal["p"] < 0.01
    # The stiffer the coupler, the more its motion is that of the rigid one.
    state = ([0.3, 0.0], [1.0, 0.0], [2.0, 0.0])
    effort = rg.reduced_model(rigid, ["A"]).inverse_dynamics(*([x[0]] for x in state))
    assert full.inverse_dynamics(*state)[0] == pytest.approx(effort[0], rel=0.01)


@pytest.mark.slow
def test_springs_follow_named_inputs_quasi_statically():
    rigid = rg.load(TEXTS / "swinging_fourbar.urdf")
    mechanism = with_bending(rigid, "coupler", "B")
    full, model = rg.reduced_model(mechanism), rg.reduced_model(mechanism, ["A"])
    theta, h = np.array([[0.3], [-0.7], [1.1]]), 1e-4
    q = model.configuration(theta)
    names = [j.name for j in full.equations.loops.graph.mechanism.joints]
    bent = q[:, names.index("coupler spring 1")]
    x = np.column_stack([theta, bent])
    assert np.abs(bent).min() > 1e-3 and np.abs(full.p(x)[:, 1]).max() < 1e-10
    np.testing.assert_allclose(model.p(theta)[:, 0], full.p(x)[:, 0], rtol=1e-9)
    slope = (model.H(theta + h) - model.H(theta - h)) / (4 * h)
    np.testing.assert_allclose(model.D(theta), slope, rtol=1e-5)
    change = (model.q_theta(theta + h) - model.q_theta(theta - h)) / (2 * h)
    np.testing.assert_allclose(model.B(theta), change, atol=1e-6)
    stiff, whole = (
        rg.reduced_model(with_bending(rigid, "coupler", "B", E=E), ["A"]) for E in (2e12, 1e30)
    )
    assert len(stiff.q_theta(theta)[0]) > len(whole.q_theta(theta)[0])  # the springs are gone
    np.testing.assert_allclose(stiff.H(theta), whole.H(theta), rtol=1e-5)
    np.testing.assert_allclose(stiff.p(theta), whole.p(theta), rtol=1e-5)


@pytest.mark.slow
def test_springs_follow_beside_ball_joints_and_following_loads():
    """Twists at a ball joint have derivatives that are not symmetric, and forces along them."""
    a = rg.assembly("spatial four-bar")
    p, q, d = (0, 0.2, 0.3), (0.9, 0.5, 0.6), (1, 0.1, 0)
    for name, start, end in (("crank", (0, 0, 0), p), ("coupler", p, q), ("rocker", d, q)):
        middle = (np.array(start) + end) / 2
        a.body(name, mass=1.0, com=middle, inertia=0.02 * np.eye(3))
    a.hinge("A", "ground", "crank", at=(0, 0, 0), axis=(0, 1, 0))
    a.ball("B", "crank", "coupler", at=p)
    a.universal("C", "coupler", "rocker", at=q, axes=((1, 0, 0), (0, 0, 1)))
    a.hinge("D", "ground", "rocker", at=d, axis=(0, 0.6, -0.4))
    built = a.mechanism()
    spring = replace(
        built.joint("B").dynamics,
        stiffness=np.array([300.0, 200.0, 500.0]),
        rest_position=np.array([0.3, -0.4, 0.5]),
    )
    joints = [replace(j, dynamics=spring) if j.name == "B" else j for j in built.joints]
    mechanism = with_bending(replace(built, joints=tuple(joints)), "rocker", "D", E=2e8)
    load = rg.BodyLoad((3, -2, 5), (0.4, 0.3, -1), (0.1, 0, 0.2), axes="body")
    model = rg.reduced_model(mechanism, ["A"], loads={"coupler": load})
    theta, h = np.array([[0.1], [-0.1]]), 1e-5
    names = [j.name for j in model.equations.loops.graph.mechanism.joints]
    k = sum(j.freedoms for j in mechanism.joints) + names[4:].index("rocker spring 1")
    change = (model.configuration(theta + h) - model.configuration(theta - h))[:, k] / (2 * h)
    found = model.q_theta(theta)[:, k, 0]
    assert np.abs(found).min() > 1e-3
    np.testing.assert_allclose(found, change, rtol=1e-4)


def with_stretching(mechanism, name, E=2e9, width=0.015):
    """A rod as a bar with its first mode along itself."""
    body = mechanism.body(name)
    ends, length, along = line_of(mechanism, name)
    mass, shapes = np.zeros((7, 7)), np.zeros((2, 6, 7))
    mass[:6, :6], mass[6, 6] = body.inertia.spatial, body.inertia.mass / 12
    for k, end in enumerate(ends):
        shapes[k, :, :6] = np.eye(6)
        shapes[k, :3, 3:6] = np.cross(np.eye(3), end).T
        shapes[k, :3, 6] = (k - 0.5) * along
    stiffness = np.diag([0.0] * 6 + [E * width**2 / length])
    return with_modes(mechanism, name, rg.Modes(mass, stiffness, shapes), inertia=None)


@pytest.mark.parametrize("inputs", [("M1", "M2", "M3"), None])
def test_metamodel_of_the_elastic_orthoglide_of_the_text_is_faster_than_the_full_model(inputs):
    """Its six rods stretch: three elastic coordinates close loops, three follow or are inputs."""
    mechanism = rg.load(TEXTS / "orthoglide_long_rods.urdf")
    for name in (f"{side}_{leg}" for side in ("front", "back") for leg in (1, 2, 3)):
        mechanism = with_stretching(mechanism, name)
    robot = rg.to_pinocchio(rg.reduce(rg.segments(mechanism)))
    full = rg.reduced_model(mechanism, inputs)
    elastic = len(full.inputs) - 3
    bounds = [[-0.26, 0.06]] * 3 + [[-2e-4, 2e-4]] * elastic
    size = [0.08] * 3 if inputs else [0.16] * 3 + [1.0] * elastic
    model = rg.metamodel(full, bounds, size=size, held_out=50)
    assert (model.boxes, model.operations) == ((64, 501) if inputs else (8, 8292))
    assert model.operations < robot.programs.dynamics.work / 2
    assert model.accuracy.worst < (0.01 if inputs else 0.05), model.accuracy
