"""The panel of the bench as HTML: joints to change, what follows, what to save."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from html import escape

from regularize.mechanism.joint import WORDS
from regularize.mechanism.mechanism import Joint
from regularize.page.bench.session import TRIED, Session
from regularize.report.analysis import Analysis
from regularize.report.forms import view
from regularize.words import listed


def panel(session: Session) -> str:
    """The panel."""
    return "\n".join(_panel(session))


def _panel(session: Session) -> Iterator[str]:
    trial = session.trial
    yield f'<section id="bench" data-version="{session.version}"><h2>Bench</h2>'
    yield '<p id="bench-status" role="status" class="quiet">'
    yield "Make a joint another kind and see what follows; the file changes when you save.</p>"
    if session.error:
        yield '<p class="error">The file does not read as it is now; this is the model before: '
        yield f"{escape(session.error)}</p>"
    yield from _comparison(session)
    yield '<div class="controls">'
    changed = trial.joints is None or bool(trial.joints)
    saves = trial.change is not None and bool(trial.diff)
    for act, words, on in (
        ("isostatic", "Make it isostatic", session.written.reduction.redundant > 0),
        ("undo", "Undo", session.undoable),
        ("reset", "Take all back", changed),
        ("save", "Save", saves),
        ("save-as", "Save as …", saves),
    ):
        yield f'<button type="button" data-act="{act}"{"" if on else " disabled"}>{words}</button>'
    yield "</div>"
    if trial.refused:
        yield f'<p class="warning">The file cannot hold this: {escape(trial.refused)}</p>'
    for finding in trial.findings:
        yield f'<p class="{finding.severity}">{finding.code}: {escape(finding.message)}</p>'
    yield from _cures(session)
    yield '<details open><summary>Joints</summary><div class="scroll"><table><thead><tr>'
    yield '<th scope="col">joint</th><th scope="col">as written</th><th scope="col">tried as</th>'
    yield "</tr></thead><tbody>"
    held = session.held
    for joint in session.written.mechanism.joints:
        yield _joint(session, joint, held.get(joint.name, ()))
    yield "</tbody></table></div></details>"
    if trial.diff:
        yield '<details open><summary>What changes in the file</summary><pre id="diff"><code>'
        yield f"{escape(trial.diff)}</code></pre></details>"
    yield "</section>"


def _comparison(session: Session) -> Iterator[str]:
    """Counts as written and as tried."""
    rows = list(zip(_counts(session.written), _counts(session.trial.report), strict=True))
    yield '<div class="scroll"><table id="comparison"><thead><tr><th scope="col"></th>'
    yield '<th scope="col" class="number">as written</th><th scope="col" class="number">as tried'
    yield "</th></tr></thead><tbody>"
    for (words, before), (_, after) in rows:
        mark = ' class="number total"' if before != after else ' class="number"'
        yield f'<tr><th scope="row">{words}</th><td class="number">{escape(before)}</td>'
        yield f"<td{mark}>{escape(after)}</td></tr>"
    yield "</tbody></table></div>"


def _counts(report: Analysis) -> tuple[tuple[str, str], ...]:
    r = report.reduction
    closed = r.assembly.closed
    return (
        ("true mobility", view.mobility_words(report) if closed else "?"),
        ("redundant equations", str(r.redundant) if closed else "?"),
        ("of these proved", str(r.removed) if closed else "?"),
        ("Grübler count", view.signed(r.gruebler)),
    )


def _cures(session: Session) -> Iterator[str]:
    found = session.proposals
    if not found:
        if session.written.advice:
            yield '<p class="quiet">None of the changes that would help can be made in this file: '
            yield "see “What to change”.</p>"
        return
    redundant = session.written.reduction.redundant
    yield '<details open><summary>Proposals, each tried on this file</summary><ul class="cures">'
    for number, entry in enumerate(found):
        yield f'<li><button type="button" data-act="cure" data-number="{number}">Try</button> '
        changes = listed([f"{change.joint} {change.words}" for change in entry.changes])
        yield f"{escape(changes)}: {redundant} → {entry.left} redundant</li>"
    yield "</ul></details>"


def _called(kind: str) -> str:
    """A kind with what it is called elsewhere: ``revolute (hinge, pin)``."""
    words = [word.replace("_", " ") for word, known in WORDS.items() if known == kind]
    return f"{kind} ({', '.join(words[:2])})" if words else kind


def _joint(session: Session, joint: Joint, held: Collection[str]) -> str:
    """A joint with the kinds that the file can hold, and apart from them those it cannot."""
    now = session.trial.kinds.get(joint.name, joint.kind)

    def options(kinds: Iterable[str]) -> str:
        return "".join(
            f'<option value="{kind}"{" selected" if kind == now else ""}>{_called(kind)}</option>'
            for kind in kinds
        )

    first = dict.fromkeys((joint.kind, *held))
    others = [kind for kind in dict.fromkeys((now, *TRIED)) if kind not in first]
    chosen = options(first)
    if others:
        chosen += f'<optgroup label="not in this file">{options(others)}</optgroup>'
    name = escape(joint.name, quote=True)
    return (
        f'<tr data-joint="{name}"><th scope="row">{escape(joint.name)}</th>'
        f'<td>{escape(joint.kind)}</td><td><select data-change="{name}" '
        f'aria-label="kind of {name}">{chosen}</select></td></tr>'
    )
