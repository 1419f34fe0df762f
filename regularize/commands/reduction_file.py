"""What ``regularize reduce`` writes: the isostatic model in its own format, and the reduction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from regularize.adapters.common.output_files import write_text
from regularize.errors import RegularizeError
from regularize.escape import json_text
from regularize.files import written_format
from regularize.lie.arrays import Array
from regularize.mechanism.diagnostic import Diagnostic
from regularize.mechanism.mechanism import Mechanism
from regularize.proofs.special import SpecialLengths, special_lengths
from regularize.reduction.cuts import Cut
from regularize.reduction.rank_loss import nearest_entry
from regularize.reduction.reduce import Reduction
from regularize.repair.fix.advice import file_name, write_isostatic, written_as
from regularize.repair.statics.isostatic import Isostatic
from regularize.report.held_bodies import held_entries
from regularize.version import SCHEMAS, __version__


@dataclass(frozen=True)
class Written:
    """Files that were written, the format of the model, and findings."""

    model: Path
    reduction: Path
    format: str
    findings: tuple[Diagnostic, ...]


def write_reduction(report: Isostatic, folder: str | Path, *, format: str | None = None) -> Written:
    """Write the isostatic model and ``reduction.json`` into a folder."""
    path, target = written_files(report.mechanism, folder, format)
    path.parent.mkdir(parents=True, exist_ok=True)
    chosen = format or written_as(report.mechanism)
    findings = write_isostatic(report, path, chosen)
    entry = as_dict(report)
    entry["model"]["reduced"] = path.name
    write_text(target, json_text(entry, indent=1) + "\n")
    return Written(path, target, chosen, findings)


def written_files(
    mechanism: Mechanism, folder: str | Path, format: str | None = None
) -> tuple[Path, Path]:
    """Return the paths of the model and of its reduction in a folder."""
    if Path(folder).is_file():
        raise RegularizeError(f"{folder}: is a file; name a folder")
    chosen = written_format(folder, format or written_as(mechanism))
    return Path(folder) / file_name(mechanism, chosen), Path(folder) / "reduction.json"


def as_dict(report: Isostatic) -> dict[str, Any]:
    """Return the reduction as plain values for JSON."""
    reduction = report.reduction
    mechanism = reduction.mechanism
    special = special_lengths(reduction) if reduction.numerical else ()
    return {
        "schema_version": SCHEMAS["reduction"],
        "tool": {"name": "regularize", "version": __version__},
        "model": {"name": mechanism.name, "path": mechanism.path, "format": mechanism.format},
        "mobility": {
            "actual": reduction.mobility,
            "finite": reduction.finite_mobility,
            "redundant": reduction.redundant,
        },
        "constraints": reduction.constraints,
        "kept": reduction.kept,
        "guarantee": {
            "proved": report.proved,
            "remaining_redundant": reduction.remaining,
            "certified_configurations": reduction.certificate.configurations,
            "distinct_configurations": reduction.certificate.distinct,
            "solved_configurations": reduction.certificate.solved,
            "worst_closure_error": reduction.certificate.worst,
            "nearest": nearest_entry(reduction),
            "rtol": reduction.rtol,
            "special_lengths": [each.as_dict() for each in special],
            "statement": _statement(report, special),
        },
        "cuts": [_cut(reduction, cut) for cut in reduction.cuts],
        **held_entries(reduction),
        "changes": [
            {
                "joint": change.joint,
                "kind": change.kind,
                "before": change.before,
                "after": change.after,
                "added": list(change.added),
                "message": str(change),
            }
            for change in report.changes
        ],
        "result": {
            "mobility": report.result.mobility,
            "finite": report.result.finite_mobility,
            "redundant": report.result.redundant,
            "equivalent": report.equivalent,
        },
        "diagnostics": [finding.as_dict() for finding in report.findings],
    }


def _statement(report: Isostatic, special: Sequence[SpecialLengths]) -> str:
    """Say in which configurations the reduction is guaranteed."""
    where = "on the connected set of configurations that contains the assembled one"
    parts = report.reduction.parts
    if any(part.held or part.parallelograms for part in parts):
        where += ", as long as the loops keep the rank of their equations, no parallelogram flat"
    if report.proved:
        return f"the rows left out follow from the directions of the joint axes, {where}"
    rows = sum(cut.numerical.shape[1] for cut in report.reduction.cuts)
    if rows and rows == sum(each.rows for each in special):
        return (
            "the rows left out follow from the directions of the joint axes and from the motion of "
            f"these dimensions ({', '.join(each.family for each in special)}), {where}, up to "
            "where the rows that are kept lose their rank"
        )
    return (
        "some rows left out follow from the dimensions; they were found dependent at the "
        f"configurations visited, {where} on this assembly mode"
    )


def _cut(reduction: Reduction, cut: Cut) -> dict[str, Any]:
    """Return a cut with its frame on a body and its rows in physical units."""
    graph = reduction.graph
    edge = cut.edge
    body = graph.nodes[cut.node]

    def rows(covectors: Array) -> list[list[float]]:
        physical = covectors.copy()
        physical[:3] /= cut.length
        return [[float(x) for x in row] for row in physical.T]

    return {
        "joint": edge.joint.name,
        "part": edge.name,
        "parent": graph.nodes[edge.parent],
        "child": graph.nodes[edge.child],
        "frame": {"body": body, "pose": [[float(x) for x in row] for row in cut.T_node_frame]},
        "length": float(cut.length),
        "freedoms": rows(cut.freedoms),
        "kept": rows(cut.rows),
        "removed": rows(cut.removed),
        "thinned": rows(cut.thinned),
        "numerical": rows(cut.numerical),
    }
