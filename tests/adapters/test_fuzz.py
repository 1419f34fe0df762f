"""Broken files: a few hundred made anew, and the least of each kind that once was mistaken.

``python fuzz.py 100000`` makes more.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import pytest
from fuzz import SUFFIXES, attempt, made, one_each

import regularize as rg
from regularize.adapters import adapters

#: How many are made.
INPUTS = 250
#: By what each was: the format, the file, and what is said of it now.
MISTAKEN = {
    "an MJCF axis that is no number": (
        "mjcf",
        "<mujoco><worldbody><body name='a'><joint name='j' axis='0 nan 1'/><geom size='1'/></body>"
        "</worldbody></mujoco>",
        "joint `j` holds what is no finite number",
    ),
    "an MJCF orientation that is no number": (
        "mjcf",
        "<mujoco><worldbody><body name='a' quat='nan 0 0 1'><geom size='1'/></body></worldbody>"
        "</mujoco>",
        "body `a` holds what is no finite number",
    ),
    "an MBDyn orientation of an axis far off": (
        "mbdyn",
        "begin: data; problem: initial value; end: data;\nbegin: nodes;\nstructural: 1, static, "
        "null, 2, 1.,0.,0., 1e300, 0.,0.,1., null, null;\nend: nodes;",
        "two different axes",
    ),
}


@pytest.mark.parametrize("what", sorted(k for k, v in MISTAKEN.items() if v[0] in adapters()))
def test_what_was_mistaken(what: str, tmp_path: Path) -> None:
    format, text, said = MISTAKEN[what]
    path = tmp_path / f"input{SUFFIXES[format]}"
    path.write_text(text)
    with pytest.raises(rg.ReadError, match=said):
        rg.load(path, format=format)


@pytest.mark.slow
def test_broken_files_are_read_or_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    options, found = argparse.Namespace(seed=0, check=12, gentle=False), one_each()
    outcomes = {}
    for number in range(INPUTS):
        seed, data, check = made(number, options, found)
        outcomes[number] = (seed.format, *attempt(data, seed.format, tmp_path, check))
    assert {format for format, *_ in outcomes.values()} == {seed.format for seed in found}
    assert {what for _, what, _ in outcomes.values()} == {"read", "checked", "refused"}, outcomes
    assert [path.name for path in tmp_path.iterdir() if not path.name.startswith("input")] == []
