"""Programs of a tree's dynamics as C: straight-line code for states side by side."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from regularize.tape.graph import StraightLine
from regularize.tape.printers import statements

_LANES = Path(__file__).with_name("lanes.c")
_FUNCTIONS = {
    "sin": "sin",
    "cos": "cos",
    "minimum": "minimum",
    "maximum": "maximum",
    "absolute": "absolute",
    "sqrt": "root",
    "atan2": "turn_of",
}
#: Angle beyond which the reduction of ``lanes.c`` loses digits.
_FAR = 1e5

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

_ROLLOUT = """
/* Steps of length h of n robots: records (n, steps + 1, ...) of q, v, the error that is left and 1
 * where all is well, of which the first ones are given, and forces (n, 1 or steps, nv), whose next
 * step's are tau_step numbers behind. How many steps of each robot were made: fewer where one is in
 * doubt. */
void {name}_rollout(long n, long steps, double h, const double *tau, long tau_step, long tau_robot,
                    double *q, double *v, double *error, double *ok, long *made) {{
    for (long i = 0; i < n; i += LANES) {{
        V Q[NEXT_TO({nq})], U[NEXT_TO({nv})], T[NEXT_TO({nv})], left, sound;
        long at[LANES], most = 0;
        for (int l = 0; l < LANES; ++l) {{
            at[l] = i + l < n ? i + l : n - 1;
            const double *x = q + at[l] * (steps + 1) * {nq}, *u = v + at[l] * (steps + 1) * {nv};
            for (int k = 0; k < {nq}; ++k) PUT(Q[k], l) = x[k];
            for (int k = 0; k < {nv}; ++k) PUT(U[k], l) = u[k];
            made[at[l]] = 0;
        }}
        for (long s = 0; s < steps && most == s; ++s) {{
            for (int l = 0; l < LANES; ++l) {{
                const double *f = tau + at[l] * tau_robot + s * tau_step;
                for (int k = 0; k < {nv}; ++k) PUT(T[k], l) = f[k];
            }}
            step(Q, U, T, K(h), &left, &sound);
            for (int l = 0; l < LANES && i + l < n; ++l) {{
                if (made[at[l]] != s || !(PUT(sound, l) > 0.0)) continue;
                const long record = at[l] * (steps + 1) + s + 1;
                for (int k = 0; k < {nq}; ++k) q[record * {nq} + k] = PUT(Q[k], l);
                for (int k = 0; k < {nv}; ++k) v[record * {nv} + k] = PUT(U[k], l);
                error[record] = PUT(left, l), ok[record] = 1.0;
                made[at[l]] = most = s + 1;
            }}
        }}
    }}
}}
"""


@dataclass(frozen=True, eq=False, repr=False)
class GeneratedC:
    """C code of a tree.

    Attributes:
        name: What functions begin with.
        nq: Length of configurations.
        nv: Length of velocities.
        dynamics: From q, v and tau the acceleration, then the margins.
        step: From q, v, tau and h the next q and v, the error left, then the margins; or None.
    """

    name: str
    nq: int
    nv: int
    dynamics: StraightLine
    step: StraightLine | None = None

    def source(self, lanes: int, head: str = "") -> str:
        """The source for so many states side by side; 1 needs no extension of C99."""
        sizes = {"name": self.name, "nq": self.nq, "nv": self.nv}
        parts = [head, f"#define LANES {lanes}\n", _LANES.read_text(encoding="utf-8")]
        parts.append(self._function("accelerate", "V *restrict a", self.dynamics, {"a": self.nv}))
        parts += [_BATCH.format(**sizes), _ONE.format(**sizes)]
        if self.step is not None:
            outputs = {"q": self.nq, "v": self.nv, "left": 1}
            parts += [
                self._function("step", "V h, V *restrict left", self.step, outputs),
                _ROLLOUT.format(**sizes),
            ]
        return "\n".join(parts)

    def _function(
        self, name: str, results: str, program: StraightLine, outputs: dict[str, int]
    ) -> str:
        """A function of states side by side; sound becomes positive where all margins are."""
        nq, nv = self.nq, self.nv
        kind = "" if "q" in outputs else "const "

        def place(i: int) -> str:
            if i < nq:
                return f"q[{i}]"
            i -= nq
            return f"v[{i}]" if i < nv else f"tau[{i - nv}]" if i < 2 * nv else "h"

        lines, found = statements(program, place, _constant, _FUNCTIONS, "    const V x{} = {};")
        body = _with_turns(program, lines)
        named = [f"{key}[{k}]" for key, length in outputs.items() for k in range(length)]
        body += [f"    {to} = {x};" for to, x in zip(named, found, strict=False)]
        margins = found[len(named) :]
        body += [f"    least = minimum(least, {x});" for x in margins]
        # Zero times what is not finite is not a number, and no such number is positive.
        body += [f"    least += 0.0 * {x};" for x in named if not x.startswith("left")]
        head = (
            f"static void {name}({kind}V *restrict q, {kind}V *restrict v, const V *restrict tau, "
            f"{results}, V *restrict sound) {{\n    V far = K(0.0), least = K(1.0);"
        )
        tail = f"    *sound = minimum(least, {_FAR} - far);\n    (void)q, (void)v, (void)tau;\n}}\n"
        return "\n".join([head, *body, tail])


def _constant(value: float) -> str:
    return f"K({value.hex()})"


def _with_turns(program: StraightLine, lines: list[str]) -> list[str]:
    """Lines in which sine and cosine of an angle are found together."""
    result: list[str] = []
    known: set[int] = set()
    each = iter(lines)
    for k, line in enumerate(program.lines):
        if line.name == "constant":
            continue
        text = next(each)
        if line.name in ("sin", "cos"):
            (angle,) = line.arguments
            if angle not in known:
                known.add(angle)
                of = text[text.index("(") + 1 : text.rindex(")")]
                result.append(
                    f"    V s{angle}, c{angle};\n    sine_cosine({of}, &s{angle}, &c{angle}, &far);"
                )
            text = f"    const V x{k} = {line.name[0]}{angle};"
        result.append(text)
    return result
