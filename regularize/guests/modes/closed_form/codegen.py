"""Solutions written out as Python and C99: the same lines of elementary operations in both."""

from __future__ import annotations

import keyword
import re
from collections.abc import Iterable, Sequence
from dataclasses import astuple, dataclass
from functools import cached_property

import numpy as np

from regularize.dynamics.tape.languages import C99, PYTHON
from regularize.dynamics.tape.program import Number, needed
from regularize.errors import ModelError
from regularize.escape import as_utf8, in_comment, in_docstring
from regularize.guests.modes.closed_form.branches import branch_words
from regularize.guests.modes.closed_form.evaluation import CLOSED
from regularize.guests.modes.closed_form.operations import Lowering
from regularize.guests.modes.closed_form.planner import Plan

#: What the functions in Python use.
HEAD = "from math import atan2, cos, isfinite, nan, remainder, sin, sqrt\n\n"


#: Which kind of operation those are that are counted.
_KINDS = {
    **{"add": 0, "subtract": 0, "negative": 0, "remainder": 0, "multiply": 1, "divide": 2},
    **{"root": 3, "sin": 4, "cos": 5, "atan2": 6},
}


@dataclass(frozen=True)
class Operations:
    """Number of operations for one solution.

    Attributes:
        additions: Additions, subtractions and changes of sign.
        multiplications: Multiplications, squares included.
        divisions: Divisions.
        square_roots: Square roots.
        sines: Sines.
        cosines: Cosines.
        arctangents: Arctangents of two arguments.
    """

    additions: int
    multiplications: int
    divisions: int
    square_roots: int
    sines: int
    cosines: int
    arctangents: int

    @classmethod
    def of(cls, lines: Iterable[Number]) -> Operations:
        """Count operations of each kind."""
        kinds = [_KINDS[x.operation] for x in lines if x.operation in _KINDS]
        return cls(*np.bincount(kinds, minlength=7).tolist())

    def __str__(self) -> str:
        counts = (
            f"{count} {name.replace('_', ' ')}" for name, count in vars(self).items() if count
        )
        return ", ".join(counts) or "none"

    @property
    def total(self) -> int:
        """Sum of all operations."""
        return sum(astuple(self))


@dataclass(frozen=True, eq=False)
class Listing:
    """The source code of a plan that finds every coordinate."""

    plan: Plan
    inputs: Sequence[str]
    names: Sequence[str]

    @property
    def operations(self) -> Operations:
        """Number of operations of the formulas, without decisions where solutions meet."""
        lowering = Lowering(careful=False)
        results = [line for each in self._results(lowering) for line in each]
        return Operations.of(needed(results))

    def _results(self, lowering: Lowering) -> list[list[Number]]:
        """Return coordinates, closure errors that have to vanish, and divisors that must not."""
        plan = self.plan
        coordinates = [plan.known.coordinates[c] for c in range(len(self.names))]
        return [lowering.lines(plan.tape, x) for x in (coordinates, plan.gaps, plan.divisors)]

    @cached_property
    def _careful(self) -> list[list[Number]]:
        return self._results(Lowering())

    @cached_property
    def _needed(self) -> list[Number]:
        return needed(x for each in self._careful for x in each)

    @property
    def _checks(self) -> list[tuple[str, str]]:
        """What has to be nearly zero, and what must not be, with a relation each."""
        _, gaps, divisors = self._careful
        return [*((C99.name(x), "<=") for x in gaps), *((C99.name(x), ">") for x in divisors)]

    @property
    def _signs(self) -> list[tuple[str, str]]:
        """Each sign that is used, and the bit of the branch's index that gives it."""
        last = self.plan.tape.signs - 1
        every = ((f"s{i}", f"1 - 2 * (branch >> {last - i} & 1)") for i in range(last + 1))
        used = {x.data for x in self._needed}
        return [(symbol, value) for symbol, value in every if symbol in used]

    def python(self, name: str) -> str:
        """Return a Python module with one function, which needs only ``math``."""
        name = python_name(name, [*re.findall(r"\w+", HEAD), "abs", "all", "map"])
        every, given = (in_docstring(", ".join(names)) for names in (self.names, self.inputs))
        holds = ["all(map(isfinite, q))"]
        holds += [f"abs({value}) {relation} {CLOSED}" for value, relation in self._checks]
        nothing = f"(nan,) * {len(self.names)}"
        lines = [
            HEAD,
            f"def {name}(x, branch=0):",
            f'    """Coordinates {every}; NaN where the branch cannot be assembled.',
            "",
            f"    x: {given or 'nothing'}.",
            f"    branch: 0 to {2**self.plan.tape.signs - 1}.",
            *(f"        {in_docstring(line)}" for line in branch_words(self.plan.choices)),
            "",
            f"    Operations: {self.operations}.",
            '    """',
            *(f"    x{i} = x[{i}]" for i in range(len(self.inputs))),
            *(f"    {symbol} = {value}" for symbol, value in self._signs),
            "    try:  # at some inputs formulas divide by zero",
            *(f"        {line}" for line in PYTHON.assignments(self._needed)),
            f"        q = ({PYTHON.listed(self._careful[0])})",
            "    except ZeroDivisionError:",
            f"        return {nothing}",
            f"    return q if {' and '.join(holds)} else {nothing}",
        ]
        return "\n".join([*lines, ""])

    def c(self, name: str) -> str:
        """Return C99 source with one public function, which needs only ``math.h``."""
        name, count = c_name(name), len(self.names)
        body = [f"const double x{i} = x[{i}];" for i in range(len(self.inputs))]
        body += [f"const double {symbol} = {value};" for symbol, value in self._signs]
        body += [] if self.inputs else ["(void)x;"]
        body += [] if self._signs else ["(void)branch;"]
        body += [f"const double {line};" for line in C99.assignments(self._needed)]
        body += [f"q[{i}] = {C99.name(x)};" for i, x in enumerate(self._careful[0])]
        for value, relation in self._checks:
            body += [f"if (!(fabs({value}) {relation} {CLOSED}))", "    return 0;"]
        body += [f"for (int i = 0; i < {count}; i++)", "    if (!isfinite(q[i]))"]
        body += ["        return 0;", "return 1;"]
        lines = [
            "#include <math.h>",
            "",
            f"/* x: {in_comment(', '.join(self.inputs)) or 'nothing'}",
            f"   branch: 0 to {2**self.plan.tape.signs - 1}",
            *(f"      {in_comment(line)}" for line in branch_words(self.plan.choices)),
            f"   q: {in_comment(', '.join(self.names))}",
            f"   Operations: {self.operations}.",
            "   Returns 1 where the branch can be assembled, else 0. */",
            f"int {name}(const double *x, int branch, double *q)",
            "{",
            *(f"    {line}" for line in body),
            "}",
            "",
        ]
        return "\n".join(lines)


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


#: Keywords of C99, of later standards of C, and of compilers by default.
C_KEYWORDS = _words(
    """
    alignas alignof asm auto bool break case char const constexpr continue default do double else
    enum extern false float for goto if inline int long nullptr register restrict return short
    signed sizeof static static_assert struct switch thread_local true typedef typeof typeof_unqual
    union unsigned void volatile while
    """
)
_MATH = _words(
    """
    acos acosh asin asinh atan atan2 atanh cbrt ceil copysign cos cosh erf erfc exp exp2 expm1 fabs
    fdim floor fma fmax fmin fmod frexp hypot ilogb ldexp lgamma llrint llround log log10 log1p log2
    logb lrint lround modf nan nearbyint nextafter nexttoward pow remainder remquo rint round
    scalbln scalbn sin sinh sqrt tan tanh tgamma trunc
    """
)
#: Names of the standard library and the function that programs begin with.
C_RESERVED = _words(
    """
    FP_FAST_FMA FP_ILOGB0 FP_ILOGBNAN FP_INFINITE FP_NAN FP_NORMAL FP_SUBNORMAL FP_ZERO HUGE_VAL
    INFINITY MATH_ERRNO MATH_ERREXCEPT NAN NULL abort abs asctime assert atexit atof atoi atol atoll
    bsearch calloc clearerr clock complex ctime difftime div double_t errno exit fclose feof ferror
    fflush fgetc fgetpos fgets float_t fopen fpclassify fprintf fputc fputs fread free freopen
    fscanf fseek fsetpos ftell fwrite getc getchar getenv gets gmtime imaxabs imaxdiv isalnum
    isalpha isblank iscntrl isdigit isfinite isgraph isgreater isgreaterequal isinf isless
    islessequal islessgreater islower isnan isnormal isprint ispunct isspace isunordered isupper
    isxdigit j0 j1 jn labs ldiv linux llabs lldiv localeconv localtime longjmp main malloc
    math_errhandling mblen mbstowcs mbtowc memchr memcmp memcpy memmove memset mktime offsetof
    perror printf putc putchar puts qsort raise rand realloc remove rename rewind scanf setbuf
    setjmp setlocale setvbuf signal signbit snprintf sprintf srand sscanf stderr stdin stdout
    strcat strchr strcmp strcoll strcpy strcspn strerror strftime strlen strncat strncmp strncpy
    strpbrk strrchr strspn strstr strtod strtof strtok strtol strtold strtoll strtoul strtoull
    strxfrm system time tmpfile tmpnam tolower toupper ungetc unix vfprintf vfscanf vprintf vscanf
    vsnprintf vsprintf vsscanf wcstombs wctomb y0 y1 yn
    """
) | {name + suffix for name in _MATH for suffix in ("", "f", "l")}


def python_name(name: str, used: Iterable[str]) -> str:
    """Return the name if a Python function may have it and the source does not use it."""
    if not isinstance(name, str) or not name.isidentifier() or keyword.iskeyword(name):
        raise ModelError(
            f"{as_utf8(str(name))!r} cannot be the name of a Python function; choose another"
        )
    if name in set(used):
        raise ModelError(f"the Python source uses the name {name!r} itself; choose another")
    return name


def c_name(name: str) -> str:
    """Return the name if a function in C may have it."""
    if not isinstance(name, str) or not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
        raise ModelError(
            f"{as_utf8(str(name))!r} cannot be the name of a function in C: letters, digits and _ "
            "only, and no digit first"
        )
    if name in C_KEYWORDS or re.match("_[A-Z_]", name) or name in C_RESERVED:
        raise ModelError(f"the name {name!r} belongs to C itself; choose another")
    return name
