"""Joints, bodies, loops and findings of a page, by the names that its rows and its picture share.

A reference is a letter and a place in a list: ``j3`` the fourth joint, ``b0`` the first body,
``l1`` the second loop, ``f2`` the third finding.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from regularize.mechanism.diagnostic import Diagnostic
from regularize.mechanism.joint import Joint
from regularize.report.analysis import Analysis
from regularize.report.forms import loop_view
from regularize.words import counted, directions_words, listed


class References:
    """What can be pointed at on a page: references of joints, bodies and loops by their names."""

    def __init__(self, report: Analysis) -> None:
        self.report = report
        mechanism = report.mechanism
        self.joints = _numbered("j", (joint.name for joint in mechanism.joints))
        for edge in report.reduction.graph.edges:  # parts of joints that are split
            self.joints.setdefault(edge.name, self.joints[edge.joint.name])
        self.bodies = _numbered("b", (body.name for body in mechanism.bodies))
        self.loops = _numbered("l", (loop.name for loop in report.loops))

    def finding(self, finding: Diagnostic) -> str:
        """Reference of a finding."""
        return f"f{self.report.diagnostics.index(finding)}"

    def named(self, name: str) -> str:
        """Reference of the joint, body or loop of a name; empty where there is none."""
        every = (self.joints, self.bodies, self.loops)
        return next((references[name] for references in every if name in references), "")

    def data(self) -> dict[str, Any]:
        """The lists that references lead to, with what there is to say about each entry."""
        report = self.report
        return {
            "joints": [self._joint(joint) for joint in report.mechanism.joints],
            "bodies": list(self._body_entries()),
            "loops": [
                {
                    "title": f"Loop {loop.name}",
                    "lines": [
                        loop_view.motion(loop),
                        f"{loop.redundant} of {loop.cut.constraints} equations at {loop.closing} "
                        "redundant",
                    ],
                    "refs": [
                        *(self.joints[name] for name in loop.joints),
                        # Between parts of joints that are split there is no body of the model's.
                        *(self.bodies[name] for name in loop.bodies if name in self.bodies),
                    ],
                }
                for loop in report.loops
            ],
            "findings": [self._finding(finding) for finding in report.diagnostics],
        }

    def _joint(self, joint: Joint) -> dict[str, Any]:
        closing = [loop for loop in self.report.loops if loop.closing == joint.name]
        on = [loop.name for loop in self.report.loops if joint.name in loop.joints]
        lines = [f"{joint.kind}, {joint.parent} to {joint.child}"]
        for loop in closing:
            lines.append(
                f"closes {loop.name}: {loop.redundant} of {loop.cut.constraints} equations are "
                "redundant"
            )
            removed = directions_words(
                [equation.direction for equation in loop.removed], "force", "moment"
            )
            if removed:
                lines.append(f"undetermined: {removed}")
        if on and not closing:
            lines.append(f"on {listed(on, most=4)}")
        return {
            "name": joint.name,
            "title": f"Joint {joint.name}",
            "lines": lines,
            "bodies": [self.bodies[joint.parent], self.bodies[joint.child]],
        }

    def _body_entries(self) -> Iterator[dict[str, Any]]:
        report = self.report
        moves = {motion.body: motion.words for motion in report.moving}
        nodes = report.reduction.graph.node_of
        first = report.reduction.graph.nodes
        joints: dict[str, list[str]] = {}
        for joint in report.mechanism.joints:
            for name in {joint.parent, joint.child}:
                joints.setdefault(name, []).append(joint.name)
        for body in report.mechanism.bodies:
            words = "the ground" if body.name == report.mechanism.ground else ""
            words = words or moves.get(body.name) or moves.get(first[nodes[body.name]], "")
            own = joints.get(body.name, [])
            lines = [words, f"{counted(len(own), 'joint')}: {listed(own)}" if own else ""]
            yield {"title": f"Body {body.name}", "lines": [line for line in lines if line]}

    def _finding(self, finding: Diagnostic) -> dict[str, Any]:
        refs = [] if finding.loop is None else [self.loops[finding.loop]]
        refs += [self.joints[name] for name in finding.joints if name in self.joints]
        return {
            "title": f"{finding.code} {finding.severity}",
            "lines": [finding.message.replace("`", "")],
            "refs": refs,
        }


def _numbered(letter: str, names: Iterable[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for place, name in enumerate(names):
        found.setdefault(name, f"{letter}{place}")
    return found
