"""Tables of the kernel: all joints of Pinocchio, read and moved as Pinocchio moves them."""

from __future__ import annotations

from functools import cache

import numpy as np
import pinocchio as pin
import pytest

from regularize.kernel.compiled import Kernel, compiled
from regularize.kernel.elimination import tables_of
from regularize.pinocchio_model.machine_reading import machine_of
from regularize.pinocchio_model.rows import ConstraintRows

pytestmark = pytest.mark.skipif(Kernel is None, reason="without a compiled kernel")


def unit(rng: np.random.Generator) -> np.ndarray:
    axis = rng.normal(size=3)
    return axis / np.linalg.norm(axis)


@cache
def every_joint() -> pin.Model:
    """A tree in which every type of joint carries a body."""
    rng = np.random.default_rng(4)
    composite = pin.JointModelComposite(pin.JointModelRX())
    composite.addJoint(pin.JointModelPZ(), pin.SE3.Random())
    composite.addJoint(pin.JointModelSpherical(), pin.SE3.Random())
    joints = [
        pin.JointModelFreeFlyer(),
        pin.JointModelRX(),
        pin.JointModelRevoluteUnaligned(unit(rng)),
        pin.JointModelRUBY(),
        pin.JointModelPY(),
        pin.JointModelPrismaticUnaligned(unit(rng)),
        pin.JointModelHX(0.3),
        pin.JointModelHelicalUnaligned(unit(rng), -0.2),
        pin.JointModelSpherical(),
        pin.JointModelSphericalZYX(),
        pin.JointModelTranslation(),
        pin.JointModelPlanar(),
        pin.JointModelUniversal(np.array([1.0, 0.0, 0.0]), np.array([0.0, 1.0, 0.0])),
        composite,
    ]
    model = pin.Model()
    pin.seed(1)
    for k, joint in enumerate(joints):
        j = model.addJoint(max(0, k - k % 3), joint, pin.SE3.Random(), f"joint {k}")
        model.appendBodyToJoint(j, pin.Inertia.Random(), pin.SE3.Random())
    return model


def test_parts_are_and_move_where_the_bodies_of_pinocchio_are_and_move() -> None:
    model = every_joint()
    data = model.createData()
    rows = ConstraintRows(model, [], np.zeros((0, model.nv)), np.zeros(0))
    found = machine_of(model, rows, 0, True)
    assert found is not None
    machine, part_of = found
    kernel = compiled(tables_of(machine))
    rng = np.random.default_rng(2)
    for _ in range(3):
        q = pin.integrate(model, pin.neutral(model), 3.0 * rng.normal(size=model.nv))
        v, a = rng.normal(size=(2, model.nv))
        pin.forwardKinematics(model, data, q, v, a)
        places = kernel.part_poses(q).reshape(-1, 12)
        twists, accelerations = (x.reshape(-1, 6) for x in kernel.part_motions(q, v, a))
        for j in range(1, model.njoints):
            part = part_of[j]
            twist = (
                data.oMi[j].rotation @ data.v[j].linear,
                data.oMi[j].rotation @ data.v[j].angular,
            )
            classical = data.a[j].linear + np.cross(data.v[j].angular, data.v[j].linear)
            assert places[part, 9:] == pytest.approx(data.oMi[j].translation, abs=1e-12)
            assert twists[part] == pytest.approx(np.concatenate(twist), abs=1e-12)
            assert accelerations[part, :3] == pytest.approx(
                data.oMi[j].rotation @ classical, abs=1e-10
            )
            assert accelerations[part, 3:] == pytest.approx(
                data.oMi[j].rotation @ data.a[j].angular, abs=1e-10
            )


def test_batches_are_the_states_one_by_one_in_any_number_of_threads() -> None:
    model = every_joint()
    rows = ConstraintRows(model, [], np.zeros((0, model.nv)), np.zeros(0))
    found = machine_of(model, rows, 0, True)
    assert found is not None
    kernel = compiled(tables_of(found[0]))
    q = np.array(
        [pin.randomConfiguration(model, -np.ones(model.nq), np.ones(model.nq)) for _ in range(9)]
    )
    one = [kernel.part_poses(x) for x in q]
    for threads in (1, 2, 5, 20):
        np.testing.assert_array_equal(kernel.part_poses(q, threads), one)
    with pytest.raises(ValueError, match="part_poses: argument 1 must have shape"):
        kernel.part_poses(q[:, 1:])
    with pytest.raises(ValueError, match="threads"):
        kernel.part_poses(q, 0)
