"""The acceleration of a tree as C: straight-line code for states side by side."""

from __future__ import annotations

from pathlib import Path

from regularize.dynamics.tape.languages import LANES
from regularize.dynamics.tape.program import Program

_LANES = Path(__file__).with_name("lanes.c")
#: Angle beyond which the reduction of ``lanes.c`` loses digits.
_FAR = 1e5

_FUNCTION = """\
static void accelerate(const V *restrict q, const V *restrict v, const V *restrict tau,
                       V *restrict a, V *restrict sound) {{
    V far = K(0.0), least = K(1.0);
{body}
    *sound = minimum(least, {far} - far);
    (void)q, (void)v, (void)tau;
}}
"""

_BATCH = """
/* Acceleration of n states, in rows, under joint forces. Where masses or rows do not determine one
 * state's clearly, where it is not finite or an angle beyond 1e5, its row is NaN; 1 where there
 * is one. */
int {name}_forward_dynamics_batch(long n, const double *q, const double *v, const double *tau,
                                  double *a) {{
    int bad = 0;
    for (long i = 0; i < n; i += LANES) {{
        V Q[NEXT_TO({nq})], U[NEXT_TO({nv})], T[NEXT_TO({nv})], A[NEXT_TO({nv})], sound;
        for (int l = 0; l < LANES; ++l) {{
            const long at = i + l < n ? i + l : n - 1;
            for (int k = 0; k < {nq}; ++k) PUT(Q[k], l) = q[at * {nq} + k];
            for (int k = 0; k < {nv}; ++k) PUT(U[k], l) = v[at * {nv} + k];
            for (int k = 0; k < {nv}; ++k) PUT(T[k], l) = tau[at * {nv} + k];
        }}
        accelerate(Q, U, T, A, &sound);
        for (int l = 0; l < LANES && i + l < n; ++l) {{
            const int good = PUT(sound, l) > 0.0;
            bad |= !good;
            for (int k = 0; k < {nv}; ++k) a[(i + l) * {nv} + k] = good ? PUT(A[k], l) : NAN;
        }}
    }}
    return bad;
}}
"""

_ONE = """
/* Acceleration under joint forces. NaN, and 1, where masses or rows do not determine it clearly. */
int {name}_forward_dynamics(const double *q, const double *v, const double *tau, double *a) {{
    return {name}_forward_dynamics_batch(1, q, v, tau, a);
}}
"""


def c_source(name: str, nq: int, nv: int, dynamics: Program, lanes: int) -> str:
    """Return C source of an acceleration for so many states side by side, functions named so.

    The program goes from q, v and tau to the acceleration, and the margins behind it. A single
    lane needs no extension of C99.
    """
    sizes = {"q": nq, "v": nv, "tau": nv}
    places = [f"{key}[{k}]" for key, length in sizes.items() for k in range(length)]
    inputs = zip(map(LANES.name, dynamics.variables), places, strict=True)
    body = [f"    const V {x} = {place};" for x, place in inputs]
    body += _with_turns(dynamics)
    results = [LANES.name(x) for x in dynamics.results]
    body += [f"    a[{k}] = {x};" for k, x in enumerate(results[:nv])]
    body += [f"    least = minimum(least, {x});" for x in results[nv:]]
    # Zero times what is not finite is not a number, and no such number is positive.
    body += [f"    least += 0.0 * a[{k}];" for k in range(nv)]
    function = _FUNCTION.format(body="\n".join(body), far=_FAR)
    lines = _LANES.read_text(encoding="utf-8")
    batch = _BATCH.format(name=name, nq=nq, nv=nv)
    return "\n".join([f"#define LANES {lanes}\n", lines, function, batch, _ONE.format(name=name)])


def _with_turns(program: Program) -> list[str]:
    """Return C declarations of a program's numbers; sine and cosine of an angle share a call."""
    result: list[str] = []
    angles: set[int] = set()
    for x in program.lines:
        text = LANES.assignment(x)
        if x.operation in ("sin", "cos"):
            (angle,) = x.arguments
            if angle not in angles:
                angles.add(angle)
                name = LANES.name(x.recording.numbers[angle])
                result.append(f"    V s{angle}, c{angle};")
                result.append(f"    sine_cosine(&{name}, &s{angle}, &c{angle}, &far);")
            text = f"{LANES.name(x)} = {x.operation[0]}{angle}"
        if text is not None:
            result.append(f"    const V {text};")
    return result
