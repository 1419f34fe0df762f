"""`regularize actuate`: the map from motors to joints that they drive through loops, as code."""

from __future__ import annotations

import argparse
import io
import json
import sys
from typing import TYPE_CHECKING

from regularize.adapters.common.output_files import write_bytes, write_text
from regularize.commands.files import OutputAction, add_model, load_model
from regularize.commands.options import fitted, option
from regularize.escape import displayed

if TYPE_CHECKING:
    from regularize.guests.actuation.map import ActuationMap

#: What is written, by the ending of the file.
ENDINGS = (".c", ".py", ".npz", ".json")
#: States of a table.
STATES, SHOWN = 10_000, 200


def names(text: str) -> list[str]:
    """Return the names of a list with commas."""
    return [name for name in text.split(",") if name]


def add_joints(parser: argparse.ArgumentParser) -> None:
    """Add the options that name motors and joints."""
    words = "actuated joints, such as A,B (default: the model's, within loops)"
    option(parser, "--motors NAMES", words, type=names)
    words = "joints that they drive (default: a chain to the body that is moved)"
    option(parser, "--joints NAMES", words, type=names)


def add(parser: argparse.ArgumentParser) -> None:
    """Add the options of the verb."""
    add_model(parser)
    add_joints(parser)
    words = "C99, Python, a table of states, or domain and some states: .c .py .npz .json"
    option(parser, "-o FILE", words, action=OutputAction, endings=ENDINGS)


def run(arguments: argparse.Namespace) -> int:
    """Make the map, write it, and print where it holds."""
    from regularize.guests.actuation.map import actuation_map

    mechanism = load_model(arguments.file, arguments)
    m = actuation_map(mechanism, arguments.motors, arguments.joints)
    if arguments.out is not None:
        written(m, arguments)
    lines = [
        f"motors: {', '.join(m.motor_names)}",
        f"joints: {', '.join(m.joint_names)}",
        f"domain: {100 * m.domain.share:.4g} % of the motors' range, {len(m.domain.lower)} boxes, "
        + ("proved by intervals" if m.domain.proved else "followed numerically, not proved"),
    ]
    lines += [f"wrote {displayed(str(arguments.out))}"] if arguments.out is not None else []
    sys.stdout.write(fitted(lines))
    return 0


def written(m: ActuationMap, arguments: argparse.Namespace) -> None:
    """Write the map in the format of the file's ending."""
    ending = arguments.out.suffix
    if ending == ".c":
        m.to_c(arguments.out)
    elif ending == ".py":
        m.to_python(arguments.out)
    elif ending == ".json":
        told = {
            "motors": [*m.motor_names],
            "joints": [*m.joint_names],
            "proved": m.domain.proved,
            "share": m.domain.share,
            "lower": m.domain.lower.tolist(),
            "upper": m.domain.upper.tolist(),
            "theta": (theta := m.samples(SHOWN)).tolist(),
            "q": m.joints(theta).tolist(),
        }
        write_text(arguments.out, json.dumps(told, indent=1) + "\n")
    else:
        import numpy as np  # the verb's, not the program's

        theta, table = m.samples(STATES), io.BytesIO()
        named = {"motors": np.array(m.motor_names), "joints": np.array(m.joint_names)}
        boxes = {"lower": m.domain.lower, "upper": m.domain.upper}
        values = {"theta": theta, "q": m.joints(theta), "jacobian": m.jacobian(theta)}
        np.savez_compressed(table, allow_pickle=False, **values, **boxes, **named)
        write_bytes(arguments.out, table.getvalue())
