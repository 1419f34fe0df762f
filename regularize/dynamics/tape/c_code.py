"""Programs of a tree's dynamics as C: straight-line code for states side by side.

The programs of a robot: its acceleration and its step.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from regularize.dynamics.step.multibody import MultibodyTree
from regularize.dynamics.tape.kinematics import PlacedLinks, TracedTree, require_known
from regularize.dynamics.tape.languages import LANES
from regularize.dynamics.tape.motion_equations import MotionEquations
from regularize.dynamics.tape.program import Number, Program, Recording
from regularize.dynamics.tape.stepping import step
from regularize.dynamics.tape.vectors import Vector
from regularize.errors import UnsupportedExport
from regularize.lie.arrays import Array

_LANES = Path(__file__).with_name("lanes.c")
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
    """C code of a tree's acceleration, and of its steps where there are some.

    Functions begin with ``name``. ``dynamics`` goes from q, v and tau to the acceleration and the
    margins, ``step`` from q, v, tau and h to the next q and v, the error left, and the margins.
    """

    name: str
    nq: int
    nv: int
    dynamics: Program
    step: Program | None = None

    def source(self, lanes: int, head: str = "") -> str:
        """Return the source for so many states side by side; 1 needs no extension of C99."""
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

    def _function(self, name: str, results: str, program: Program, outputs: dict[str, int]) -> str:
        """Return a C function for states side by side, sound where all margins are positive."""
        kind = "" if "q" in outputs else "const "
        sizes = {"q": self.nq, "v": self.nv, "tau": self.nv}
        places = [f"{key}[{k}]" for key, length in sizes.items() for k in range(length)]
        body = [
            f"    const V {LANES.name(x)} = {place};"
            for x, place in zip(program.variables, places, strict=False)
        ]
        body += _with_turns(program)
        named = [f"{key}[{k}]" for key, length in outputs.items() for k in range(length)]
        found = [LANES.name(x) for x in program.results]
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
                result.append(f"    sine_cosine({name}, &s{angle}, &c{angle}, &far);")
            text = f"{LANES.name(x)} = {x.operation[0]}{angle}"
        if text is not None:
            result.append(f"    const V {text};")
    return result


#: Operations of a program beyond which compilers of straight-line code take minutes.
MOST = 30_000


@dataclass(frozen=True, eq=False, repr=False)
class RobotPrograms:
    """The programs of a tree with closed loops, with springs and dampers in steps.

    ``sample`` is a closed configuration, velocity and joint forces, by which orders of elimination
    are chosen; ``joints`` are damping, stiffness and rest of springs of the velocities, (3, nv).
    """

    tree: MultibodyTree
    sample: tuple[Array, Array, Array]
    joints: Array

    def _given(self) -> tuple[TracedTree, list[Vector]]:
        """Begin a recording: return the tree's tables in it, and the inputs q, v and tau."""
        require_known(self.tree)
        recording = Recording()
        names = ("q", "v", "tau")
        inputs = [recording.variables(*x) for x in zip(names, self.sample, strict=True)]
        return TracedTree(recording, self.tree), inputs

    @cached_property
    def acceleration(self) -> Program:
        """Program from q, v and tau to the acceleration, and its margins behind it."""
        tables, (q, v, tau) = self._given()
        equations = MotionEquations(PlacedLinks(tables, q), v, tau)
        return _checked(Program((*q, *v, *tau), (*equations.a, *equations.margins())))

    @cached_property
    def dynamics(self) -> Program:
        """Program of the acceleration without margins."""
        return self.acceleration.first(self.tree.nv)

    @cached_property
    def step(self) -> Program:
        """Program from q, v, tau and h to the next q and v, the error left, and margins."""
        tables, (q, v, tau) = self._given()
        h = tables.recording.variable("h", 1e-3)
        after, margins = step(tables, q, v, self._with_joints(tables, q, v, tau), h)
        return _checked(Program((*q, *v, *tau, h), (*after, *margins)))

    def _with_joints(self, tables: TracedTree, q: Vector, v: Vector, tau: Vector) -> Vector:
        """Return joint forces with those of dampers and springs."""
        damping, stiffness, rest = self.joints
        result: list[Number] = [f - u * float(d) for f, u, d in zip(tau, v, damping, strict=True)]
        for link in self.tree.links:
            k = stiffness[link.rate]
            if k and not link.follows:
                result[link.rate] = result[link.rate] - (
                    q[link.coordinate] - float(rest[link.rate])
                ) * float(k)
        return result

    def c_code(self, name: str, *, steps: bool) -> GeneratedC:
        """Return C code of the acceleration, and of steps if wanted and possible."""
        made = None
        if steps:
            try:
                made = self.step
            except UnsupportedExport:
                made = None
        return GeneratedC(name, self.tree.nq, self.tree.nv, self.acceleration, made)


def _checked(program: Program) -> Program:
    """Refuse a program that a compiler would take minutes for."""
    if program.work > MOST:
        raise UnsupportedExport(
            f"straight-line code would have {program.work} operations, and compilers take minutes "
            f"for more than {MOST}: forward_dynamics(..., threads=) computes many states of such "
            "robots"
        )
    return program


def joints_of(laws: Array, closing: Array, tree: MultibodyTree) -> Array:
    """Return damping, stiffness and rest of springs of the velocities, (3, nv), from the laws.

    Dry friction is refused, and so is what acts in joints that close loops or have several
    coordinates.
    """
    single = np.zeros(tree.nv, dtype=bool)
    for link in tree.links:
        single[link.rate] |= link.kind in ("revolute", "prismatic") and not link.follows
    if laws[2].any() or closing[:3].any() or laws[[1, 3]][:, ~single].any():
        raise UnsupportedExport("no straight-line code of friction, or of forces in such joints")
    return np.asarray(laws[[1, 3, 4]])
