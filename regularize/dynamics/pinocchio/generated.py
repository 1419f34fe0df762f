"""The dynamics of a robot as straight-line code: C, JAX, CasADi, Warp, SymPy, from one program."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from regularize.dynamics.pinocchio.constraints import ClosingTree
from regularize.dynamics.step.compiled import Tables, compiled
from regularize.dynamics.step.multibody import MultibodyTree
from regularize.dynamics.step.posing import ConfigurationSpace
from regularize.errors import ModelError, UnsupportedExport
from regularize.lie.arrays import Array
from regularize.validation import FLAG, PATH, WHOLE, validated

if TYPE_CHECKING:
    from regularize.dynamics.tape.jit import Code
    from regularize.dynamics.tape.robot_programs import RobotPrograms, Routine

#: Numbers of a program beyond which code is not made unasked: compilation takes seconds.
_LONGEST, _LONGEST_DERIVATIVES = 30_000, 15_000
#: What takes tables so little that code for it is not made unasked, and for single states neither.
LIGHT, DERIVATIVES = ("residual", "jacobian"), ("dynamics_derivatives", "decaying_derivatives")
#: What is computed by code unasked.
ACCELERATIONS = ("forward_dynamics", "decaying_dynamics")


@dataclass(frozen=True, eq=False, repr=False)
class Coder:
    """Makes code for states side by side by LLVM: ``eager`` at once, else where it pays."""

    tree: MultibodyTree
    tables: Tables
    reference: Array
    lanes: int | None = None  #: how many states side by side; None as the processor has them
    eager: bool = False
    most: int | None = None  #: numbers beyond which no program is made

    def programs(self, joints: Array) -> RobotPrograms:
        """Return the programs with damping, stiffness and rest of springs (3, nv)."""
        from regularize.dynamics.tape.robot_programs import RobotPrograms  # loaded where wanted

        # A closed configuration near the reference one, a velocity and joint forces.
        tree, rng, q = self.tree, np.random.default_rng(0), self.reference
        v, tau = rng.normal(size=tree.nv), rng.normal(size=tree.nv)
        space = ConfigurationSpace(tree.links, tree.nq, tree.nv)
        moved, kernel = space.integrate(q, 0.05 * rng.normal(size=tree.nv)), compiled(self.tables)
        projected = None if kernel is None else kernel.newton_step(moved)
        sample = (q if projected is None else projected[0]), v, tau
        return RobotPrograms(tree, sample, joints, self.most)

    @cached_property
    def without_joints(self) -> RobotPrograms:
        """The programs without dampers and springs."""
        return self.programs(np.zeros((3, self.tree.nv)))

    def __call__(self, entry: str, many: int) -> tuple[int, int, Code] | None:
        """Return address, lanes and owner of the code of a kernel's entry; None without any."""
        taken = self.eager * LIGHT + (self.eager or bool(many)) * DERIVATIVES
        if entry not in (*ACCELERATIONS, *taken):
            return None
        try:
            code = self.code(entry, bool(many))
        except UnsupportedExport:
            return None
        return code.address, code.lanes, code

    def code(self, entry: str, many: bool, joints: Array | None = None) -> Code:
        """Return code of an entry for one state or many; raise where it takes long unasked."""
        from regularize.dynamics.tape import jit  # loaded where wanted

        lanes, heavy = (self.lanes or jit.native_lanes()) if many else 1, entry in DERIVATIVES
        longest = _LONGEST_DERIVATIVES if heavy and not self.eager else _LONGEST
        limited = not self.eager or (heavy and lanes == 1)  # beyond, tables are quicker

        def recorded() -> Routine:
            programs = self.without_joints if joints is None else self.programs(joints)
            routine = programs.routine(entry)
            if limited and len(routine.program.lines) > longest:
                raise UnsupportedExport("code of this robot takes seconds to compile")
            return routine

        arrays = self.tables.integers, self.tables.reals, self.reference, joints
        made_of = [b"" if x is None else x.tobytes() for x in arrays]
        limits = longest if limited else None, self.most
        return jit.compiled([f"{entry} {limits}".encode(), *made_of], recorded, lanes)


@dataclass(frozen=True, eq=False, repr=False)
class GeneratedTree(ClosingTree):
    """A tree with its rows, whose acceleration is written as code."""

    #: How many states code computes side by side; None where it is made unasked.
    _lanes: int | None = field(default=None, repr=False, kw_only=True)

    @cached_property
    def kernel(self) -> Any:
        """The compiled step, which asks for code of this robot; None where there is none."""
        coder = self._coder
        if coder is None:
            return self._table_kernel
        kernel = compiled(self.tables, coder)
        for many in (False, True) if coder.eager else ():
            code = coder.code("forward_dynamics", many)
            kernel.use("forward_dynamics", code.address, code.lanes, code)
        return kernel

    @cached_property
    def _coder(self) -> Coder | None:
        """What makes code of this robot; None without llvmlite or the compiled kernel."""
        from regularize.dynamics.tape import jit  # loaded where wanted

        if not hasattr(self._table_kernel, "use") or self.style == "legacy":
            return None
        if self._lanes is None and not jit.available():
            return None
        if self._lanes is not None:
            return replace(self._writer, lanes=self._lanes, eager=True)
        return replace(self._writer, most=_LONGEST * 6 // 5)  # not all numbers are needed

    @cached_property
    def _writer(self) -> Coder:
        """What makes programs of this robot."""
        reference = np.asarray(getattr(self, "q0", self.tree.space.neutral))
        return Coder(self.multibody[0], self.tables, reference)

    @property
    def programs(self) -> RobotPrograms:
        """Programs of the acceleration and of steps without forces in joints."""
        if self.style == "legacy":
            raise UnsupportedExport("generated code does not know the style 'legacy'; use 'rows'")
        return self._writer.without_joints

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
        from regularize.dynamics.tape.c_code import c_source
        from regularize.dynamics.tape.robot_programs import written

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
            program = written(self.programs.acceleration)
            straight = c_source(Path(path).stem, self.nq, self.nv, program, lanes)
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
