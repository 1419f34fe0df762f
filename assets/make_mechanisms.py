#!/usr/bin/env python3
"""Write the example mechanisms of this folder.

    python assets/make_mechanisms.py [FOLDER]

Every file is a URDF file with URDF+ ``<loop>`` elements. The geometry stands in ``sources/``; the
same numbers come out at every run. Known answers are in ``answers.csv``, which is written by hand
from the literature.
"""

from __future__ import annotations

import sys
from pathlib import Path

from sources import paradoxical, parallel, planar, robots, spatial, urdf_text
from sources.linkage import Linkage


def linkages() -> list[Linkage]:
    """All example mechanisms."""
    return [
        planar.planar_fourbar(),
        planar.nearly_planar_fourbar(),
        planar.slider_crank(),
        planar.three_cranks(),
        planar.n_fourbar(1),
        planar.n_fourbar(5),
        planar.braced_fourbar(),
        planar.focal_mechanism(),
        planar.roberval_balance(),
        spatial.spherical_fourbar(),
        spatial.spherical_fourbar_flat(),
        spatial.spherical_9r(),
        spatial.sarrus(),
        spatial.three_leg_sarrus(),
        spatial.double_sarrus(),
        spatial.rssr(),
        spatial.shaky_7r(),
        paradoxical.bennett(),
        paradoxical.bricard(),
        paradoxical.goldberg_5r(),
        paradoxical.goldberg_6r(),
        paradoxical.waldron_6r(),
        paradoxical.schatz(),
        parallel.three_prrr(),
        parallel.delta_parallelograms(),
        parallel.delta_universal(),
        parallel.orthoglide(),
        parallel.three_upu(),
        parallel.stewart_6ups(),
        parallel.schoenflies_four_legs(),
        parallel.quadrupteron(),
        robots.walker(),
        robots.gripper(),
        robots.knee_leg(),
    ]


def main(folder: Path) -> None:
    """Write one file per mechanism."""
    for linkage in linkages():
        (folder / f"{linkage.name}.urdf").write_text(urdf_text.write(linkage), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent)
