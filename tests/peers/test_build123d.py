"""Parts designed with build123d: masses by OpenCASCADE, mates by name, one answer everywhere."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import regularize as rg

b = pytest.importorskip("build123d")
ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def drawn() -> Any:
    return runpy.run_path(str(ROOT / "assets" / "examples" / "press_in_build123d.py"))["press"]()


def test_masses_are_those_of_the_solids(drawn: Any) -> None:
    mechanism, _ = drawn
    rod = mechanism.body("rod").inertia  # a bar of 20 mm × 20 mm × 250 mm
    mass = 7850.0 * 0.02 * 0.02 * 0.25
    assert rod.mass == pytest.approx(mass, rel=1e-9)
    assert rod.center == pytest.approx([0, 0.03, 0.125], abs=1e-12)
    moments = mass / 12 * np.array([0.02**2 + 0.25**2, 0.02**2 + 0.25**2, 2 * 0.02**2])
    assert rod.matrix == pytest.approx(np.diag(moments), rel=1e-9, abs=1e-12)


def test_the_textbook_answer_in_report_page_and_editor(drawn: Any, tmp_path: Path) -> None:
    mechanism, _ = drawn
    report = rg.check(mechanism)
    r = report.reduction
    # Three bodies move; three hinges write 15 equations, four bushes 16, where 17 would do.
    assert (r.mobility, r.redundant, r.gruebler) == (1, 14, 18 - 31)
    assert "14 redundant" in str(report) and "14 redundant" in report._repr_html_()
    pytest.importorskip("pygls")
    from test_editor import Editor, in_editor  # type: ignore[import-not-found]

    path = tmp_path / "press.urdf"
    rg.save(mechanism, path)

    async def work(e: Editor) -> None:
        uri, found = await e.opened(path)
        ((line, words),) = await e.lenses(uri)
        assert words == "mobility 1, 14 redundant"
        assert "14 redundant" in await e.hover(uri, line)
        assert {f.code for f in found} >= {"REG201"}

    in_editor(work)


def test_the_press_is_repaired_simulated_and_exported(drawn: Any, tmp_path: Path) -> None:
    mechanism, parts = drawn
    motion = rg.simulate(mechanism, duration=0.2)
    assert np.isfinite(motion.q).all()
    assert b.export_step(parts, str(tmp_path / "press.step"))
    solids = b.import_step(str(tmp_path / "press.step")).solids()
    assert sum(s.volume for s in solids) == pytest.approx(parts.volume, rel=1e-6)
    pytest.importorskip("mujoco")
    rg.save(mechanism, tmp_path / "press.xml")
    fixed = rg.fix(tmp_path / "press.xml").reduction
    assert (fixed.redundant, fixed.mobility) == (0, 1)


def bar(name: str, length: float) -> Any:
    part = b.Box(length, 4, 2).moved(b.Location((length / 2, 0, 0)))
    part.label = name
    b.RevoluteJoint("a", part, axis=b.Axis((0, 0, 0), (0, 0, 1)))
    b.RigidJoint("b", part, b.Location((length, 0, 0)))
    return part


def test_mates_that_do_not_meet_are_refused_by_name() -> None:
    a = rg.assembly("pair")
    one, other = bar("one", 100), bar("other", 40)
    a.part(one, 2700.0)
    a.part(other, 2700.0)
    one.joints["b"].connect_to(other.joints["a"])
    a.mate("A", one.joints["b"], other.joints["a"])
    joint = a.mechanism().joint("A")
    assert (joint.kind, joint.parent, joint.child) == ("revolute", "one", "other")
    other.move(b.Location((0.5, 0, 0)))
    with pytest.raises(rg.ModelError, match=r"'B': its two ends are 0\.5 mm apart"):
        a.mate("B", one.joints["b"], other.joints["a"])
    b.LinearJoint("slide", other, b.Axis((0, 0, 0), (0, 0, 1)))
    with pytest.raises(rg.ModelError, match="do not go together"):
        a.mate("C", one.joints["a"], other.joints["slide"])
    with pytest.raises(rg.ModelError, match="two joints of build123d parts"):
        a.mate("D", one, other)
    for wrong, words in (
        (3, "is no shape"),
        (b.Axis.Z, "is no shape"),
        (b.Rectangle(1, 2), "no solid"),
    ):
        with pytest.raises(rg.ModelError, match=words):
            a.part(wrong, 1.0, "wrong")
    with pytest.raises(rg.ModelError, match="density"):
        a.part(one, 0.0, "light")
