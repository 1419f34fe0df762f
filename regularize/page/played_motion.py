"""A simulated motion as a page plays it, from a simulation or from the file of one."""

from __future__ import annotations

import csv
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from regularize._io.input_files import check_regular
from regularize.errors import ModelError, ReadError
from regularize.lie.screw import Array
from regularize.mechanism.graph import coordinate_names
from regularize.mechanism.mechanism import Mechanism
from regularize.simulation.simulation import Simulation, motion_file


@dataclass(frozen=True, eq=False)
class PlayedMotion:
    """A motion.

    Attributes:
        time: Times in seconds, shape (N,).
        coordinates: Coordinates of all joints, radians and metres, shape (N, n).
        energy: Energy balance in J, shape (N,).
        closure: Largest closure error, lengths scaled, shape (N,).
    """

    time: Array
    coordinates: Array
    energy: Array
    closure: Array

    @classmethod
    def of(cls, motion: Simulation) -> PlayedMotion:
        """That of a simulation."""
        return cls(motion.time, motion.coordinates, motion.energy, motion.closure)

    @classmethod
    def read(cls, path: str | Path, mechanism: Mechanism) -> PlayedMotion:
        """That of a file which ``Simulation.save`` has written.

        Raises:
            UnsupportedExport: The file name ends in neither ``.csv`` nor ``.npz``.
            ReadError: The file is missing, or holds no motion.
            ModelError: It is a motion of another mechanism.
        """
        path = motion_file(path)
        check_regular(str(path))
        try:
            columns, values = _archive(path) if path.suffix == ".npz" else _table(path)
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
        return cls(picked["time_s"], coordinates, picked["energy_J"], picked["closure"])

    def as_dict(self, most: int = 600) -> dict[str, Any]:
        """Plain values of no more than a number of samples."""
        picked = np.unique(np.linspace(0, len(self.time) - 1, most).astype(int))
        return {
            "time": np.round(self.time[picked], 5).tolist(),
            "coordinates": np.round(self.coordinates[picked], 7).tolist(),
            "energy": [float(f"{x:.6g}") for x in self.energy[picked]],
            "closure": [float(f"{x:.3g}") for x in self.closure[picked]],
        }


def _archive(path: Path) -> tuple[list[str], Array]:
    try:
        with np.load(path, allow_pickle=False) as file:
            names = ["time_s", *map(str, file["names"]), "energy_J", "closure"]
            parts = (file["time"], *file["coordinates"].T, file["energy"], file["closure"])
            return names, np.column_stack(parts)
    except (ValueError, AttributeError, EOFError, zipfile.BadZipFile) as error:
        raise ValueError("no archive of arrays of numbers") from error


def _table(path: Path) -> tuple[list[str], Array]:
    with path.open(newline="", encoding="utf-8") as file:
        rows = csv.reader(file)
        names = next(rows)
        return names, np.array([[float(x) for x in row] for row in rows if row], dtype=np.float64)
