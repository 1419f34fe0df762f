"""CAD assemblies simulate with the masses of their shapes and materials."""

from __future__ import annotations

import io
import math
import zipfile
from pathlib import Path

import numpy as np
import pytest
from on_demand import needs
from test_solids import box, step_text

import regularize as rg
from regularize.cli import main

pytestmark = [needs("OCP"), pytest.mark.slow]
ASSET = Path(__file__).resolve().parents[2] / "assets" / "crank_slider.FCStd"
STEEL = 7850.0
DEFAULT = "7f9fd73b-50c9-41d8-b7b2-575a030c1eeb"  # FreeCAD's card of no material


def bar(length: float) -> tuple[float, float]:
    """Mass, and inertia about the axis of the holes' direction through the middle, of a bar."""
    a, b, t, r = length + 0.04, 0.03, 0.01, 0.006
    plate, hole = STEEL * a * b * t, STEEL * math.pi * r**2 * t
    inertia = plate * (a**2 + b**2) / 12 - 2 * (hole * r**2 / 2 + hole * (length / 2) ** 2)
    return plate - 2 * hole, inertia


def changed(folder: Path, old: str, new: str, name: str = "changed.FCStd") -> Path:
    """The asset with another document text."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(ASSET) as source, zipfile.ZipFile(buffer, "w") as target:
        for member in source.namelist():
            data = source.read(member)
            if member == "Document.xml":
                assert old.encode() in data
                data = data.replace(old.encode(), new.encode())
            target.writestr(member, data)
    (folder / name).write_bytes(buffer.getvalue())
    return folder / name


def inertias(mechanism: rg.Mechanism) -> dict[str, float]:
    return {b.name: b.inertia.mass for b in mechanism.bodies if b.inertia is not None}


@pytest.mark.parametrize(("body", "length"), [("crank", 0.1), ("rod", 0.25)])
def test_bars_weigh_what_the_formulas_say(body: str, length: float) -> None:
    found = rg.load(ASSET).body(body).inertia
    assert found is not None
    mass, inertia = bar(length)
    assert found.mass == pytest.approx(mass, rel=1e-9)
    np.testing.assert_allclose(found.center, [length / 2, 0, 0], atol=1e-9)
    assert found.matrix[1, 1] == pytest.approx(inertia, rel=1e-9)


def test_the_assembly_swings_on_its_loops() -> None:
    report = rg.check(rg.load(ASSET)).as_dict()
    assert (report["mobility"]["actual"], report["mobility"]["redundant"]) == (1, 3)
    mechanism = rg.load(ASSET)
    motion = rg.simulate(mechanism, duration=1.0)
    scale = sum(inertias(mechanism).values()) * 9.81 * 0.1
    assert motion.energy_drift < 1e-9 * scale
    assert np.ptp(motion.energy) + np.ptp(motion.q) > 0.1  # it moves
    minimal = rg.simulate(mechanism, duration=1.0, solver=rg.Solver("minimal"))
    np.testing.assert_allclose(minimal.coordinates[-1], motion.coordinates[-1], atol=1e-5)


def test_without_a_material_a_usual_density_is_taken_and_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = str(changed(tmp_path, "7850 kg/m^3", "?"))
    assert main(["simulate", path, "--duration", "0.1"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "taken as 1000 kg/m³: `base`, `crank`, `rod`, `slider`; --density" in said
    assert main(["simulate", path, "--duration", "0.1", "--density", "7850"]) == 0
    one = rg.with_density(rg.load(path), {"": 2700.0, "crank": STEEL})
    steel = inertias(rg.load(ASSET))
    assert inertias(one)["crank"] == pytest.approx(steel["crank"])
    assert inertias(one)["rod"] == pytest.approx(steel["rod"] * 2700 / STEEL)
    alone = rg.with_density(rg.load(path), {"crank": STEEL})
    assert set(inertias(alone)) == {"crank"}


@pytest.mark.parametrize(
    "card",
    [
        'General:\n  UUID: "{}"\nModels:\n  Density:\n    Density: "2.7 g/cm^3"\n',
        "[General]\nUUID = {}\n[Mechanical]\nDensity = 2700 kg/m^3\n",
    ],
)
def test_a_card_beside_the_document_gives_the_density(card: str, tmp_path: Path) -> None:
    """A shape names its card by a number; without the card no mass is made up, and that is said."""
    number = "4b849c55-6b3a-4f75-a055-000000000000"
    (tmp_path / "without").mkdir()
    plain = changed(tmp_path, 'value="7850 kg/m^3"', 'value="?"', "plain.FCStd").read_bytes()
    for folder in (tmp_path, tmp_path / "without"):
        source = zipfile.ZipFile(io.BytesIO(plain))
        with source, zipfile.ZipFile(folder / "model.FCStd", "w") as target:
            for member in source.namelist():
                data, of_crank, behind = source.read(member).partition(b"crank_shape.Shape.brp")
                behind = behind.replace(DEFAULT.encode(), number.encode(), 1)
                target.writestr(member, data + of_crank + behind)
    without = rg.load(tmp_path / "without" / "model.FCStd")
    assert inertias(without) == {}
    (finding,) = (f for f in without.findings if number in f.message)
    assert "--density 'crank=7850'" in finding.help[0]
    (tmp_path / "metal.FCMat").write_text(card.format(number.upper()))
    steel = inertias(rg.load(ASSET))
    found = inertias(rg.load(tmp_path / "model.FCStd"))
    assert found == {"crank": pytest.approx(steel["crank"] * 2700 / STEEL)}


def test_shapes_in_a_cad_file_are_meshes_of_an_export(tmp_path: Path) -> None:
    mechanism = rg.load(ASSET)
    rg.save(mechanism, tmp_path / "crank.urdf")
    text = (tmp_path / "crank.urdf").read_text()
    assert "FCStd" not in text and "crank_meshes/crank_shape" in text
    assert inertias(rg.load(tmp_path / "crank.urdf")) == pytest.approx(inertias(mechanism))
    rg.save(mechanism, tmp_path / "crank.json")
    kept = rg.with_density(rg.load(tmp_path / "crank.json"), STEEL)
    assert kept.body("rod").geometry[0].density == STEEL


def test_a_step_mesh_with_a_material_weighs_a_link(tmp_path: Path) -> None:
    """The scale of the mesh counts, and what the file states of the other link stays."""
    (tmp_path / "part.step").write_text(step_text(box(100, 20, 30), tmp_path))
    mesh = '<visual><geometry><mesh filename="part.step" scale="2 2 2"/></geometry></visual>'
    (tmp_path / "model.urdf").write_text(
        f'<robot name="m"><link name="base"/><link name="arm">{mesh}</link><joint name="j" '
        'type="continuous"><parent link="base"/><child link="arm"/><axis xyz="0 1 0"/></joint>'
        "</robot>"
    )
    # OpenCASCADE writes grams per cubic centimetre.
    found = rg.load(tmp_path / "model.urdf").body("arm").inertia
    assert found is not None
    assert found.mass == pytest.approx(STEEL * 0.2 * 0.04 * 0.06)
    np.testing.assert_allclose(found.center, [0.1, 0.02, 0.03], atol=1e-9)
    assert found.matrix[0, 0] == pytest.approx(found.mass * (0.04**2 + 0.06**2) / 12)


def test_the_patched_assembly_has_nothing_redundant_and_the_same_masses(tmp_path: Path) -> None:
    path = str(tmp_path / "fixed.FCStd")
    joints = ["--joint", "B=spherical", "--joint", "D=cylindrical"]
    assert main(["fix", str(ASSET), *joints, "-o", path]) == 0
    assert main(["check", path]) == 0
    mechanism = rg.load(path)
    assert inertias(mechanism) == inertias(rg.load(ASSET))
    assert rg.simulate(mechanism, duration=0.2).energy_drift < 1e-9
