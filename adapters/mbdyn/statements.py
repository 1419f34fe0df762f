"""Parser of MBDyn files: statements, and their arguments as numbers, vectors and frames."""

from __future__ import annotations

import ast
import math
import operator
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from regularize.adapters.common.input_files import read_bytes
from regularize.adapters.common.quantities import rotation_rpy
from regularize.adapters.common.values import Located
from regularize.escape import FileText
from regularize.lie.arrays import Array
from regularize.lie.screw import IDENTITY, transform, unit
from regularize.mechanism.diagnostic import Source

OPERATORS: Mapping[type, Callable[[float, float], float]] = {
    **{ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul},
    **{ast.Div: operator.truediv, ast.Pow: operator.pow},
}
FUNCTIONS: Mapping[str, Callable[..., float]] = {
    name: getattr(math, name)
    for name in ("sin", "cos", "tan", "asin", "acos", "atan", "atan2", "sqrt", "exp", "log")
}
TEXT = re.compile(r"#[^\n]*|/\*.*?\*/|\"[^\"\n]*\"|;|[^#;\"/]+|/", re.S)


@dataclass
class Statement(Located):
    """One statement, read from its first argument to its last."""

    path: str  # the file as the user named it
    line: int  # line on which it begins
    head: str  # what stands before the colon
    words: list[str]  # its arguments that are not read yet
    values: dict[str, float] = field(default_factory=dict)  # variables of the file
    frames: dict[str, Array] = field(default_factory=dict)  # references of the file, in the world

    @property
    def source(self) -> Source:
        """File, line and first words of the statement."""
        words = f"{self.head}: {', '.join(self.words[:2])}"[:60]
        return Source(self.path, self.line, FileText(words))

    def word(self) -> str:
        """Remove the next argument and return it."""
        if not self.words:
            raise self.error("has too few arguments; complete it")
        return self.words.pop(0)

    def take(self, *words: str) -> bool:
        """Whether the next argument is one of these words; if so it is removed."""
        found = bool(self.words) and self.words[0].lower() in words
        if found:
            self.words.pop(0)
        return found

    def number(self) -> float:
        """Remove the next argument and return it as a number."""
        return self.value(self.word())

    def value(self, text: str) -> float:
        """Return the value of an arithmetic expression with variables of the file."""
        try:
            found = float(self._evaluated(ast.parse(text.replace("^", "**"), mode="eval").body))
        except (SyntaxError, ValueError, KeyError, TypeError, ArithmeticError, RecursionError):
            raise self.error(f"`{text}` is not a number; correct it") from None
        if not math.isfinite(found):
            raise self.error(f"`{text}` is not finite; correct it")
        return found

    def _evaluated(self, node: Any) -> float:
        """Return the value of a node of Python's syntax tree."""
        if isinstance(node, ast.Constant) and isinstance(node.value, (int, float)):
            return float(node.value)
        if isinstance(node, ast.Name):
            return math.pi if node.id == "pi" else self.values[node.id]
        if isinstance(node, ast.UnaryOp):
            inner = self._evaluated(node.operand)
            return -inner if isinstance(node.op, ast.USub) else inner
        if isinstance(node, ast.BinOp):
            one, other = self._evaluated(node.left), self._evaluated(node.right)
            return float(OPERATORS[type(node.op)](one, other))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            return FUNCTIONS[node.func.id](*map(self._evaluated, node.args))
        raise ValueError

    def vector(self) -> Array:
        """Read a vector (3,): three numbers, or ``null`` for zeros."""
        if self.take("null"):
            return np.zeros(3)
        return np.array([self.number() for _ in range(3)])

    def matrix(self, n: int) -> Array:
        """Read a matrix of shape (n, n) in one of MBDyn's forms."""
        if self.take("null"):
            return np.zeros((n, n))
        if self.take("eye"):
            return np.eye(n)
        if self.take("diag"):
            return np.diag([self.number() for _ in range(n)])
        if self.take("sym"):
            half = np.zeros((n, n))
            half[np.triu_indices(n)] = [self.number() for _ in range(n * (n + 1) // 2)]
            return half + np.triu(half, 1).T
        self.take("matr")
        return np.array([self.number() for _ in range(n * n)]).reshape(n, n)

    def frame(self) -> Array | None:
        """Read the frame of a ``reference``, if one is named; None otherwise."""
        if not self.take("reference"):
            return None
        label = self.word()
        if label == "global":
            return IDENTITY
        if label not in self.frames:
            raise self.error(f"there is no reference `{label}` before it")
        return self.frames[label]

    def place(self, T_world_node: Array) -> Array:
        """Read a point in coordinates of a node or of a reference; return it on the node (4, 4)."""
        self.take("offset", "position")
        frame = self.frame()
        p = self.vector()
        if frame is None:
            return transform(None, p)
        point = frame[:3, :3] @ p + frame[:3, 3]
        return transform(None, T_world_node[:3, :3].T @ (point - T_world_node[:3, 3]))

    def turn(self, T_world_node: Array) -> Array:
        """Read an orientation relative to a node or a reference; return it on the node (4, 4)."""
        frame = self.frame()
        R = self._rotation()
        return transform(R if frame is None else T_world_node[:3, :3].T @ frame[:3, :3] @ R)

    def _rotation(self) -> Array:
        """Read a rotation matrix (3, 3) in one of MBDyn's forms."""
        if self.take("eye"):
            return np.eye(3)
        if self.take("euler", "euler123"):
            x, y, z = (self.number() for _ in range(3))  # about axes that move along
            return rotation_rpy(x, 0, 0) @ rotation_rpy(0, y, 0) @ rotation_rpy(0, 0, z)
        if self.take("matr"):
            return self.rotation(np.array([self.number() for _ in range(9)]).reshape(3, 3))
        axes: dict[int, Array] = {}
        for _ in range(2):
            axis = int(self.number())
            axes[axis] = self.direction(self.vector())
        if len(axes) < 2 or not {*axes} <= {1, 2, 3}:
            raise self.error("an orientation gives two different axes of 1, 2, 3")
        (one, first), (other, second) = axes.items()
        third = 6 - one - other
        normal = np.cross(first, second) * (1.0 if (other - one) % 3 == 1 else -1.0)
        columns = {one: first, third: self.direction(normal)}
        columns[other] = np.cross(columns[third], first) * (1.0 if (one - third) % 3 == 1 else -1.0)
        return np.column_stack([unit(columns[k]) for k in (1, 2, 3)])


def statements(path: str) -> Iterator[Statement]:
    """The statements of a file, in order; all share its variables and references."""
    values: dict[str, float] = {}
    frames: dict[str, Array] = {}
    text, line = "", 1
    for token in TEXT.findall(read_bytes(path).decode("latin-1")):
        if token == ";":
            blank = len(text) - len(text.lstrip())
            begins = line - text[blank:].count("\n")
            head, _, rest = text.strip().partition(":")
            words = [word.strip() for word in rest.split(",")] if rest.strip() else []
            yield Statement(path, begins, head.strip().lower(), words, values, frames)
            text = ""
        elif token.startswith(("#", "/*")):
            text += "\n" * token.count("\n")
        else:
            text += token
        line += token.count("\n")
