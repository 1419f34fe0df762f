"""Studies over parameters: lengths, places of joints, and arguments of builders."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import pytest
from closed_form_cases import wheel_suspension
from screws import transform

import regularize as rg

ASSETS = Path(__file__).parents[3] / "assets"


def four_bar(crank=0.2, coupler=1.0, rocker=0.6, ground=0.9):
    """A four-bar linkage by its lengths, the crank along x (flat where the lengths add up)."""
    a = rg.assembly("four-bar")
    reach = np.array([ground - crank, 0.0])
    far = float(np.hypot(*reach))
    along = (coupler**2 - rocker**2 + far**2) / (2 * far)
    high = np.sqrt(max(coupler**2 - along**2, 0.0))
    c = (crank + along, 0, high)
    for name in ("crank", "coupler", "rocker"):
        a.body(name, mass=1.0, com=(0, 0, 0), inertia=np.eye(3))
    a.hinge("A", "ground", "crank", at=(0, 0, 0), axis=(0, 1, 0))
    a.hinge("B", "crank", "coupler", at=(crank, 0, 0), axis=(0, 1, 0))
    a.hinge("C", "coupler", "rocker", at=c, axis=(0, 1, 0))
    a.hinge("D", "ground", "rocker", at=(ground, 0, 0), axis=(0, 1, 0))
    return a.mechanism()


@pytest.mark.slow
def test_arguments_of_a_builder_on_a_grid(tmp_path):
    # With crank + coupler = ground + rocker the linkage is flat, and singular where it is so.
    found = rg.sweep(four_bar, {"rocker": [0.5, 0.6], "coupler": [0.9, 1.2]})
    assert found.names == ("rocker", "coupler")
    assert found.values.tolist() == [[0.5, 0.9], [0.5, 1.2], [0.6, 0.9], [0.6, 1.2]]
    assert found.closed.all()
    assert found.mobility.tolist() == [1.0] * 4
    assert found.redundant.tolist() == [3.0] * 4
    assert found.singular.tolist() == [False, True, False, False]
    assert found.condition[1] > 1e6 > found.condition[0] >= 1.0
    assert len(found.save(tmp_path / "table.csv").read_text().splitlines()) == 5
    pytest.importorskip("matplotlib")
    assert found.plot(tmp_path / "map.png", "mobility").stat().st_size > 1000


@pytest.mark.slow
def test_length_of_a_body():
    path = ASSETS / "planar_fourbar.urdf"
    mechanism = rg.load(path)
    name = mechanism.bodies[2].name
    found = rg.sweep(path, {f"{name}.length": [0.5, 1.0, 50.0]})
    assert found.mobility[:2].tolist() == [1.0, 1.0]
    assert found.closed.tolist()[-1] is False
    assert np.isnan(found.mobility[-1])


def test_the_thesis_s_bars_over_their_lengths(tmp_path):
    """Paul's second bar is redundant while it is as long as the others; else it locks or opens."""
    pytest.importorskip("matplotlib").use("agg")
    spec = importlib.util.spec_from_file_location("figures", ASSETS / "thesis" / "figures.py")
    figures = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(figures)
    found = figures.lengths((0.45, 0.5))
    assert found.mobility.tolist() == [0.0, 1.0]
    assert found.redundant.tolist() == [2.0, 3.0]
    assert len(found.save(tmp_path / "table.csv").read_text().splitlines()) == 3
    assert found.plot(tmp_path / "curve.svg", "redundant").stat().st_size > 1000


def test_place_of_a_joint_makes_a_spherical_linkage_spatial():
    a = rg.assembly("spherical")
    axes = ((0, 0, 1), (0.4, 0, 1), (0.6, 0.7, 1), (-0.3, 0.8, 1))
    chain = ("ground", "one", "two", "three", "ground")
    for body in chain[1:4]:
        a.body(body, mass=1.0, com=(0, 0, 0), inertia=np.eye(3))
    for name, axis, parent, child in zip("ABCD", axes, chain, chain[1:], strict=False):
        a.hinge(name, parent, child, at=axis, axis=axis)
    found = rg.sweep(a.mechanism(), {"D.x": [-0.3, -0.25]})
    assert found.redundant.tolist() == [3.0, 2.0]
    assert found.mobility.tolist() == [1.0, 0.0]


@pytest.mark.slow
def test_the_orthoglide_of_bruels_has_parallelograms_or_cannot_be_built():
    """Its platform keeps its orientation by rods of equal length, and nothing gives way."""
    path = ASSETS / "metamodel" / "orthoglide_long_rods.urdf"
    found = rg.sweep(path, {"front_1.length": [0.8, 0.82]})
    assert found.closed.tolist() == [True, False]
    assert (found.mobility[0], found.redundant[0]) == (3.0, 12.0)


@pytest.mark.slow
def test_the_wheel_suspension_of_klein_over_its_stroke():
    """Held at a stroke, it can be assembled where the closed form has its two solutions."""
    mechanism, _ = wheel_suspension()

    def held(lin):
        T = transform(None, (0, 0, lin))
        weld = rg.Joint("lin", "K5", "ground", "fixed", np.zeros((6, 0)), T)
        return rg.Mechanism.of_joints("held", [*mechanism.joints[:3], weld])

    strokes = [-2.0, -1.0, 0.2, 1.0, 2.0]
    found = rg.sweep(held, {"lin": strokes})
    solved = rg.closed_form(mechanism, ["lin"]).solve(np.array(strokes)[:, None])
    assert found.closed.tolist() == solved.assembled.any(axis=-1).tolist()
    assert 1 < found.closed.sum() < len(strokes)
    assert set(found.mobility[found.closed]) == {0.0}
    assert set(found.redundant[found.closed]) == {3.0}


def test_unknown_parameters_are_named():
    with pytest.raises(rg.ModelError, match="no argument 'length'"):
        rg.sweep(four_bar, {"length": [1.0]})
    with pytest.raises(rg.ModelError, match=r"say BODY\.length"):
        rg.sweep(four_bar(), {"crank.width": [1.0]})
    with pytest.raises(rg.ModelError, match="there is no body 'crenk'"):
        rg.sweep(four_bar(), {"crenk.length": [1.0]})
    with pytest.raises(rg.ModelError, match="a length needs two"):
        rg.sweep(ASSETS / "walker.urdf", {"crank.length": [1.0]})
