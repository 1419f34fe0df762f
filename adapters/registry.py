"""Which formats there are, and which functions read and write them."""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

from regularize.adapters import sniffers
from regularize.errors import MissingExtra, RegularizeError, UnknownFormat
from regularize.mechanism.mechanism import Mechanism

GROUP = "regularize.adapters"


@dataclass(frozen=True, eq=False)
class Adapter:
    """One format: how to recognise it, and which functions read and write it.

    Attributes:
        name: Short name, as in ``--format urdf``.
        title: Name of the format in full.
        suffixes: File name endings in lower case, with the dot; they only break ties.
        reader: ``module:function``, called as ``function(path, **options)``; None: write only.
        writer: ``module:function``; None: read only.
        rewriter: ``module:function`` that makes a changed model of its own file, called with the
            model, what reads the file again, and the folder that it goes to; None: written anew.
        patcher: ``module:class`` that edits files of the format; None: they are written anew only.
        sniff: Whether the first 4096 bytes of a file are this format.
        extra: Extra of ``pin-regularize`` that brings ``module``.
        module: Third-party module that the format needs.
        closed: Whether files hold assembled poses only, and no gaps of open loops.
        one_namespace: Whether bodies and joints have to differ in their names.
        reserved: Names that only the ground may have.
        meshes: Suffixes of the mesh files that it takes, which have to be there then; none: it
            takes any reference.
        coupled: Most joints that one linear relation of a file can have; None: any number.
        accepts: Whether an object in memory is of this kind; its reader then gets the object, and
            its patcher makes another one.
        document: ``module:class`` of the file that objects are written to where they are changed,
            see ``regularize.adapters.objects``; None: they are changed themselves.
    """

    name: str
    title: str
    suffixes: tuple[str, ...] = ()
    reader: str | None = None
    writer: str | None = None
    rewriter: str | None = None
    patcher: str | None = None
    sniff: Callable[[bytes], bool] | None = None
    extra: str | None = None
    module: str | None = None
    closed: bool = False
    one_namespace: bool = False
    reserved: frozenset[str] = frozenset()
    meshes: frozenset[str] = frozenset()
    coupled: int | None = 2
    accepts: Callable[[object], bool] | None = None
    document: str | None = None

    def __post_init__(self) -> None:
        """Check that the record is complete."""
        if (self.extra is None) != (self.module is None) and self.of_files:
            raise ValueError(f"adapter {self.name!r}: extra and module go together")
        for target in (self.reader, self.writer, self.rewriter, self.patcher, self.document):
            if target is not None and target.count(":") != 1:
                raise ValueError(f"adapter {self.name!r}: {target!r} is not 'module:function'")

    @property
    def label(self) -> str:
        """The format in a message, such as ``URDF``."""
        return self.name.upper()

    @property
    def of_files(self) -> bool:
        """Whether the format has files, not only objects in memory."""
        return self.accepts is None or self.sniff is not None or bool(self.suffixes)

    @property
    def installed(self) -> bool:
        """Whether the third-party module that the format needs is there."""
        from importlib.util import find_spec  # where a format needs more than this package

        try:
            return self.module is None or find_spec(self.module) is not None
        except ModuleNotFoundError:  # a parent package of a dotted name is absent
            return False

    def load_reader(self) -> Callable[..., Mechanism]:
        """Import the reader; raises ``MissingExtra`` or ``UnknownFormat``."""
        if self.reader is None:
            raise UnknownFormat(self.name, readable())
        return self._load(self.reader)

    def load_writer(self) -> Callable[..., Any]:
        """Import the writer; raises ``MissingExtra`` or ``UnknownFormat``."""
        if self.writer is None:
            raise UnknownFormat(self.name, [a.name for a in adapters().values() if a.writer])
        return self._load(self.writer)

    def load_rewriter(self) -> Callable[..., Any] | None:
        """Import the rewriter; None where there is none; raises ``MissingExtra``."""
        return None if self.rewriter is None else self._load(self.rewriter)

    def load_patcher(self) -> Callable[..., Any] | None:
        """Import the patcher; None where there is none; raises ``MissingExtra``."""
        return None if self.patcher is None else self._load(self.patcher)

    def load_document(self) -> Callable[..., Any] | None:
        """Import the class that writes objects to files; None if objects are changed in place."""
        return None if self.document is None else self._load(self.document)

    def _load(self, target: str) -> Callable[..., Any]:
        if self.module is not None and self.extra is not None and not self.installed:
            raise MissingExtra(self.title, self.module, self.extra)
        module, function = target.split(":")
        loaded: Callable[..., Any] = getattr(importlib.import_module(module), function)
        return loaded


#: Formats of CAD systems are guests: any of their folders can be deleted, and its format is not
#: known then. They share ``cad``, without which all of them are gone.
GUESTS = ("asmt", "freecad", "mbdyn", "onshape", "simscape")


def _folder(
    name: str, title: str, patcher: str | None = None, *, alone: bool = False, **more: Any
) -> Adapter:
    """A format of files in the folder of its name, with a reader and perhaps a patcher.

    They stand in modules of their own, or alone in that of the folder itself.
    """
    home = f"regularize.adapters.{name}"
    read, patch = (home, home) if alone else (f"{home}.read", f"{home}.patch")
    patcher = patcher and f"{patch}:{patcher}"
    return Adapter(name, title, reader=f"{read}:read", patcher=patcher, **more)


FORMATS: tuple[Adapter, ...] = (
    _folder(
        "urdf",
        "URDF, with the loops of URDF+, Isaac Sim, Drake, Gepetto YAML and CAD exporters",
        "UrdfPatcher",
        suffixes=(".urdf",),
        writer="regularize.adapters.urdf.write:write",
        sniff=sniffers.has_root("robot"),
    ),
    Adapter(
        name="xacro",
        title="xacro, expanded to URDF",
        suffixes=(".xacro",),
        reader="regularize.adapters.urdf.xacro:read",
        patcher="regularize.adapters.urdf.patch:XacroPatcher",
        sniff=sniffers.is_xacro,
        extra="xacro",
        module="xacrodoc",
    ),
    Adapter(
        name="urdf+",
        title="URDF+, loops inside the file (read as URDF)",
        writer="regularize.adapters.urdf.write:write_plus",
    ),
    Adapter(
        name="json",
        title="The project's own JSON, complete and lossless",
        suffixes=(".json",),
        reader="regularize.adapters.native:read",
        patcher="regularize.adapters.native:NativePatcher",
        writer="regularize.adapters.native:write",
        sniff=sniffers.is_native,
        coupled=None,
    ),
    _folder(
        "sdf",
        "SDF 1.0 to 1.12 (Gazebo, Drake)",
        "SdfPatcher",
        suffixes=(".sdf", ".world"),
        writer="regularize.adapters.sdf.write:write",
        rewriter="regularize.adapters.sdf.rewrite:rewritten",
        sniff=sniffers.has_root("sdf"),
        closed=True,
        one_namespace=True,
        reserved=frozenset({"world"}),
    ),
    _folder(
        "mjcf",
        "MJCF (MuJoCo)",
        "MjcfPatcher",
        suffixes=(".xml", ".mjcf"),
        writer="regularize.adapters.mjcf.write:write",
        rewriter="regularize.adapters.mjcf.rewrite:rewritten",
        sniff=sniffers.has_root("mujoco"),
        extra="mujoco",
        module="mujoco",
        reserved=frozenset({"world"}),
        meshes=frozenset({".stl", ".obj", ".msh"}),
        coupled=None,
    ),
    _folder(
        "usd",
        "USD Physics (Isaac Sim, Newton)",
        "UsdPatcher",
        suffixes=(".usd", ".usda", ".usdc", ".usdz"),
        writer="regularize.adapters.usd.write:write",
        sniff=sniffers.is_usd,
        extra="usd",
        module="pxr",
        meshes=frozenset({".stl", ".obj", ".ply", ".glb", ".gltf", ".off", ".dae"}),
    ),
    _folder(
        "freecad",
        "FreeCAD assembly (1.0 and later)",
        "FreecadPatcher",
        suffixes=(".fcstd",),
        sniff=sniffers.is_freecad,
    ),
    _folder(
        "asmt",
        "ASMT, the assemblies of FreeCAD's solver",
        "AsmtPatcher",
        alone=True,
        suffixes=(".asmt",),
        sniff=sniffers.is_asmt,
    ),
    _folder(
        "mbdyn",
        "MBDyn model, as the solver of FreeCAD reads them",
        suffixes=(".mbd",),
        sniff=sniffers.is_mbdyn,
    ),
    _folder("onshape", "Onshape assembly definition (JSON)", alone=True, sniff=sniffers.is_onshape),
    _folder(
        "simscape",
        "Simscape Multibody import XML (SolidWorks, Inventor, Creo, Onshape)",
        alone=True,
        sniff=sniffers.has_root("SimscapeMultibodyImportXML"),
    ),
)

#: Objects of other libraries, which are there where somebody has one.
OBJECTS: tuple[Adapter, ...] = (
    Adapter(
        name="text",
        title="text or bytes of a model file",
        accepts=sniffers.is_text,
        reader="regularize.adapters.objects:read_text",
        document="regularize.adapters.objects:TextDocument",
    ),
    Adapter(
        name="lxml",
        title="lxml element or tree",
        accepts=sniffers.is_a("lxml._Element", "lxml._ElementTree"),
        reader="regularize.adapters.objects:read_tree",
        document="regularize.adapters.objects:TreeDocument",
    ),
    Adapter(
        name="mjspec",
        title="mujoco.MjSpec",
        module="mujoco",
        accepts=sniffers.is_a("mujoco.MjSpec"),
        reader="regularize.adapters.objects:read_spec",
        document="regularize.adapters.objects:SpecDocument",
    ),
    Adapter(
        name="mjmodel",
        title="mujoco.MjModel",
        module="mujoco",
        accepts=sniffers.is_a("mujoco.MjModel"),
        reader="regularize.adapters.mjcf.read:read_model",
    ),
    Adapter(
        name="stage",
        title="pxr.Usd.Stage",
        module="pxr",
        accepts=sniffers.is_a("pxr.Stage"),
        reader="regularize.adapters.usd.read:read_stage",
        document="regularize.adapters.usd.read:StageDocument",
    ),
    Adapter(
        name="pinocchio",
        title="pinocchio.Model, alone or as (model, [constraint models])",
        module="pinocchio",
        accepts=sniffers.is_pinocchio,
        reader="regularize.dynamics.pinocchio.pair:read",
        patcher="regularize.dynamics.pinocchio.pair:PairPatcher",
    ),
    Adapter(
        name="newton",
        title="newton.ModelBuilder",
        module="newton",
        accepts=sniffers.is_a("newton.ModelBuilder"),
        reader="regularize.adapters.objects.newton_builder:read",
        patcher="regularize.adapters.objects.newton_builder:BuilderPatcher",
    ),
    Adapter(
        name="drake",
        title="pydrake MultibodyPlant; files for its parser (MJCF whose loops are connects)",
        module="pydrake",
        accepts=sniffers.is_a("pydrake.MultibodyPlant"),
        reader="regularize.adapters.objects.drake_plant:read",
        writer="regularize.adapters.mjcf.write:write_for_drake",
        reserved=frozenset({"world"}),
        meshes=frozenset({".obj"}),
        closed=True,
    ),
    Adapter(
        name="urdf-object",
        title="URDF object of yourdfpy, urchin or urdfpy",
        accepts=sniffers.is_urdf_object,
        reader="regularize.adapters.urdf.objects:from_urdf_object",
        patcher="regularize.adapters.urdf.objects:ObjectPatcher",
    ),
)


def _present(adapter: Adapter) -> bool:
    """Say whether the folders of a format are installed; some formats are optional."""
    here = Path(__file__).parent
    return adapter.name not in GUESTS or all((here / n).is_dir() for n in (adapter.name, "cad"))


BUILTIN = tuple(filter(_present, FORMATS)) + OBJECTS


@cache
def adapters() -> Mapping[str, Adapter]:
    """All formats by name: the built-in ones, then those of installed packages.

    Raises:
        RegularizeError: Two adapters have the same name.
    """
    named: dict[str, Adapter] = {}
    for adapter in (*BUILTIN, *_installed_adapters()):
        if adapter.name in named:
            raise RegularizeError(
                f"two adapters are named {adapter.name!r} ({named[adapter.name].title}; "
                f"{adapter.title}): uninstall the package that brings one of them"
            )
        named[adapter.name] = adapter
    return MappingProxyType(named)


def adapter_named(name: str | None) -> Adapter | None:
    """The format of a name, None where there is none; only other names ask other packages."""
    builtin = next((adapter for adapter in BUILTIN if adapter.name == name), None)
    return adapters().get(name or "") if builtin is None else builtin


def _installed_adapters() -> list[Adapter]:
    # Takes longer than to read a small model; most files are known without it.
    from importlib.metadata import entry_points

    installed = []
    for entry in sorted(entry_points(group=GROUP), key=lambda e: e.name):
        # A broken package must not keep the other formats from being read.
        try:
            adapter = entry.load()
        except Exception as error:
            warnings.warn(f"adapter {entry.value!r} cannot be loaded: {error}", stacklevel=3)
            continue
        if isinstance(adapter, Adapter):
            installed.append(adapter)
        else:
            warnings.warn(f"adapter {entry.value!r} is not an Adapter record", stacklevel=3)
    return installed


def readable() -> list[str]:
    """Names of the formats whose files can be read."""
    return [each.name for each in adapters().values() if each.reader and each.of_files]


def adapter_of(value: object) -> Adapter | None:
    """The adapter whose reader takes an object in memory; ours are asked first."""
    for group in (BUILTIN, adapters().values()):
        for adapter in group:
            if adapter.accepts is not None and adapter.accepts(value):
                return adapter
    return None


def objects() -> list[str]:
    """Titles of the objects in memory that are taken for models."""
    return [each.title for each in adapters().values() if each.accepts is not None]
