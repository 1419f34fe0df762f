"""Closed-form kinematics of loops with all branches."""

from regularize.assembly_modes.closed_form.branches import Branch, Solutions
from regularize.assembly_modes.closed_form.solver import ClosedForm, closed_form
from regularize.assembly_modes.closed_form.track import Meeting, Track
from regularize.assembly_modes.loops import LoopSolution

__all__ = [
    "Branch",
    "ClosedForm",
    "LoopSolution",
    "Meeting",
    "Solutions",
    "Track",
    "closed_form",
]
