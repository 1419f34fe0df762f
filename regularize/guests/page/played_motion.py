"""A simulated motion as a page plays it, from a simulation or from the file of one."""

from __future__ import annotations

import csv
import zipfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from regularize.adapters.common.input_files import check_regular
from regularize.dynamics.simulation.simulation import Simulation, motion_file
from regularize.errors import ModelError, ReadError
from regularize.lie.arrays import Array
from regularize.mechanism.graph import coordinate_names
from regularize.mechanism.mechanism import Mechanism
from regularize.tolerances import UNSEEN


@dataclass(frozen=True, eq=False)
class PlayedMotion:
    """A motion."""

    time: Array
    coordinates: Array
    energy: Array
    closure: Array
    forces: Array = field(default_factory=lambda: np.zeros((0, 0, 6)))

    @classmethod
    def of(cls, motion: Simulation) -> PlayedMotion:
        """That of a simulation."""
        forces = _forces(motion.contact_points, motion.contact_forces)
        return cls(motion.time, motion.coordinates, motion.energy, motion.closure, forces)

    def pushes(self, t: float) -> Array:
        """Where the ground acts next to a time, and its forces, 1 for usual ones, shape (k, 6)."""
        if not self.forces.size:
            return np.zeros((0, 6))
        sizes = np.linalg.norm(self.forces[..., 3:], axis=-1)
        largest = sizes.max(axis=1)
        usual = float(np.median(largest[largest > 0.0])) if largest.any() else 1.0
        k = int(np.argmin(np.abs(self.time - t)))
        touching = sizes[k] > UNSEEN * usual
        found, shrunk = self.forces[k, touching], np.maximum(usual, 0.5 * sizes[k, touching])
        found[:, 3:] /= shrunk[:, None]
        return np.asarray(found)

    @classmethod
    def read(cls, path: str | Path, mechanism: Mechanism) -> PlayedMotion:
        """That of a file which ``Simulation.save`` has written."""
        path = motion_file(path)
        check_regular(str(path))
        try:
            columns, values, forces = _archive(path) if path.suffix == ".npz" else _table(path)
        except (OSError, ValueError, KeyError, StopIteration, csv.Error) as error:
            raise ReadError(str(path), f"holds no motion that was simulated ({error})") from error
        names = coordinate_names(mechanism)
        missing = [n for n in ("time_s", *names, "energy_J", "closure") if n not in columns]
        if missing or not len(values):
            raise ModelError(
                f"{path}: there is no column `{missing[0] if missing else 'time_s'}`; it takes a "
                f"motion of this mechanism, as `regularize simulate MODEL -o {path.name}` writes it"
            )
        picked = {name: values[:, columns.index(name)] for name in columns}
        coordinates = np.array([picked[name] for name in names]).reshape(len(names), -1).T
        return cls(picked["time_s"], coordinates, picked["energy_J"], picked["closure"], forces)

    def as_dict(self, most: int = 600) -> dict[str, Any]:
        """Plain values of no more than a number of samples."""
        picked = np.unique(np.linspace(0, len(self.time) - 1, most).astype(int))
        return {
            "time": np.round(self.time[picked], 5).tolist(),
            "coordinates": np.round(self.coordinates[picked], 7).tolist(),
            "energy": [float(f"{x:.6g}") for x in self.energy[picked]],
            "closure": [float(f"{x:.3g}") for x in self.closure[picked]],
            "forces": [np.round(self.pushes(t), 4).tolist() for t in self.time[picked]],
        }


def _forces(points: Array, forces: Array) -> Array:
    """Places and forces, side by side."""
    return np.concatenate([np.nan_to_num(points), forces], axis=-1)


def _archive(path: Path) -> tuple[list[str], Array, Array]:
    try:
        with np.load(path, allow_pickle=False) as file:
            names = ["time_s", *map(str, file["names"]), "energy_J", "closure"]
            parts = (file["time"], *file["coordinates"].T, file["energy"], file["closure"])
            held = (file["contact_points"], file["contact_forces"]) if "contacts" in file else None
            forces = np.zeros((0, 0, 6)) if held is None else _forces(*held)
            return names, np.column_stack(parts), forces
    except (ValueError, AttributeError, EOFError, zipfile.BadZipFile) as error:
        raise ValueError("no archive of arrays of numbers") from error


def _table(path: Path) -> tuple[list[str], Array, Array]:
    with path.open(newline="", encoding="utf-8") as file:
        rows = csv.reader(file)
        names = next(rows)
        values = np.array([[float(x) for x in row] for row in rows if row], dtype=np.float64)
        return names, values, np.zeros((0, 0, 6))
