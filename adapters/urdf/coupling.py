"""URDF+ couplings: gears and rolling contacts between two chains of joints."""

from __future__ import annotations

from regularize.adapters.common.xml import Node
from regularize.adapters.urdf.draft import UrdfDraft
from regularize.adapters.urdf.joint import check_scalar
from regularize.model.mechanism import Joint

KINDS = ("rolling", "gear")


def read_coupling(node: Node, draft: UrdfDraft) -> None:
    r"""Add a ``<coupling>`` as one relation between joint coordinates.

    With the chains from the nearest common ancestor down to the two links and the ratio :math:`r`:
    :math:`r \sum_{predecessor} q - \sum_{successor} q = 0`.
    """
    ratio = node.need("ratio").number("value")
    kind = node.one_of(node.get("type") or "gear", KINDS)
    ends = [node.need("predecessor"), node.need("successor")]
    links = [draft.link(end.text("link"), end) for end in ends]
    predecessor, successor = _branches(links[0], links[1], node, draft)
    terms = [(joint, ratio) for joint in predecessor] + [(joint, -1.0) for joint in successor]
    moving = [(joint, factor) for joint, factor in terms if joint.freedoms > 0]
    for joint, _ in moving:
        check_scalar(joint, node)
    if not moving:
        raise node.error(
            f"no joint moves between links `{links[0]}` and `{links[1]}`; name links that move"
        )
    name = node.get("name") or f"{links[0]}-{links[1]}"
    coupled = tuple((joint.name, 0, factor) for joint, factor in moving)
    draft.couple(name, kind, coupled, 0.0, node.source)


def _branches(
    predecessor: str, successor: str, node: Node, draft: UrdfDraft
) -> tuple[list[Joint], list[Joint]]:
    """Joints of the two branches below the nearest common ancestor, from the top down."""
    one, other = draft.chain(predecessor)[::-1], draft.chain(successor)[::-1]
    roots = [
        chain[0].parent if chain else link
        for chain, link in ((one, predecessor), (other, successor))
    ]
    if roots[0] != roots[1]:
        raise node.error(
            f"links `{predecessor}` and `{successor}` hang on different roots "
            f"`{roots[0]}` and `{roots[1]}`; couple links of one tree"
        )
    shared = 0
    while shared < min(len(one), len(other)) and one[shared] is other[shared]:
        shared += 1
    return one[shared:], other[shared:]
