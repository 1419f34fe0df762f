"""Programs compiled in this process by LLVM, the extra ``jit``, and kept for later processes."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.util import find_spec
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

from regularize.dynamics.tape.kept import kept
from regularize.dynamics.tape.llvm_code import ENTRY, assembly
from regularize.errors import UnsupportedExport, install_words

if TYPE_CHECKING:
    from regularize.dynamics.tape.robot_programs import Routine

#: Operations up to which registers are allotted well, which takes longer than linear time; beyond,
#: code is about as quick as the kernel's tables.
OPTIMISED = 30_000


@dataclass(frozen=True, eq=False)
class Code:
    """A function in memory that computes so many states side by side; see ``llvm_code.py``."""

    address: int
    lanes: int
    _owners: tuple[Any, ...] = field(repr=False)


#: How what is kept in the place of code begins where there is none.
_REFUSED = b"refused: "
#: Code that is in use, by its key, and numbers of the libraries that it is in.
_USED: WeakValueDictionary[str, Code] = WeakValueDictionary()
_NUMBERS = count()


def available() -> bool:
    """Return whether llvmlite is installed."""
    return find_spec("llvmlite") is not None


@cache
def _llvm() -> Any:
    """Return llvmlite's module ``binding``, made ready for this processor."""
    try:
        import llvmlite.binding as llvm  # an extra
    except ImportError as error:
        raise UnsupportedExport(
            "code for one robot is compiled by llvmlite, which is not installed: "
            f"{install_words('jit')}; without it the compiled kernel computes"
        ) from error
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    return llvm


@cache
def _processor() -> tuple[str, str, str]:
    """Return version of LLVM, and the processor's name and features."""
    llvm = _llvm()
    version, features = llvm.llvm_version_info, llvm.get_host_cpu_features().flatten()
    listed = ",".join(sorted(features.split(",")))
    return ".".join(map(str, version)), llvm.get_host_cpu_name(), listed


def native_lanes() -> int:
    """Return how many numbers the processor computes with at once."""
    features = _processor()[2].split(",")
    return 8 if "+avx512f" in features else 4 if "+avx" in features else 2


@cache
def _linker() -> Any:
    """Return what places machine code in memory."""
    return _llvm().create_lljit_compiler(_machine(1))


def _machine(level: int) -> Any:
    """Return a code generator for this processor at an optimisation level."""
    _, name, features = _processor()
    target = _llvm().Target.from_default_triple()
    return target.create_target_machine(
        cpu=name, features=features, opt=level, reloc="pic", codemodel="small", jit=True
    )


@cache
def _sources() -> bytes:
    """Return a digest of what records programs and writes them."""
    folders = Path(__file__).parent, Path(__file__).parents[1] / "step"
    files = sorted(file for folder in folders for file in folder.glob("*.py"))
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).digest()


def compiled(key: Sequence[bytes], recorded: Callable[[], Routine], lanes: int) -> Code:
    """Return a program as machine code, recorded and compiled unless it is in memory or on disk.

    The key tells all that the recorded program depends on. A refusal is kept, too.
    """
    llvm = _llvm()
    digest = hashlib.sha256()
    for part in (*key, _sources(), *(x.encode() for x in (str(lanes), *_processor()))):
        digest.update(b"%d:" % len(part) + part)
    name = digest.hexdigest()
    code = _USED.get(name)
    if code is None:

        def translated() -> bytes:
            try:
                routine = recorded()
            except UnsupportedExport as error:
                return _REFUSED + str(error).encode()
            level = 2 if lanes == 1 else 1
            level = level if len(routine.program.lines) <= OPTIMISED else 0
            text = assembly(routine.program, routine.inputs, routine.outputs, lanes)
            machine, module = _machine(level), llvm.parse_assembly(text)
            module.triple, module.data_layout = machine.triple, str(machine.target_data)
            return bytes(machine.emit_object(module))

        content = kept(name, ".o", translated)
        if content.startswith(_REFUSED):
            raise UnsupportedExport(content.removeprefix(_REFUSED).decode())
        built = llvm.JITLibraryBuilder().add_object_img(content)
        library = built.export_symbol(ENTRY).link(_linker(), f"code {next(_NUMBERS)}")
        code = _USED[name] = Code(library[ENTRY], lanes, (library, _linker()))
    return code
