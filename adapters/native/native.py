"""The project's own JSON: every number of a mechanism, bit for bit.

``regularize/schema/mechanism-1.json`` describes it. Lengths are metres, angles radians, matrices
lists of rows; a bound that there is not is null.
"""

from __future__ import annotations

import json
import math
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from regularize.adapters.native.read import MARK, VERSION
from regularize.model.diagnostic import Diagnostic
from regularize.model.mechanism import Coupling, Joint, JointLimits, Mechanism
from regularize.model.quantity import COLUMNS
from regularize.output_files import write_text

#: Names of the entries of a coupling's term.
TERM = ("joint", "freedom", "coefficient")


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
        "gravity": plain(mechanism.gravity),
        "bodies": plain(mechanism.bodies),
        "joints": plain(mechanism.joints),
        "couplings": plain(mechanism.couplings),
        **({"motions": plain(mechanism.motions)} if mechanism.motions else {}),
        "actuators": plain(mechanism.actuators),
        "findings": plain(mechanism.findings),
        "origin": {
            "path": mechanism.path,
            "format": mechanism.format,
            "files": [*mechanism.files],
            **({} if mechanism.digits is None else {"digits": mechanism.digits}),
        },
    }


def plain(value: Any) -> Any:
    """Dataclasses by their attributes, arrays and tuples as lists, the rest as it is."""
    if isinstance(value, tuple):
        return [plain(entry) for entry in value]
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    if isinstance(value, float) and not math.isfinite(value):
        return None  # a bound that there is not
    if not is_dataclass(value):
        return value
    members = {each.name: plain(getattr(value, each.name)) for each in fields(value)}
    if isinstance(value, Joint):
        members["screws"] = value.screws.T.tolist()  # one row each
        if value.limits is not None:
            members["limits"] = _limits(value.limits)
        stated = {key: each.tolist() for key, each in value.dynamics.stated().items()}
        members["dynamics"] = stated
        if not stated:
            del members["dynamics"]
        del members["tolerance"]
        if value.tolerance is not None:
            members["tolerance"] = dict(zip(COLUMNS, value.tolerance, strict=True))
    if isinstance(value, Coupling):
        members["terms"] = [dict(zip(TERM, term, strict=True)) for term in value.terms]
    return members


def _limits(limits: JointLimits) -> Any:
    """Rows of a lower and an upper bound, and of a rate and an effort where any is stated.

    Rates and efforts by their names where no position bounds are stated.
    """
    rated = {"velocity": limits.velocity, "effort": limits.effort}
    if limits.lower is None:
        return {key: v.tolist() for key, v in rated.items() if v is not None}
    columns = [*np.asarray(limits).T]
    if limits.velocity is not None or limits.effort is not None:
        none = np.full(limits.shape[0], np.inf)
        columns += [none if v is None else v for v in rated.values()]
    return [[v if math.isfinite(v) else None for v in row] for row in np.array(columns).T.tolist()]
