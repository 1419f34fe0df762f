"""What notebooks display: the page of a model, and motions as labelled tables."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import regularize as rg

ASSETS = Path(__file__).resolve().parents[1] / "assets"
pytestmark = pytest.mark.guests("page")


@pytest.mark.slow
def test_show_displays_the_page_and_its_motion(tmp_path: Path) -> None:
    model = ASSETS / "slider_crank.urdf"
    shown = rg.show(model, height=500)
    html = shown._repr_html_()
    assert html.startswith("<iframe") and "height:500px" in html and "3 redundant" in html
    assert "\n" not in repr(shown) and len(repr(shown)) <= 200
    report = rg.check(model)
    assert rg.show(report).report is report  # nothing is analysed twice
    assert rg.show(report.mechanism).report.reduction.redundant == 3
    motion = rg.simulate(model, duration=0.05)
    playing = rg.show(model, motion=motion)
    assert len(playing._repr_html_()) > len(html)
    assert b"3 redundant" in playing.save(tmp_path / "page.html").read_bytes()
    with pytest.raises(rg.ModelError, match="height"):
        rg.show(model, height=0)


@pytest.mark.slow
def test_objects_are_shown_as_well() -> None:
    text = (ASSETS / "planar_fourbar.urdf").read_text()
    assert "3 redundant" in rg.show(text)._repr_html_()
    assert "<iframe" in rg.check(text)._repr_html_()


@pytest.mark.slow
def test_time_is_the_coordinate_of_a_motion() -> None:
    pytest.importorskip("xarray")
    motion = rg.simulate(ASSETS / "slider_crank.urdf", duration=0.1)
    data = motion.to_xarray()
    assert list(data.sizes) == ["time"] and "time" in data.indexes
    one = data.sel(time=0.05, method="nearest")
    row = int(np.argmin(np.abs(motion.time - 0.05)))
    for k, name in enumerate(motion.names):
        assert float(one[name]) == motion.coordinates[row, k]


@pytest.mark.slow
def test_a_motion_is_a_frame_of_pandas() -> None:
    pandas = pytest.importorskip("pandas")
    motion = rg.simulate(ASSETS / "slider_crank.urdf", duration=0.1)
    frame = motion.to_pandas()
    assert isinstance(frame, pandas.DataFrame) and list(frame["time"]) == list(motion.time)
    assert {*motion.names, "energy", "closure"} <= {*frame.columns}
