"""Closed-form kinematics of loops with all branches."""

from regularize.guests.modes.closed_form.branches import Branch, Meeting, Solutions, Track
from regularize.guests.modes.closed_form.solver import ClosedForm, closed_form
from regularize.guests.modes.loop_chain import LoopSolution

__all__ = ["Branch", "ClosedForm", "LoopSolution", "Meeting", "Solutions", "Track", "closed_form"]
