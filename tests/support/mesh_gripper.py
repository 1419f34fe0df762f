"""A gripper in MJCF whose bodies are files of meshes: two four-bars, each closed by a connect."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import trimesh


def link(start: tuple[float, float], end: tuple[float, float], wide: float) -> trimesh.Trimesh:
    """A plate in the plane of X and Z from one point to another, with round ends."""
    a, b = (np.array([x, 0.0, z]) for x, z in (start, end))
    box = trimesh.creation.box((np.linalg.norm(b - a), 0.6 * wide, wide))
    angle = -np.arctan2(b[2] - a[2], b[0] - a[0])
    turn = trimesh.transformations.rotation_matrix(angle, (0, 1, 0))
    turn[:3, 3] = 0.5 * (a + b)
    box.apply_transform(turn)
    thick = np.array([0.0, 0.3 * wide, 0.0])
    round_ends = [
        trimesh.creation.cylinder(0.5 * wide, segment=[p - thick, p + thick]) for p in (a, b)
    ]
    return trimesh.util.concatenate([box, *round_ends])


def mesh_gripper(folder: Path) -> Path:
    """Write the model and its meshes; returns the model's path."""
    bodies, connects, meshes = [], [], []
    shapes = {"palm": trimesh.creation.box((0.12, 0.05, 0.03))}
    for side, sign in (("left", -1.0), ("right", 1.0)):

        def at(x: float, z: float, sign: float = sign) -> tuple[float, float]:
            return sign * x, z

        crank, finger, rocker = at(0.03, 0.04), at(0.02, 0.1), at(0.03, 0.04)
        shapes[f"{side}_crank"] = link((0, 0), crank, 0.014)
        shapes[f"{side}_finger"] = link(at(-0.005, -0.01), finger, 0.016)
        shapes[f"{side}_rocker"] = link((0, 0), rocker, 0.014)
        hinge = '<joint name="{}" axis="0 1 0"/>'
        shape = '<geom type="mesh" mesh="{0}" rgba="{1}" mass="0.05"/>'
        bodies.append(
            f'<body name="{side}_crank" pos="{sign * 0.045} 0 0.015">'
            f"{hinge.format(f'{side}_drive')}{shape.format(f'{side}_crank', '.3 .45 .6 1')}"
            f'<body name="{side}_finger" pos="{crank[0]} 0 {crank[1]}">'
            f"{hinge.format(f'{side}_knuckle')}{shape.format(f'{side}_finger', '.85 .6 .2 1')}"
            f"</body></body>"
            f'<body name="{side}_rocker" pos="{sign * 0.02} 0 0.015">'
            f"{hinge.format(f'{side}_pivot')}{shape.format(f'{side}_rocker', '.4 .55 .4 1')}</body>"
        )
        connects.append(
            f'<connect name="{side}_pin" body1="{side}_rocker" body2="{side}_finger" '
            f'anchor="{rocker[0]} 0 {rocker[1]}"/>'
        )
    for name, mesh in shapes.items():
        mesh.export(folder / f"{name}.stl")
        meshes.append(f'<mesh name="{name}" file="{name}.stl"/>')
    model = folder / "mesh_gripper.xml"
    model.write_text(
        f'<mujoco model="mesh_gripper"><asset>{"".join(meshes)}</asset><worldbody>'
        f'<geom type="mesh" mesh="palm" rgba=".35 .35 .4 1"/>{"".join(bodies)}</worldbody>'
        f"<equality>{''.join(connects)}</equality></mujoco>"
    )
    return model
