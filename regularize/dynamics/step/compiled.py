"""Tables of a tree as the C header names them, the compiled kernel, and both as C99 source."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from regularize.errors import UnsupportedExport
from regularize.escape import as_utf8, in_comment
from regularize.lie.arrays import Array
from regularize.output_files import write_all
from regularize.validation import numbers

#: The C sources.
SOURCES = Path(__file__).parent / "c"


@cache
def names(of: str) -> tuple[str, ...]:
    """Return the names in a list of ``tables.h``: SIZES, INTEGERS, REALS or WORKSPACE."""
    begun = _header().split(f"#define {of}(X)")[1]
    # The list goes on where a line ends with a backslash.
    listed = re.split(r"(?<!\\)\n", begun, maxsplit=1)[0]
    return tuple(re.findall(r"X\((\w+)", listed))


@cache
def _header() -> str:
    """Return the text of ``tables.h``."""
    return (SOURCES / "tables.h").read_text(encoding="utf-8")


@dataclass(frozen=True, eq=False, repr=False)
class Tables:
    """Tables of a tree, as the C code reads them; ``sizes`` are by name."""

    integers: NDArray[np.int32]
    reals: Array
    sizes: Mapping[str, int]

    @classmethod
    def of(cls, sizes: Mapping[str, int], sections: Mapping[str, ArrayLike]) -> Tables:
        """Make tables from sections by name; those that are not given are empty."""
        names_of_sections = {*names("INTEGERS"), *names("REALS")}
        if not {*sections} <= names_of_sections or not {*sizes} <= {*names("SIZES")}:
            wrong = ({*sections} - names_of_sections) | ({*sizes} - {*names("SIZES")})
            raise KeyError(f"not in tables.h: {wrong}")
        counts = [{"one": 1, **sizes}.get(name, 0) for name in names("SIZES")]
        every: dict[str, ArrayLike] = {"size": counts, **sections}
        starts, whole = _joined(every, names("INTEGERS"), np.dtype(np.int32))
        real_starts, reals = _joined(every, names("REALS"), np.dtype(np.float64))
        heads = len(starts) + len(real_starts)
        head = np.array([*(heads + s for s in starts), *real_starts], dtype=np.int32)
        integers = np.concatenate([head, whole])
        integers.flags.writeable = reals.flags.writeable = False
        return cls(integers, reals, dict(zip(names("SIZES"), counts, strict=True)))


def _joined(
    sections: Mapping[str, ArrayLike], wanted: tuple[str, ...], dtype: np.dtype[Any]
) -> tuple[list[int], NDArray[Any]]:
    """Return the start of each wanted section and all sections joined, never empty."""
    arrays = [np.asarray(sections.get(name, ()), dtype=dtype).reshape(-1) for name in wanted]
    lengths = [len(array) for array in arrays]
    starts = np.cumsum([0, *lengths[:-1]]).tolist()
    return starts, np.concatenate([*arrays, np.zeros(1, dtype=dtype)])


Kernel: Any = None
if os.environ.get("REGULARIZE_KERNEL") != "Python":
    # Where it was installed without a C compiler, there is none.
    with suppress(ImportError):
        from regularize.dynamics.step._compiled import Kernel


def which() -> str:
    """What computes dynamics: ``compiled`` code, or ``Python`` where there is none.

    Results are the same. With the environment variable ``REGULARIZE_KERNEL=Python`` the compiled
    code is left aside.
    """
    return "Python" if Kernel is None else "compiled"


def compiled(tables: Tables, coder: Callable[[str, int], Any] | None = None) -> Any:
    """Return the compiled kernel on tables, or None where there is none.

    Of the name of an entry, and whether it computes many states, a coder makes code for this tree
    as ``module.c`` says, or None.
    """
    if Kernel is None:
        return None
    return Kernel(tables.integers, tables.reals, numbers, *(() if coder is None else (coder,)))


#: Functions that are offered: what goes in, what comes out, and what they do.
FUNCTIONS = {
    "forward_dynamics": ("q v tau", "a", "Acceleration under joint forces, with closed loops."),
    "constrained_dynamics": (
        "q v tau",
        "a multipliers",
        "The same, and the multipliers of the rows: mass matrix a + n = tau + rows^T multipliers.",
    ),
    "residual": ("q", "errors", "Errors of the rows, zero where the loops are closed."),
    "jacobian": ("q", "rows", "Rows on velocities, row by row."),
    "bias": ("q v", "gamma", "Rates of the rows while nothing accelerates: rows a + gamma = 0."),
    "project_velocity": ("q v", "nearest", "The velocity nearest to v that keeps loops closed."),
    "dynamics_derivatives": (
        "q v tau",
        "a by_q by_v by_tau",
        "Acceleration and its derivatives along the loops, row by row.",
    ),
}

_HEAD = """\
/* {title}
 *
 * SI units. Configurations have {nq} numbers, velocities {nv}, and there are {rows} rows. {order}
 *
 * Functions return 0, or 1 where masses or rows do not determine the result, which is not written
 * then. They share memory: call them from one thread.
 *
 * Forces within the joints (damping, friction, springs) are to be added to tau.
 */
"""
_CALL = """\

/* {what} */
{prototype} {{
    const double *const in[] = {{{inputs}}};
    double *const out[] = {{{outputs}}};
    Tables tables;
    Workspace workspace;
    open_tables(&tables, kernel_integers, kernel_reals);
    open_workspace(&tables, &workspace, kernel_numbers);
    return entries[entry_{function}].run(&tables, &workspace, in, out);
}}
"""
_BATCH = (
    "int {name}_forward_dynamics_batch(long n, const double *q, const double *v, "
    "const double *tau, double *a)"
)


def write_c(
    tables: Tables, path: Path, title: str, joints: Sequence[str], straight: str | None = None
) -> Path:
    """Write C99 source of a tree, by its tables or ``straight``, and a header."""
    if path.suffix != ".c":
        raise UnsupportedExport(f"{path}: C source is written to a file that ends in .c")
    name, order = identifier(path.stem), ["The velocities are those of:", *map(in_comment, joints)]
    head = _HEAD.format(title=in_comment(title), order="\n *   ".join(order), **tables.sizes)
    if straight is None:
        prototypes = {_prototype(name, function): FUNCTIONS[function][2] for function in FUNCTIONS}
        source = _table_code(tables, name)
    else:
        one, batch = _prototype(name, "forward_dynamics"), _BATCH.format(name=name)
        many = "The same of n states, in rows: NaN in those that are in doubt, and 1."
        prototypes = {one: FUNCTIONS["forward_dynamics"][2], batch: many}
        source = straight
    guard = f"{name.upper()}_H"
    declared = "".join(f"/* {what} */\n{prototype};\n" for prototype, what in prototypes.items())
    header = (
        f'{head}#ifndef {guard}\n#define {guard}\n#ifdef __cplusplus\nextern "C" {{\n#endif\n'
        f"{declared}#ifdef __cplusplus\n}}\n#endif\n#endif\n"
    )
    write_all({path.with_suffix(".h"): header, path: f"{head}\n{source}"})
    return path


def _prototype(name: str, function: str) -> str:
    """Return the C prototype of one of ``FUNCTIONS`` under a robot's name."""
    ins, outs, _ = FUNCTIONS[function]
    arguments = [
        *(f"const double *{x}" for x in ins.split()),
        *(f"double *{x}" for x in outs.split()),
    ]
    return f"int {name}_{function}({', '.join(arguments)})"


def _table_code(tables: Tables, name: str) -> str:
    """Return the kernel's source with the tables and a C function for each of ``FUNCTIONS``."""
    parts = [
        _with_includes("kernel.c", set()),
        _array("int", "kernel_integers", tables.integers),
        _array("double", "kernel_reals", tables.reals),
        f"static double kernel_numbers[{workspace_length(tables)}];\n",
    ]
    for function, (ins, outs, what) in FUNCTIONS.items():
        names = {"inputs": ", ".join(ins.split()), "outputs": ", ".join(outs.split())}
        prototype = _prototype(name, function)
        parts.append(_CALL.format(prototype=prototype, function=function, what=what, **names))
    return "\n".join(parts)


def identifier(name: str) -> str:
    """Return the name if C can have it."""
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
        words = "is no C identifier; use letters, digits and underscores"
        raise UnsupportedExport(f"{as_utf8(str(name))!r} {words}")
    return name


def c_numbers(array: np.ndarray[Any, Any]) -> Iterable[str]:
    """Return whole numbers, or hexadecimal constants, so that nothing is lost."""
    if array.dtype.kind in "iu":
        return (str(int(value)) for value in array)
    return (float(value).hex() for value in array)


def workspace_length(tables: Tables) -> int:
    """Return how many real numbers the workspace of a tree has."""
    rooms = re.findall(r"X\((\w+), (\d+), (\w+)\)", _header())
    wanted = {*names("WORKSPACE")}
    return sum(int(count) * tables.sizes[of] for name, count, of in rooms if name in wanted)


def _with_includes(file: str, done: set[str]) -> str:
    """Return a C source with its included files put in place, each once."""
    if file in done:
        return ""
    done.add(file)
    text = (SOURCES / file).read_text(encoding="utf-8")
    return re.sub(r'#include "([^"]+)"\n', lambda found: _with_includes(found[1], done), text)


def _array(kind: str, name: str, values: ArrayLike) -> str:
    """Return a constant array of C."""
    texts = list(c_numbers(np.asarray(values)))
    lines = [", ".join(texts[i : i + 8]) for i in range(0, len(texts), 8)]
    return f"static const {kind} {name}[{len(texts)}] = {{\n" + ",\n".join(lines) + "};\n"
