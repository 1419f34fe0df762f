"""Joint reactions: which are unique, their values, and an independent elastic model."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pinocchio as pin
import pytest
from screws import adjoint, inverse, joint_screws, transform

import regularize as rg

Y, Z = (0, 1, 0), (0, 0, 1)
#: Of the joints of a four-bar.
ENDS = {
    **{"A": ("ground", "crank"), "B": ("crank", "coupler")},
    **{"C": ("coupler", "rocker"), "D": ("ground", "rocker")},
}


def four_bar(**kinds: str) -> rg.Mechanism:
    """A four-bar across Y; keyword arguments replace hinges, for example ``C="spherical"``."""
    points = {"A": (0, 0, 0), "B": (0.3, 0, 0.4), "C": (1.2, 0, 0.6), "D": (1, 0, 0)}
    joints = [
        rg.Joint.in_world(name, *ENDS[name], kinds.get(name, "revolute"), Y, points[name])
        for name in points
    ]
    return rg.Mechanism.of_joints("four_bar", joints)


def door(hinges: int) -> rg.Mechanism:
    joints = [
        rg.Joint.in_world(f"hinge{i}", "frame", "door", "revolute", Z, (0, 0, 0.9 * i))
        for i in range(hinges)
    ]
    return rg.Mechanism.of_joints("door", joints)


def three_cranks() -> rg.Mechanism:
    """A parallelogram with a third crank: an example of Wojtyra (2005)."""
    joints = [
        rg.Joint.in_world(f"A{i}", "ground", f"crank{i}", "revolute", Y, (i, 0, 0))
        for i in range(3)
    ]
    joints += [
        rg.Joint.in_world(f"B{i}", f"crank{i}", "coupler", "revolute", Y, (i + 0.3, 0, 1))
        for i in range(3)
    ]
    return rg.Mechanism.of_joints("three_cranks", joints)


def words(mechanism: rg.Mechanism) -> dict[str, set[str]]:
    found = rg.reactions(rg.reduce(mechanism))
    return {r.joint: {d.words("force", "moment") for d in r.indeterminate} for r in found}


ACROSS = {"force along Y", "moment about X", "moment about Z"}


def test_four_bar_with_hinges_leaves_what_is_across_the_plane_open() -> None:
    assert words(four_bar()) == dict.fromkeys("ABCD", ACROSS)
    one_ball = words(four_bar(C="spherical"))  # one state of self-stress, no moment in the ball
    assert one_ball["C"] == {"force along Y"}
    assert all(len(one_ball[name]) == 1 for name in "ABD")
    unique = four_bar(C="spherical", D="cylindrical")
    assert words(unique) == {name: set() for name in "ABCD"}
    assert rg.self_stress(rg.reduce(unique)) == ()


@pytest.mark.parametrize("hinges", [2, 3])
def test_a_door_leaves_all_but_the_moment_about_the_hinges_open(hinges: int) -> None:
    open_directions = {*(f"force along {a}" for a in "XYZ"), *(f"moment about {a}" for a in "XY")}
    found = words(door(hinges))
    assert found == {f"hinge{i}": open_directions for i in range(hinges)}
    assert len(rg.self_stress(rg.reduce(door(hinges)))) == 5 * (hinges - 1)


def test_third_crank_opens_forces_in_the_plane_along_the_cranks_only() -> None:
    found = words(three_cranks())
    for name, directions in found.items():
        assert directions > ACROSS, name
        (along,) = directions - ACROSS
        assert along == "force along (0.287, 0, 0.958)"


def test_self_stress_in_words() -> None:
    states = rg.self_stress(rg.reduce(four_bar()))
    assert sorted(str(state) for state in states) == [
        "a force along Y circulates through A, B, C, D",
        "a moment about X circulates through A, B, C, D",
        "a moment about Z circulates through A, B, C, D",
    ]
    assert all(state.one_loop for state in states)


def test_self_stress_that_needs_two_loops_is_told_apart() -> None:
    states = rg.self_stress(rg.reduce(three_cranks()))
    assert len(states) == 7
    (across,) = [state for state in states if not state.one_loop]
    assert set(across.joints) == {"A0", "A1", "A2", "B0", "B1", "B2"}
    assert "is balanced by" in str(across)


class ElasticModel:
    """Rigid bodies on springs, solved for displacements: shares no code with what is tested.

    Args:
        mechanism: Assembled at zero, all frames along the world.
        springs: Translation and rotation stiffness of every joint.
        held: Joints whose freedoms are held as well.
    """

    def __init__(
        self,
        mechanism: rg.Mechanism,
        springs: Mapping[str, tuple[float, float]],
        held: Sequence[str],
    ) -> None:
        self.mechanism, self.springs, self.held = mechanism, springs, held
        bodies = [b.name for b in mechanism.bodies if b.name != mechanism.ground]
        self.index = {name: slice(6 * i, 6 * i + 6) for i, name in enumerate(bodies)}

    def stiffness(self, joint: rg.Joint) -> np.ndarray:
        compliance = np.diag(1 / np.repeat(self.springs[joint.name], 3))
        freedoms = np.zeros((6, 0)) if joint.name in self.held else joint.screws
        _, s, vt = np.linalg.svd(freedoms.T, full_matrices=True)
        wrenches = vt[len(s) :].T
        inner = np.linalg.inv(wrenches.T @ compliance @ wrenches)
        return np.asarray(wrenches @ inner @ wrenches.T)

    def reactions(self, loads: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        K = np.zeros((6 * len(self.index), 6 * len(self.index)))
        f = np.zeros(len(K))
        to_joint = {
            j.name: adjoint(inverse(np.asarray(j.T_parent_joint))) for j in self.mechanism.joints
        }
        for joint in self.mechanism.joints:
            k = to_joint[joint.name].T @ self.stiffness(joint) @ to_joint[joint.name]
            for a, sign_a in ((joint.parent, -1), (joint.child, 1)):
                for b, sign_b in ((joint.parent, -1), (joint.child, 1)):
                    if a in self.index and b in self.index:
                        K[self.index[a], self.index[b]] += sign_a * sign_b * k
        for name, load in loads.items():
            f[self.index[name]] += load
        u = np.linalg.solve(K, f)
        found = {}
        for joint in self.mechanism.joints:
            ends = [
                u[self.index[n]] if n in self.index else np.zeros(6)
                for n in (joint.child, joint.parent)
            ]
            relative = to_joint[joint.name] @ (ends[0] - ends[1])
            found[joint.name] = -self.stiffness(joint) @ relative
        return found


CASES = {
    "four_bar": (four_bar(), ["A"]),
    "one ball": (four_bar(C="spherical"), ["A"]),
    "isostatic": (four_bar(C="spherical", D="cylindrical"), ["A"]),
    "door": (door(3), ["hinge0"]),
    "three_cranks": (three_cranks(), ["A0"]),
}


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_unique_reactions_do_not_depend_on_compliance_and_the_others_do(case: str) -> None:
    mechanism, held = CASES[case]
    rng = np.random.default_rng(4)
    names = [b.name for b in mechanism.bodies if b.name != mechanism.ground]
    loads = {name: rng.normal(size=6) for name in names}
    reduction = rg.reduce(mechanism)
    found = rg.joint_forces(reduction, held=held, loads=loads)
    seen: dict[str, list[np.ndarray]] = {joint.joint: [] for joint in found.joints}
    for _ in range(4):
        springs = {j.name: tuple(10 ** rng.uniform(4, 6, size=2)) for j in mechanism.joints}
        model = ElasticModel(mechanism, springs, held)
        for name, wrench in model.reactions(loads).items():
            seen[name].append(wrench)
    for joint in found.joints:
        spread = np.ptp(seen[joint.joint], axis=0)
        if joint.unique:
            np.testing.assert_allclose(spread, 0.0, atol=1e-8)
            np.testing.assert_allclose(joint.wrench, seen[joint.joint][0], atol=1e-8)
            continue
        for direction in joint.indeterminate:
            values = [w @ direction.covector for w in seen[joint.joint]]
            assert np.ptp(values) > 1e-6, (joint.joint, direction)
        # Only a held joint is stressed along its freedom, which the analysis does not count.
        open_space = np.column_stack([d.covector for d in joint.indeterminate])
        closed_space = np.linalg.svd(open_space, full_matrices=True)[0][:, open_space.shape[1] :]
        if all(d.kind != "mixed" for d in joint.indeterminate):
            values = np.array(seen[joint.joint]) @ closed_space
            np.testing.assert_allclose(np.ptp(values, axis=0), 0.0, atol=1e-8)
            np.testing.assert_allclose(joint.determined @ closed_space, values[0], atol=1e-8)


@pytest.mark.parametrize("case", CASES)
def test_elastic_solution_is_that_of_the_spring_model(case: str) -> None:
    mechanism, held = CASES[case]
    rng = np.random.default_rng(5)
    loads = {b.name: rng.normal(size=6) for b in mechanism.bodies if b.name != mechanism.ground}
    springs = {
        j.name: (float(10 ** rng.uniform(4, 6)), float(10 ** rng.uniform(3, 5)))
        for j in mechanism.joints
    }
    found = rg.joint_forces(rg.reduce(mechanism), held=held, loads=loads, stiffness=dict(springs))
    expected = ElasticModel(mechanism, springs, held).reactions(loads)
    assert found.method == ("elastic" if found.states else "unique")
    for joint in found.joints:
        np.testing.assert_allclose(joint.wrench, expected[joint.joint], atol=1e-6)


def test_smallest_norm_is_smallest() -> None:
    reduction = rg.reduce(four_bar())
    loads = {"coupler": np.array([1.0, 5.0, -2.0, 0.3, 0.1, 0.7])}
    least = rg.joint_forces(reduction, held=["A"], loads=loads)
    assert least.method == "minimum norm" and least.states == 3
    size = reduction.parts[0].length
    weights = np.repeat([1.0, 1.0 / size], 3)

    def norm(forces: Any) -> float:
        return float(sum(np.sum((weights * j.wrench) ** 2) for j in forces.joints))

    for seed in range(5):
        rng = np.random.default_rng(seed)
        stiffness = {name: (float(rng.uniform(1e4, 1e6)), 1e4) for name in "ABCD"}
        other = rg.joint_forces(reduction, held=["A"], loads=loads, stiffness=dict(stiffness))
        assert norm(least) <= norm(other) * (1 + 1e-9)


def test_a_soft_link_sheds_its_load() -> None:
    reduction = rg.reduce(four_bar())
    loads = {"coupler": np.array([0.0, 10.0, 0.0, 0.0, 0.0, 0.0])}
    stiff = dict.fromkeys("ABCD", (1000000.0, 1000000.0))
    even = rg.joint_forces(reduction, held=["A"], loads=loads, stiffness=stiff)
    soft = rg.joint_forces(
        reduction, held=["A"], loads=loads, stiffness={**stiff, "rocker": (1e3, 1e3)}
    )
    assert abs(soft["D"].wrench[1]) < 0.1 * abs(even["D"].wrench[1])
    for forces in (even, soft):
        assert forces["A"].wrench[1] + forces["D"].wrench[1] == pytest.approx(-10.0)


def test_forces_in_eliminated_constraints_are_those_of_the_cut_joint() -> None:
    reduction = rg.reduce(four_bar(), cuts=["D"])
    loads = {"coupler": np.array([1.0, 5.0, -2.0, 0.3, 0.1, 0.7])}
    stiffness = dict.fromkeys("ABCD", (100000.0, 10000.0))
    found = rg.joint_forces(reduction, held=["A"], loads=loads, stiffness=dict(stiffness))
    wrench = found["D"].wrench
    values = {e.direction.words("force", "moment"): e.value for e in found.eliminated}
    assert set(values) == ACROSS
    for k, direction in ((1, "force along Y"), (3, "moment about X"), (5, "moment about Z")):
        assert values[direction] == pytest.approx(wrench[k], abs=1e-9)
    assert max(abs(v) for v in values.values()) > 0.1


def moving() -> rg.Mechanism:
    inertia = rg.Inertia(2.0, np.array([0.4, 0.05, 0.3]), np.diag([0.02, 0.03, 0.025]))
    mechanism = four_bar()
    return replace(mechanism, bodies=tuple(rg.Body(b.name, inertia) for b in mechanism.bodies))


def test_ground_reactions_in_motion_change_the_momentum() -> None:
    reduction = rg.reduce(moving(), cuts=["C"])
    motion = rg.simulate(reduction, duration=0.5, times=np.linspace(0, 0.5, 6), rates={"A": 5.0})
    robot = motion.robot
    for q, v in zip(motion.q, motion.v, strict=True):
        a = robot.forward_dynamics(q, v, np.zeros(robot.nv))
        coordinates = robot.coordinates(q)
        full_v, full_a = np.zeros((2, 4))
        for name in "ABD":
            column = robot.velocity_index(name)
            full_v["ABCD".index(name)], full_a["ABCD".index(name)] = v[column], a[column]
        found = rg.joint_forces(reduction, coordinates, full_v, full_a)
        total = np.zeros(6)
        for name, point in (("A", (0, 0, 0)), ("D", (1, 0, 0))):
            wrench = found[name].wrench
            total += [*wrench[:3], *(wrench[3:] + np.cross(point, wrench[:3]))]
        data = robot.model.createData()
        pin.computeCentroidalMomentumTimeVariation(robot.model, data, q, v, a)
        com = pin.centerOfMass(robot.model, data, q)
        rate = data.dhg.linear
        weight = 6.0 * np.array([0, 0, -9.81])
        np.testing.assert_allclose(total[:3], rate - weight, atol=1e-7)
        expected = data.dhg.angular + np.cross(com, rate) - np.cross(com, weight)
        np.testing.assert_allclose(total[3:], expected, atol=1e-7)
        np.testing.assert_allclose(np.concatenate([j.motor for j in found.joints]), 0.0, atol=1e-9)


def test_motor_forces_of_held_joints_are_found() -> None:
    """Holding the crank needs the torque of inverse dynamics."""
    reduction = rg.reduce(moving(), cuts=["C"])
    dynamics = rg.minimal_dynamics(reduction, ["A"])
    found = rg.joint_forces(reduction, held=["A"])
    pose = dynamics.pose(np.asarray(dynamics.robot.q0))
    tau = dynamics.inverse_dynamics(pose, np.zeros(3), np.zeros(1))
    assert found["A"].motor[0] == pytest.approx(tau[dynamics.robot.velocity_index("A")], abs=1e-9)
    again = rg.joint_forces(reduction, tau={"A": float(found["A"].motor[0])})
    np.testing.assert_allclose(again["D"].wrench, found["D"].wrench, atol=1e-8)


def test_refuses_what_cannot_be() -> None:
    reduction = rg.reduce(moving())
    given: dict[str, Any]
    for words, given in (
        ("held= the coordinates that are held or driven", {}),
        ("there is no body 'nobody'", {"held": ["A"], "loads": {"nobody": np.zeros(6)}}),
        ("stiffness of 'A'", {"held": ["A"], "stiffness": {"A": (1.0, -1.0)}}),
        ("definite 6 by 6 matrix", {"held": ["A"], "stiffness": {"B": -1.0}}),
        ("body 'ground' has no joint on its parent", {"held": ["A"], "stiffness": {"ground": 1e4}}),
    ):
        with pytest.raises(rg.ModelError, match=words):
            rg.joint_forces(reduction, **given)
    with pytest.raises(rg.ModelError, match="there is no joint 'Z'"):
        rg.joint_forces(reduction, held=["A"])["Z"]


def test_split_joints_have_one_entry() -> None:
    point = (0.3, 0, 0.4)
    mechanism = four_bar(C="spherical")
    place = transform(None, point)
    screws = joint_screws("universal", Y, (1, 0, 0))
    universal = rg.Joint("B", "crank", "coupler", "universal", screws, place, place)
    joints = tuple(universal if j.name == "B" else j for j in mechanism.joints)
    found = rg.joint_forces(rg.reduce(replace(mechanism, joints=joints)), held=["A"])
    assert [joint.joint for joint in found.joints] == list("ABCD")
    assert found.states == 0


def test_couplings_without_loops_leave_reactions_unique() -> None:
    joints = [
        rg.Joint.in_world("one", "ground", "a", "revolute", (0, 0, 1)),
        rg.Joint.in_world("two", "a", "b", "revolute", (0, 0, 1), (1, 0, 0)),
    ]
    gear = rg.Coupling("gear", "gear", (("one", 0, 1.0), ("two", 0, 2.0)))
    arm = rg.Mechanism.of_joints("arm", joints, ground="ground", couplings=(gear,))
    assert all(reaction.unique for reaction in rg.check(arm).reactions)


def test_stiffness_is_one_number_two_or_a_matrix() -> None:
    reduction = rg.reduce(four_bar())
    loads = {"coupler": np.array([1.0, 5.0, -2.0, 0.3, 0.1, 0.7])}

    def forces(name: str, value: Any) -> np.ndarray:
        stiffness = {**dict.fromkeys("ABCD", 1e5), name: value}
        found = rg.joint_forces(reduction, held=["A"], loads=loads, stiffness=stiffness)
        return np.array([joint.wrench for joint in found.joints])

    wanted = forces("B", 1e4)
    for same in ((1e4, 1e4), [1e4] * 6, 1e4 * np.eye(6)):
        np.testing.assert_allclose(forces("B", same), wanted, rtol=1e-12, atol=1e-12)
    assert np.max(np.abs(forces("B", 1e5) - wanted)) > 0.01


@pytest.mark.parametrize("far", [0.0, 200.0])
def test_wrenches_are_at_the_frames_of_the_file_however_far_off(far: float) -> None:
    bar = rg.assembly("bar")
    center = (1.1, 0, 0.3)
    for name in ("crank", "coupler", "rocker"):
        bar.body(name, mass=1.0, com=center, inertia=np.eye(3) * 0.01)
    places = {"A": (0, 0, 0), "B": (0.3, 0, 0.4), "C": (1.2, 0, 0.6), "D": (1, far, 0)}
    for name, ends in ENDS.items():
        bar.hinge(name, *ends, at=places[name], axis=Y)
    forces = rg.joint_forces(bar.mechanism(), held=["A"])
    found = {joint.joint: joint.wrench for joint in forces.joints}
    weight, places["G"] = np.array([0, 0, -9.81, 0, 0, 0]), center
    total = np.zeros(6)
    for name, wrench in (("C", found["C"]), ("D", found["D"]), ("G", weight)):
        total += np.concatenate([wrench[:3], wrench[3:] + np.cross(places[name], wrench[:3])])
    assert np.abs(total).max() < 1e-9 * max(1.0, np.abs(found["D"]).max())
