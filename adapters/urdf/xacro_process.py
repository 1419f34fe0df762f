"""The process that expands one xacro file: a question on standard input, an answer on its output.

xacro evaluates expressions of the file by Python's own ``eval``, with few names. Here no
expression gets at more than those: no underscores, no frames, no ``type`` or ``vars``. This module
stands on its own, so that it is quick to start.
"""

from __future__ import annotations

import ast
import json
import os
import stat
import sys
from contextlib import suppress
from typing import Any

#: CPU seconds and bytes that a file may take.
SECONDS = 10
MEMORY = 2**29
#: Length of the longest whole number that is a power.
BITS = 4096
#: Beginnings of attributes that lead from a function or a generator to all that there is.
INNER = ("_", "gi_", "cr_", "ag_", "f_", "tb_", "co_", "func_", "mro")


def limit() -> None:
    """Bound time and memory of this process, where the system can."""
    with suppress(ImportError, ValueError, OSError):
        import resource

        for which, most in ((resource.RLIMIT_CPU, SECONDS), (resource.RLIMIT_AS, MEMORY)):
            hard = resource.getrlimit(which)[1]
            most = most if hard == resource.RLIM_INFINITY else min(most, hard)
            resource.setrlimit(which, (most, hard))


class _BoundedPowers(ast.NodeTransformer):
    """Syntax tree transformer that replaces powers by calls of `power`."""

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        """Return a call of `power` in place of ``a ** b``."""
        self.generic_visit(node)
        if not isinstance(node.op, ast.Pow):
            return node
        return ast.Call(ast.Name("_power", ast.Load()), [node.left, node.right], [])


def power(base: Any, exponent: Any) -> Any:
    """Return a power; raises ``ValueError`` for whole numbers so long that they take too long."""
    integers = isinstance(base, int) and isinstance(exponent, int) and abs(base) > 1
    if integers and exponent * base.bit_length() > BITS:
        raise ValueError(f"a power is a number of more than {BITS} bits")
    return base**exponent


def checked(expression: str) -> str:
    """Return an expression with bounded powers; raises ``ValueError`` for unsafe names."""
    tree = ast.parse(expression.strip(), mode="eval")
    for node in ast.walk(tree):
        name = getattr(node, "attr", getattr(node, "id", getattr(node, "arg", None)))
        if isinstance(name, str) and (
            name.startswith("__") or (isinstance(node, ast.Attribute) and name.startswith(INNER))
        ):
            raise ValueError(f"`{name}` is not allowed in an expression")
    return ast.unparse(_BoundedPowers().visit(tree)) if "**" in expression else expression


def regular(path: Any, *options: Any, **more: Any) -> Any:
    """Open a file that the model names; raises ``OSError`` for pipes and devices."""
    if not stat.S_ISREG(os.stat(path).st_mode):
        raise OSError(0, "no regular file", str(path))
    return open(path, *options, **more)


def expanded(
    path: str, arguments: dict[str, str], packages: dict[str, str]
) -> tuple[str, list[str]]:
    """Return the expanded text, and the files that it includes."""
    import xacro
    from xacro import substitution_args

    def find(name: str) -> str:
        if name not in packages:  # which takes longer to start than all else here
            from xacrodoc import packages as finding

            finding.update_package_cache(packages)
            return str(finding.get_path(name))
        return packages[name]

    evaluate = xacro.safe_eval

    def safely(expression: str, known: Any, local: Any = None) -> Any:
        return evaluate(checked(expression), known, local)

    xacro.safe_eval, xacro.open, substitution_args._eval_find = safely, regular, find
    xacro._global_symbols["_power"] = power
    for name in ("type", "vars"):
        xacro._global_symbols["python"].pop(name, None)
    # Not by xacrodoc itself: it would look for included files in the working directory.
    text = xacro.process_file(path, mappings=arguments).toprettyxml(indent="  ")
    return text, [str(name) for name in dict.fromkeys(xacro.all_includes)]


def main() -> None:
    """Read a question in JSON from standard input, and print the answer."""
    question = json.load(sys.stdin)
    sys.path[:] = question["modules"]
    out, sys.stdout = sys.stdout, sys.stderr  # xacro prints what the file asks it to print
    limit()
    try:
        text, files = expanded(question["path"], question["arguments"], question["packages"])
        answer: dict[str, Any] = {"text": text, "files": files}
    except RecursionError:
        answer = {"error": "macros or expressions are nested too deeply"}
    except MemoryError:
        answer = {"error": "it takes more memory than it may"}
    # xacro raises plain Exceptions of its own making, and whatever its expressions raise.
    except Exception as error:
        answer = {"error": str(error) or type(error).__name__}
    json.dump(answer, out)


if __name__ == "__main__":
    main()
