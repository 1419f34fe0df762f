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
import os
import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from regularize.adapters.shapes.density import with_density as with_density
    from regularize.assembly_builder import AssemblyBuilder as AssemblyBuilder
    from regularize.assembly_builder import assembly as assembly
    from regularize.checking import Report as Report
    from regularize.checking import check as check
    from regularize.checking import check_each as check_each
    from regularize.dynamics.pinocchio.building import augment as augment
    from regularize.dynamics.pinocchio.building import build_model as build_model
    from regularize.dynamics.pinocchio.exporting import to_pinocchio as to_pinocchio
    from regularize.dynamics.pinocchio.importing import Closure as Closure
    from regularize.dynamics.pinocchio.importing import from_pinocchio as from_pinocchio
    from regularize.dynamics.pinocchio.robot import Robot as Robot
    from regularize.dynamics.simulation import MuJoCo as MuJoCo
    from regularize.dynamics.simulation import Solver as Solver
    from regularize.dynamics.simulation.loads import BodyLoad as BodyLoad
    from regularize.dynamics.simulation.minimal_dynamics import MinimalDynamics as MinimalDynamics
    from regularize.dynamics.simulation.minimal_dynamics import minimal_dynamics as minimal_dynamics
    from regularize.dynamics.simulation.partitioning import Partition as Partition
    from regularize.dynamics.simulation.partitioning import partition as partition
    from regularize.dynamics.simulation.simulate import simulate as simulate
    from regularize.dynamics.simulation.simulation import Simulation as Simulation
    from regularize.errors import ClosureLost as ClosureLost
    from regularize.errors import MissingExtra as MissingExtra
    from regularize.errors import ModelError as ModelError
    from regularize.errors import NoInertia as NoInertia
    from regularize.errors import NotClosed as NotClosed
    from regularize.errors import NotFinite as NotFinite
    from regularize.errors import NotTaken as NotTaken
    from regularize.errors import OutsideWorkspace as OutsideWorkspace
    from regularize.errors import ReadError as ReadError
    from regularize.errors import RegularizeError as RegularizeError
    from regularize.errors import SingularConfiguration as SingularConfiguration
    from regularize.errors import SingularInputs as SingularInputs
    from regularize.errors import UnknownFormat as UnknownFormat
    from regularize.errors import UnsupportedExport as UnsupportedExport
    from regularize.files import load as load
    from regularize.files import save as save
    from regularize.guests.actuation.map import ActuationMap as ActuationMap
    from regularize.guests.actuation.map import actuation_map as actuation_map
    from regularize.guests.actuation.states import closed_states as closed_states
    from regularize.guests.actuation.twin import serial_twin as serial_twin
    from regularize.guests.contact import Ground as Ground
    from regularize.guests.design.actuator_dynamics import ReducedModel as ReducedModel
    from regularize.guests.design.metamodel import Metamodel as Metamodel
    from regularize.guests.design.metamodel import metamodel as metamodel
    from regularize.guests.design.reduced_dynamics import reduced_model as reduced_model
    from regularize.guests.design.sweep import Sweep as Sweep
    from regularize.guests.design.sweep import sweep as sweep
    from regularize.guests.design.workspace import WorkspaceMap as WorkspaceMap
    from regularize.guests.design.workspace import workspace as workspace
    from regularize.guests.modes.body_pose import BodyPose as BodyPose
    from regularize.guests.modes.closed_form.solver import ClosedForm as ClosedForm
    from regularize.guests.modes.closed_form.solver import closed_form as closed_form
    from regularize.guests.modes.configurations import AssemblyModes as AssemblyModes
    from regularize.guests.modes.configurations import configurations as configurations
    from regularize.guests.modes.grouping import Configurations as Configurations
    from regularize.guests.page.picture import ShownPage as ShownPage
    from regularize.guests.page.picture import show as show
    from regularize.lie.motion_type import compose as compose
    from regularize.lie.motion_type import meet as meet
    from regularize.lie.motion_type import motion_group as motion_group
    from regularize.loops.assembly import Assembly as Assembly
    from regularize.loops.assembly import assemble as assemble
    from regularize.mechanism.body import Beam as Beam
    from regularize.mechanism.body import Body as Body
    from regularize.mechanism.body import Inertia as Inertia
    from regularize.mechanism.body import Modes as Modes
    from regularize.mechanism.elastic import segments as segments
    from regularize.mechanism.joint import Joint as Joint
    from regularize.mechanism.mechanism import Coupling as Coupling
    from regularize.mechanism.mechanism import Mechanism as Mechanism
    from regularize.proofs.prove import prove as prove
    from regularize.proofs.verifier import Verdict as Verdict
    from regularize.proofs.verifier import verify as verify
    from regularize.reduction.reduce import Reduction as Reduction
    from regularize.reduction.reduce import reduce as reduce
    from regularize.repair.fix.advice import cures as cures
    from regularize.repair.fix.fix import fix as fix
    from regularize.repair.nominal.absorb import absorb_gaps as absorb_gaps
    from regularize.repair.nominal.idealise import Idealised as Idealised
    from regularize.repair.nominal.idealise import idealise as idealise
    from regularize.repair.statics.absolute_rows import absolute_rows as absolute_rows
    from regularize.repair.statics.cures import cure as cure
    from regularize.repair.statics.equilibrium import self_stress as self_stress
    from regularize.repair.statics.isostatic import isostatic as isostatic
    from regularize.repair.statics.reactions import joint_forces as joint_forces
    from regularize.repair.statics.reactions import reactions as reactions
    from regularize.report.misfit import Misfit as Misfit
    from regularize.report.misfit import misfit as misfit

from regularize.errors import MissingPinocchio as MissingPinocchio
from regularize.escape import did_you_mean
from regularize.services import absent
from regularize.version import __version__ as __version__

#: Public names by the module that they are loaded from when they are first asked for, and by topic,
#: as in ``rg.design.sweep``; without the topic these are deprecated.
with open(os.path.join(os.path.dirname(__file__), "names.csv"), encoding="utf-8") as _file:
    _ROWS = [line.split(",") for line in _file.read().splitlines()[1:]]
_TOPICS: dict[str, list[str]] = {}
for _, _name, _names in _ROWS:
    _TOPICS.setdefault(_name, []).extend(_names.split())
#: What has gone, and what does the same.
_REPLACED = {"Path": "simulate", "path": "simulate"}

_ABSENT = absent()  # guests may have been left out
_HOME = {
    name: home
    for home, _, names in _ROWS
    if home.removeprefix("guests.").partition(".")[0] not in _ABSENT
    for name in names.split()
}

__all__ = sorted([*_HOME, "__version__"])


def __getattr__(name: str) -> Any:
    """Load a public name from its module, or a topic, when it is first asked for."""
    if name not in _HOME:
        if name.startswith("__"):
            raise AttributeError(f"module 'regularize' has no attribute {name!r}")
        known = did_you_mean(name, sorted(_HOME))
        if name in _REPLACED:
            known = f": use `rg.{_REPLACED[name]}`"
        raise AttributeError(f"module 'regularize' has no attribute {name!r}{known}")
    try:
        value = getattr(importlib.import_module(f"regularize.{_HOME[name]}"), name)
    except ModuleNotFoundError as error:
        if error.name != "pinocchio":
            raise
        raise MissingPinocchio(f"`regularize.{name}`") from error
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """Public names that people begin with, and topics; `__all__` has every name."""
    rest = {name for topic, names in _TOPICS.items() if topic for name in names}
    return sorted({*__all__, *_TOPICS} - {"", *rest})


design: ModuleType
groups: ModuleType
study: ModuleType
for _name in ("design", "groups", "study"):
    _topic: Any = ModuleType(f"regularize.{_name}", f"Names of ``regularize`` on {_name}.")
    _topic.__all__ = [name for name in _TOPICS[_name] if name in _HOME]
    _topic.__getattr__, _topic.__dir__ = __getattr__, _topic.__all__.copy
    globals()[_name] = sys.modules[_topic.__name__] = _topic
