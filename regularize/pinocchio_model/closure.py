"""Loop closures of a Pinocchio model, as its user writes them down."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from regularize.errors import ModelError
from regularize.lie.screw import Array
from regularize.model.joint import KINDS, Joint, joint_screws


@dataclass(frozen=True, eq=False)
class Closure:
    """Two frames of a Pinocchio model that a joint keeps together.

    Attributes:
        joint1: Joint or frame on one side, by name or id; 0 is the world.
        placement1: The closing joint's frame, seen from that joint or frame: ``pinocchio.SE3`` or
            shape (4, 4).
        joint2: Joint or frame on the other side.
        placement2: The closing joint's frame on that side.
        kind: ``revolute``, ``prismatic``, ``helical``, ``universal``, ``cylindrical``,
            ``spherical``, ``planar`` or ``fixed``.
        axis: Axis of the closing joint in its own frame; of a planar joint the normal.
        axis2: Second axis of a universal joint, fixed on the second side.
        pitch: Of a helical joint, metres per radian.
        name: What reports call it; by default ``closure`` and its number.
        frames: Whether ids are those of frames of the model, not those of joints.
    """

    joint1: int | str
    placement1: Any
    joint2: int | str
    placement2: Any
    kind: str = "revolute"
    axis: ArrayLike = (0, 1, 0)
    axis2: ArrayLike = (0, 0, 1)
    pitch: float = 0.0
    name: str = ""
    frames: bool = False

    def __post_init__(self) -> None:
        """Refuse kinds that have no standard freedoms."""
        if self.kind not in KINDS or self.kind in ("composite", "free"):
            known = ", ".join(kind for kind in KINDS if kind not in ("composite", "free"))
            raise ModelError(f"a closure cannot be of the kind {self.kind!r}; known: {known}")

    def __repr__(self) -> str:
        """The closure in one line."""
        name = f" {self.name!r}" if self.name else ""
        return f"<Closure{name}: {self.kind} between {self.joint1!r} and {self.joint2!r}>"

    def joint(self, model: Any, names: Sequence[str], number: int) -> Joint:
        """The joint that closes the loop.

        Args:
            model: The ``pinocchio.Model``.
            names: Name of the body behind each joint of the model.
            number: Position among the closures, for its name.

        Raises:
            ModelError: A joint, a frame or a placement is none.
        """
        name = self.name or f"closure {number}"
        first, T_first = self._place(model, self.joint1, self.placement1, name)
        second, T_second = self._place(model, self.joint2, self.placement2, name)
        try:
            screws = joint_screws(self.kind, self.axis, self.axis2, self.pitch)
        except ValueError as error:
            raise ModelError(f"{name!r}: {error}") from None
        ends = names[first], names[second]
        return Joint(name, *ends, self.kind, screws, T_first, T_second, closure=True)

    def _place(self, model: Any, where: int | str, placement: Any, name: str) -> tuple[int, Array]:
        """Joint of the model, and the placement seen from it."""
        T = np.asarray(getattr(placement, "homogeneous", placement), dtype=np.float64)
        if T.shape != (4, 4):
            raise ModelError(f"{name!r}: a placement has shape {T.shape}; pass SE3 or (4, 4)")
        if isinstance(where, str) and model.existJointName(where):
            return int(model.getJointId(where)), T
        if isinstance(where, str):
            if not model.existFrame(where):
                known = ", ".join(list(model.names)[:20])
                raise ModelError(
                    f"{name!r}: the model has no joint and no frame {where!r}; joints: {known}"
                )
            where = int(model.getFrameId(where))
        elif not self.frames:
            if not 0 <= where < model.njoints:
                raise ModelError(f"{name!r}: the model has no joint {where} of {model.njoints}")
            return int(where), T
        if not 0 <= where < model.nframes:
            raise ModelError(f"{name!r}: the model has no frame {where} of {model.nframes}")
        frame = model.frames[where]
        return int(frame.parentJoint), np.asarray(frame.placement.homogeneous @ T)
