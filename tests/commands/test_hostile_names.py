"""Names are never code: a sample of the table in ``hostile_names.py``, which can try all of it."""

from __future__ import annotations

import re
import shutil
from itertools import takewhile
from pathlib import Path
from typing import Any

import hostile_names
import pytest

import regularize as rg
from regularize.cli import main

pytestmark = pytest.mark.slow
compiler = pytest.mark.skipif(shutil.which("gcc") is None, reason="no C compiler that says more")
#: C1, bidirectional, ends of lines, of no width; what may stand in XML and in JSON as it is.
RAW = "\x9b\x85\u202e\u2028\u200b"
FORMATS = (("urdf+", "urdf"), ("sdf", "sdf"), ("mjcf", "xml"), ("json", "json"))
#: Of every kind one: C, Python, pages, XML, terminals, workflow commands, USD.
SAMPLE = [hostile_names.NAMES[i] for i in (0, 3, 9, 18, 22, 27, 34, 40)]


@compiler
@pytest.mark.parametrize("name", SAMPLE, ids=ascii)
def test_a_name_is_no_code(name: str) -> None:
    place = hostile_names.PLACES[SAMPLE.index(name) % len(hostile_names.PLACES)]
    count, wrong = hostile_names.failures(name, place)
    assert count > 50
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize(("format", "suffix"), FORMATS)
def test_no_word_of_a_file_comes_out_raw(
    assets: Path, tmp_path: Path, format: str, suffix: str
) -> None:
    """Each word of a file in turn is hostile; then all that are read so, in all that is said."""
    path = tmp_path / f"m.{suffix}"
    rg.save(rg.load(assets / "planar_fourbar.urdf"), path, format=format)
    text, read = path.read_text("utf-8"), list[str]()

    def written(words: list[str]) -> None:
        pattern = r"(?<![\w:.-])(" + "|".join(map(re.escape, words)) + r")(?![\w:.-])"
        path.write_text(re.sub(pattern, rf"\1{RAW}", text), "utf-8")

    for word in dict.fromkeys(re.findall(r"[A-Za-z_][\w:.-]*", text)):
        written([word])
        try:
            rg.load(path)
            read.append(word)
        except rg.RegularizeError as error:
            hostile_names.terminal(str(error))
    written(read)
    assert len(read) > 8 and len(rg.load(path).joints) >= 4
    outputs = hostile_names.outputs(path, read[0], tmp_path)
    said = {o: t for o, _, t in takewhile(lambda found: found[0] != "reduce to urdf", outputs)}
    assert len(said) > 10
    for shown in (*said.values(), str(rg.check(path)), repr(rg.load(path))):
        hostile_names.terminal(shown)


@pytest.mark.parametrize("seen", [True, False])
def test_a_difference_is_escaped_on_terminals_and_a_patch_elsewhere(
    seen: bool, assets: Path, tmp_path: Path, monkeypatch: Any, capsys: Any
) -> None:
    path, text = tmp_path / "m.urdf", (assets / "planar_fourbar.urdf").read_text()
    path.write_text(text.replace('<loop name="D"', f'<!-- {RAW} --><loop name="D"'), "utf-8")
    monkeypatch.setattr("sys.stdout.isatty", lambda: seen)
    assert main(["fix", str(path), "--diff"]) in (0, 1)
    assert (RAW in capsys.readouterr().out) != seen
