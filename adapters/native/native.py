"""The project's own JSON: every number of a mechanism, bit for bit.

``regularize/schema/mechanism-1.json`` describes it. Lengths are metres, angles radians, matrices
lists of rows; a bound that there is not is null.
"""

from __future__ import annotations

import json
import math
from typing import Any

from regularize.adapters.common.files import write_text
from regularize.adapters.native.read import MARK, VERSION, read
from regularize.model.diagnostic import Diagnostic, Source
from regularize.model.mechanism import Body, Joint, Mechanism

__all__ = ["as_dict", "dumps", "read", "write"]


def write(mechanism: Mechanism, path: str) -> tuple[Diagnostic, ...]:
    """Write a mechanism; nothing is lost.

    Returns:
        No finding.
    """
    write_text(path, dumps(mechanism))
    return ()


def dumps(mechanism: Mechanism) -> str:
    """The text of the file."""
    return json.dumps(as_dict(mechanism), indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def as_dict(mechanism: Mechanism) -> dict[str, Any]:
    """The mechanism as plain dictionaries, lists, numbers and strings."""
    return {
        "format": MARK,
        "version": VERSION,
        "name": mechanism.name,
        "ground": mechanism.ground,
        "gravity": mechanism.gravity.tolist(),
        "bodies": [_body(body) for body in mechanism.bodies],
        "joints": [_joint(joint) for joint in mechanism.joints],
        "couplings": [
            {
                "name": c.name,
                "kind": c.kind,
                "terms": [
                    {"joint": joint, "freedom": freedom, "coefficient": coefficient}
                    for joint, freedom, coefficient in c.terms
                ],
                "offset": c.offset,
                "source": _source(c.source),
            }
            for c in mechanism.couplings
        ],
        "findings": [
            {
                "code": f.code,
                "severity": f.severity,
                "message": f.message,
                "loop": f.loop,
                "joints": [*f.joints],
                "source": _source(f.source),
                "help": [*f.help],
            }
            for f in mechanism.findings
        ],
        "origin": {
            "path": mechanism.path,
            "format": mechanism.format,
            "files": [*mechanism.files],
        },
    }


def _source(source: Source | None) -> dict[str, Any] | None:
    if source is None:
        return None
    return {"path": source.path, "line": source.line, "element": source.element}


def _body(body: Body) -> dict[str, Any]:
    inertia = body.inertia
    return {
        "name": body.name,
        "inertia": None
        if inertia is None
        else {
            "mass": float(inertia.mass),
            "center": inertia.center.tolist(),
            "matrix": inertia.matrix.tolist(),
        },
        "geometry": [
            {
                "kind": g.kind,
                "size": g.size.tolist(),
                "T_body_geometry": g.T_body_geometry.tolist(),
                "uri": g.uri,
                "color": None if g.color is None else [*g.color],
                "collision": g.collision,
            }
            for g in body.geometry
        ],
        "source": _source(body.source),
    }


def _joint(joint: Joint) -> dict[str, Any]:
    limits = None
    if joint.limits is not None:
        limits = [[_bound(low), _bound(high)] for low, high in joint.limits.tolist()]
    return {
        "name": joint.name,
        "parent": joint.parent,
        "child": joint.child,
        "kind": joint.kind,
        "screws": joint.screws.T.tolist(),
        "T_parent_joint": joint.T_parent_joint.tolist(),
        "T_child_joint": joint.T_child_joint.tolist(),
        "position": joint.position.tolist(),
        "actuated": joint.actuated,
        "closure": joint.closure,
        "limits": limits,
        "source": _source(joint.source),
    }


def _bound(value: float) -> float | None:
    return value if math.isfinite(value) else None
