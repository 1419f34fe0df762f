"""The 3D scene and the flat pictures: what is in them, where it is, and what moves."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
import trimesh
from test_check import fourbar_joints

import regularize as rg
from regularize.guests.page.animation import motions
from regularize.guests.page.artist import draw
from regularize.guests.page.drawing import REDUNDANT, camera
from regularize.guests.page.meshes import decimated, mesh_of
from regularize.guests.page.picture import SHEET, Painter, picture, saved, scene
from regularize.mechanism.body import Geometry
from regularize.mechanism.graph import DisjointSets


@pytest.fixture(scope="module")
def fourbar(assets: Path) -> rg.Report:
    return rg.check(rg.load(assets / "planar_fourbar.urdf"))


@pytest.fixture(scope="module")
def bare() -> rg.Report:
    """A four-bar without any shapes, in the plane normal to Y."""
    return rg.check(rg.Mechanism.of_joints("bare", fourbar_joints()))


@pytest.mark.slow
def test_bodies_without_shapes_are_bars_between_their_joints(bare: rg.Report) -> None:
    pieces = {piece.name: piece for piece in draw(bare).pieces}
    bars = [piece for piece in pieces.values() if piece.kind == "bar"]
    nodes = bare.reduction.graph.nodes
    lengths = {nodes[piece.node]: np.ptp(piece.mesh.vertices, axis=0).max() for piece in bars}
    assert set(lengths) == {"crank", "coupler", "rocker"}
    assert lengths["coupler"] == pytest.approx(0.5, abs=0.05)
    assert not any(piece.kind == "shape" for piece in pieces.values())


def test_redundant_directions_are_drawn_at_the_closing_joint(bare: rg.Report) -> None:
    pieces = [piece for piece in draw(bare).pieces if piece.kind == "redundant"]
    assert len(pieces) == 3
    assert all(piece.color == REDUNDANT for piece in pieces)
    force = pieces[0].mesh
    # The force along Y is longest along Y, and centred at joint D.
    assert np.argmax(np.ptp(force.vertices, axis=0)) == 1
    r = bare.reduction
    place = r.reference.T_world_node[0, r.loops.row(pieces[0].node)]
    middle = place[:3, :3] @ force.bounds.mean(axis=0) + place[:3, 3]
    assert np.allclose(middle, (0.5, 0, 0), atol=1e-6)


@pytest.mark.slow
def test_every_axis_has_an_arrow_and_every_joint_a_name(fourbar: rg.Report) -> None:
    drawing = draw(fourbar)
    names = {piece.name for piece in drawing.pieces}
    assert {f"axis/{joint}" for joint in "ABCD"} <= names
    assert {label.text: label.cut for label in drawing.labels} == {
        "A": False, "B": False, "C": False, "D": True,
    }  # fmt: skip


@pytest.mark.slow
def test_scene_places_bodies_at_a_configuration(bare: rg.Report) -> None:
    (motion,) = motions(bare.reduction)
    q = motion.q[len(motion.q) // 3]
    poses = bare.reduction.loops.state(q).T_world_node[0]
    made = scene(bare, q)
    for node, name in enumerate(bare.reduction.graph.nodes):
        if f"body/{name}" in made.graph.nodes:
            assert np.allclose(
                made.graph.get(f"body/{name}")[0], poses[bare.reduction.loops.row(node)]
            )


@pytest.mark.slow
def test_ghosts_are_further_poses_of_the_moving_bodies(bare: rg.Report) -> None:
    made = scene(bare, ghosts=3)
    ghosts = [name for name in made.geometry if name.startswith("ghost2/")]
    assert ghosts and not any("axis" in name or "ground" in name for name in ghosts)
    material = made.geometry[ghosts[0]].visual.material
    assert material.baseColorFactor[3] < 100


@pytest.mark.slow
def test_ghosts_of_what_moves_to_and_fro_stand_beside_each_other() -> None:
    slides = [
        rg.Joint.in_world(name, "ground", "drawer", "prismatic", (1, 0, 0), (0, y, 0))
        for name, y in (("A", 0.0), ("B", 0.5))
    ]
    report = rg.check(rg.Mechanism.of_joints("drawer", slides))
    (motion,) = motions(report.reduction)
    assert not motion.cyclic
    made = scene(report, ghosts=2)
    assert {name.split("/")[0] for name in made.geometry if name.startswith("ghost")} == {
        "ghost1",
        "ghost2",
    }


def test_glb_loads_back_with_its_names(fourbar: rg.Report) -> None:
    made = scene(fourbar)
    content = made.export(file_type="glb")
    back: Any = trimesh.load(io.BytesIO(content), file_type="glb")
    assert set(back.geometry) == set(made.geometry)
    assert np.allclose(back.bounds, made.bounds, atol=1e-5)


@pytest.mark.slow
def test_decimated_meshes_keep_their_size_and_place() -> None:
    ball = trimesh.creation.icosphere(subdivisions=5)
    few = decimated(ball, 1000)
    assert 300 < len(few.faces) <= 1000
    assert np.allclose(few.bounds, ball.bounds, atol=0.1)
    area = trimesh.Trimesh(few.vertices, few.faces).area
    assert area == pytest.approx(ball.area, rel=0.05)
    assert decimated(few, 1000) is few


@pytest.mark.parametrize(
    ("kind", "size", "extents"),
    [
        ("box", (1, 2, 3), (1, 2, 3)),
        ("sphere", (0.5,), (1, 1, 1)),
        ("cylinder", (0.5, 3), (1, 1, 3)),
        ("capsule", (0.5, 2), (1, 1, 3)),
    ],
)
def test_primitive_shapes(kind: str, size: tuple[float, ...], extents: tuple[float, ...]) -> None:
    mesh = mesh_of(Geometry(kind, np.array(size)), None)
    assert np.allclose(np.ptp(mesh.vertices, axis=0), extents, atol=0.03)
    assert np.allclose(mesh.bounds.mean(axis=0), 0, atol=0.01)


def test_planar_mechanisms_are_seen_along_their_normal(bare: rg.Report, fourbar: rg.Report) -> None:
    for report in (bare, fourbar):
        normal = report.loops[0].motion.direction
        assert normal is not None
        assert abs(camera(draw(report))[2] @ normal) > 0.85
    view = camera(draw(bare))
    assert np.allclose(view @ view.T, np.eye(3), atol=1e-12)
    assert np.linalg.det(view) == pytest.approx(1.0)
    # X runs to the right and Z upwards, as in a drawing.
    assert view[0, 0] > 0.8 and view[1, 2] > 0.8


@pytest.mark.slow
def test_svg_is_a_titled_picture_within_its_frame(fourbar: rg.Report) -> None:
    figure = picture(fourbar)
    text = saved(figure, "svg").decode()
    root = ElementTree.fromstring(text)
    space = "{http://www.w3.org/2000/svg}"
    assert root.tag == f"{space}svg" and root.find(f"{space}title") is not None
    assert {text.text for text in root.iter(f"{space}text")} == set("ABCD")
    (axes,) = figure.axes
    low, high = axes.dataLim.min, axes.dataLim.max
    assert np.all(low >= 0) and np.all(high <= SHEET)
    assert "#cc1448" in text
    assert saved(picture(fourbar), "svg").decode() == text


@pytest.mark.slow
@pytest.mark.formats("freecad")
def test_planar_mechanisms_are_not_seen_through_the_ground(assets: Path) -> None:
    """The slider-crank's frame is a plate: from behind it the crank cannot be seen."""
    pytest.importorskip("OCP")
    drawing = draw(rg.check(rg.load(assets / "crank_slider.FCStd")))
    r, back = drawing.report.reduction, camera(drawing)[2]
    depths: dict[bool, list[float]] = {True: [], False: []}
    for piece in drawing.pieces:
        if piece.kind == "shape":
            T = r.reference.T_world_node[0, r.loops.row(piece.node)]
            middle = T[:3, :3] @ piece.mesh.bounds.mean(axis=0) + T[:3, 3]
            depths[piece.node == r.graph.ground].append(float(middle @ back))
    assert np.mean(depths[False]) > np.mean(depths[True])


@pytest.mark.slow
def test_redundant_directions_do_not_cover_each_other(assets: Path) -> None:
    drawing = draw(rg.check(rg.load(assets / "walker.urdf")))
    painter, r = Painter(drawing), drawing.report.reduction
    discs = painter.discs(r.reference.T_world_node[0])
    assert len(discs) >= 8
    for i, (x, y, radius) in enumerate(discs):
        assert radius > 0.02 * drawing.length
        for a, b, other in discs[:i]:
            assert np.hypot(x - a, y - b) > radius + other


@pytest.mark.slow
def test_labels_do_not_cover_each_other(assets: Path) -> None:
    figure = picture(rg.check(rg.load(assets / "gripper.urdf")), ghosts=0)
    boxes = [text.get_window_extent(figure.canvas.get_renderer()) for text in figure.axes[0].texts]
    assert len(boxes) == 13
    assert not any(box.count_overlaps(boxes[:i]) for i, box in enumerate(boxes))


@pytest.mark.slow
def test_png_shows_the_same(fourbar: rg.Report) -> None:
    image = pytest.importorskip("matplotlib.image")
    pixels = image.imread(io.BytesIO(saved(picture(fourbar), "png", scale=1.0)))
    assert pixels.shape == (480, 720, 4)
    share = np.mean(np.any(pixels[..., :3] < 0.95, axis=2))
    assert 0.02 < share < 0.6
    crimson = np.all(np.abs(pixels[..., :3] - np.array(REDUNDANT[:3]) / 255) < 0.25, axis=2)
    assert crimson.sum() > 50


@pytest.mark.slow
def test_a_mechanism_without_loops_or_freedoms_can_be_drawn() -> None:
    single = rg.check(
        rg.Mechanism.of_joints(
            "arm", [rg.Joint.in_world("A", "ground", "arm", "revolute", (0, 0, 1))]
        )
    )
    assert b"<svg" in saved(picture(single), "svg")
    assert scene(single, ghosts=2).geometry
    alone = rg.check(rg.Mechanism("alone", (rg.Body("ground"),), ()))
    assert b"<svg" in saved(picture(alone), "svg")
    assert not scene(alone).geometry


def test_bodies_of_which_there_is_nothing_to_draw_are_blocks() -> None:
    a = rg.assembly("joystick")
    a.body("stick")
    a.ball("B", "ground", "stick", at=(0.1, 0.2, 0.3))
    report = rg.check(a.mechanism())
    (block,) = [piece for piece in draw(report).pieces if piece.owner == "stick"]
    loops = report.reduction.loops
    T = report.reduction.reference.T_world_node[0, loops.row(block.node)]
    middle = T[:3, :3] @ block.mesh.bounds.mean(axis=0) + T[:3, 3]
    assert block.kind == "bar" and np.allclose(middle, (0.1, 0.2, 0.3))


@pytest.mark.slow
def test_a_body_that_two_loops_pass_by_joints_of_their_own_is_one_piece() -> None:
    a = rg.assembly("two four-bars")
    for body in ("left", "right", "plate", "up", "down", "end"):
        a.body(body)
    for name, bodies, at in (
        ("A", ("ground", "left"), (0, 0, 0)),
        ("B", ("ground", "right"), (1, 0, 0)),
        ("C", ("left", "plate"), (0, 0, 1)),
        ("D", ("right", "plate"), (1.2, 0, 1)),
        ("E", ("plate", "up"), (0.2, 0, 2)),
        ("F", ("plate", "down"), (1, 0, 2)),
        ("G", ("up", "end"), (0, 0, 3)),
        ("H", ("down", "end"), (1.3, 0, 3)),
    ):
        a.hinge(name, *bodies, at=at, axis=(0, 1, 0))
    report = rg.check(a.mechanism())
    plate = report.reduction.graph.node_of["plate"]
    bars = [(one, other) for node, one, other, _ in draw(report).links if node == plate]
    sets = DisjointSets(tuple(np.round(end, 6)) for bar in bars for end in bar)
    for bar in bars:
        sets.union(*(tuple(np.round(end, 6)) for end in bar))
    assert len(bars) == 3 and len(sets.groups()) == 1
