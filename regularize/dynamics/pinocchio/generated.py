"""The dynamics of a robot as straight-line code: C, JAX, CasADi, Warp, SymPy, from one program."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from regularize.dynamics.pinocchio.constraints import ClosingTree
from regularize.dynamics.pinocchio.environments import Environments, Inputs, SteppedStates
from regularize.dynamics.pinocchio.many_states import aligned
from regularize.errors import ModelError, UnsupportedExport
from regularize.lie.arrays import Array
from regularize.validation import FLAG, PATH, WHOLE, validated

if TYPE_CHECKING:
    from regularize.dynamics.tape.c_code import RobotPrograms

#: Steps that the table kernel makes at once where the generated code is in doubt, at most.
_LONGEST = 64


@dataclass(frozen=True, eq=False, repr=False)
class GeneratedTree(ClosingTree):
    """A tree with its rows, whose acceleration is written as code."""

    @cached_property
    def programs(self) -> RobotPrograms:
        """Programs of the acceleration and of steps without forces in joints."""
        return self._programs(np.zeros((3, self.nv)))

    def _programs(self, joints: Array) -> RobotPrograms:
        """Return the programs with damping, stiffness and rest of springs (3, nv)."""
        from regularize.dynamics.tape.c_code import RobotPrograms  # loaded where wanted

        if self.style == "legacy":
            raise UnsupportedExport("generated code does not know the style 'legacy'; use 'rows'")
        # A closed configuration near the reference one, a velocity and joint forces.
        rng, q = np.random.default_rng(0), np.asarray(getattr(self, "q0", self.tree.space.neutral))
        v, tau = rng.normal(size=self.nv), rng.normal(size=self.nv)
        moved = self.tree.space.integrate(q, 0.05 * rng.normal(size=self.nv))
        projected = None if self.kernel is None else self.kernel.newton_step(moved)
        sample = (q if projected is None else projected[0]), v, tau
        return RobotPrograms(self.multibody[0], sample, joints)

    @validated(path=PATH, lanes=WHOLE)
    def to_c(self, path: str | Path, lanes: int | None = None) -> Path:
        """Write C99 source for a controller, and a header beside it.

        It stands on its own: tables of this robot and the code that this package has compiled, with
        ``NAME_forward_dynamics(q, v, tau, a)`` and more, NAME being that of the file. Forces within
        the joints (``passive_forces``) are to be added to tau.

        Args:
            path: A file that ends in ``.c``.
            lanes: Write straight-line code instead, without tables, for so many states side by
                side: ``NAME_forward_dynamics`` and
                ``NAME_forward_dynamics_batch(n, q, v, tau, a)``, states in rows. 1 is plain C99;
                more take the vectors of GCC and Clang.

        Raises:
            UnsupportedExport: The file does not end in ``.c``, its name is no C identifier, or a
                joint or a row has a form that the code does not know.
        """
        from regularize.dynamics.step.compiled import write_c

        if self.style == "legacy":
            raise UnsupportedExport("C source does not know the style 'legacy'; use 'rows'")
        model, title = self.tree, f"Dynamics of {self.tree.name}."
        joints = [
            f"{model.names[j]}: {model.idx_vs[j]}"
            + (f" to {model.idx_vs[j] + model.nvs[j] - 1}" if model.nvs[j] > 1 else "")
            for j in range(1, model.njoints)
            if model.nvs[j]
        ]
        straight = None
        if lanes is not None:
            if lanes not in (1, 2, 4, 8, 16):
                raise ModelError(f"lanes are 1, 2, 4, 8 or 16; got {lanes!r:.60}")
            straight = self.programs.c_code(Path(path).stem, steps=False).source(lanes)
        return write_c(self.tables, Path(path), title, joints, straight)

    def to_jax(self) -> Callable[..., Any]:
        """The acceleration as a pure function of q, v and tau of one state, for JAX.

        It is for ``jax.vmap``, ``jax.jit`` and ``jax.grad``. Of double precision
        (``jax.config.update("jax_enable_x64", True)``) it has nine digits and more.
        """
        from regularize.dynamics.tape.backends import to_jax

        return to_jax(self.programs.dynamics, (self.nq, self.nv, self.nv))

    def to_casadi(self) -> Any:
        """The acceleration as a ``casadi.Function`` (q, v, tau) -> a."""
        from regularize.dynamics.tape.languages import to_casadi

        parts = {"q": self.nq, "v": self.nv, "tau": self.nv}
        return to_casadi(self.programs.dynamics, parts, "a", "forward_dynamics")

    @validated(backward=FLAG)
    def to_warp(self, *, backward: bool = True) -> Callable[..., Any]:
        """The acceleration as a function of float64 ``warp.array`` (N, nq), (N, nv), (N, nv).

        It computes on the device where q lies, one thread a state, and has an attribute ``kernel``.
        Warp compiles it at the first call: a robot of 25 velocities takes seconds of the processor,
        and what can be differentiated half a minute, once, as Warp keeps it.

        Args:
            backward: Whether ``warp.Tape`` can differentiate it, which takes longer to compile.
        """
        from regularize.dynamics.tape.backends import to_warp

        return to_warp(self.programs.dynamics, self.nq, self.nv, backward=backward)

    def to_sympy(self) -> tuple[list[tuple[Any, Any]], list[Any]]:
        """The acceleration as assignments and results, in the form of ``sympy.cse``.

        Symbols are q0, q1, ..., v0, ... and tau0, ..., all real; ``sympy.lambdify(symbols, results,
        cse=lambda _: (assignments, results))`` makes a function of them. To put assignments into
        each other is for robots of a few bodies: expressions double with each.
        """
        import sympy  # an extra

        from regularize.dynamics.tape.languages import to_sympy

        lengths = {"q": self.nq, "v": self.nv, "tau": self.nv}
        symbols = [sympy.Symbol(f"{x}{i}", real=True) for x, n in lengths.items() for i in range(n)]
        return to_sympy(self.programs.dynamics, symbols)


@dataclass(frozen=True, eq=False, repr=False)
class GeneratedCode:
    """A robot's acceleration in generated code; the table kernel computes what is in doubt."""

    robot: GeneratedTree
    lanes: int
    _library: Any = field(repr=False)

    @classmethod
    def of(cls, robot: GeneratedTree, programs: RobotPrograms, lanes: int) -> GeneratedCode:
        """Compile the code, or find it in the cache."""
        from ctypes import c_double, c_long, c_void_p

        from regularize.dynamics.tape.backends import library

        built = library(programs.c_code("robot", steps=True).source(lanes))
        array: Any = c_void_p
        built.robot_forward_dynamics_batch.argtypes = [c_long, array, array, array, array]
        if hasattr(built, "robot_rollout"):
            forces = [array, c_long, c_long]
            built.robot_rollout.argtypes = [c_long, c_long, c_double, *forces, *5 * [array]]
        return cls(robot, lanes, built)

    @property
    def has_steps(self) -> bool:
        """Whether there is code for steps."""
        return hasattr(self._library, "robot_rollout")

    def forward_dynamics(self, q: Array, v: Array, tau: Array, threads: int = 1) -> Array | None:
        """Return accelerations (N, nv), NaN where none is found; for one state the kernel's."""
        robot = self.robot
        if max(np.ndim(q), np.ndim(v), np.ndim(tau)) < 2:
            one: Array | None = robot.kernel.forward_dynamics(q, v, tau, threads)
            return one
        given = [np.ascontiguousarray(x) for x in aligned(q, v, tau)]
        lengths = (robot.nq, robot.nv, robot.nv)
        if tuple(x.shape[1] for x in given) != lengths:
            raise ModelError(f"states have lengths {lengths}; got {[x.shape for x in given]}")
        a = np.empty((len(given[0]), robot.nv))
        run = self._library.robot_forward_dynamics_batch
        bad = _in_threads(
            lambda parts: run(len(parts[0]), *(x.ctypes.data for x in parts)), [*given, a], threads
        )
        if any(bad):
            doubtful = np.flatnonzero(~np.isfinite(a).all(axis=1))
            a[doubtful] = [self._alone(*(x[n] for x in given)) for n in doubtful]
        return a

    def _alone(self, q: Array, v: Array, tau: Array) -> Array:
        """Return the acceleration of one state by the table kernel; NaN where it finds none."""
        if not (np.isfinite(q).all() and np.isfinite(v).all() and np.isfinite(tau).all()):
            return np.full(self.robot.nv, np.nan)
        found = self.robot.kernel.forward_dynamics(q, v, tau)
        return np.full(self.robot.nv, np.nan) if found is None else np.asarray(found)

    def roll(
        self, states: SteppedStates, ok: Array, tau: Array, h: float, threads: int
    ) -> NDArray[np.intp]:
        """Make the steps of robots that are sound, and return how many of each were made."""
        count, records = states.ok.shape
        made = np.zeros(count, dtype=np.int64)
        behind = self.robot.nv if tau.shape[1] > 1 else 0

        def run(parts: Sequence[Any]) -> None:
            tau, *rest = (x.ctypes.data for x in parts)
            strides = behind, parts[0].shape[1] * parts[0].shape[2]
            self._library.robot_rollout(len(parts[0]), records - 1, h, tau, *strides, *rest)

        _in_threads(run, [tau, states.q, states.v, states.residual, ok, made], threads)
        return made


def _in_threads(run: Callable[[Any], Any], arrays: Sequence[Any], threads: int) -> list[Any]:
    """Call a function on parts of arrays, each in its own thread."""
    count = len(arrays[0])
    threads = max(1, min(threads, count))
    if threads == 1:
        return [run(arrays)]
    parts = [
        [x[count * k // threads : count * (k + 1) // threads] for x in arrays]
        for k in range(threads)
    ]
    from concurrent.futures import ThreadPoolExecutor  # slow to load, and seldom wanted

    with ThreadPoolExecutor(threads) as executor:
        return list(executor.map(run, parts))


@dataclass(frozen=True, eq=False, repr=False)
class GeneratedEnvironments(Environments):
    """Steps in generated code; the table kernel makes those in doubt."""

    robot: GeneratedTree
    code: GeneratedCode | None = None
    _begins: ClassVar[bool] = True

    @cached_property
    def _own_code(self) -> GeneratedCode | None:
        """Code of steps that contains the joints' springs and dampers; None where there is none."""
        code, laws = self.code, self._laws
        if code is None or laws is None or not code.has_steps:
            return None
        if not (laws[0].any() or laws[1].any()):
            return code
        from regularize.dynamics.tape.c_code import joints_of

        tree, robot = self.robot.multibody[0], self.robot
        try:
            joints = joints_of(laws[0].reshape(7, -1), laws[1].reshape(4, -1), tree)
            return GeneratedCode.of(robot, robot._programs(joints), code.lanes)
        except UnsupportedExport:
            return None

    def _move(
        self, inputs: Inputs, states: SteppedStates, h: float, threads: int, targets: Array
    ) -> None:
        if self._own_code is None:
            super()._move(inputs, states, h, threads, targets)
            return
        states.q[:, 0], states.v[:, 0], tau = inputs
        states.residual[:, 0], states.ok[:] = 0.0, True
        self._generated(np.arange(len(tau)), 0, states, tau, h, threads)

    def _generated(
        self,
        robots: NDArray[np.intp],
        start: int,
        states: SteppedStates,
        tau: Array,
        h: float,
        threads: int,
    ) -> None:
        """Make all steps of some robots from a step on."""
        waiting = [(start, 1, robots)]
        while waiting:
            begin, burst, robots = waiting.pop()
            # At first there are all robots, which need no copies.
            all_ = len(robots) == len(states.ok) and begin == 0
            part = states if all_ else states.part(robots, begin)
            ok = part.ok.astype(np.float64)
            assert self._own_code is not None
            made = self._own_code.roll(part, ok, _forces(tau, robots, begin), h, threads)
            if not all_:
                states.put(part, ok > 0.0, robots, begin)
            last = states.ok.shape[1] - 1
            for reached in np.unique(made[begin + made < last]).tolist():
                stuck, at = robots[made == reached], begin + reached
                burst = 1 if reached else min(2 * burst, _LONGEST)
                end = min(at + burst, last)
                slow = states.part(stuck, at, end)
                forces = _forces(tau, stuck, at)[:, : end - at]
                targets = np.empty((len(stuck), end - at, 0))
                given = slow.q[:, 0].copy(), slow.v[:, 0].copy(), np.ascontiguousarray(forces)
                super()._move(given, slow, h, threads, targets)
                slow.residual[:, 0] = states.residual[stuck, at]
                states.put(slow, slow.ok, stuck, at)
                going = slow.ok[:, -1]
                states.ok[stuck[~going], end + 1 :] = False
                for x in (states.q, states.v, states.residual):
                    x[stuck[~going], end + 1 :] = np.nan
                if end < last and going.any():
                    waiting.append((end, burst, stuck[going]))


def _forces(tau: Array, robots: NDArray[np.intp], begin: int) -> Array:
    """Return joint forces of some robots from a step on."""
    return np.ascontiguousarray(tau[robots, begin:] if tau.shape[1] > 1 else tau[robots])
