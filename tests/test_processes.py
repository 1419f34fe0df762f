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
from concurrent.futures.process import BrokenProcessPool
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import regularize as rg
from regularize import errors
from regularize.dynamics.integrator import StepTooSmall
from regularize.model.mechanism import Mechanism
from regularize.report import batch
from regularize.worker_processes import WorkerProcesses

ASSETS = Path(__file__).resolve().parents[1] / "assets"
FOURBAR = ASSETS / "planar_fourbar.urdf"


@cache
def mechanism() -> Mechanism:
    return rg.load(FOURBAR)


def metamodel(kind: str) -> Any:
    bounds = {"A": (0.0, 0.1)}
    return rg.metamodel(mechanism(), bounds=bounds, size=0.05, held_out=10, kind=kind)  # type: ignore[call-overload]


#: Results of public functions, and what one of them comes to.
MADE: dict[str, tuple[Callable[[], Any], Callable[[Any], Any]]] = {
    "assembly": (lambda: rg.assemble(mechanism()), lambda a: a.q),
    "assembly modes": (
        lambda: rg.configurations(mechanism(), inputs=["A"], values=[0.1]),
        repr,
    ),
    "boxes": (lambda: metamodel("boxes"), lambda m: m.H([0.05])),
    "closed form": (lambda: rg.closed_form(mechanism(), inputs=["A"]), lambda c: c.inputs),
    "idealised": (lambda: rg.idealise(mechanism()), lambda i: len(i.mechanism.joints)),
    "isostatic": (lambda: rg.isostatic(mechanism()), repr),
    "mechanism": (mechanism, lambda m: rg.reduce(m).kept),
    "minimal dynamics": (lambda: rg.minimal_dynamics(mechanism()), lambda d: d.robot.q0),
    "partition": (lambda: rg.partition(mechanism()), repr),
    "path": (lambda: rg.path(mechanism()), lambda p: p.configuration(0.3)),
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


@pytest.mark.parametrize("name", MADE)
def test_results_are_pickled_and_copied(name: str) -> None:
    make, used = MADE[name]
    made = make()
    for again in (pickle.loads(pickle.dumps(made)), copy.deepcopy(made)):
        assert type(again) is type(made)
        assert repr(again) == repr(made)
        np.testing.assert_equal(used(again), used(made))


@pytest.mark.parametrize(
    "error",
    [
        errors.ReadError("m.urdf", "no joint", line=3, element="robot"),
        errors.UnknownFormat("m.x", ["sdf", "urdf"]),
        errors.MissingExtra("a plot", "matplotlib", "viz"),
        errors.MissingPinocchio("a robot"),
        errors.NotClosed("C", 0.1, 0.2),
        errors.SingularConfiguration("at a dead centre", ["B"]),
        errors.SingularInputs(["A"], [1.0], [0.5], ["B"]),
        errors.ModelError("there is no joint 'x'"),
        StepTooSmall(0.5),
    ],
    ids=lambda error: type(error).__name__,
)
def test_errors_arrive_as_they_were_raised(error: errors.RegularizeError) -> None:
    for again in (pickle.loads(pickle.dumps(error)), copy.copy(error)):
        assert type(again) is type(error)
        assert (str(again), again.__dict__) == (str(error), error.__dict__)


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


def test_models_that_another_took_along_are_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """A pool that died leaves both undone; alone, one of them is read and the other dies again."""

    def pool(work: Any, paths: Any, jobs: int, lost: Any) -> Any:
        for i, path in paths.items():
            if jobs > 1 or path == "bad":
                lost[i] = path
            else:
                yield i, work(path)

    monkeypatch.setattr(batch, "_in_pool", pool)
    found = dict(batch.in_parallel(str.upper, lambda path, why: why, ["good", "bad"], 2))
    assert found == {0: "GOOD", 1: "the parser crashed on this file"}


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


@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="shows no children of processes")
@pytest.mark.parametrize(
    ("command", "number", "status", "word"),
    [
        ("check", signal.SIGINT, 130, "interrupted"),
        ("check", signal.SIGTERM, 143, "terminated"),
        ("metamodel", signal.SIGINT, 130, "interrupted"),
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


def test_workers_leave_nothing_undone_unless_there_is_an_error() -> None:
    with WorkerProcesses(1) as pool:
        found = [pool.submit(abs, -k) for k in range(3)]
    assert [each.result() for each in found] == [0, 1, 2]
    with pytest.raises(ZeroDivisionError), WorkerProcesses(1) as pool:
        pool.submit(time.sleep, 3600.0)
        raise ZeroDivisionError


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="Windows has no such signals")
def test_workers_end_when_their_pool_asks_them_to() -> None:
    """As it does of the others where one has died; a pool of Python 3.12 waits for that."""
    with WorkerProcesses(1) as pool:
        number = pool.submit(os.getpid).result()
        os.kill(number, signal.SIGTERM)
        with pytest.raises(BrokenProcessPool):
            pool.submit(time.sleep, 60.0).result()
