"""A URDF+ ``<loop>`` in the place of a link with two parents, or beside marked frames."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from regularize.adapters.common.edits import WantedKind
from regularize.adapters.common.write import numbers, rpy
from regularize.adapters.common.xml_places import Place
from regularize.adapters.common.xml_text import quoteattr
from regularize.errors import ModelError
from regularize.lie.screw import Array


def loop_element(place: Place, wanted: WantedKind, types: Mapping[str, str]) -> str:
    """The text of the element, indented as the one that it replaces or stands beside."""
    joint = wanted.replacement
    if wanted.kind not in types:
        raise ModelError(f"joint {joint.name!r} cannot become {wanted.kind} as a URDF+ <loop>")
    lines = [f"<loop name={quoteattr(joint.name)} type={quoteattr(types[wanted.kind])}>"]
    for tag, link, T in (
        ("predecessor", joint.parent, joint.T_parent_joint),
        ("successor", joint.child, joint.T_child_joint),
    ):
        lines.append(f"  <{tag} link={quoteattr(link)}>{_origin(T)}</{tag}>")
    lines += [f'  <axis xyz="{numbers(axis)}"/>' for axis in axes_of(wanted)]
    gap = place.document.newline + place.indentation
    return gap.join([*lines, "</loop>"])


def _origin(T: Array) -> str:
    turn = "" if np.array_equal(T[:3, :3], np.eye(3)) else f' rpy="{numbers(rpy(T[:3, :3]))}"'
    return f'<origin xyz="{numbers(T[:3, 3])}"{turn}/>'


def axes_of(wanted: WantedKind) -> list[Array]:
    """Directions that a joint's element names, in the frame of the joint."""
    screws = wanted.replacement.screws
    if wanted.kind in ("fixed", "spherical", "free"):
        return []
    if wanted.kind == "planar":
        return [screws[3:, 2]]
    if wanted.kind == "universal":
        return [screws[3:, 0], screws[3:, 1]]
    if wanted.kind == "line_in_plane":
        return [screws[:3, 0], screws[3:, 2]]
    first = screws[:, 0]
    return [first[:3] if np.any(first[:3]) and wanted.kind != "helical" else first[3:]]
