"""Rows along the axes of frames that stand for rows kept on numerical evidence."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import regularize as rg
from regularize.errors import UnsupportedExport
from regularize.pinocchio_model import welds
from regularize.reduction.reduce import Reduction
from regularize.render.animation import motions

ASSETS = Path(__file__).parent.parent / "assets"


@pytest.fixture(scope="module")
def bennett() -> Reduction:
    return rg.reduce(rg.load(ASSETS / "bennett.urdf"), numerical=True)


def least(reduction: Reduction, style: str) -> float:
    """The smallest singular value of a style's rows along the motion, over the largest one."""
    robot = rg.to_pinocchio(reduction, style)
    (motion,) = motions(reduction)
    data, ratios = robot.model.createData(), []
    for q in motion.q:
        rows = robot.constraints.jacobian(data, robot.configuration(q))
        s = np.linalg.svd(rows, compute_uv=False)
        ratios.append(float(s[robot.rank - 1] / s[0]))
    return min(ratios)


@pytest.mark.parametrize("style", ["anchors", "slack"])
def test_rows_of_frames_keep_their_rank_along_the_motion(bennett: Reduction, style: str) -> None:
    assert least(bennett, style) > 0.03 * least(bennett, "rows") > 0.0


def test_styles_refuse_where_no_choice_of_rows_serves_everywhere(
    bennett: Reduction, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With frames along the ground's axes alone none does, and ``rows`` needs no frames."""
    monkeypatch.setattr(welds, "_turned", lambda weld, rng: weld)
    for style in ("anchors", "slack"):
        with pytest.raises(UnsupportedExport, match=r'near A = .*use style="rows"'):
            rg.to_pinocchio(bennett, style)
    assert rg.to_pinocchio(bennett, "legacy").rank == 1 + rg.to_pinocchio(bennett).rank
