"""`regularize states`: many configurations with closed loops, for resets of simulated robots."""

from __future__ import annotations

import argparse
import io
import sys

from regularize.adapters.common.output_files import write_bytes
from regularize.commands.files import OutputAction, add_model, load_model
from regularize.commands.options import count, option, some
from regularize.escape import displayed


def add(parser: argparse.ArgumentParser) -> None:
    """Add the options of the verb."""
    add_model(parser)
    option(parser, "-n COUNT", "how many (1000)", type=some, default=1000)
    option(parser, "--seed SEED", "seed of the random steps (0)", type=count, default=0)
    option(parser, "--no-limits", "also beyond the limits of joints")
    words = "q as of rg.to_pinocchio, and all joints' coordinates with their names"
    file = {"action": OutputAction, "endings": (".npz",), "required": True}
    option(parser, "-o FILE.npz", words, **file)


def run(arguments: argparse.Namespace) -> int:
    """Write the states."""
    from regularize.guests.actuation.states import closed_states

    mechanism = load_model(arguments.file, arguments)
    found = closed_states(
        mechanism, arguments.n, seed=arguments.seed, limits=not arguments.no_limits
    )
    import numpy as np  # the verb's, not the program's

    table = io.BytesIO()
    joints = np.array(found.names)
    np.savez_compressed(table, q=found.q, coordinates=found.coordinates, joints=joints)
    write_bytes(arguments.out, table.getvalue())
    sys.stdout.write(f"wrote {len(found.q)} states to {displayed(str(arguments.out))}\n")
    return 0
