"""Programs compiled in this process by LLVM, the extra ``jit``, and kept for later processes."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.util import find_spec
from itertools import count
from typing import Any
from weakref import WeakValueDictionary

from regularize.dynamics.tape.kept import kept
from regularize.dynamics.tape.llvm_code import ENTRY, assembly
from regularize.dynamics.tape.program import Program
from regularize.errors import UnsupportedExport, install_words

#: Operations up to which registers are allotted well, which takes longer than linear time; beyond,
#: code is about as quick as the kernel's tables.
OPTIMISED = 30_000


@dataclass(frozen=True, eq=False)
class Code:
    """A function in memory that computes so many states side by side; see ``llvm_code.py``."""

    address: int
    lanes: int
    _owners: tuple[Any, ...] = field(repr=False)


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


def compiled(program: Program, inputs: Sequence[int], outputs: Sequence[int], lanes: int) -> Code:
    """Return a program as machine code, compiled unless it is in memory or on disk."""
    llvm, level = _llvm(), 2 if lanes == 1 else 1
    level = level if len(program.lines) <= OPTIMISED else 0
    text = assembly(program, inputs, outputs, lanes)
    key = hashlib.sha256("\0".join([text, str(level), *_processor()]).encode()).hexdigest()
    code = _USED.get(key)
    if code is None:

        def translated() -> bytes:
            machine, module = _machine(level), llvm.parse_assembly(text)
            module.triple, module.data_layout = machine.triple, str(machine.target_data)
            return bytes(machine.emit_object(module))

        built = llvm.JITLibraryBuilder().add_object_img(kept(key, ".o", translated))
        library = built.export_symbol(ENTRY).link(_linker(), f"code {next(_NUMBERS)}")
        code = _USED[key] = Code(library[ENTRY], lanes, (library, _linker()))
    return code
