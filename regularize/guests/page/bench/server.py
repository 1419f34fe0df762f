"""The bench as a page on this machine alone: http://127.0.0.1:PORT/TOKEN/.

The panel of the bench as HTML: joints to change, what follows, what to save.
"""

from __future__ import annotations

import asyncio
import hmac
import json
import secrets
from collections.abc import AsyncIterator, Callable, Collection, Iterable, Iterator
from html import escape
from threading import Event

from aiohttp import web

from regularize.adapters.common.input_files import changes
from regularize.checking import Report
from regularize.errors import RegularizeError
from regularize.escape import displayed
from regularize.guests.page import html
from regularize.guests.page.bench import TRIED, Session
from regularize.guests.page.report_rows import table
from regularize.mechanism.joint import Joint
from regularize.mechanism.joint_kinds import WORDS
from regularize.repair.fix.advice import held_kinds
from regularize.report import view


def panel(session: Session) -> str:
    """Return the panel of the bench as HTML."""
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
    held = held_kinds(session.written.mechanism)
    rows = [
        _joint(session, joint, held.get(joint.name, ()))
        for joint in session.written.mechanism.joints
    ]
    yield "<details open><summary>Joints</summary>"
    yield from table(("joint", "as written", "tried as"), rows)
    yield "</details>"
    if trial.diff:
        yield '<details open><summary>What changes in the file</summary><pre id="diff"><code>'
        yield f"{escape(trial.diff)}</code></pre></details>"
    yield "</section>"


def _comparison(session: Session) -> Iterator[str]:
    """Yield a table of the counts as written and as tried."""
    rows = [
        (words, ("number", before), (f"number{' total' * (before != after)}", after))
        for (words, before), (_, after) in zip(
            _counts(session.written), _counts(session.trial.report), strict=True
        )
    ]
    yield from table(
        ("", ("number", "as written"), ("number", "as tried")), rows, name="comparison"
    )


def _counts(report: Report) -> tuple[tuple[str, str], ...]:
    """Return mobility and counts of a report in words."""
    r = report.reduction
    closed = r.assembly.closed
    return (
        ("true mobility", view.mobility_words(report) if closed else "?"),
        ("redundant equations", str(r.redundant) if closed else "?"),
        ("of these proved", str(r.removed) if closed else "?"),
        ("Grübler count", view.signed(r.gruebler)),
    )


def _cures(session: Session) -> Iterator[str]:
    """Yield the proposals that the file can hold, each with a button."""
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
        yield f"{escape(entry.words)}: {redundant} → {entry.left} redundant</li>"
    yield "</ul></details>"


def _called(kind: str) -> str:
    """Return a kind with its other names: ``revolute (hinge, pin)``."""
    words = [word.replace("_", " ") for word, known in WORDS.items() if known == kind]
    return f"{kind} ({', '.join(words[:2])})" if words else kind


def _joint(session: Session, joint: Joint, held: Collection[str]) -> tuple[str, str, str]:
    """Return a row with the kinds that a joint can be tried as; others stand apart."""
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
    kinds = f'<select data-change="{name}" aria-label="kind of {name}">{chosen}</select>'
    return escape(joint.name), escape(joint.kind), kinds


#: What a page of the bench may load: nothing from elsewhere.
POLICY = (
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; "
    "img-src data: blob:; connect-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'"
)
#: Seconds between signs of life to a page, so that one that was closed is noticed.
PULSE = 15.0


class Server:
    """Serves the page of one session; its secret token is part of every address."""

    def __init__(self, session: Session) -> None:
        """Take a session."""
        self.session, self.token = session, secrets.token_urlsafe(16)
        self.ticket = secrets.token_urlsafe(16)
        self._said = ""
        self._one_at_a_time = asyncio.Lock()
        self._pages: set[asyncio.Queue[None]] = set()
        self._stop = Event()

    def application(self) -> web.Application:
        """Return the aiohttp application."""
        made = web.Application(middlewares=[self._guarded])
        made.router.add_get("/{token}/", self._page)
        made.router.add_get("/{token}/events", self._events)
        made.router.add_post("/{token}/{act}", self._act)
        made.cleanup_ctx.append(self._watching)
        return made

    @web.middleware
    async def _guarded(
        self, request: web.Request, handler: Callable[..., object]
    ) -> web.StreamResponse:
        """Refuse requests that do not come from the page of this server."""
        token = request.match_info.get("token", "")
        local = request.host.partition(":")[0] in ("127.0.0.1", "localhost")
        origin = request.headers.get("Origin")
        ours = local and origin in (None, f"http://{request.host}")
        if ours and self.ticket and hmac.compare_digest(token.encode(), self.ticket.encode()):
            self.ticket = ""
            raise web.HTTPFound(f"/{self.token}/", headers={"Referrer-Policy": "no-referrer"})
        if not (ours and hmac.compare_digest(token.encode(), self.token.encode())):
            raise web.HTTPForbidden(text="the address of the bench is printed where it was started")
        if request.method == "POST" and request.content_type != "application/json":
            raise web.HTTPUnsupportedMediaType(text="expected application/json")
        answer = await handler(request)  # type: ignore[misc]
        if not answer.prepared:
            answer.headers["Content-Security-Policy"] = POLICY
            answer.headers["Referrer-Policy"] = "no-referrer"
            answer.headers["Cache-Control"] = "no-store"
            answer.headers["X-Content-Type-Options"] = "nosniff"
        return answer  # type: ignore[no-any-return]

    async def _page(self, request: web.Request) -> web.Response:
        async with self._one_at_a_time:
            text = await asyncio.to_thread(self._rendered)
        return web.Response(text=text, content_type="text/html")

    def _rendered(self) -> str:
        script = html.asset("bench.js")
        return html.render(self.session.trial.report, panel=panel(self.session), script=script)

    async def _act(self, request: web.Request) -> web.Response:
        try:
            given = await request.json()
            act = self._acts(request.match_info["act"], given if isinstance(given, dict) else {})
        except (ValueError, RecursionError) as error:  # no JSON, or numbers and depths beyond sense
            raise web.HTTPBadRequest(text="expected JSON") from error
        async with self._one_at_a_time:
            try:
                said, status = await asyncio.to_thread(act) or "", 200
            except RegularizeError as error:
                said, status = displayed(str(error)), 409
        await self._tell(said if status == 200 else "")
        return web.json_response({"version": self.session.version, "said": said}, status=status)

    def _acts(self, name: str, given: dict[str, object]) -> Callable[[], str | None]:
        """Return the function that a button calls."""
        session = self.session
        words = {key: str(given[key]) for key in ("name", "kind", "path") if key in given}
        number = given.get("number")

        def save() -> str:
            return f"wrote {displayed(session.save(words.get('path')))}"

        acts: dict[str, Callable[[], str | None]] = {
            "isostatic": session.isostatic,
            "undo": session.undo,
            "reset": session.reset,
            "save": save,
        }
        if "name" in words and "kind" in words:
            acts["change"] = lambda: session.change(words["name"], words["kind"])
        if isinstance(number, int):
            acts["cure"] = lambda: session.cure(number)
        if name not in acts:
            raise web.HTTPNotFound(text="unknown, or something is missing")
        return acts[name]

    async def _events(self, request: web.Request) -> web.StreamResponse:
        answer = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await answer.prepare(request)
        queue: asyncio.Queue[None] = asyncio.Queue()
        self._pages.add(queue)
        try:
            while not self._stop.is_set():
                news = json.dumps({"version": self.session.version, "said": self._said})
                await answer.write(f"data: {news}\n\n".encode())
                try:
                    await asyncio.wait_for(queue.get(), PULSE)
                except asyncio.TimeoutError:
                    continue
        except ConnectionResetError:
            pass
        finally:
            self._pages.discard(queue)
        return answer

    async def _tell(self, said: str) -> None:
        self._said = said
        for queue in self._pages:
            queue.put_nowait(None)

    async def _watching(self, application: web.Application) -> AsyncIterator[None]:
        loop = asyncio.get_running_loop()

        def watch() -> None:
            for _ in changes(lambda: self.session.files, self._stop):
                asyncio.run_coroutine_threadsafe(self._changed(), loop).result()

        watching = loop.run_in_executor(None, watch)
        yield
        self._stop.set()
        await self._tell("")
        await watching

    async def _changed(self) -> None:
        """Read the files again after a change, unless the bench wrote them."""
        async with self._one_at_a_time:
            if self.session.current:
                return
            await asyncio.to_thread(self.session.read_again)
        await self._tell("the file changed")


async def serve(session: Session, port: int, ready: Callable[[str, str], None]) -> None:
    """Serve a session on this machine until cancelled."""
    server = Server(session)
    runner = web.AppRunner(server.application(), access_log=None, shutdown_timeout=1.0)
    await runner.setup()
    try:
        site = web.TCPSite(runner, "127.0.0.1", port)
        try:
            await site.start()
        except OSError as error:
            raise RegularizeError(f"--port {port}: {error.strerror}; name another") from error
        home = f"http://127.0.0.1:{runner.addresses[0][1]}"
        ready(f"{home}/{server.token}/", f"{home}/{server.ticket}/")
        await asyncio.Event().wait()
    finally:
        await runner.cleanup()
