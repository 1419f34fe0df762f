"""The kernel and its tables as C99 source for a controller: no library but that of mathematics."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from regularize.dynamics.step.compiled import SOURCES, Tables, names
from regularize.errors import UnsupportedExport
from regularize.escape import in_comment

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
int {name}_{function}({arguments}) {{
    const double *const in[] = {{{inputs}}};
    double *const out[] = {{{outputs}}};
    Tables tables;
    Workspace workspace;
    open_tables(&tables, kernel_integers, kernel_reals);
    open_workspace(&tables, &workspace, kernel_numbers);
    return entries[entry_{function}].run(&tables, &workspace, in, out);
}}
"""


def identifier(name: str) -> str:
    """The name, where C can have it."""
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
        raise UnsupportedExport(f"{name!r} is no C identifier; use letters, digits and underscores")
    return name


def numbers(array: np.ndarray[Any, Any]) -> Iterable[str]:
    """Whole numbers, or hexadecimal constants, so that nothing is lost."""
    if array.dtype.kind in "iu":
        return (str(int(value)) for value in array)
    return (float(value).hex() for value in array)


def c_source(tables: Tables, name: str, title: str, joints: Sequence[str]) -> tuple[str, str]:
    """Source and header of a tree's functions, called ``name_forward_dynamics`` and so on."""
    identifier(name)
    kernel = _joined("kernel.c", set())
    calls, prototypes = [], []
    for function, (ins, outs, what) in FUNCTIONS.items():
        arguments = ", ".join(
            [*(f"const double *{x}" for x in ins.split()), *(f"double *{x}" for x in outs.split())]
        )
        links = {"inputs": ", ".join(ins.split()), "outputs": ", ".join(outs.split())}
        calls.append(
            _CALL.format(name=name, function=function, arguments=arguments, what=what, **links)
        )
        prototypes.append(f"/* {what} */\nint {name}_{function}({arguments});\n")
    head = _head(tables, title, joints)
    data = [
        _array("int", "kernel_integers", tables.integers),
        _array("double", "kernel_reals", tables.reals),
        f"static double kernel_numbers[{workspace_length(tables)}];\n",
    ]
    header = _header_of(name, head, prototypes)
    return "\n".join([head, kernel, *data]) + "".join(calls), header


def workspace_length(tables: Tables) -> int:
    """How many real numbers the workspace of a tree has."""
    text = (SOURCES / "tables.h").read_text(encoding="utf-8")
    rooms = re.findall(r"X\((\w+), (\d+), (\w+)\)", text)
    wanted = {*names("WORKSPACE")}
    return sum(int(count) * tables.sizes[of] for name, count, of in rooms if name in wanted)


def _joined(file: str, done: set[str]) -> str:
    """A source with what it includes in its place, once."""
    if file in done:
        return ""
    done.add(file)
    text = (SOURCES / file).read_text(encoding="utf-8")
    return re.sub(r'#include "([^"]+)"\n', lambda found: _joined(found[1], done), text)


def _array(kind: str, name: str, values: ArrayLike) -> str:
    texts = list(numbers(np.asarray(values)))
    lines = [", ".join(texts[i : i + 8]) for i in range(0, len(texts), 8)]
    return f"static const {kind} {name}[{len(texts)}] = {{\n" + ",\n".join(lines) + "};\n"


_BATCH = (
    "int {name}_forward_dynamics_batch(long n, const double *q, const double *v, "
    "const double *tau, double *a)"
)


def write_straight_c(
    tables: Tables, source: str, path: Path, title: str, joints: Sequence[str]
) -> Path:
    """Write straight-line code of the acceleration, and its header; errors as of ``write_c``."""
    _require_c(path)
    ins, outs, what = FUNCTIONS["forward_dynamics"]
    arguments = ", ".join(f"const double *{x}" for x in ins.split()) + f", double *{outs}"
    head = _head(tables, title, joints)
    many = "The same of n states, in rows: NaN in those that are in doubt, and 1."
    one = f"/* {what} */\nint {path.stem}_forward_dynamics({arguments});\n"
    header = _header_of(path.stem, head, [one, f"/* {many} */\n{_BATCH.format(name=path.stem)};\n"])
    path.with_suffix(".h").write_text(header, encoding="utf-8")
    path.write_text(f"{head}\n{source}", encoding="utf-8")
    return path


def _require_c(path: Path) -> None:
    if path.suffix != ".c":
        raise UnsupportedExport(f"{path}: C source is written to a file that ends in .c")
    identifier(path.stem)


def _head(tables: Tables, title: str, joints: Sequence[str]) -> str:
    order = "\n *   ".join(["The velocities are those of:", *map(in_comment, joints)])
    return _HEAD.format(title=in_comment(title), order=order, **tables.sizes)


def _header_of(name: str, head: str, prototypes: Sequence[str]) -> str:
    guard = f"{name.upper()}_H"
    return "".join(
        [
            head,
            f'#ifndef {guard}\n#define {guard}\n#ifdef __cplusplus\nextern "C" {{\n#endif\n',
            *prototypes,
            "#ifdef __cplusplus\n}\n#endif\n#endif\n",
        ]
    )


def write_c(tables: Tables, path: Path, title: str, joints: Sequence[str]) -> Path:
    """Write ``path`` and its header; functions begin with the name of the file."""
    _require_c(path)
    source, header = c_source(tables, path.stem, title, joints)
    path.with_suffix(".h").write_text(header, encoding="utf-8")
    path.write_text(source, encoding="utf-8")
    return path
