"""Prints how far loops of the MJCF models below a folder open in MuJoCo, before and after `fix`.

Usage: ``python softness_table.py FOLDER``. Models with connects or welds count that MuJoCo
moves for 2 s without a warning; meshes and textures are left out, for most collections lack them.
For each the table has the rows of loops, and the largest and the mean gap in mm: of the file, of
the independent rows alone (``--as-is``), and of what `fix` writes. The last line counts those whose
gaps are wider than before; the command fails where there are any.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path

import mujoco
from lxml import etree

import regularize as rg
from regularize.adapters.mjcf.closure_patch import Gaps, gaps_of

#: Elements and attributes that name files of shapes and pictures, which no loop needs.
SHOWN = {"mesh": "file", "texture": "file", "skin": "file", "hfield": "file", "geom": "mesh"}


def bare(path: Path) -> None:
    """Take meshes and pictures out of a file, in place."""
    tree = etree.parse(path, etree.XMLParser(remove_comments=True))
    for element in [*tree.iter(*SHOWN)]:
        if element.get(SHOWN[element.tag]) is not None:
            element.getparent().remove(element)
    for material in tree.iter("material"):
        material.attrib.pop("texture", None)
    tree.write(path)


def rows(path: Path) -> int:
    """Rows of equality constraints at the pose of a file."""
    model = mujoco.MjModel.from_xml_path(str(path))
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    return int(data.ne)


def line(path: Path, folder: Path) -> tuple[str, bool] | None:
    """What is said of a model, and whether its loops are wider; None of one that is no subject."""
    before = gaps_of(str(path))
    if before is None:
        return None
    texts, counts, last = [words(before)], [rows(path)], before
    for as_is in (True, False):
        fixed = path.with_name(f"fixed_{as_is}_{path.name}")
        try:
            rg.fix(path, as_is=as_is).write(fixed)
        except rg.RegularizeError as error:
            return f"not changed: {error!s:.90}", False
        after = gaps_of(str(fixed))
        if after is None:
            return "MuJoCo warns of the fixed file", True
        last = after
        texts.append(words(after))
        counts.append(rows(fixed))
    said = " -> ".join(texts)
    return f"rows {counts[0]:>3} -> {counts[-1]:>3}   {said}", not last.within(before)


def words(gaps: Gaps) -> str:
    """Largest and mean gap in mm."""
    return f"{1e3 * gaps.largest:8.3g} ({1e3 * gaps.mean:.3g})"


def main(folder: Path) -> int:
    """Print the table; returns the number of models whose loops are wider than before."""
    wider = count = 0
    with tempfile.TemporaryDirectory() as scratch:
        copy = Path(scratch, "models")
        shutil.copytree(folder, copy, copy_function=shutil.copyfile)
        files = [f for f in sorted(copy.rglob("*.xml")) if "<mujoco" in f.read_text("utf-8")]
        for file in files:
            bare(file)
        for file in files:
            found = line(file, copy)
            if found is not None:
                said, worse = found
                count, wider = count + 1, wider + worse
                name = str(file.relative_to(copy))[-60:]
                print(f"{name:<60}  {'WIDER ' if worse else ''}{said}", flush=True)
    print(f"{count} models, {wider} with wider gaps than before")
    return wider


if __name__ == "__main__":
    sys.exit(min(1, main(Path(sys.argv[1]))))
