"""The metamodel of the text: quadratic polynomials on boxes, as a file and as C99 source.

The source is for a controller: no library, no memory, no branches but the tree's.
"""

from __future__ import annotations

import io
import json
import re
import zipfile
import zlib
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from regularize.adapters.common.input_files import read_bytes
from regularize.dynamics.step.compiled import c_numbers, identifier
from regularize.errors import ReadError
from regularize.escape import in_comment
from regularize.guests.design.equation_of_motion import Accuracy, Interpolation, Scale, count, pairs
from regularize.guests.design.tree import BoxTree, basis
from regularize.lie.arrays import Array, Mask, read_only
from regularize.loops.projection import CHUNK
from regularize.mechanism.diagnostic import Diagnostic
from regularize.output_files import write_made
from regularize.validation import PATH, TEXT, validated
from regularize.version import SCHEMAS

VERSION = SCHEMAS["metamodel"]
#: Arrays of the archive and their shapes; s inputs, B boxes, n inner nodes, t coefficients, k
#: basis functions. ``schema/metamodel-1.json`` describes the header.
ARRAYS = {
    "lower": ("s",),
    "upper": ("s",),
    "axis": ("n",),
    "threshold": ("n",),
    "children": ("n", 2),
    "center": ("B", "s"),
    "half": ("B", "s"),
    "constant": ("B", "t"),
    "weights": ("B", "t", "k - 1"),
    "estimated": ("B",),
}
#: Those that hold whole numbers.
INTEGERS = ("axis", "children")


@dataclass(frozen=True, eq=False, repr=False)
class Metamodel(Interpolation):
    """Quadratic polynomials on boxes, for files and controllers.

    Attributes:
        tree: The boxes.
        constant: Coefficients at the boxes' centres, shape (boxes, t).
        weights: Weights of the differences to the centre and of their products in every
            coefficient, shape (boxes, t, s + s (s + 1) / 2).
        estimated: Estimated relative error of every box, shape (boxes,).
    """

    tree: BoxTree
    constant: Array
    weights: Array
    estimated: Array

    @property
    def boxes(self) -> int:
        """Number of boxes."""
        return len(self.tree.center)

    @property
    def operations(self) -> int:
        """Floating-point operations of one evaluation of H, D and p, at most (eq. 32).

        One comparison per level of the tree, s differences, s (s + 1) / 2 products, and a
        multiplication and an addition per weight.
        """
        s = len(self.inputs)
        t = int(self.constant.shape[1])
        return self.tree.depth + s + s * (s + 1) // 2 + t * (s * s + 3 * s)

    def coefficients(self, theta: Array) -> Array:
        """Rows of coefficients at inputs (N, s), shape (N, t).

        Raises:
            OutsideWorkspace: Some inputs lie in no box.
        """
        theta = self._table(theta)
        box = self.tree.find(theta)
        lost = np.flatnonzero(box == self.boxes)
        if len(lost):
            raise self._outside(theta[lost[0]])
        rows = np.zeros((len(theta), self.constant.shape[1]))
        for i in range(0, len(theta), CHUNK):
            here = box[i : i + CHUNK]
            u = basis(theta[i : i + CHUNK] - self.tree.center[here])
            rows[i : i + CHUNK] = self.constant[here] + (self.weights[here] @ u[..., None])[..., 0]
        return rows

    def _covered(self, theta: Array) -> Mask:
        """Tell whether inputs (N, s) lie in a box."""
        return np.asarray(self.tree.find(theta) < self.boxes)

    @validated(path=PATH)
    def save(self, path: str | Path) -> None:
        """Write a NumPy archive that ``Metamodel.load`` reads."""
        parts = {"header": json.dumps(header(self)), **_arrays(self)}
        write_made(path, lambda stream: np.savez_compressed(stream, allow_pickle=False, **parts))

    @classmethod
    def load(cls, path: str | Path) -> Metamodel:
        """Read what ``save`` has written; raises ``ReadError`` for other files."""
        return cls(**read(path))

    @validated(name=TEXT)
    def to_c(self, name: str = "metamodel") -> str:
        """Write C99 source for a controller, with ``name_model`` and ``name_inverse_dynamics``."""
        return to_c(self, name)


def header(model: Metamodel) -> dict[str, Any]:
    """Return the description of the arrays for the JSON entry ``header``."""
    arrays = _arrays(model)
    return {
        "schema_version": VERSION,
        "kind": "boxes",
        "inputs": list(model.inputs),
        "root": model.tree.root,
        "samples": model.samples,
        "operations": model.operations,
        "median": model.scale.median,
        "accuracy": asdict(model.accuracy),
        "findings": [finding.as_dict() for finding in model.findings],
        "arrays": {
            name: {"shape": list(array.shape), "dtype": str(array.dtype)}
            for name, array in arrays.items()
        },
    }


def _arrays(model: Metamodel) -> dict[str, Any]:
    """Return the arrays by their names in a file."""
    entries = {**vars(model.tree), **vars(model)}
    return {name: np.asarray(entries[name]) for name in ARRAYS}


def read(path: str | Path) -> dict[str, Any]:
    """Read the attributes of the metamodel in a file."""
    name = str(path)
    content = read_bytes(name)
    try:
        with np.load(io.BytesIO(content), allow_pickle=False) as archive:
            arrays = {key: archive[key] for key in archive.files}
    except (ValueError, EOFError, TypeError, zipfile.BadZipFile, zlib.error) as error:
        raise ReadError(
            name, "is no NumPy archive; write one with `regularize metamodel MODEL -o FILE.npz`"
        ) from error
    try:
        about = json.loads(str(arrays.pop("header")))
        version = about["schema_version"]
        if version != VERSION:
            raise ReadError(
                name, f"has schema version {version}, and version {VERSION} can be read"
            )
        _check_shapes(name, arrays, len(about["inputs"]))
        return _attributes(about, arrays)
    except (KeyError, json.JSONDecodeError, TypeError) as error:
        raise ReadError(
            name, f"lacks the entry {error} of a metamodel", element="header"
        ) from error


def _check_shapes(path: str, arrays: dict[str, Any], s: int) -> None:
    """Refuse arrays whose sizes do not fit each other; KeyError where one is missing."""
    known: dict[str | int, int] = {2: 2, "s": s}
    for name, shape in ARRAYS.items():
        found = arrays[name].shape
        if len(found) != len(shape) or any(
            known.setdefault(axis, size) != size for axis, size in zip(shape, found, strict=True)
        ):
            raise ReadError(
                path, f"has shape {found} where ({', '.join(map(str, shape))}) fits", element=name
            )


def _attributes(about: dict[str, Any], arrays: dict[str, Any]) -> dict[str, Any]:
    """Return the attributes of a metamodel from header and arrays."""
    fixed = {name: read_only(arrays[name]) for name in ARRAYS if name not in INTEGERS}
    sides = ("lower", "upper", "threshold", "center", "half")
    tree: dict[str, Any] = {name: fixed.pop(name) for name in sides}
    tree |= {name: arrays[name].astype(np.int64) for name in INTEGERS}
    return {
        "inputs": tuple(about["inputs"]),
        "samples": int(about["samples"]),
        "scale": Scale(about["median"]),
        "accuracy": Accuracy(**about["accuracy"]),
        "findings": tuple(_finding(**entry) for entry in about["findings"]),
        "tree": BoxTree(root=int(about["root"]), **tree),
        "lower": tree["lower"],
        "upper": tree["upper"],
        **fixed,
    }


def _finding(
    *, joints: Sequence[str], help: Sequence[str], location: object = None, **words: Any
) -> Diagnostic:
    """Make a finding from its entry; metamodels come from no place in a file."""
    return Diagnostic(**words, joints=tuple(joints), help=tuple(help))


#: The source file, with names in braces.
_CODE = Path(__file__).with_name("boxes.c.in")

_DAMPED = """\
    m += {s};
    for (int i = 0; i < {s}; ++i) {{
        for (int j = i; j < {s}; ++j) {{
            effort[i] = effort[i] + f[m] * rate[j];
            if (j != i) effort[j] = effort[j] + f[m] * rate[i];
            ++m;
        }}
    }}
"""

_HEADER = """\
/* {title}: see the source file for what the functions mean. */
#ifndef {guard}_H
#define {guard}_H
#ifdef __cplusplus
extern "C" {{
#endif
{prototypes}#ifdef __cplusplus
}}
#endif
#endif
"""


def to_c(model: Metamodel, name: str = "metamodel") -> str:
    """Write C99 source with the functions ``name_model`` and ``name_inverse_dynamics``.

    Numbers are hexadecimal, so nothing is lost; ``-DNAME_REAL=float`` gives single precision.
    """
    s, t = len(model.inputs), model.constant.shape[1]
    inputs = [in_comment(name) for name in model.inputs]
    damped = t > count(s)
    tree, first = model.tree, pairs(s)
    nodes = max(1, len(tree.axis))
    table = np.concatenate([model.constant[..., None], model.weights], axis=2)
    # Without a bisection there is no node; C has no arrays without elements.
    inner = len(tree.axis) > 0
    return _CODE.read_text("utf-8").format(
        **_names(name, s, t),
        inputs=", ".join(inputs),
        products=", ".join(f"{inputs[i]}' {inputs[j]}'" for i, j in zip(*first, strict=True)),
        boxes=model.boxes,
        samples=model.samples,
        operations=model.operations,
        points=model.accuracy.points,
        **{f"error_{key}": value for key, value in model.accuracy.maximal.items()},
        damping=" + C(theta) dtheta" if damped else "",
        then=", then C's upper triangle" if damped else "",
        error_damping=f", C {model.accuracy.maximal['C']:.2g}" if damped else "",
        damped=_DAMPED.format(s=s) if damped else "",
        lower=_list(model.lower),
        upper=_list(model.upper),
        n=nodes,
        axis=_list(tree.axis) if inner else "{0}",
        threshold=_list(tree.threshold) if inner else "{0}",
        node="short" if model.boxes < 32767 and nodes < 32767 else "long",
        children=_list(tree.children) if inner else "{{0}}",
        root=tree.root,
        B=model.boxes,
        center=_list(tree.center),
        k=table.shape[2],
        terms=table.shape[2] - 1,
        weights=_list(table),
    )


def to_c_header(model: Metamodel, name: str = "metamodel") -> str:
    """Write declarations of the functions of ``to_c``, for double precision."""
    s = len(model.inputs)
    names = _names(name, s, model.constant.shape[1])
    code = _CODE.read_text("utf-8")
    functions = re.findall(r"^int .*?\)(?= \{\{)", code, re.MULTILINE | re.DOTALL)
    prototypes = "".join(f"{function};\n" for function in functions).format(**names)
    return _HEADER.format(**names, prototypes=prototypes.replace(f"{name}_real", "double"))


def _names(name: str, s: int, t: int) -> dict[str, object]:
    """Return names and sizes for C source and header; raises an error if no C identifier."""
    identifier(name)
    P = s * (s + 1) // 2
    title = f"Metamodel {name} of a mechanism's dynamics in actuator coordinates"
    return {"name": name, "guard": name.upper(), "s": s, "t": t, "P": P, "title": title}


def _list(array: Array | Sequence[int] | np.ndarray) -> str:
    """Write an array in nested braces; a line per innermost list of a table."""
    array = np.asarray(array)
    if array.ndim > 1:
        return "{\n" + ",\n".join(_list(row) for row in array) + "}"
    return "{" + ", ".join(c_numbers(array)) + "}"
