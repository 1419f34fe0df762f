"""Writing a model so that it is there whole, read back and compared, or not at all."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from regularize.adapters import adapters, read
from regularize.adapters.registry import Adapter
from regularize.adapters.urdf.loop_files import find as loop_files
from regularize.errors import ReadError, RegularizeError, UnsupportedExport
from regularize.model.diagnostic import Diagnostic
from regularize.model.mechanism import Mechanism
from regularize.output_files import write_all
from regularize.reduction.reduce import Reduction
from regularize.verification.differences import differences
from regularize.verification.engines import try_engine
from regularize.verification.left_behind import left_behind
from regularize.verification.preparing import prepared


def write_verified(
    mechanism: Mechanism,
    path: str | os.PathLike[str],
    format: str,
    *,
    reduction: Reduction | None = None,
) -> tuple[Diagnostic, ...]:
    """Write a model beside its place, read it back, compare it, and only then put it there.

    Args:
        mechanism: What to write.
        path: The file; files that belong to it get its name with other endings.
        format: Name of a format that can be written.
        reduction: That of the mechanism, if it is known.

    Returns:
        What the file does not hold, one finding for each datum, and what the format forces.

    Raises:
        UnsupportedExport: The file cannot be read back, its own program refuses it, or it is
            another machine. The file that was there before is as it was.
        RegularizeError: The file cannot be written.
    """
    adapter, target = adapters()[format], replaceable(path)
    if not target.parent.is_dir():
        raise RegularizeError(f"{path}: cannot be written: there is no such folder; make it first")
    temporary = target.with_name(f".{target.stem}.{secrets.token_hex(4)}{target.suffix}")
    try:
        model, findings = prepared(mechanism, adapter, target.parent)
        findings += _write(adapter, model, temporary)
        # Meshes are named from the place of the file from now on.
        placed = replace(model, path=os.fspath(temporary))
        findings += _verified(placed, temporary, adapter, reduction)
        findings += left_behind(mechanism, adapter.label, temporary)
        written = [*_written(temporary, target)]
        _refuse_others(target, adapter, [new for _, new in written])
        write_all({new: old.read_bytes() for old, new in written})
    except OSError as error:
        raise RegularizeError(
            f"{target}: cannot be written: {error.strerror}; check the folder"
        ) from error
    except (ReadError, UnsupportedExport) as error:
        reason = str(error)
        for name in (str(temporary), temporary.name):
            reason = reason.replace(name, target.name)
        raise UnsupportedExport(f"{target}: not written: {reason}") from error
    finally:
        for left, _ in _written(temporary, target):
            left.unlink(missing_ok=True)
    return tuple(findings)


def _write(adapter: Adapter, model: Mechanism, path: Path) -> Iterable[Diagnostic]:
    """Let the adapter write; raises ``UnsupportedExport`` for names that no XML can hold."""
    writer = adapter.load_writer()
    try:
        found: Iterable[Diagnostic] = writer(model, path)
    except ValueError as error:  # of lxml
        raise UnsupportedExport(f"the model has text that cannot be written: {error}") from error
    return found


def replaceable(path: str | os.PathLike[str]) -> Path:
    """The file that is to be replaced: a link is followed, a device is refused."""
    target = Path(os.path.realpath(path))
    if target.exists() and not target.is_file():
        raise RegularizeError(f"{path}: is no file that could be replaced; name another one")
    return target


def _written(temporary: Path, target: Path) -> Iterator[tuple[Path, Path]]:
    """The files of a model and the places that they are for, the model itself last."""
    beside = [p for p in temporary.parent.iterdir() if p.name.startswith(f"{temporary.stem}.")]
    for file in sorted(beside, key=lambda p: p == temporary):
        yield file, target.with_suffix(file.suffix)


def _verified(
    mechanism: Mechanism, path: Path, adapter: Adapter, reduction: Reduction | None
) -> list[Diagnostic]:
    """What a file has lost; raises ``UnsupportedExport`` if it is another machine."""
    after = read(path, format=adapter.name if adapter.reader else None)
    found = differences(mechanism, after, target=adapter.label, reduction=reduction)
    for finding in found:
        if finding.severity == "error":
            raise UnsupportedExport(finding.message)
    try:
        try_engine(path, adapter.name)
    except UnsupportedExport as error:
        if adapter.reader:
            raise
        # An extension of another format, whose own program need not know it.
        found.append(Diagnostic("REG302", "warning", f"{adapter.label}: {error}"))
    return found


def _refuse_others(target: Path, adapter: Adapter, written: list[Path]) -> None:
    """Refuse to write beside a file of loops that would be read along with a new URDF file."""
    if not adapter.name.startswith("urdf"):
        return
    for file in loop_files(str(target), None):
        if Path(file.path).resolve() not in written:
            raise UnsupportedExport(
                f"{file.path} lists closing joints, and would be read along with it; write into "
                "another folder, or move that file"
            )
