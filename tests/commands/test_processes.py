"""Other processes get what this one has, say the same, and end when they are told to."""

from __future__ import annotations

import copy
import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import regularize as rg

ASSETS = Path(__file__).resolve().parents[2] / "assets"
FOURBAR = ASSETS / "planar_fourbar.urdf"


@cache
def mechanism() -> rg.Mechanism:
    return rg.load(FOURBAR)


def metamodel(kind: str) -> Any:
    bounds = {"A": (0.0, 0.1)}
    return rg.metamodel(mechanism(), bounds=bounds, size=0.05, held_out=10, kind=kind)  # type: ignore[call-overload]


#: Results of public functions, and what one of them comes to.
MADE: dict[str, tuple[Callable[[], Any], Callable[[Any], Any]]] = {
    "assembly": (lambda: rg.assemble(mechanism()), lambda a: a.q),
    "assembly modes": (lambda: rg.configurations(mechanism(), inputs=["A"], values=[0.1]), repr),
    "boxes": (lambda: metamodel("boxes"), lambda m: m.H([0.05])),
    "closed form": (lambda: rg.closed_form(mechanism(), inputs=["A"]), lambda c: c.inputs),
    "idealised": (lambda: rg.idealise(mechanism()), lambda i: len(i.mechanism.joints)),
    "isostatic": (lambda: rg.isostatic(mechanism()), repr),
    "mechanism": (mechanism, lambda m: rg.reduce(m).kept),
    "minimal dynamics": (lambda: rg.minimal_dynamics(mechanism()), lambda d: d.robot.q0),
    "partition": (lambda: rg.partition(mechanism()), repr),
    "rbf": (lambda: metamodel("rbf"), lambda m: m.H([0.05])),
    "reactions": (lambda: rg.reactions(mechanism()), lambda found: [r.joint for r in found]),
    "reduced model": (lambda: rg.reduced_model(mechanism()), lambda m: np.round(m.H([0.1]), 12)),
    "report": (lambda: rg.check(mechanism(), configurations=1), lambda r: r.as_dict()),
    "robot": (lambda: rg.build_model(FOURBAR), lambda r: r.jacobian(r.q0)),
    "simulation": (lambda: rg.simulate(mechanism(), duration=0.01), lambda s: s.q),
    "splines": (lambda: metamodel("splines"), lambda m: m.H([0.05])),
    "verdict": (lambda: rg.verify(rg.prove(mechanism())), lambda v: v.claims),
    "workspace": (lambda: rg.workspace(mechanism(), over=["A"], samples=3), repr),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", MADE)
def test_results_are_pickled_and_copied(name: str) -> None:
    make, used = MADE[name]
    made = make()
    for again in (pickle.loads(pickle.dumps(made)), copy.deepcopy(made)):
        assert type(again) is type(made)
        assert repr(again) == repr(made)
        np.testing.assert_equal(used(again), used(made))


def test_arrays_of_copies_are_read_only(assets: Path) -> None:
    made = rg.load(assets / "walker.urdf")
    for again in (pickle.loads(pickle.dumps(made)), copy.deepcopy(made), copy.copy(made)):
        values = [again, *again.joints, *(joint.limits for joint in again.joints)]
        values += [joint.dynamics for joint in again.joints]
        values += [body.inertia for body in again.bodies]
        values += [shape for body in again.bodies for shape in body.geometry]
        arrays = [
            each
            for value in values
            if value is not None
            for each in vars(value).values()
            if isinstance(each, np.ndarray)
        ]
        assert len(arrays) > 4 * len(again.joints)
        assert not any(array.flags.writeable for array in arrays)


@pytest.mark.parametrize(
    "error",
    [
        rg.ReadError("m.urdf", "no joint", line=3, element="robot"),
        rg.UnknownFormat("m.x", ["sdf", "urdf"]),
        rg.MissingExtra("a plot", "matplotlib", "viz"),
        rg.MissingPinocchio("a robot"),
        rg.NotClosed("C", 0.1, 0.2),
        rg.SingularConfiguration("at a dead centre", ["B"]),
        rg.SingularInputs(["A"], [1.0], [0.5], ["B"]),
        rg.ModelError("there is no joint 'x'"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_errors_arrive_as_they_were_raised(error: rg.RegularizeError) -> None:
    for again in (pickle.loads(pickle.dumps(error)), copy.copy(error)):
        assert type(again) is type(error)
        assert (str(again), again.__dict__) == (str(error), error.__dict__)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*multi-threaded:DeprecationWarning")
@pytest.mark.parametrize(
    "method", [m for m in ("fork", "spawn") if m in multiprocessing.get_all_start_methods()]
)
def test_workers_say_what_cannot_be_read(method: str, tmp_path: Path) -> None:
    absent, broken = str(tmp_path / "absent.urdf"), tmp_path / "broken.urdf"
    broken.write_text("<robot name='r'>\n<link/></robot>")
    context = multiprocessing.get_context(method)
    with ProcessPoolExecutor(1, mp_context=context) as executor:
        found = dict(rg.check_each([absent, str(broken), str(FOURBAR)], executor=executor))
    assert isinstance(found[absent], rg.ReadError)
    error = found[str(broken)]
    assert isinstance(error, rg.ReadError) and (error.path, error.line) == (str(broken), 2)
    report = found[str(FOURBAR)]
    assert isinstance(report, rg.Report) and report.reduction.redundant == 3


@pytest.mark.slow
def test_every_process_says_the_same() -> None:
    """Whatever the order of sets is there, and however many threads multiply matrices."""
    names = ("planar_fourbar.urdf", "bennett.urdf")
    command = [sys.executable, "-m", "regularize", "check", "--output", "json", "--jobs", "1"]
    command += [str(ASSETS / name) for name in names]
    said = set()
    for seed, threads in (("0", "1"), ("1", "2"), ("random", "2")):
        environment = {**os.environ, "PYTHONHASHSEED": seed, "OMP_NUM_THREADS": threads}
        environment["OPENBLAS_NUM_THREADS"] = threads
        run = subprocess.run(command, env=environment, capture_output=True, check=False)
        assert run.returncode == 1, run.stderr
        said.add(run.stdout)
    assert len(said) == 1


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="shows no children of processes")
@pytest.mark.parametrize(
    ("command", "number", "status", "word"),
    [
        ("check", signal.SIGINT, 130, "interrupted"),
        ("check", signal.SIGTERM, 143, "terminated"),
        pytest.param(
            *("metamodel", signal.SIGINT, 130, "interrupted"), marks=pytest.mark.guests("design")
        ),
    ],
)
def test_signals_end_all_processes_in_one_line(
    command: str, number: int, status: int, word: str, tmp_path: Path
) -> None:
    """A terminal sends them to the whole group."""
    out = tmp_path / "out.npz"
    if command == "check":
        files = [tmp_path / f"m{k}.urdf" for k in range(400)]
        for file in files:
            file.write_bytes(FOURBAR.read_bytes())
        options = [*map(str, files), "--output", "jsonl", "--configurations", "400"]
    else:
        options = [str(FOURBAR), "--bounds", "-1.5", "1.5", "--tolerance", "1e-9"]
        options += ["--smallest", "1e-6", "-o", str(out)]
    process = subprocess.Popen(
        [sys.executable, "-m", "regularize", command, *options, "--jobs", "2"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    children = f"/proc/{process.pid}/task/{process.pid}/children"
    for _ in range(600):
        if not os.path.exists(children) or len(Path(children).read_text().split()) >= 2:
            break
        time.sleep(0.05)
    os.killpg(process.pid, number)
    _, said = process.communicate()
    assert (process.returncode, said.decode().splitlines()) == (status, [f"regularize: {word}"])
    assert not out.exists()
    for _ in range(600):
        try:
            os.killpg(process.pid, 0)
        except ProcessLookupError:
            return
        time.sleep(0.05)
    pytest.fail("a process is still there")
