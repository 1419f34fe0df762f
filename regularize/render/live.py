"""The mechanism live in a browser, by viser: sliders move the bodies."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from regularize.lie.screw import Array
from regularize.model.graph import NodeId
from regularize.render.animation import DrivenMotion, motions
from regularize.render.camera import camera, upwards
from regularize.render.drawing import draw
from regularize.report.analysis import Analysis


class Live:
    """A mechanism on a viser server.

    Args:
        server: A ``viser.ViserServer``, or whatever has its ``scene`` and ``gui``.
        report: What to show.
    """

    def __init__(self, server: Any, report: Analysis) -> None:
        """Put up the bodies and one slider for each motion."""
        self.server, self.report = server, report
        self.frames: dict[NodeId, Any] = {}
        drawing = draw(report)
        server.scene.set_up_direction(tuple(upwards(report.mechanism)))
        for piece in drawing.pieces:
            name = f"/body {piece.node}"
            if piece.node not in self.frames:
                self.frames[piece.node] = server.scene.add_frame(name, show_axes=False)
            red, green, blue, alpha = piece.color
            server.scene.add_mesh_simple(
                f"{name}/{piece.name.replace('/', ' ')}",
                vertices=np.asarray(piece.mesh.vertices, dtype=np.float32),
                faces=np.asarray(piece.mesh.faces, dtype=np.uint32),
                color=(red, green, blue),
                opacity=None if alpha == 255 else alpha / 255,
                flat_shading=True,
            )
        self.move(report.reduction.q)
        view = camera(report)
        places = [frame.position for frame in self.frames.values()]
        center, length = np.mean(places or [np.zeros(3)], axis=0), drawing.length

        @server.on_client_connect  # type: ignore[untyped-decorator]
        def _(client: Any) -> None:
            client.camera.look_at = tuple(center)
            client.camera.position = tuple(center + 4.0 * length * view.back)

        for motion in motions(report.reduction):
            self._slider(motion)

    def move(self, q: Array) -> None:
        """Put the bodies where they are at a configuration of shape (n,)."""
        loops = self.report.reduction.loops
        poses = loops.state(q).T_world_node[0]
        for node, frame in self.frames.items():
            pose = poses[loops.row(node)]
            x, y, z, w = Rotation.from_matrix(pose[:3, :3]).as_quat()
            frame.wxyz, frame.position = (w, x, y, z), tuple(pose[:3, 3])

    def _slider(self, motion: DrivenMotion) -> None:
        slider = self.server.gui.add_slider(
            f"motion of {motion.name}",
            min=0,
            max=len(motion.q) - 1,
            step=1,
            initial_value=motion.start,
        )
        slider.on_update(lambda _: self.move(motion.q[int(slider.value)]))

    def run(self) -> None:
        """Serve until interrupted by the keyboard."""
        try:
            while True:
                time.sleep(1.0)
        except KeyboardInterrupt:
            self.server.stop()
