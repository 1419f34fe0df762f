"""`regularize twin`: the model without loops, its joints driven through that map."""

from __future__ import annotations

import argparse
import sys

from regularize.commands.files import (
    OutputAction,
    add_fail_on,
    add_model,
    load_model,
    report_findings,
)
from regularize.commands.options import fitted, option
from regularize.escape import displayed
from regularize.guests.actuation.actuate_command import add_joints


def add(parser: argparse.ArgumentParser) -> None:
    """Add the options of the verb."""
    add_model(parser)
    add_joints(parser)
    add_fail_on(parser, default="error")  # that motors stay behind is what a twin is for
    words = "the file to write, in the format of its ending: .xml .urdf .sdf .usda"
    option(parser, "-o FILE", words, required=True, action=OutputAction, model=True)


def run(arguments: argparse.Namespace) -> int:
    """Write the twin; the exit status is 1 if the format could not hold all of it."""
    from regularize.files import save
    from regularize.guests.actuation.twin import serial_twin

    mechanism = load_model(arguments.file, arguments)
    twin = serial_twin(mechanism, arguments.motors, arguments.joints)
    status = report_findings(save(twin.mechanism, arguments.out), arguments.fail_on)
    lines = [
        f"motors: {', '.join(twin.map.motor_names)}",
        f"joints: {', '.join(twin.map.joint_names)}",
        f"inertia off by at most {100 * twin.error:.3g} % (sampled over the domain)",
        f"wrote {displayed(str(arguments.out))}",
    ]
    sys.stdout.write(fitted(lines))
    return status
