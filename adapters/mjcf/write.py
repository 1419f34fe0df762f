"""Writing MJCF: nested bodies, equality constraints for the loops, a keyframe for the pose."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from lxml import etree

from regularize.adapters.common.files import write_text
from regularize.adapters.common.spanning import Spanning, spanning
from regularize.adapters.common.write import (
    Losses,
    numbers,
    serial,
    text_of,
)
from regularize.adapters.mjcf.bodies import BodyTree, half_name, is_cut
from regularize.adapters.mjcf.elements import add_row, add_site
from regularize.lie.screw import Array, transform
from regularize.model.diagnostic import Diagnostic
from regularize.model.mechanism import Joint, Mechanism

ARM = 0.1  # metres between the two points that close a hinge


def write(mechanism: Mechanism, path: str | os.PathLike[str]) -> tuple[Diagnostic, ...]:
    """Write a mechanism as MJCF.

    Ball closures become connects, rigid ones welds, hinges two connects each (MuJoCo has no
    five-row equality), and any other closure cuts its child body in two halves that a weld joins.

    Returns:
        What MJCF cannot hold (REG302), and rows that it forces upon the model (REG301).
    """
    found, losses = spanning(mechanism), Losses("MJCF")
    return _Writer(mechanism, found, losses, BodyTree(mechanism, found, losses)).write(path)


@dataclass(eq=False)
class _Writer:
    mechanism: Mechanism
    spanning: Spanning
    losses: Losses
    tree: BodyTree

    def write(self, path: str | os.PathLike[str]) -> tuple[Diagnostic, ...]:
        mechanism = self.mechanism
        root = etree.Element("mujoco", model=mechanism.name)
        etree.SubElement(root, "compiler", angle="radian", autolimits="true")
        etree.SubElement(root, "option", gravity=numbers(mechanism.gravity))
        assets = etree.SubElement(root, "asset")
        world = etree.SubElement(root, "worldbody")
        tree = self.tree
        tree.write(world)
        self._close(root)
        self._couple(root)
        for (uri, scale), name in tree.meshes.items():
            etree.SubElement(assets, "mesh", name=name, file=uri, scale=numbers(scale))
        if not len(assets):
            root.remove(assets)
        if tree.motors:
            actuators = etree.SubElement(root, "actuator")
            for name in tree.motors:
                etree.SubElement(actuators, "motor", name=name, joint=name)
        if any(np.any(joint.position) for joint in self.spanning.tree):
            keys = etree.SubElement(root, "keyframe")
            etree.SubElement(keys, "key", name="home", qpos=numbers(tree.qpos))
        write_text(path, text_of(root))
        return tuple(self.losses.findings)

    def _close(self, root: Any) -> None:
        if not self.spanning.closures:
            return
        group = etree.SubElement(root, "equality")
        for joint in self.spanning.closures:
            if is_cut(joint):
                self._weld_halves(group, joint)
                continue
            points = [(joint.name, joint.T_parent_joint, joint.T_child_joint)]
            if joint.kind == "revolute":
                points = self._hinge_points(joint)
            tag = "weld" if joint.kind == "fixed" else "connect"
            for name, T_parent, T_child in points:
                add_site(self.tree.elements[joint.parent], f"{name}_1", T_parent)
                add_site(self.tree.elements[joint.child], f"{name}_2", T_child)
                etree.SubElement(group, tag, name=name, site1=f"{name}_1", site2=f"{name}_2")
        self._closure_losses()

    def _hinge_points(self, joint: Joint) -> list[tuple[str, Array, Array]]:
        [part] = serial(joint)
        arm = transform(translation=ARM * part.screws[3:, 0] / np.linalg.norm(part.screws[3:, 0]))
        self.losses.findings.append(
            Diagnostic(
                "REG301",
                "note",
                f"MJCF has no equality of five rows: hinge `{joint.name}` is closed by two "
                "connects of six rows, one of them redundant",
                joints=(joint.name,),
            )
        )
        first, second = part.T_parent_joint, part.T_child_joint
        return [
            (joint.name, first, second),
            (f"{joint.name}_z", first @ arm, second @ arm),
        ]

    def _weld_halves(self, group: Any, joint: Joint) -> None:
        self.losses.findings.append(
            Diagnostic(
                "REG301",
                "note",
                f"MJCF has no equality for the {joint.kind} closure `{joint.name}`: body "
                f"`{joint.child}` is cut in halves `{joint.child}` and `{half_name(joint)}`, and a "
                "weld joins them",
                joints=(joint.name,),
            )
        )
        name = f"{joint.name}_weld"
        half = next(
            e for e in group.getroottree().iter("body") if e.get("name") == half_name(joint)
        )
        add_site(half, f"{name}_1", np.eye(4))
        add_site(self.tree.elements[joint.child], f"{name}_2", np.eye(4))
        etree.SubElement(group, "weld", name=name, site1=f"{name}_1", site2=f"{name}_2")

    def _closure_losses(self) -> None:
        driven = [
            joint.name for joint in self.spanning.closures if joint.actuated and not is_cut(joint)
        ]
        if driven:
            self.losses.add(f"cannot drive closing joints: {', '.join(driven)}", joints=driven)
        bounded = [j.name for j in self.spanning.closures if j.limits is not None and not is_cut(j)]
        if bounded:
            self.losses.add(f"cannot limit closing joints: {', '.join(bounded)}", joints=bounded)

    def _couple(self, root: Any) -> None:
        rows: list[tuple[str, Sequence[tuple[str, float]], float]] = [
            (slide, [(slide, 1.0), (hinge, -pitch)], 0.0)
            for slide, hinge, pitch in self.tree.pitches
        ]
        for coupling in self.mechanism.couplings:
            terms = []
            for joint, freedom, coefficient in coupling.terms:
                if (joint, self._freedom(joint, freedom)) not in self.tree.names:
                    break
                name, size = self.tree.names[joint, self._freedom(joint, freedom)]
                terms.append((name, coefficient / size))
            if len(terms) < len(coupling.terms):
                self.losses.add(
                    f"cannot couple coordinates of closing or ball joints: `{coupling.name}` is "
                    "lost"
                )
                continue
            rows.append((coupling.name, terms, coupling.offset))
        if not rows:
            return
        group = root.find("equality")
        group = etree.SubElement(root, "equality") if group is None else group
        for name, linear, offset in rows:
            add_row(root, group, name, linear, offset)

    def _freedom(self, joint: str, freedom: int) -> int:
        """Number of a freedom in the joint as the tree has it."""
        if joint not in self.spanning.turned:
            return freedom
        return self.mechanism.joint(joint).freedoms - 1 - freedom
