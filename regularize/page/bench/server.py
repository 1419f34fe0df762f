"""The bench as a page on this machine alone: http://127.0.0.1:PORT/TOKEN/."""

from __future__ import annotations

import asyncio
import hmac
import json
import secrets
from collections.abc import AsyncIterator, Callable
from threading import Event

from aiohttp import web

from regularize._io.watching import changes
from regularize.errors import RegularizeError
from regularize.escape import displayed
from regularize.page import html
from regularize.page.bench.panel import panel
from regularize.page.bench.session import Session

#: What a page of the bench may load: nothing from elsewhere.
POLICY = (
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; "
    "img-src data: blob:; connect-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'"
)
#: Seconds between signs of life to a page, so that one that was closed is noticed.
PULSE = 15.0


class Server:
    """Serves one session, to whoever knows its token.

    Attributes:
        session: The session.
        token: The secret part of the address.
        ticket: Leads to the token once, and is nothing afterwards: what a browser is started with
            can be seen by others on the machine.
    """

    def __init__(self, session: Session) -> None:
        """Take a session."""
        self.session, self.token = session, secrets.token_urlsafe(16)
        self.ticket = secrets.token_urlsafe(16)
        self._said = ""
        self._one_at_a_time = asyncio.Lock()
        self._pages: set[asyncio.Queue[None]] = set()
        self._stop = Event()

    def application(self) -> web.Application:
        """The application, for a runner of aiohttp."""
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
        """Answer this very page alone.

        Other sites in the same browser know no token, and a name that leads here is not ours.
        """
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
        """The files changed: read them again, unless it was we who wrote them."""
        async with self._one_at_a_time:
            if self.session.current:
                return
            await asyncio.to_thread(self.session.read_again)
        await self._tell("the file changed")


async def serve(session: Session, port: int, ready: Callable[[str, str], None]) -> None:
    """Serve a session on this machine until cancelled.

    The port 0 is any that is free; ``ready`` is told the address, and one that leads there once.

    Raises:
        RegularizeError: The port is taken.
    """
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
