"""Parts designed with CadQuery: their masses by OpenCASCADE."""

import pytest

import regularize as rg

cq = pytest.importorskip("cadquery")


def test_shapes_of_cadquery() -> None:
    a = rg.assembly("blocks")
    a.part(cq.Workplane().box(10, 20, 30).translate((5, 0, 0)), 1000.0, "plane")
    a.part(cq.Assembly(name="two").add(cq.Workplane().box(10, 10, 10)), 1000.0)
    first, second = (a.mechanism().body(name).inertia for name in ("plane", "two"))
    assert first is not None and second is not None
    assert first.mass == pytest.approx(6e-3) and first.center == pytest.approx(
        [5e-3, 0, 0], abs=1e-12
    )
    assert second.mass == pytest.approx(1e-3)
