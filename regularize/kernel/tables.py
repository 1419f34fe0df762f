"""Everything that the kernel knows of a machine, in one place."""

from __future__ import annotations

from regularize.kernel.loop_sets import loop_sections
from regularize.kernel.machine import Machine
from regularize.kernel.sections import Tables


def tables_of(machine: Machine) -> Tables:
    """The tables of a machine: its tree, its rows and what systems of equations are solved by."""
    sizes, sections = machine.sections()
    more_sizes, more_sections = loop_sections(machine)
    return Tables.of({**sizes, **more_sizes}, {**sections, **more_sections})
