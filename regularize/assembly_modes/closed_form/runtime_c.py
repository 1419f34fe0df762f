"""The functions of ``runtime`` in C99, translated from their Python source.

They are written in what both languages have in common: numbers, arithmetic, ``math``, and ``if``.
Functions with several results write them to an array, which is the last argument.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterable, Sequence

from regularize.assembly_modes.closed_form import runtime

HEAD = "#include <math.h>\n\nstatic const double PI = 3.14159265358979323846;\n"
#: Python's names for what C calls differently.
_NAMES = {"abs": "fabs", "pi": "PI"}


def c_functions(names: Iterable[str]) -> str:
    """The head of a C file and some of the functions, in the order of ``runtime``."""
    wanted = set(names)
    functions = [f for f in _parsed() if f.name in wanted]
    head = HEAD if "angle_from" in wanted else HEAD.split("\n\n")[0] + "\n"
    return "\n".join([head, *map(_function, functions)])


def names_used() -> set[str]:
    """Names that any of the functions may bring with it."""
    return {"PI", *(function.name for function in _parsed())}


def _parsed() -> list[ast.FunctionDef]:
    body = ast.parse(inspect.getsource(runtime)).body
    return [node for node in body if isinstance(node, ast.FunctionDef)]


def _function(function: ast.FunctionDef) -> str:
    parameters = [argument.arg for argument in function.args.args]
    nodes = list(ast.walk(function))
    several = any(isinstance(n, ast.Return) and isinstance(n.value, ast.Tuple) for n in nodes)
    assigned = [n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)]
    local = [name for name in dict.fromkeys(assigned) if name not in parameters]
    given = [*(f"double {name}" for name in parameters), *(["double *result"] if several else [])]
    comment = (ast.get_docstring(function) or "").split("\n")[0].replace("²", "^2")
    return "\n".join(
        [
            f"/* {comment} */",
            f"static {'void' if several else 'double'} {function.name}({', '.join(given)})",
            "{",
            *([f"    double {', '.join(local)};"] if local else []),
            *_statements(function.body[1:], "    "),
            "}",
            "",
        ]
    )


def _statements(body: Sequence[ast.stmt], indent: str) -> list[str]:
    lines: list[str] = []
    for statement in body:
        if isinstance(statement, ast.If):
            lines.append(f"{indent}if ({_expression(statement.test)}) {{")
            lines += _statements(statement.body, indent + "    ")
            if statement.orelse:
                lines += [f"{indent}}} else {{", *_statements(statement.orelse, indent + "    ")]
            lines.append(f"{indent}}}")
        elif isinstance(statement, ast.Assign):
            (target,) = statement.targets
            pairs = zip(_entries(target), _entries(statement.value), strict=True)
            # One after the other: none of the values uses a name that is assigned before it.
            lines += [f"{indent}{ast.unparse(a)} = {_expression(b)};" for a, b in pairs]
        elif isinstance(statement, ast.Return) and isinstance(statement.value, ast.Tuple):
            values = enumerate(map(_expression, statement.value.elts))
            lines += [f"{indent}result[{k}] = {value};" for k, value in values]
            lines.append(f"{indent}return;")
        elif isinstance(statement, ast.Return) and statement.value is not None:
            lines.append(f"{indent}return {_expression(statement.value)};")
        else:
            raise TypeError(f"this statement has no translation to C: {ast.unparse(statement)}")
    return lines


def _entries(node: ast.expr) -> list[ast.expr]:
    return node.elts if isinstance(node, ast.Tuple) else [node]


def _expression(node: ast.expr) -> str:
    if isinstance(node, ast.IfExp):
        parts = (_expression(part) for part in (node.test, node.body, node.orelse))
        return "{} ? {} : {}".format(*parts)
    if isinstance(node, ast.BoolOp):
        operator = " && " if isinstance(node.op, ast.And) else " || "
        return operator.join(_expression(value) for value in node.values)
    return ast.unparse(_Renamed().visit(node))


class _Renamed(ast.NodeTransformer):
    """Numbers as floating-point ones, and functions by their names in C."""

    def visit_Constant(self, node: ast.Constant) -> ast.Constant:
        """A number."""
        return ast.Constant(float(node.value))  # type: ignore[arg-type]

    def visit_Attribute(self, node: ast.Attribute) -> ast.Name:
        """What ``math`` has."""
        return ast.Name(_NAMES.get(node.attr, node.attr))

    def visit_Name(self, node: ast.Name) -> ast.Name:
        """A variable, or what Python has by itself."""
        return ast.Name(_NAMES.get(node.id, node.id))
