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

#: Public names by the module that they are loaded from when they are first asked for.
_HOMES = {
    "guests.actuation.map": "ActuationMap actuation_map",
    "guests.actuation.states": "closed_states",
    "guests.actuation.twin": "serial_twin",
    "assembly_builder": "AssemblyBuilder assembly",
    "checking": "Report check check_each",
    "guests.contact": "Ground",
    "guests.design.actuator_dynamics": "ReducedModel",
    "guests.design.metamodel": "Metamodel metamodel",
    "guests.design.reduced_dynamics": "reduced_model",
    "guests.design.sweep": "Sweep sweep",
    "guests.design.workspace": "WorkspaceMap workspace",
    "errors": (
        "ClosureLost MissingExtra MissingPinocchio ModelError NoInertia NotClosed "
        "NotFinite NotTaken OutsideWorkspace ReadError RegularizeError SingularConfiguration "
        "SingularInputs UnknownFormat UnsupportedExport"
    ),
    "files": "load save",
    "lie.motion_type": "compose meet motion_group",
    "loops.assembly": "Assembly assemble",
    "mechanism.body": "Beam Body Inertia Modes",
    "mechanism.elastic": "segments",
    "mechanism.joint": "Joint",
    "mechanism.mechanism": "Coupling Mechanism",
    "guests.modes.body_pose": "BodyPose",
    "guests.modes.closed_form": "ClosedForm closed_form",
    "guests.modes.configurations": "AssemblyModes configurations",
    "guests.modes.grouping": "Configurations",
    "repair.nominal.absorb": "absorb_gaps",
    "repair.nominal.idealise": "Idealised idealise",
    "guests.page.picture": "ShownPage show",
    "dynamics.pinocchio.building": "augment build_model",
    "dynamics.pinocchio.exporting": "to_pinocchio",
    "dynamics.pinocchio.importing": "Closure from_pinocchio",
    "repair.statics.isostatic": "isostatic",
    "dynamics.pinocchio.robot": "Robot",
    "proofs.prove": "prove",
    "proofs.verifier": "Verdict verify",
    "reduction.reduce": "Reduction reduce",
    "repair.fix.fix": "fix",
    "repair.fix.advice": "cures",
    "report.misfit": "Misfit misfit",
    "adapters.shapes.density": "with_density",
    "dynamics.simulation.loads": "BodyLoad",
    "dynamics.simulation.minimal_dynamics": "MinimalDynamics minimal_dynamics",
    "dynamics.simulation.partitioning": "Partition partition",
    "dynamics.simulation.simulate": "simulate",
    "dynamics.simulation.simulation": "Simulation",
    "dynamics.simulation": "MuJoCo Solver",
    "repair.statics.absolute_rows": "absolute_rows",
    "repair.statics.cures": "cure",
    "repair.statics.equilibrium": "self_stress",
    "repair.statics.reactions": "joint_forces reactions",
}
#: Topics, as ``rg.design.sweep``, and their names, which are deprecated without the topic.
_TOPICS = {
    "groups": "compose meet motion_group",
    "design": (
        "workspace WorkspaceMap sweep Sweep misfit Misfit absorb_gaps cures cure idealise "
        "Idealised isostatic metamodel Metamodel reduced_model ReducedModel with_density"
    ),
    "study": (
        "closed_form ClosedForm configurations Configurations AssemblyModes BodyPose partition "
        "Partition minimal_dynamics MinimalDynamics self_stress reactions joint_forces "
        "absolute_rows segments Beam Modes prove verify Verdict assemble Assembly BodyLoad MuJoCo "
        "Solver Ground Closure"
    ),
}
#: What has gone, and what does the same.
_REPLACED = {"Path": "simulate", "path": "simulate"}

_ABSENT = absent()  # guests may have been left out
_HOME = {
    name: home
    for home, names in _HOMES.items()
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
    rest = {n for names in _TOPICS.values() for n in names.split()}
    rest |= {*_HOMES["errors"].split()} - {"RegularizeError", "ReadError", "ModelError"}
    return sorted({*__all__, *_TOPICS, "errors"} - rest)


design: ModuleType
groups: ModuleType
study: ModuleType
for _name in _TOPICS:
    _topic: Any = ModuleType(f"regularize.{_name}", f"Names of ``regularize`` on {_name}.")
    _topic.__all__ = [name for name in _TOPICS[_name].split() if name in _HOME]
    _topic.__getattr__, _topic.__dir__ = __getattr__, _topic.__all__.copy
    globals()[_name] = sys.modules[_topic.__name__] = _topic
