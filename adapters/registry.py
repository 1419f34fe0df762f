"""Which formats there are, and which functions read and write them."""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, partialmethod
from pathlib import Path
from types import MappingProxyType
from typing import Any

from regularize.adapters import sniffers
from regularize.errors import MissingExtra, RegularizeError, UnknownFormat
from regularize.mechanism.mechanism import Mechanism

GROUP = "regularize.adapters"


@dataclass(frozen=True, eq=False)
class Adapter:
    """One format: how to recognise it, and which functions read and write it."""

    name: str  # short name, as in ``--format urdf``
    title: str  # name of the format in full
    suffixes: tuple[str, ...] = ()  # in lower case, with the dot; they only break ties
    reader: str | None = None  # ``module:function`` of a path and options; None: write only
    writer: str | None = None  # ``module:function``; None: read only
    #: ``module:function`` that makes a changed model of its own file, called with the model, what
    #: reads the file again, and the folder that it goes to; None: written anew.
    rewriter: str | None = None
    patcher: str | None = None  # ``module:class`` that edits files; None: they are written anew
    sniff: Callable[[bytes], bool] | None = None  # whether the first 4096 bytes are this format
    extra: str | None = None  # extra of ``pin-regularize`` that brings ``module``
    module: str | None = None  # third-party module that the format needs
    closed: bool = False  # whether files hold assembled poses only, and no gaps of open loops
    one_namespace: bool = False  # whether bodies and joints have to differ in their names
    reserved: frozenset[str] = frozenset()  # names that only the ground may have
    meshes: frozenset[str] = frozenset()  # suffixes of the meshes that it takes; none: any
    coupled: int | None = 2  # most joints that one linear relation can have; None: any number
    #: Whether an object in memory is of this kind: the reader gets it, the patcher makes another.
    accepts: Callable[[object], bool] | None = None
    document: str | None = None  # ``module:class`` of the file that objects are changed through

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

    def _named(self, field: str) -> Callable[..., Any] | None:
        """Import what a field names; None where it names nothing; raises ``MissingExtra``."""
        target = getattr(self, field)
        return None if target is None else self._load(target)

    load_rewriter = partialmethod(_named, "rewriter")
    load_patcher = partialmethod(_named, "patcher")
    load_document = partialmethod(_named, "document")

    def _load(self, target: str) -> Callable[..., Any]:
        if self.module is not None and self.extra is not None and not self.installed:
            raise MissingExtra(self.title, self.module, self.extra)
        module, function = target.split(":")
        loaded: Callable[..., Any] = getattr(importlib.import_module(module), function)
        return loaded


#: Formats of CAD systems are guests: any of their folders can be deleted, and its format is not
#: known then. They share ``cad``, without which all of them are gone.
GUESTS = ("asmt", "freecad", "mbdyn", "onshape", "simscape")


def _format(
    name: str,
    title: str,
    suffixes: tuple[str, ...],
    sniff: Callable[[bytes], bool],
    patcher: str | None = None,
    *,
    home: str = "",
    **more: Any,
) -> Adapter:
    """Return the record of a format of files, whose reader and patcher stand in its folder."""
    read = f"{ROOM}{home or f'{name}.read'}"
    patcher = patcher and f"{read.replace('.read', '.patch')}:{patcher}"
    return Adapter(name, title, suffixes, f"{read}:read", patcher=patcher, sniff=sniff, **more)


def _object(
    name: str, title: str, accepts: Callable[[object], bool], reader: str, **more: Any
) -> Adapter:
    """Return the record of objects, whose patcher or document is a class beside the reader."""
    home = ROOM + reader.partition(":")[0]
    more |= {key: f"{home}:{more[key]}" for key in ("patcher", "document") if key in more}
    return Adapter(name, title, accepts=accepts, reader=ROOM + reader, **more)


ROOM = "regularize.adapters."
WORLD = frozenset({"world"})
FORMATS: tuple[Adapter, ...] = (
    _format(
        "urdf",
        "URDF, with the loops of URDF+, Isaac Sim, Drake, Gepetto YAML and CAD exporters",
        *((".urdf",), sniffers.has_root("robot"), "UrdfPatcher"),
        writer=f"{ROOM}urdf.write:write",
    ),
    Adapter(
        *("xacro", "xacro, expanded to URDF", (".xacro",), f"{ROOM}urdf.xacro:read"),
        patcher=f"{ROOM}urdf.patch:XacroPatcher",
        sniff=sniffers.is_xacro,
        extra="xacro",
        module="xacrodoc",
    ),
    Adapter(
        *("urdf+", "URDF+, loops inside the file (read as URDF)"),
        writer=f"{ROOM}urdf.write:write_plus",
    ),
    _format(
        *("json", "The project's own JSON, complete and lossless", (".json",)),
        *(sniffers.is_native, "NativePatcher"),
        home="native",
        writer=f"{ROOM}native:write",
        coupled=None,
    ),
    _format(
        *("sdf", "SDF 1.0 to 1.12 (Gazebo, Drake)", (".sdf", ".world")),
        *(sniffers.has_root("sdf"), "SdfPatcher"),
        writer=f"{ROOM}sdf.write:write",
        rewriter=f"{ROOM}sdf.patch:rewritten",
        closed=True,
        one_namespace=True,
        reserved=WORLD,
    ),
    _format(
        *("mjcf", "MJCF (MuJoCo)", (".xml", ".mjcf"), sniffers.has_root("mujoco"), "MjcfPatcher"),
        writer=f"{ROOM}mjcf.write:write",
        rewriter=f"{ROOM}mjcf.rewrite:rewritten",
        extra="mujoco",
        module="mujoco",
        reserved=WORLD,
        meshes=frozenset({".stl", ".obj", ".msh"}),
        coupled=None,
    ),
    _format(
        *("usd", "USD Physics (Isaac Sim, Newton)", (".usd", ".usda", ".usdc", ".usdz")),
        *(sniffers.is_usd, "UsdPatcher"),
        writer=f"{ROOM}usd.write:write",
        extra="usd",
        module="pxr",
        meshes=frozenset({".stl", ".obj", ".ply", ".glb", ".gltf", ".off", ".dae"}),
    ),
    _format(
        *("freecad", "FreeCAD assembly (1.0 and later)", (".fcstd",)),
        *(sniffers.is_freecad, "FreecadPatcher"),
    ),
    _format(
        *("asmt", "ASMT, the assemblies of FreeCAD's solver", (".asmt",)),
        *(sniffers.is_asmt, "AsmtPatcher"),
        home="asmt",
    ),
    _format(
        "mbdyn", "MBDyn model, as the solver of FreeCAD reads them", (".mbd",), sniffers.is_mbdyn
    ),
    _format(
        "onshape", "Onshape assembly definition (JSON)", (), sniffers.is_onshape, home="onshape"
    ),
    _format(
        *("simscape", "Simscape Multibody import XML (SolidWorks, Inventor, Creo, Onshape)", ()),
        sniffers.has_root("SimscapeMultibodyImportXML"),
        home="simscape",
    ),
)

#: Objects of other libraries, which are there where somebody has one.
OBJECTS: tuple[Adapter, ...] = (
    _object(
        *("text", "text or bytes of a model file", sniffers.is_text, "objects:read_text"),
        document="TextDocument",
    ),
    _object(
        *("lxml", "lxml element or tree", sniffers.is_a("lxml._Element", "lxml._ElementTree")),
        "objects:read_tree",
        document="TreeDocument",
    ),
    _object(
        *("mjspec", "mujoco.MjSpec", sniffers.is_a("mujoco.MjSpec"), "objects:read_spec"),
        document="SpecDocument",
        module="mujoco",
    ),
    _object(
        *("mjmodel", "mujoco.MjModel", sniffers.is_a("mujoco.MjModel"), "mjcf.read:read_model"),
        module="mujoco",
    ),
    _object(
        *("stage", "pxr.Usd.Stage", sniffers.is_a("pxr.Stage"), "usd.read:read_stage"),
        document="StageDocument",
        module="pxr",
    ),
    Adapter(
        *("pinocchio", "pinocchio.Model, alone or as (model, [constraint models])"),
        reader="regularize.dynamics.pinocchio.pair:read",
        patcher="regularize.dynamics.pinocchio.pair:PairPatcher",
        module="pinocchio",
        accepts=sniffers.is_pinocchio,
    ),
    _object(
        *("newton", "newton.ModelBuilder", sniffers.is_a("newton.ModelBuilder")),
        "objects.newton_builder:read",
        patcher="BuilderPatcher",
        module="newton",
    ),
    _object(
        "drake",
        "pydrake MultibodyPlant; files for its parser (MJCF whose loops are connects)",
        *(sniffers.is_a("pydrake.MultibodyPlant"), "objects.drake_plant:read"),
        writer=f"{ROOM}mjcf.write:write_for_drake",
        module="pydrake",
        reserved=WORLD,
        meshes=frozenset({".obj"}),
        closed=True,
    ),
    _object(
        *("urdf-object", "URDF object of yourdfpy, urchin or urdfpy", sniffers.is_urdf_object),
        "urdf.objects:from_urdf_object",
        patcher="ObjectPatcher",
    ),
)


def _present(adapter: Adapter) -> bool:
    """Say whether the folders of a format are installed; some formats are optional."""
    here = Path(__file__).parent
    return adapter.name not in GUESTS or all((here / n).is_dir() for n in (adapter.name, "cad"))


BUILTIN = tuple(filter(_present, FORMATS)) + OBJECTS


@cache
def adapters() -> Mapping[str, Adapter]:
    """All formats by name; raises ``RegularizeError`` where two have the same."""
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
