"""Closed-form kinematics of loops with all branches."""

from regularize.modes.closed_form.branches import Branch, Meeting, Solutions, Track
from regularize.modes.closed_form.solver import ClosedForm, closed_form
from regularize.modes.loop_chain import LoopSolution

__all__ = [
    "Branch",
    "ClosedForm",
    "LoopSolution",
    "Meeting",
    "Solutions",
    "Track",
    "closed_form",
]
