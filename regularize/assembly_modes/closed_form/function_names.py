"""Names for functions that are written out, and the user's names in comments above them."""

from __future__ import annotations

import keyword
import re
from collections.abc import Iterable

from regularize.errors import ModelError


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
    """The name, if it may be that of a Python function.

    Args:
        name: What is asked for.
        used: Names that the source uses itself.

    Raises:
        ModelError: It may not.
    """
    if not isinstance(name, str) or not name.isidentifier() or keyword.iskeyword(name):
        raise ModelError(f"{name!r} cannot be the name of a Python function; choose another")
    if name in set(used):
        raise ModelError(f"the Python source uses the name {name!r} itself; choose another")
    return name


def c_name(name: str, used: Iterable[str]) -> str:
    """The name, if it may be that of a function in C; arguments alike."""
    if not isinstance(name, str) or not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
        raise ModelError(
            f"{name!r} cannot be the name of a function in C: letters, digits and _ only, "
            "and no digit first"
        )
    if name in C_KEYWORDS or re.match("_[A-Z_]", name) or name in C_RESERVED:
        raise ModelError(f"the name {name!r} belongs to C itself; choose another")
    if name in set(used):
        raise ModelError(f"the C source uses the name {name!r} itself; choose another")
    return name


def in_docstring(text: str) -> str:
    """Text of the user's within three double quotes."""
    return _one_line(text).replace("\\", "\\\\").replace('"', '\\"')


def in_comment(text: str) -> str:
    """Text of the user's within a comment in C."""
    # Neither may the comment end early, nor look as if another began; ??/ is a backslash.
    return re.sub(r"(?<=[*/])(?=[*/])", " ", _one_line(text)).replace("??", "? ?")


def _one_line(text: str) -> str:
    return "".join(c if c.isprintable() else " " for c in text)
