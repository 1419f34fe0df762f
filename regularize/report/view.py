"""What the reports for people say about a whole model, as plain values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from regularize.escape import displayed
from regularize.mechanism.diagnostic import Diagnostic
from regularize.mechanism.graph import actuated_coordinates, coordinate_names
from regularize.reduction.block import Block
from regularize.reduction.reduce import Reduction
from regularize.repair.fix.advice import held_kinds, reading_words, untried_files
from regularize.repair.fix.proposals import designed
from regularize.repair.statics.releases import release_command
from regularize.report.analysis import Analysis, model_entry
from regularize.report.loop_view import group_name, groups
from regularize.report.mobility_findings import branches_meant, more_on_branches
from regularize.report.repeated import repeated_words
from regularize.tolerances import VANISHING
from regularize.words import (
    LISTED,
    counted,
    degrees,
    directions_words,
    listed,
    millimetres,
    noise_words,
    pasted,
    plural,
    three_digits,
)

#: What to do about files that are not edited, where none of the changes can be made in them.
INSTEAD = {
    "xacro": "macros are not edited: expand them by `xacro {model} > expanded.urdf`, and fix that",
    "onshape": "exports are not edited: change the mates in Onshape and export the model again",
    "mbdyn": "its input is not edited: change the joints in {model} by hand",
    "simscape": "exports are not edited: change the joints in the CAD system and export them again",
}


def headline(report: Analysis) -> tuple[str, str]:
    """Return the name of the model, and its format and counts."""
    model = model_entry(report.reduction)
    nouns = (("bodies", "body"), ("joints", "joint"), ("loops", "loop"))
    counts = [counted(model[key], noun) for key, noun in nouns]
    parts = len(report.mechanism.bodies) - 1  # all but the assembly itself
    if designed(report.mechanism) and parts > model["bodies"]:
        counts[0] += f" of {parts} parts"
    if len(report.components) > 1:
        counts.append(counted(len(report.components), "component"))
    if model["couplings"]:
        counts.append(counted(model["couplings"], "coupling"))
    name = displayed(report.mechanism.path or report.mechanism.name)
    return name, " · ".join([model["format"], *counts])


def verdict(report: Analysis) -> tuple[str, str]:
    """Return the overall result (``good``, ``warning`` or ``error``) and sentences about it."""
    unread = [finding for finding in report.mechanism.findings if finding.unread]
    level, sentence = _verdict_on_read(report)
    if not unread:
        return level, sentence
    what = unread[0].message.partition(": the mechanism")[0]
    more = f" (and {len(unread) - 1} more of this kind)" if len(unread) > 1 else ""
    first = f"Not read whole: {what}{more}. Every count is of what was read."
    return max(level, "warning", key=("good", "warning", "error").index), f"{first} {sentence}"


def _verdict_on_read(report: Analysis) -> tuple[str, str]:
    """Return level and sentence about those joints and loops that were read."""
    r, taken = report.reduction, report.mechanism.reading
    if taken is not None and report.undecided:
        return "warning", f"Undecided: {taken.words}. Write {taken.wanted} of them."
    if not r.assembly.closed:
        count = len({d.loop or d.joints for d in report.diagnostics if d.severity == "error"})
        which = "A loop" if count == 1 else "The loops"
        return "error", f"{which} cannot be closed: the model contradicts itself."
    twice = repeated_words(report.repeated) if report.repeated else ""
    if not report.loops and twice:
        return "warning", f"No loops between bodies; {twice}."
    if not report.loops:
        sure = ", so nothing can be redundant" if report.mechanism.complete else ""
        return "good", f"No kinematic loops{sure}."
    locked = "Locked: the loops allow no motion. " if r.finite_mobility == 0 else ""
    if r.redundant == 0:
        return "warning" if locked else "good", f"{locked}No redundant constraints."
    # What would be missed is not redundant.
    redundant, needed = r.redundant - report.needed, report.needed
    sentence = f"{counted(redundant, 'redundant constraint equation')}, consistent: "
    if twice and sum(entry.count for entry in report.repeated) == r.redundant:
        sentence, twice = f"{twice}, consistent: ", ""
    where = "in every configuration" + _limit_words(report, "up to")
    held = (
        f"{counted(needed, 'equation')} dependent at first order, and needed, for at second order"
    )
    held += " the mechanism is held by them."
    if redundant == 0:
        sentence = f"No redundant constraints: {held}"
    elif r.removed >= redundant and not report.seen:
        which = {1: "it", 2: "both"}.get(redundant, "all")
        sentence += f"{which} can be dropped {where}."
    elif r.removed:
        parts = [f"{r.removed - report.seen} can be dropped {where}"]
        seen = f"{report.seen} on numerical evidence, for this assembly mode only"
        parts += [seen] * bool(report.seen)
        parts += [f"{redundant - r.removed} cannot"] * (r.removed < redundant)
        sentence += f"{', '.join(parts)}."
    else:
        sentence += "kept, because the joint axes alone do not prove that they can be dropped."
    sentence += f" Besides {held}" if redundant and needed else ""
    sentence = f"{locked if r.freedoms else ''}{sentence}"
    also = f" {twice[0].upper()}{twice[1:]}." if twice else ""
    return "warning", f"{sentence}{also}{more_on_branches(r)}"


def reading(report: Analysis) -> list[str]:
    """Return the line on what the file's numbers were taken for, where that matters."""
    taken = report.mechanism.reading
    if taken is None or taken.as_ == "undecided" or not taken.words:
        return []
    return [f"{taken.words[0].upper()}{taken.words[1:]}."]


def plain(report: Analysis, verbosity: int = 0) -> bool:
    """Return whether a report is for designers of parts, who count degrees of freedom."""
    return verbosity <= 0 and designed(report.mechanism)


#: Words of theory, and what they mean, for designers of parts.
MEANING = {
    "is Schoenflies": "slides in all directions and turns about one axis",
    "generates Schoenflies motion": "slides in all directions and turns about one axis",
    "Schoenflies": "sliding in all directions, turning about one axis",
    "paradoxical": "due to its dimensions",
}


def message(report: Analysis, diagnostic: Diagnostic, verbosity: int) -> str:
    """Return the sentence of a finding, for designers without words of theory."""
    text = diagnostic.message
    for word, meaning in MEANING.items() if plain(report, verbosity) else ():
        text = text.replace(word, meaning)
    return text


def counts(report: Analysis, verbosity: int = 0) -> str:
    """Return one sentence on the true mobility and the Grübler count."""
    r = report.reduction
    if plain(report, verbosity) and r.finite_mobility is not None and r.assembly.closed:
        freedoms = counted(r.finite_mobility, "degree") + " of freedom"
        loose = f", of which {len(report.passive)} of no use" if report.passive else ""
        read = "" if report.mechanism.complete else " in what was read"
        return f"{freedoms[0].upper()}{freedoms[1:]}{read}{loose}."
    if not r.assembly.closed:
        return "" if plain(report, verbosity) else f"Grübler count {signed(r.gruebler)}."
    finite = r.mobility if r.finite_mobility is None else r.finite_mobility
    true = "True mobility" if report.mechanism.complete else "Mobility of what was read:"
    text = f"{true} {mobility_words(report)}"
    if r.finite_mobility is None:
        text += f", {r.mobility} to first order"
    text += ", by the branch that is taken (kinematotropic)" * r.kinematotropic
    text += f" ({len(report.passive)} of it passive)" * bool(report.passive)
    text += f", Grübler count {signed(r.gruebler)}."
    if finite < r.mobility:
        more = counted(r.mobility - finite, "more freedom")
        text += f" Shaky: {more} of velocity, which no motion follows."
    return text


def mobility_words(report: Analysis) -> str:
    """Return ``2``, ``2 or 1`` where branches of other mobility meet, or ``not known``."""
    r = report.reduction
    if r.kinematotropic:
        met = sorted({m for m, _ in r.components if m is not None}, reverse=True)
        return " or ".join(map(str, met))
    return "not known" if r.finite_mobility is None else str(r.finite_mobility)


def signed(number: int) -> str:
    """Return a number with a minus that is as wide as a plus."""
    return str(number).replace("-", "−")


def moves(report: Analysis) -> list[tuple[list[str], str]]:
    """Return bodies by the words for their motion; those at rest last."""
    alone = sum(body.joint is not None for body in report.moving)
    graph, cad = report.reduction.graph, designed(report.mechanism)
    by_words: dict[str, list[str]] = {}
    for body in report.moving:
        words = body.words if alone <= LISTED else replace(body, joint=None, point=False).words
        parts = graph.members[graph.node_of[body.body]] if cad else [body.body]
        by_words.setdefault(words, []).extend(parts)
    entries = sorted(by_words.items(), key=lambda entry: entry[0] == "stays at rest")
    return [(bodies, words if len(bodies) == 1 else plural(words)) for words, bodies in entries]


def why(report: Analysis) -> list[tuple[str, str]]:
    """Return (subject, reason) pairs: why it is locked, goes no further, or moves."""
    locked = "it is locked" if report.reduction.finite_mobility == 0 else "it goes no further"
    subjects = {"locked": locked, "moves": "it moves"}
    return [(subjects[reason.subject], reason.text) for reason in report.reasons]


def untrusted(report: Analysis) -> list[tuple[list[str], str]]:
    """Return joints with the components of their reactions that nothing determines."""
    by_words: dict[str, list[str]] = {}
    for reaction in report.reactions:
        if not reaction.unique:
            words = directions_words(reaction.indeterminate, "force", "moment")
            by_words.setdefault(words, []).append(reaction.joint)
    return [(joints, words) for words, joints in by_words.items()]


def remedies(report: Analysis) -> list[Way]:
    """Return ways to drop redundant equations: words, and the command if it was tried."""
    r, found = report.reduction, list[Way]()
    if report.trials is None:
        in_file = report.mechanism.path and not r.numerical
        by = "regularize reduce" if in_file else "regularize.to_pinocchio"
        words = f"drop {_redundant(r.removed)} in the simulation model, by `{by}`"
        return [Way(words)] * bool(r.removed)
    _, proved, numerical, without = report.trials
    if without.command:
        words = f"leave {counted(without.dropped, 'joint')} out that others make superfluous"
        found.append(Way(words, without.command))
    if r.removed:
        words = f"drop {_redundant(proved.dropped or r.removed)} in the simulation model"
        if proved.lost:
            words += f", with {counted(proved.lost, 'warning')} about the new file"
        elif proved.reason:
            words += f": no file can hold it ({proved.reason.partition('; ')[0]})"
        elif not proved.command and report.mechanism.path and not r.numerical:
            words += ", by `regularize reduce` (which was not tried for this model)"
        elif not proved.command:
            words += ", by `regularize.to_pinocchio`"
        found.append(Way(words, proved.command))
    if numerical.command:
        words = "on numerical evidence, for this assembly mode only"
        if sum(part.rows for part in report.special) == r.remaining:
            words = "that the motion of these dimensions makes redundant"
        drop = f"drop {counted(numerical.dropped, 'more equation' if r.removed else 'equation')}"
        found.append(Way(f"{drop} {words}", numerical.command))
    return found


def _redundant(number: int) -> str:
    """Return the noun phrase for so many redundant equations."""
    return "the redundant equation" if number == 1 else f"the {number} redundant equations"


class Way(NamedTuple):
    """Something to do about a model: words, the command if there is one, its number as advice."""

    words: str
    command: str = ""
    number: int = 0


def ways(report: Analysis) -> list[Way]:
    """Return all that can be done: joint changes, the best first, then equations to drop."""
    if report.undecided:
        return []
    return [*advice(report), *remedies(report)]


def next_steps(report: Analysis) -> list[Way]:
    """Return what a model without redundancy is mostly wanted for: its motors, couplings, loops."""
    r, mechanism = report.reduction, report.mechanism
    if not r.assembly.closed or r.redundant:
        return []
    columns = {c for cell in r.graph.cells for c in r.graph.columns(cell)}
    driven, names = {*actuated_coordinates(mechanism)}, coordinate_names(mechanism)
    motors = [name for c, name in enumerate(names) if c in columns and name in driven]
    words = "where links close loops that the file does not state, name them: --close, --loops"
    steps = [] if report.loops else [Way(words)]
    if motors:
        verb, noun = ("drives", "motor") if len(motors) == 1 else ("drive", "motors")
        words = f"{noun} {listed(motors)} {verb} joints through loops: map (joints by motors and "
        words += "back), twin (the model without loops) or states (closed poses for resets)"
        model = reading_words(mechanism)
        command = pasted(["regularize", "motors", "map", *model]) if model else ""
        steps.append(Way(words, command))
    elif mechanism.couplings:
        steps.append(Way("couplings: rg.to_pinocchio and regularize simulate keep them as rows"))
    elif report.loops:
        steps.append(Way("name motors that act through loops: regularize motors map --help"))
    return steps


def advice(report: Analysis) -> list[Way]:
    """Return joint changes, the best first: in words, and the command if there is one."""
    found = []
    r, mechanism = report.reduction, report.mechanism
    where = f" {branches_meant(r)}".rstrip()
    free = {cure.changes: cure for cure in report.cures if cure.freed}
    for entry in report.advice:
        if entry.changes in free:
            own = mechanism.format == "pinocchio"
            command = release_command(r, free[entry.changes]) if own else entry.command
            words = f"make {entry.words}, which gives mobility {entry.mobility}"
            left = counted(entry.left, "redundant equation")
            words += f", and leaves {left}" * bool(entry.left)
            found.append(Way(words, command, entry.number))
            continue
        words = f"{entry.arrangement}: " if entry.arrangement else ""
        words += f"make {entry.words}: {r.redundant} → {entry.left} redundant{where}, same motion"
        if entry.load is not None and entry.load[0] > 0.0:
            before, after = map(three_digits, entry.load)
            words += f", {before} → {after} N by lack of fit"
        idle = next((cure.idle for cure in report.cures if cure.changes == entry.changes), ())
        words += f" ({listed(idle)} can then spin idly)" if idle else ""
        found.append(Way(words, entry.command, entry.number))
    held = {c.after for each in report.advice if each.in_file for c in each.changes}
    if found and not held and not free:
        model = pasted([mechanism.path or "MODEL"])
        instead = INSTEAD.get(mechanism.format, "").format(model=model)
        if any(held_kinds(mechanism).values()):
            instead = "none of these can be written into this file without loss"
            if untried_files(r):
                instead = "whether the file can hold these was not tried for so many equations"
        found += [Way(instead)] * bool(instead)
    return found


def equations(of: Block | Reduction) -> tuple[int, int, int]:
    """Return the numbers of equations at closing joints: all, kept, redundant."""
    return of.constraints, of.kept, of.constraints - of.kept


def kinds(report: Analysis) -> str:
    """Return the redundant equations by class in words; empty where loops stay open."""
    if not report.reduction.assembly.closed:
        return ""
    parts = report.reduction.parts
    tried = any(part.lengths_tried for part in parts)
    families, rows = listed([p.family for p in report.special]), sum(p.rows for p in report.special)
    proved = f"; {rows} proved by family: {families}" if report.special else ""
    words = {
        "trivial": "trivial (the loop's own motion group)",
        "exceptional": "exceptional (chains or loops together)",
        "repeated": "repeated (said twice between the same bodies)",
        "topological": "topological (any lengths, unrelated axes)",
        "related": f"by relations of the axes (all lengths tried{proved})",
        "paradoxical": f"paradoxical ({'these lengths only' if tried else 'special dimensions'}"
        + ("" if report.related else proved)
        + ")",
    }
    counts = report.redundancy | {"related": report.related}
    counts["paradoxical"] -= report.needed + report.related
    return ", ".join(f"{counts[kind]} {text}" for kind, text in words.items() if counts.get(kind))


def evidence(report: Analysis) -> str:
    """Return the numerical checks in words; empty if there were none."""
    certificate = report.reduction.certificate
    if not certificate.configurations or not report.reduction.removed:
        return ""
    worst = "0" if certificate.worst < VANISHING else f"{certificate.worst:.1e} of its size"
    noise = noise_words(report.reduction.tolerances)
    if certificate.distinct <= 1:
        alone = "no configuration but the assembled one was found; every loop is closed there"
        return f"{alone} (largest error {worst}){noise}"
    walked = min(certificate.distinct, certificate.configurations - certificate.solved)
    more = f", and at {certificate.solved} more, solved in closed form, they let none open"
    return (
        f"on the kept equations alone every loop stayed closed at {walked} configurations"
        f"{more * bool(certificate.solved)} (largest error {worst}){_weakest_words(report)}{noise}"
    )


def _weakest_words(report: Analysis) -> str:
    """Say how near the kept equations come to being dependent; empty if that was not searched."""
    place = report.reduction.certificate.nearest
    if place is None or place.missing:
        return ""
    short = _limit_words(report, "short of")
    ratio = f"{place.ratio:.1g}"
    firm = "as" if ratio == "1" else f"{ratio} times as"
    return f"; at the worst pose found they hold the loops {firm} firmly as all equations{short}"


def _limit_words(report: Analysis, word: str) -> str:
    """Name the configurations at which the proofs do not hold; empty if they hold at all."""
    parts = report.reduction.parts
    ends = ["flat parallelograms"] * any(part.parallelograms for part in parts)
    ends += ["singular poses"] * any(part.held for part in parts)
    return f", {word} {' and '.join(ends)} (REG227)" if ends else ""


def found(report: Analysis) -> str:
    """Return the number of findings in words, such as ``1 warning and 3 notes``."""
    entries = [counted(count, severity) for severity, count in report.summary.items() if count]
    return listed(entries) or "nothing to report"


def accepted(report: Analysis) -> str:
    """Return accepted codes with reasons: ``REG201 (comment: meant so) and REG220 (…)``."""
    entries = [(each.finding.code, each.suppression) for each in report.suppressed]
    return listed([*dict.fromkeys(f"{code} ({by.by}: {by.reason})" for code, by in entries)])


def merged(report: Analysis) -> list[tuple[Diagnostic, tuple[Diagnostic, ...]]]:
    """Group findings, errors apart: those of one kind, or about loops that are alike."""
    alike = {loop.name: group_name(group) for group in groups(report.loops) for loop in group}
    found: dict[object, list[Diagnostic]] = {}
    for i, diagnostic in enumerate(report.diagnostics):
        kind: object = i if diagnostic.severity == "error" else diagnostic.severity
        if diagnostic.code == "REG201" and diagnostic.loop is not None:
            kind = alike[diagnostic.loop]
        found.setdefault((diagnostic.code, kind), []).append(diagnostic)
    return [(entries[0], tuple(entries[1:])) for entries in found.values()]


def likewise(report: Analysis, others: Sequence[Diagnostic]) -> str:
    """Return ``likewise 2 more loops, closed at C and D``; else the joints of the findings."""
    closing = {loop.name: loop.closing for loop in report.loops}
    if all(other.code == "REG201" and other.loop in closing for other in others):
        where = listed([closing[str(other.loop)] for other in others], most=8)
        return f"likewise {counted(len(others), 'more loop')}, closed at {where}"
    where = listed([*dict.fromkeys(name for other in others for name in other.joints)], most=8)
    return f"and {len(others)} more of this kind" + (f": {displayed(where)}" if where else "")


def lack_of_fit(report: Analysis) -> tuple[str, list[tuple[str, str]]]:
    """Return a title, the misfit of each redundant direction, and the joints it loads."""
    title, found = "Lack of fit in redundant directions", report.misfit
    if found is None:
        return title, []
    total = sum(entry.energy or 0.0 for entry in found.entries) or 1.0
    pairs = []
    for entry in found.entries:
        size = degrees if entry.angular else millimetres
        words = f"{size(entry.std)} (1σ), at most {size(entry.worst)}"
        if entry.force_std is not None and entry.force_worst is not None:
            unit = "N m" if entry.angular else "N"
            words += f"; {three_digits(entry.force_std)} {unit}"
            words += f", at most {three_digits(entry.force_worst)} {unit}"
            words += f"; {max(entry.energy or 0.0, 0.0) / total:.0%} of the energy"
        pairs.append((f"{entry.label} at {entry.joint} ({entry.loop})", words))
    for load in found.loads[:3]:
        usual = f"{three_digits(load.force_std)} N and {three_digits(load.moment_std)} N m (1σ)"
        most = f"{three_digits(load.force_worst)} N and {three_digits(load.moment_worst)} N m"
        pairs.append((f"joint {load.joint} then bears", f"{usual}, at most {most}"))
    return f"{title}{', and what closing it takes' if found.loads else ''}", pairs
