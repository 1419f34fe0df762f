"""Drake reads the loops of MJCF files that `fix` changed; it knows connects of bodies only."""

from pathlib import Path

import pytest

import regularize as rg

SITES = """<mujoco model="m">
  <worldbody>
    <site name="base" pos="1.2 0 0"/><site name="base_z" pos="1.2 0.1 0"/>
    <body name="crank"><inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/>
      <joint name="A" axis="0 1 0"/>
      <body name="coupler" pos="0.3 0 0.4"><inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/>
        <joint name="B" axis="0 1 0"/>
        <body name="rocker" pos="1.2 0 0.5"><inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/>
          <joint name="C" axis="0 1 0"/>
          <site name="tip" pos="-0.3 0 -0.9"/><site name="tip_z" pos="-0.3 0.1 -0.9"/>
        </body>
      </body>
    </body>
  </worldbody>
  <equality>
    <connect name="D" site1="base" site2="tip"/><connect name="D_z" site1="base_z" site2="tip_z"/>
  </equality>
</mujoco>
"""


def constraints(path: Path) -> tuple[int, int]:
    """Closures and velocities of a model in Drake."""
    parsing = pytest.importorskip("pydrake.multibody.parsing")
    plants = pytest.importorskip("pydrake.multibody.plant")
    plant = plants.MultibodyPlant(0.001)
    parsing.Parser(plant).AddModels(str(path))
    plant.Finalize()
    return plant.num_constraints(), plant.num_velocities()


def test_a_loop_of_sites_is_closed_in_drake_after_fix(tmp_path: Path) -> None:
    path = tmp_path / "sites.xml"
    path.write_text(SITES)
    assert constraints(path) == (0, 3)
    fixed = rg.fix(path, as_is=True).write(tmp_path / "fixed.xml")  # softness is not at issue
    assert constraints(fixed) == (1, 4)
