#!/usr/bin/env python3
"""Write the mechanisms whose mobility is hard to tell, into the folder ``mobility``.

    python assets/make_mobility.py [FOLDER]

They are rigid although they look mobile, mobile although they look rigid, or at a pose where
several motions meet. Every file is a URDF file as those of ``make_mechanisms.py``. Known answers
are in ``mobility/answers.csv``, which is written by hand from the literature, with a proof or an
independent count for each.
"""

from __future__ import annotations

import sys
from pathlib import Path

from sources import branching, flexible, legs, rigid, urdf_text
from sources.linkage import Linkage


def linkages() -> list[Linkage]:
    """All mechanisms of the folder."""
    return [
        rigid.rigid_triangle(),
        rigid.hinges_on_a_line_3(),
        rigid.hinges_on_a_line_4(),
        rigid.hinges_in_a_plane(),
        rigid.plate_on_concurrent_bars(),
        rigid.plate_on_parallel_bars(),
        rigid.k33_on_an_ellipse(),
        rigid.six_rods_that_meet_a_line(),
        rigid.stewart_turned(),
        rigid.delta_stretched(),
        rigid.shaky_octahedron(),
        rigid.jessen_icosahedron(),
        rigid.watt_against_watt(),
        branching.rhombus_stretched(),
        branching.parallelogram_flat(),
        branching.two_windows_flat(),
        branching.rhombus_on_a_sphere(),
        branching.origami_vertex_flat(),
        branching.double_watt(),
        branching.flat_guides_touching(),
        branching.flat_guides_apart(),
        branching.wunderlich_12_bar(),
        branching.wunderlich_12_bar_turning(),
        branching.plate_on_four_rods(),
        branching.three_upu_snu(),
        branching.wren_platform(),
        branching.squares_folded(),
        flexible.dixon_first(),
        flexible.dixon_second(),
        flexible.bricard_octahedron_1(),
        flexible.bricard_octahedron_2(),
        flexible.bricard_octahedron_3(),
        flexible.bricard_line_symmetric(),
        flexible.altmann_6r(),
        flexible.myard_5r(),
        flexible.kaleidocycle_6(),
        flexible.kaleidocycle_8(),
        flexible.miura_fold(),
        flexible.hooke_double_joint(),
        legs.six_sps(),
        legs.rspsr(),
        legs.four_ruu(),
        legs.four_prrrr(),
        legs.exechon(),
    ]


def main(folder: Path) -> None:
    """Write one file per mechanism."""
    folder.mkdir(exist_ok=True)
    for linkage in linkages():
        (folder / f"{linkage.name}.urdf").write_text(urdf_text.write(linkage), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent / "mobility")
