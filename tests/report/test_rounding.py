"""Words do not hang on how a processor rounds: inputs are off by one unit in the last place."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import regularize as rg

ASSETS = Path(__file__).resolve().parents[2] / "assets"
MODELS = sorted(path for path in ASSETS.glob("*.urdf"))
#: Models of the daily round.
QUICK = ("three_cranks", "slider_crank")


def in_memory(mechanism: rg.Mechanism, seed: int | None) -> rg.Mechanism:
    """A copy away from its file; frames are moved to neighbouring numbers, drawn by the seed."""

    def moved(frame: np.ndarray) -> np.ndarray:
        if seed is None:
            return frame
        away = np.random.default_rng(seed).choice([-np.inf, np.inf], frame.shape)
        return np.nextafter(frame, np.where(frame == 0.0, 0.0, away))

    joints = [
        replace(
            joint,
            T_parent_joint=moved(joint.T_parent_joint),
            T_child_joint=moved(joint.T_child_joint),
        )
        for joint in mechanism.joints
    ]
    return replace(mechanism, joints=tuple(joints), path=None)


def said(mechanism: rg.Mechanism) -> list[str]:
    """The report in words but for the time that it took."""
    return [re.sub(r" in [0-9.]+ s\.", "", line) for line in str(rg.check(mechanism)).split("\n")]


@pytest.mark.parametrize(
    "path",
    [p if p.stem in QUICK else pytest.param(p, marks=pytest.mark.slow) for p in MODELS],
    ids=lambda path: path.stem,
)
def test_neighbouring_numbers_get_the_same_words(path: Path) -> None:
    mechanism = rg.load(path)
    words = said(in_memory(mechanism, None))
    for seed in range(2):
        assert said(in_memory(mechanism, seed)) == words
