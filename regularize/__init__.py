"""Find, explain and remove redundant loop constraints of closed kinematic chains.

The functions below are loaded when they are first used, so that importing the package is quick.

Example:
    >>> import regularize as rg
    >>> mechanism = rg.load("robot.urdf")       # doctest: +SKIP
    >>> print(rg.check(mechanism))              # doctest: +SKIP
    >>> robot = rg.to_pinocchio(rg.reduce(mechanism))  # doctest: +SKIP
"""

from __future__ import annotations

import importlib
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from regularize.all_configurations import configurations as configurations
    from regularize.assembling.assembly import Assembly as Assembly
    from regularize.assembling.assembly import assemble as assemble
    from regularize.closed_forms import closed_form as closed_form
    from regularize.density import with_density as with_density
    from regularize.loading import load as load
    from regularize.loads.curing import cure as cure
    from regularize.loads.curing import cures as cures
    from regularize.loads.joint_loads import joint_forces as joint_forces
    from regularize.loads.stress_states import self_stress as self_stress
    from regularize.loads.uniqueness import reactions as reactions
    from regularize.mechanism import Mechanism as Mechanism
    from regularize.metamodels.metamodel import Metamodel as Metamodel
    from regularize.metamodels.metamodel import metamodel as metamodel
    from regularize.metamodels.reduced_dynamics import reduced_model as reduced_model
    from regularize.minimal.dynamics import minimal_dynamics as minimal_dynamics
    from regularize.minimal.partitioning import partition as partition
    from regularize.paths.building import path as path
    from regularize.paths.path import Path as Path
    from regularize.reducing.analysis import Reduction as Reduction
    from regularize.reducing.analysis import reduce as reduce
    from regularize.reporting.report import Report as Report
    from regularize.reporting.report import check as check
    from regularize.robots.importing import from_pinocchio as from_pinocchio
    from regularize.robots.isostatics import isostatic as isostatic
    from regularize.robots.robot import Robot as Robot
    from regularize.robots.robot import to_pinocchio as to_pinocchio
    from regularize.saving import save as save
    from regularize.simulating.simulation import Simulation as Simulation
    from regularize.simulating.simulator import simulate as simulate

from regularize.errors import ModelError as ModelError
from regularize.errors import ReadError as ReadError
from regularize.errors import RegularizeError as RegularizeError
from regularize.errors import UnknownFormat as UnknownFormat

try:
    __version__ = version("pin-regularize")
except PackageNotFoundError:  # a checkout that is not installed
    __version__ = "0.0.0"

_HOME = {
    "Assembly": "assembling.assembly",
    "Mechanism": "mechanism",
    "Metamodel": "metamodels.metamodel",
    "Path": "paths.path",
    "Reduction": "reducing.analysis",
    "Report": "reporting.report",
    "Robot": "robots.robot",
    "Simulation": "simulating.simulation",
    "assemble": "assembling.assembly",
    "check": "reporting.report",
    "closed_form": "closed_forms",
    "configurations": "all_configurations",
    "cure": "loads.curing",
    "cures": "loads.curing",
    "from_pinocchio": "robots.importing",
    "isostatic": "robots.isostatics",
    "joint_forces": "loads.joint_loads",
    "load": "loading",
    "metamodel": "metamodels.metamodel",
    "minimal_dynamics": "minimal.dynamics",
    "partition": "minimal.partitioning",
    "path": "paths.building",
    "reactions": "loads.uniqueness",
    "reduce": "reducing.analysis",
    "reduced_model": "metamodels.reduced_dynamics",
    "save": "saving",
    "self_stress": "loads.stress_states",
    "simulate": "simulating.simulator",
    "to_pinocchio": "robots.robot",
    "with_density": "density",
}


def __getattr__(name: str) -> Any:
    """Load a public name from its module when it is first asked for."""
    if name not in _HOME:
        raise AttributeError(f"module 'regularize' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"regularize.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """All public names."""
    return sorted({*globals(), *_HOME})
