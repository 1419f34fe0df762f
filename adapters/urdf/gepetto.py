"""Loop descriptions of Gepetto's parallel robots: a YAML file beside ``robot.urdf``.

::

    closed_loop: [[frame_a, frame_b], ...]   # links or joints of the URDF file
    type: ['6d', '3d', ...]                  # one per pair; left out: 6d
    name_mot: [joint, ...]                   # the motors
    joint_name: [joint, ...]                 # joints whose URDF type is replaced ...
    joint_type: [SPHERICAL, UJOINT_XY, ...]  # ... by these

A ``6d`` pair is a fixed closure, a ``3d`` pair a spherical one. The frame of a joint moves with
its child link. ``UJOINT_AB`` turns about axis A of the joint frame, then about B; ``CARDAN`` is
the older name of ``UJOINT_XY``; ``FIXED`` locks the joint at zero.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from regularize.adapters.common.draft import Draft
from regularize.adapters.common.names import suggestion, unique
from regularize.adapters.urdf.sidecar import Entry, Sidecar
from regularize.lie.screw import IDENTITY, Array
from regularize.model.joint import joint_screws
from regularize.model.mechanism import Joint


def retype(sidecar: Sidecar, draft: Draft) -> None:
    """Replace joint types, and say which joints are motors."""
    for name, written in sidecar.types:
        joint = _known(name, "joint_name", draft)
        if joint is None:
            continue
        if written.text == "SPHERICAL":
            kind, screws = "spherical", joint_screws("spherical")
        elif written.text == "FIXED":
            kind, screws = "fixed", joint_screws("fixed")
        else:
            letters = "XY" if written.text == "CARDAN" else written.text[-2:]
            first, second = (np.eye(3)["XYZ".index(letter)] for letter in letters)
            kind, screws = "universal", joint_screws("universal", first, second)
        draft.joints[joint.name] = replace(
            joint, kind=kind, screws=screws, position=np.zeros(0), limits=None
        )
    if sidecar.motors is None:
        return
    named = {entry.text for entry in sidecar.motors if _known(entry, "name_mot", draft)}
    for joint in [*draft.joints.values()]:
        draft.joints[joint.name] = replace(joint, actuated=joint.name in named)


def _known(entry: Entry, key: str, draft: Draft) -> Joint | None:
    """The joint; a warning and None where the URDF file has none of that name."""
    if entry.text not in draft.joints:
        draft.note(
            "REG013",
            "warning",
            f"`{key}` names the joint `{entry.text}`, which the URDF file does not have: entry "
            "ignored",
            entry.source,
            f"correct the name{suggestion(entry.text, draft.joints)}",
        )
    return draft.joints.get(entry.text)


def close(sidecar: Sidecar, draft: Draft) -> None:
    """Add the closing joints, named after their two frames."""
    for first, second, kind in sidecar.closures:
        parent, T_parent = _frame(first, draft)
        child, T_child = _frame(second, draft)
        if parent == child:
            raise first.error(
                f"`{first.text}` and `{second.text}` are both on link `{parent}`; name frames of "
                "two links"
            )
        name = unique(f"{first.text}-{second.text}", draft.joints)
        draft.joints[name] = Joint(
            name,
            parent,
            child,
            kind,
            joint_screws(kind),
            T_parent,
            T_child,
            actuated=None if sidecar.motors is None else False,
            closure=True,
            source=first.source,
        )


def _frame(entry: Entry, draft: Draft) -> tuple[str, Array]:
    """Link and transform of a frame: that of a link, or of a joint, which its child carries."""
    link = (entry.text, IDENTITY) if entry.text in draft.bodies else None
    joint = draft.joints.get(entry.text)
    if link is None and joint is None:
        known = [*draft.bodies, *draft.joints]
        raise entry.error(
            f"there is no link or joint `{entry.text}` in the URDF file"
            f"{suggestion(entry.text, known)}"
        )
    if joint is None or joint.child == entry.text:
        return entry.text, IDENTITY
    if link is not None:
        raise entry.error(
            f"`{entry.text}` is both a link and a joint that leads to link `{joint.child}`; name "
            f"`{joint.child}`, or rename one of them"
        )
    return joint.child, joint.T_child_joint
