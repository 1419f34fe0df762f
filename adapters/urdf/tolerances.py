"""Tolerances of joints in the YAML files that lie beside a URDF file, of the tree's and of loops'.

::

    tolerances:
      crank: [0.05mm, 0.1deg]      # of the joint's place and of its axis
      rocker: [5.0e-5, 1.7e-3]     # metres and radians
"""

from __future__ import annotations

from dataclasses import replace

from regularize.adapters.common.names import suggestion
from regularize.adapters.common.tolerances import read_tolerance
from regularize.adapters.urdf.draft import UrdfDraft


def add(path: str, draft: UrdfDraft) -> None:
    """Give joints the tolerances that a file states.

    Raises:
        ReadError: There is no such joint, or no such unit.
    """
    from regularize.adapters.common.yaml_values import read_yaml  # where there is such a file

    stated = read_yaml(path, "`tolerances:` with the names of joints").members("tolerances")
    for name, value in stated.items():
        if name not in draft.joints:
            raise value.error(f"there is no joint {name!r}{suggestion(name, draft.joints)}")
        draft.joints[name] = replace(draft.joints[name], tolerance=read_tolerance(value))
