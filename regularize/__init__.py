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
    from regularize.analysis import Reduction as Reduction
    from regularize.analysis import reduce as reduce
    from regularize.assembly import Assembly as Assembly
    from regularize.assembly import assemble as assemble
    from regularize.closed_forms import closed_form as closed_form
    from regularize.closed_forms import configurations as configurations
    from regularize.curing import cure as cure
    from regularize.curing import cures as cures
    from regularize.density import with_density as with_density
    from regularize.isostatics import isostatic as isostatic
    from regularize.joint_loads import joint_forces as joint_forces
    from regularize.loading import load as load
    from regularize.mechanism import Mechanism as Mechanism
    from regularize.metamodels import Metamodel as Metamodel
    from regularize.metamodels import metamodel as metamodel
    from regularize.minimal import minimal_dynamics as minimal_dynamics
    from regularize.partitioning import partition as partition
    from regularize.path_building import path as path
    from regularize.paths import Path as Path
    from regularize.pinocchio_ import Robot as Robot
    from regularize.pinocchio_ import to_pinocchio as to_pinocchio
    from regularize.pinocchio_import import from_pinocchio as from_pinocchio
    from regularize.reduced_dynamics import reduced_model as reduced_model
    from regularize.report import Report as Report
    from regularize.report import check as check
    from regularize.saving import save as save
    from regularize.simulation import Simulation as Simulation
    from regularize.simulator import simulate as simulate
    from regularize.stress_states import self_stress as self_stress
    from regularize.uniqueness import reactions as reactions

from regularize.errors import ModelError as ModelError
from regularize.errors import ReadError as ReadError
from regularize.errors import RegularizeError as RegularizeError
from regularize.errors import UnknownFormat as UnknownFormat

try:
    __version__ = version("pin-regularize")
except PackageNotFoundError:  # a checkout that is not installed
    __version__ = "0.0.0"

_HOME = {
    "Assembly": "assembly",
    "Mechanism": "mechanism",
    "Metamodel": "metamodels",
    "Path": "paths",
    "Reduction": "analysis",
    "Report": "report",
    "Robot": "pinocchio_",
    "Simulation": "simulation",
    "assemble": "assembly",
    "check": "report",
    "closed_form": "closed_forms",
    "configurations": "closed_forms",
    "cure": "curing",
    "cures": "curing",
    "from_pinocchio": "pinocchio_import",
    "isostatic": "isostatics",
    "joint_forces": "joint_loads",
    "load": "loading",
    "metamodel": "metamodels",
    "minimal_dynamics": "minimal",
    "partition": "partitioning",
    "path": "path_building",
    "reactions": "uniqueness",
    "reduce": "analysis",
    "reduced_model": "reduced_dynamics",
    "save": "saving",
    "self_stress": "stress_states",
    "simulate": "simulator",
    "to_pinocchio": "pinocchio_",
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
