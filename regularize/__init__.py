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
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from regularize.as_designed.absorb import absorb_gaps as absorb_gaps
    from regularize.as_designed.idealise import Idealised as Idealised
    from regularize.as_designed.idealise import idealise as idealise
    from regularize.assembly_modes.body_pose import BodyPose as BodyPose
    from regularize.assembly_modes.closed_form import closed_form as closed_form
    from regularize.assembly_modes.configurations import configurations as configurations
    from regularize.building import build_model as build_model
    from regularize.checking import Report as Report
    from regularize.checking import check as check
    from regularize.checking import check_each as check_each
    from regularize.dynamics.body_loads import BodyLoad as BodyLoad
    from regularize.dynamics.minimal.dynamics import minimal_dynamics as minimal_dynamics
    from regularize.dynamics.one_freedom.building import path as path
    from regularize.dynamics.one_freedom.path import Path as Path
    from regularize.dynamics.simulate import simulate as simulate
    from regularize.dynamics.simulation import Simulation as Simulation
    from regularize.files import load as load
    from regularize.files import save as save
    from regularize.fixing.fix import fix as fix
    from regularize.fixing.held_cures import cures as cures
    from regularize.manifold.assembly import Assembly as Assembly
    from regularize.manifold.assembly import assemble as assemble
    from regularize.metamodels.metamodel import Metamodel as Metamodel
    from regularize.metamodels.metamodel import metamodel as metamodel
    from regularize.metamodels.reduced_dynamics import reduced_model as reduced_model
    from regularize.model.density import with_density as with_density
    from regularize.model.mechanism import Mechanism as Mechanism
    from regularize.pinocchio_model.augmenting import augment as augment
    from regularize.pinocchio_model.closure import Closure as Closure
    from regularize.pinocchio_model.exporting import to_pinocchio as to_pinocchio
    from regularize.pinocchio_model.importing import from_pinocchio as from_pinocchio
    from regularize.pinocchio_model.isostatic import isostatic as isostatic
    from regularize.pinocchio_model.robot import Robot as Robot
    from regularize.proofs.bounds import verify as verify
    from regularize.proofs.prove import prove as prove
    from regularize.proofs.verifier import Verdict as Verdict
    from regularize.reach.workspace import WorkspaceMap as WorkspaceMap
    from regularize.reach.workspace import workspace as workspace
    from regularize.reduction.partitioning import partition as partition
    from regularize.reduction.reduce import Reduction as Reduction
    from regularize.reduction.reduce import reduce as reduce
    from regularize.report.misfit import Misfit as Misfit
    from regularize.report.misfit import misfit as misfit
    from regularize.statics.cures import cure as cure
    from regularize.statics.joint_loads import joint_forces as joint_forces
    from regularize.statics.reactions import reactions as reactions
    from regularize.statics.self_stress import self_stress as self_stress

from regularize.displayed import did_you_mean
from regularize.errors import MissingPinocchio as MissingPinocchio
from regularize.errors import ModelError as ModelError
from regularize.errors import ReadError as ReadError
from regularize.errors import RegularizeError as RegularizeError
from regularize.errors import UnknownFormat as UnknownFormat
from regularize.version import __version__ as __version__

_HOME = {
    "Assembly": "manifold.assembly",
    "Closure": "pinocchio_model.closure",
    "Idealised": "as_designed.idealise",
    "Mechanism": "model.mechanism",
    "Metamodel": "metamodels.metamodel",
    "Misfit": "report.misfit",
    "BodyLoad": "dynamics.body_loads",
    "BodyPose": "assembly_modes.body_pose",
    "Path": "dynamics.one_freedom.path",
    "Reduction": "reduction.reduce",
    "Report": "checking",
    "Robot": "pinocchio_model.robot",
    "Simulation": "dynamics.simulation",
    "Verdict": "proofs.verifier",
    "WorkspaceMap": "reach.workspace",
    "absorb_gaps": "as_designed.absorb",
    "assemble": "solving",
    "augment": "pinocchio_model.augmenting",
    "build_model": "building",
    "check": "checking",
    "check_each": "checking",
    "closed_form": "assembly_modes.closed_form",
    "configurations": "assembly_modes.configurations",
    "cure": "statics.cures",
    "cures": "fixing.held_cures",
    "fix": "fixing.fix",
    "from_pinocchio": "pinocchio_model.importing",
    "idealise": "as_designed.idealise",
    "isostatic": "pinocchio_model.isostatic",
    "joint_forces": "statics.joint_loads",
    "load": "files",
    "metamodel": "metamodels.metamodel",
    "minimal_dynamics": "dynamics.minimal.dynamics",
    "misfit": "report.misfit",
    "partition": "solving",
    "path": "dynamics.one_freedom.building",
    "prove": "proofs.prove",
    "reactions": "statics.reactions",
    "reduce": "solving",
    "reduced_model": "metamodels.reduced_dynamics",
    "save": "files",
    "self_stress": "statics.self_stress",
    "simulate": "dynamics.simulate",
    "to_pinocchio": "pinocchio_model.exporting",
    "verify": "proofs.bounds",
    "with_density": "model.density",
    "workspace": "reach.workspace",
}

__all__ = sorted(
    [
        *_HOME,
        "MissingPinocchio",
        "ModelError",
        "ReadError",
        "RegularizeError",
        "UnknownFormat",
        "__version__",
    ]
)


def __getattr__(name: str) -> Any:
    """Load a public name from its module when it is first asked for."""
    if name not in _HOME:
        if name.startswith("__"):
            raise AttributeError(f"module 'regularize' has no attribute {name!r}")
        known = did_you_mean(name, _HOME)
        raise AttributeError(f"module 'regularize' has no attribute {name!r}{known}")
    try:
        value = getattr(importlib.import_module(f"regularize.{_HOME[name]}"), name)
    except ModuleNotFoundError as error:
        if error.name != "pinocchio":
            raise
        raise MissingPinocchio(f"`regularize.{name}`") from error
    from regularize.door import opened  # NumPy, where something is called

    value = opened(name, value)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """All public names."""
    return sorted({*globals(), *_HOME})
