"""What the command line writes to streams and files, whatever reads them."""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from regularize.cli import main
from regularize.errors import RegularizeError
from regularize.model.trial import survives
from regularize.output_files import write_all, write_bytes
from regularize.streams import prepared

ASSETS = Path(__file__).resolve().parents[1] / "assets"
FOURBAR = str(ASSETS / "planar_fourbar.urdf")
posix = pytest.mark.skipif(os.name != "posix", reason="has no such files or signals")


def started(*arguments: str, **options: object) -> subprocess.Popen[bytes]:
    """The command line as a process of its own."""
    command = [sys.executable, "-m", "regularize", *arguments]
    return subprocess.Popen(command, stderr=subprocess.PIPE, **options)  # type: ignore[call-overload,no-any-return]


def test_terminals_of_ascii_get_plain_words() -> None:
    environment = {**os.environ, "PYTHONIOENCODING": "ascii", "COLUMNS": "100"}
    process = started("check", FOURBAR, stdout=subprocess.PIPE, env=environment)
    output, errors = process.communicate()
    assert (process.returncode, errors) == (1, b"")
    text = output.decode("ascii")
    assert "Gruebler count -2" in text
    assert "=D= ground" in text
    assert "\\u" not in text


@posix
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="has no device that is full")
def test_a_full_disk_is_one_line() -> None:
    with open("/dev/full", "wb") as full:
        process = started("check", FOURBAR, stdout=full)
        _, errors = process.communicate()
    assert process.returncode == 2
    assert errors.decode().splitlines() == ["regularize: No space left on device"]


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


@posix
def test_devices_and_folders_are_not_written(tmp_path: Path) -> None:
    for path, what in ((Path("/dev/null"), "device"), (tmp_path, "folder")):
        with pytest.raises(RegularizeError, match=what):
            write_bytes(path, b"x")


@posix
def test_links_stay_links(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    real, link = tmp_path / "elsewhere" / "real.txt", tmp_path / "link.txt"
    real.write_text("old")
    link.symlink_to(real)
    write_bytes(link, b"new")
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


def test_all_files_or_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second, third = (tmp_path / name for name in ("first", "second", "third"))
    first.write_text("before")
    replace = os.replace

    def failing(source: str, target: Path) -> None:
        if Path(target).name == "third":
            raise OSError(28, "No space left on device")
        replace(source, target)

    monkeypatch.setattr(os, "replace", failing)
    with pytest.raises(RegularizeError, match="No space left"):
        write_all({first: b"1", second: b"2", third: b"3"})
    assert first.read_text() == "before"
    assert [path.name for path in tmp_path.iterdir()] == ["first"]


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
    """What cannot be read stays an error; streams that cannot be told are left as they are."""
    with prepared():
        assert "Ω".encode("ascii", "regularize.plain").isascii()
        with pytest.raises(UnicodeDecodeError):
            b"\xff".decode("ascii", "regularize.plain")


def test_streams_of_other_programs_are_written_to(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stdout", stream)
    assert main(["check", FOURBAR, "-q"]) == 1
    assert "redundant" in stream.getvalue()


def test_nothing_is_tried_where_processes_are_not_copied(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    monkeypatch.setattr(os, "fork", None)
    assert survives(lambda: None)
