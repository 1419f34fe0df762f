"""CAD models in engines: shapes come along as meshes, parts without material move."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import mujoco
import numpy as np
import pytest

import regularize as rg

MODEL = Path(__file__).resolve().parents[2] / "assets" / "crank_slider.FCStd"
pytestmark = pytest.mark.formats("freecad", "mjcf")


def test_shapes_of_a_cad_file_are_seen_and_weighed_in_mujoco(tmp_path: Path) -> None:
    bare = rg.load(MODEL)
    assert rg.save(bare, tmp_path / "model.xml")
    files = sorted((tmp_path / "model_meshes").iterdir())
    assert len(files) == 4 and all(file.suffix == ".stl" for file in files)
    model = mujoco.MjModel.from_xml_path(str(tmp_path / "model.xml"))
    assert model.nmesh == 4 and model.ngeom == 4
    masses = {body.name: body.inertia.mass for body in bare.bodies if body.inertia is not None}
    named = {model.body(i).name: float(model.body_mass[i]) for i in range(model.nbody)}
    assert {name: named[name] for name in masses if name in named} == pytest.approx(masses)


def test_parts_without_material_are_taken_as_light_and_that_is_said(tmp_path: Path) -> None:
    loaded = rg.load(MODEL)
    shapes = [tuple(replace(s, density=None) for s in b.geometry) for b in loaded.bodies]
    bodies = [
        replace(body, inertia=None, geometry=geometry)
        for body, geometry in zip(loaded.bodies, shapes, strict=True)
    ]
    bare = replace(loaded, bodies=tuple(bodies))
    (note,) = [d for d in rg.save(bare, tmp_path / "model.xml") if d.code == "REG018"]
    assert "1000 kg/m³" in note.message and "`crank`" in note.message
    motion = rg.simulate(bare, duration=0.1)
    assert "1000 kg/m³" in motion.findings[0].message
    assert np.ptp(motion.q, axis=0).max() > 1e-3
    with pytest.raises(rg.UnsupportedExport):
        rg.save(replace(bare, format="json"), tmp_path / "other.xml")
    assert not (tmp_path / "other_meshes").exists()
