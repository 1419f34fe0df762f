"""Closed-form kinematics of loops with all branches."""

from regularize.closed_forms.branches import Branch
from regularize.closed_forms.loops import LoopSolution
from regularize.closed_forms.solutions import Solutions
from regularize.closed_forms.solver import ClosedForm, closed_form
from regularize.closed_forms.track import Meeting, Track

__all__ = [
    "Branch",
    "ClosedForm",
    "LoopSolution",
    "Meeting",
    "Solutions",
    "Track",
    "closed_form",
]
