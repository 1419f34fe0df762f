"""What the command line writes to streams and files, whatever reads them, and its workers."""

import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path

import pytest

import regularize as rg
from regularize import output_files
from regularize.adapters.common.console import prepared
from regularize.adapters.common.worker_processes import WorkerProcesses
from regularize.cli import main
from regularize.commands.options import names
from regularize.output_files import write_all, write_file

ASSETS = Path(__file__).resolve().parents[2] / "assets"
FOURBAR = str(ASSETS / "planar_fourbar.urdf")
posix = pytest.mark.skipif(os.name != "posix", reason="has no such files or signals")


def started(*arguments: str, **options: object) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "regularize", *arguments]
    return subprocess.Popen(command, stderr=subprocess.PIPE, **options)  # type: ignore[call-overload,no-any-return]


@pytest.mark.slow
def test_terminals_of_ascii_get_plain_words() -> None:
    environment = {**os.environ, "PYTHONIOENCODING": "ascii", "COLUMNS": "100"}
    process = started("check", FOURBAR, stdout=subprocess.PIPE, env=environment)
    output, errors = process.communicate()
    assert (process.returncode, errors) == (1, b"")
    text = output.decode("ascii")
    assert "Gruebler count -2" in text
    assert "=D= ground" in text
    assert "\\u" not in text


#: Command lines on a model whose path has accents, run in one process.
ABROAD = """
import shlex, sys
from regularize.cli import main
for line in sys.argv[1].splitlines():
    words = shlex.split(line)
    if main(words) not in (0, 1):
        sys.exit(line)
"""
LINES = """
check bücher/kübel.urdf --output json -o bücher/ä.json
check bücher/kübel.urdf --output sarif -o bücher/ä.sarif
check bücher/kübel.urdf --output html -o bücher/ä.html
check bücher --proof bücher/prüf.json
verify bücher/prüf.json --model bücher/kübel.urdf
show bücher/kübel.urdf -o bücher/p.html
fix bücher/kübel.urdf -o bücher/fix/ --advice 1
reduce bücher/kübel.urdf -o bücher/red/
export bücher/kübel.urdf --to mjcf -o bücher/ü.xml
export bücher/kübel.urdf --to usd -o bücher/ü.usda
export bücher/kübel.urdf --to json -o bücher/ü.json
check bücher/ü.xml bücher/ü.usda bücher/ü.json
simulate bücher/kübel.urdf --duration 10ms -o bücher/m.csv
check bücher/kübel.urdf --output jsonl
"""


@pytest.mark.slow
@posix
def test_names_with_accents_in_a_locale_without(tmp_path: Path) -> None:
    (tmp_path / "bücher").mkdir()
    (tmp_path / "bücher/kübel.urdf").write_bytes(Path(FOURBAR).read_bytes())
    ascii_only = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONIOENCODING": "ascii"}
    environment = {**os.environ, **ascii_only, "PYTHONPATH": str(ASSETS.parent)}
    (tmp_path / "bücher/kaputt.urdf").write_text("<robot")
    broken = [sys.executable, "-m", "regularize", "check", tmp_path / "bücher/kaputt.urdf"]
    told = subprocess.run([*broken, "--output", "sarif"], env=environment, capture_output=True)
    assert (told.returncode, b"b%C3%BCcher/kaputt" in told.stdout) == (2, True), told.stderr
    (tmp_path / "bücher/kaputt.urdf").unlink()
    command = [sys.executable, "-c", ABROAD, LINES.strip()]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, check=False)
    assert done.returncode == 0 and b"internal" not in done.stderr, done.stderr
    assert b"udc" not in done.stdout + done.stderr
    texts = [path.read_bytes().decode() for path in (tmp_path / "bücher").glob("ä.*")]
    last = json.loads(done.stdout.splitlines()[-1])
    assert last["model"]["path"] == "bücher/kübel.urdf"
    assert len(texts) == 3 and all("udc" not in text and "b" in text for text in texts)
    assert json.loads(texts[0] if texts[0][0] == "{" else texts[1])


def test_names_of_options_are_read_in_any_locale_and_without_the_spaces_around() -> None:
    raw = "Dé".encode().decode("ascii", "surrogateescape")
    assert names(f"A, {raw} ,link 1,") == ["A", "Dé", "link 1"]


@pytest.mark.slow
@posix
def test_a_closed_standard_output_hears_nothing() -> None:
    for close, status in ((">&-", 1), (">&- 2>&-", 1)):
        line = f"{sys.executable} -m regularize check {FOURBAR} {close}"
        done = subprocess.run(["sh", "-c", line], capture_output=True, check=False)
        assert (done.returncode, done.stdout, done.stderr) == (status, b"", b"")


@pytest.mark.slow
@posix
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="has no device that is full")
def test_a_full_disk_is_one_line() -> None:
    with open("/dev/full", "wb") as full:
        process = started("check", FOURBAR, stdout=full)
        _, errors = process.communicate()
    assert process.returncode == 2
    assert errors.decode().splitlines() == ["regularize: No space left on device"]


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="shows no libraries in use")
@pytest.mark.parametrize(
    ("number", "status", "word"),
    [(signal.SIGINT, 130, "interrupted"), (signal.SIGTERM, 143, "terminated")],
)
def test_signals_end_in_one_line_and_leave_nothing(
    tmp_path: Path, number: int, status: int, word: str
) -> None:
    out = tmp_path / "out.csv"
    process = started(
        "simulate",
        *(FOURBAR, "--duration", "1e5", "-o", str(out)),
        stdout=subprocess.PIPE,
        # Whoever starts the tests in the background of a shell ignores interrupts for all of them.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    busy = f"/proc/{process.pid}/maps"  # the work has begun once Pinocchio is there
    for _ in range(600):
        if not os.path.exists(busy) or "pinocchio" in Path(busy).read_text():
            break
        time.sleep(0.05)
    process.send_signal(number)
    _, errors = process.communicate()
    lines = [line for line in errors.decode().splitlines() if line.startswith("regularize")]
    assert (process.returncode, lines) == (status, [f"regularize: {word}"])
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
@posix
@pytest.mark.parametrize(
    "words", ["simulate {} --duration 10ms -o {}.csv", "export {} --to c -o {}.c"]
)
def test_a_fault_at_any_write_leaves_the_old_or_the_new(tmp_path: Path, words: str) -> None:
    script = ASSETS.parent / "tests" / "campaigns" / "faults.py"
    command = [sys.executable, script, tmp_path, *words.format(FOURBAR, tmp_path / "x").split()]
    assert int(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout) >= 30


@posix
def test_devices_and_folders_are_not_written(tmp_path: Path) -> None:
    for path, what in ((Path("/dev/null"), "device"), (tmp_path, "folder")):
        with pytest.raises(rg.RegularizeError, match=what):
            write_file(path, b"x")


@posix
def test_links_stay_links(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    real, link = tmp_path / "elsewhere" / "real.txt", tmp_path / "link.txt"
    real.write_text("old")
    link.symlink_to(real)
    write_file(link, b"new")
    assert link.is_symlink()
    assert real.read_text() == "new"


@posix
def test_new_files_respect_the_mask_and_old_ones_keep_their_permissions(tmp_path: Path) -> None:
    old, new = tmp_path / "old", tmp_path / "deeper" / "new"
    old.write_text("")
    old.chmod(0o640)
    before = os.umask(0o077)
    try:
        write_all({old: b"1", new: b"2"})
    finally:
        os.umask(before)
    assert old.stat().st_mode & 0o777 == 0o640
    assert new.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("atomic", [True, False])
def test_all_files_or_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, atomic: bool) -> None:
    first, second, third = (tmp_path / name for name in ("first", "second", "third"))
    first.write_text("before")
    first.chmod(0o640)
    exchange = output_files._renamed

    def failing(source: Path, target: Path, flag: int) -> bool:
        if target == third:
            raise OSError(28, "No space left on device")
        return exchange(source, target, flag) if atomic else False

    monkeypatch.setattr(output_files, "_renamed", failing)
    with pytest.raises(rg.RegularizeError, match="third: cannot be written: No space left"):
        write_all({first: b"1", second: b"2", third: b"3"})
    assert first.read_text() == "before"
    assert first.stat().st_mode & 0o777 == 0o640
    assert [path.name for path in tmp_path.iterdir()] == ["first"]


@posix
def test_what_a_file_has_besides_its_content_stays_or_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "m"
    path.write_bytes(b"1")
    path.chmod(0o4750)
    if os.geteuid() == 0:
        os.chown(path, 1234, 2345)
        path.chmod(0o4750)
    if sys.platform == "linux":
        os.setxattr(path, "user.note", b"keep me")
    before = path.stat()
    write_file(path, b"2")
    after = path.stat()
    assert path.read_bytes() == b"2"
    kept = ("st_mode", "st_uid", "st_gid")
    assert [getattr(after, k) for k in kept] == [getattr(before, k) for k in kept]
    if sys.platform == "linux":
        assert os.getxattr(path, "user.note") == b"keep me"

    def refused(*arguments: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    if sys.platform == "linux":
        with monkeypatch.context() as patch, pytest.raises(rg.RegularizeError, match=r"user\.note"):
            patch.setattr(os, "setxattr", refused)
            write_file(path, b"3")
    if os.geteuid() == 0:
        with monkeypatch.context() as patch, pytest.raises(rg.RegularizeError, match="owner 1234"):
            patch.setattr(os, "chown", refused)
            write_file(path, b"3")
    (tmp_path / "link").hardlink_to(path)
    with pytest.raises(rg.RegularizeError, match="2 hard links"):
        write_file(path, b"3")
    (tmp_path / "link").unlink()
    path.chmod(0o444)
    with pytest.raises(rg.RegularizeError, match="is read-only; make it writable"):
        write_file(path, b"3")
    assert path.read_bytes() == b"2"
    assert [*tmp_path.iterdir()] == [path]


@posix
@pytest.mark.parametrize("atomic", [True, False])
def test_what_others_have_written_is_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, atomic: bool
) -> None:
    if not atomic:
        monkeypatch.setattr(output_files, "_renamed", lambda *arguments: False)
    path, other, new = (tmp_path / name for name in ("m", "other", "new"))
    path.write_bytes(b"theirs")
    other.write_bytes(b"other")
    with pytest.raises(rg.RegularizeError, match="m: was changed since it was read"):
        write_all({other: b"1", new: b"2", path: b"ours"}, {path: b"read"})
    there = {each.name: each.read_bytes() for each in tmp_path.iterdir()}
    assert there == {"m": b"theirs", "other": b"other"}
    if sys.platform == "linux":
        with open(path, "r+b") as file, pytest.raises(rg.RegularizeError, match="was changed"):
            write_file(path, b"ours")
        assert not file.closed or path.read_bytes() == b"theirs"


@posix
@pytest.mark.skipif(sys.platform != "linux", reason="files cannot change places at once")
def test_a_file_that_is_taken_away_or_written_in_the_last_moment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, real = tmp_path / "m", output_files._renamed

    def between(*steps: Callable[[], object]) -> None:
        """Let somebody act before each change of places."""
        left = [*steps]

        def renamed(source: Path, target: Path, flag: int) -> bool:
            if left:
                left.pop(0)()
            return real(source, target, flag)

        path.write_bytes(b"read")
        monkeypatch.setattr(output_files, "_renamed", renamed)
        with pytest.raises(rg.RegularizeError, match="was changed since it was read"):
            write_all({path: b"ours"}, {path: b"read"})

    def saved(data: bytes) -> Callable[[], object]:
        """As an editor does that writes another file and renames it."""

        def save() -> None:
            (tmp_path / "~").write_bytes(data)
            os.replace(tmp_path / "~", path)

        return save

    for steps, left in (
        ((saved(b"theirs"),), b"theirs"),
        ((lambda: path.write_bytes(b"in place"),), b"in place"),
        ((saved(b"one"), saved(b"two")), b"two"),
        ((saved(b"one"), lambda: path.write_bytes(b"in place")), b"in place"),
        ((saved(b"one"), path.unlink), b"one"),
    ):
        between(*steps)
        assert path.read_bytes() == left
    between(path.unlink)
    assert not path.exists()


def changed_twice(path: Path, data: bytes) -> int:
    """A copy of this process writes what was read as ``read`` anew; its exit status."""
    child = os.fork()
    if child == 0:
        try:
            write_all({path: data}, {path: b"read"})
        except rg.RegularizeError:
            os._exit(7)
        finally:
            os._exit(0)
    return child


@posix
@pytest.mark.slow
def test_two_writers_and_an_editor_at_once(tmp_path: Path) -> None:
    path, mine = tmp_path / "m", tmp_path / "~"
    said = []
    for k in range(40):
        path.write_bytes(b"read")
        two = [changed_twice(path, data) for data in (b"one", b"two")]
        codes = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in two]
        assert sorted(codes) in ([0, 7], [7, 7])
        if 0 in codes:
            assert path.read_bytes() == (b"one", b"two")[codes.index(0)]
        said.append(sorted(codes))
        path.write_bytes(b"read")
        child = changed_twice(path, b"ours")
        time.sleep(random.Random(k).random() * 0.004)
        if k % 2:
            mine.write_bytes(b"theirs")
            os.replace(mine, path)
        else:
            path.write_bytes(b"theirs")
        os.waitpid(child, 0)
        assert path.read_bytes() == b"theirs"
        assert [*tmp_path.iterdir()] == [path]
    assert [0, 7] in said


@posix
@pytest.mark.slow
def test_writers_that_are_killed_leave_whole_files_and_nothing_for_long(tmp_path: Path) -> None:
    path, old, new = tmp_path / "m", b"read", bytes(8_000_000)
    found = set()
    for k in range(40):
        path.write_bytes(old)
        child = changed_twice(path, new)
        time.sleep(random.Random(k).random() * 0.03)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        assert path.read_bytes() in (old, new)
        found |= {len([*tmp_path.iterdir()])}
    assert max(found) > 1
    output_files._clear.cache_clear()
    write_file(path, b"next")
    assert [*tmp_path.iterdir()] == [path]


@pytest.mark.slow
@posix
def test_a_program_keeps_its_own_answer_to_signals() -> None:
    before = signal.getsignal(signal.SIGTERM)
    statuses: list[int] = []
    thread = threading.Thread(target=lambda: statuses.append(main(["check", FOURBAR, "-q"])))
    thread.start()
    thread.join()
    assert statuses == [1]
    assert main(["check", FOURBAR, "-q"]) == 1
    assert signal.getsignal(signal.SIGTERM) is before


def test_a_missing_module_is_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "regularize.commands.checking", None)
    assert main(["check", FOURBAR]) == 2
    assert "internal error, ModuleNotFoundError" in capsys.readouterr().err


def test_only_signs_that_are_written_become_words() -> None:
    with prepared():
        assert "Ω".encode("ascii", "regularize.plain").isascii()
        with pytest.raises(UnicodeDecodeError):
            b"\xff".decode("ascii", "regularize.plain")


@pytest.mark.slow
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


@pytest.mark.slow
def test_the_time_of_a_report_counts_from_where_the_process_began(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("regularize.adapters.common.console.BEGAN", time.perf_counter() - 1e6)
    monkeypatch.setattr("sys.argv", ["regularize", "check", FOURBAR])
    main()
    assert " in 10000" in capsys.readouterr().out
    main(["check", FOURBAR])
    assert " in 10000" not in capsys.readouterr().out
