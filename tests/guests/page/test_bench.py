"""The bench: joints tried as other kinds, the file saved, its address kept to one page."""

import asyncio
import re
import shutil
import sys
import webbrowser
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from on_demand import OnDemand, needs

import regularize as rg
from regularize.cli import main
from regularize.guests.page.bench import Session

pytestmark = [needs("aiohttp", "watchfiles"), pytest.mark.slow]
client_side: Any = OnDemand("aiohttp.test_utils")
server_side: Any = OnDemand("regularize.guests.page.bench.server")


def panel(session: Session) -> str:
    return str(server_side.panel(session))


@pytest.fixture
def crank(assets: Path, tmp_path: Path) -> Path:
    return Path(shutil.copy(assets / "slider_crank.urdf", tmp_path / "slider_crank.urdf"))


def test_a_joint_is_tried_taken_back_and_saved(crank: Path) -> None:
    before = crank.read_bytes()
    session = Session(str(crank))
    assert session.trial.report.reduction.redundant == 3
    session.change("D", "line_in_plane")
    assert session.trial.report.reduction.redundant == 0
    assert session.trial.report.reduction.mobility == 1
    assert session.trial.report.mechanism.path == str(crank)
    assert "line_in_plane" in session.trial.diff
    assert "line_in_plane" in server_side.panel(session) and 'data-act="save">' in panel(session)
    session.undo()
    assert session.trial.joints == {} and session.trial.diff == ""
    with pytest.raises(rg.ModelError, match="nothing was tried"):
        session.undo()
    assert crank.read_bytes() == before
    session.isostatic()
    session.isostatic()
    session.change("D", session.trial.kinds["D"])
    session.undo()
    assert session.trial.joints == {} and not session.undoable  # what changed nothing is no step
    session.isostatic()
    assert session.save() == str(crank)
    assert rg.load(crank).joint("D").screws.shape == (6, 4)
    assert session.written.reduction.redundant == 0 and session.undoable
    session.undo()
    assert crank.read_bytes() == before and session.written.reduction.redundant == 3
    assert not session.undoable


def test_a_save_is_not_undone_over_the_work_of_others(crank: Path) -> None:
    session = Session(str(crank))
    session.isostatic()
    session.save()
    crank.write_text(crank.read_text().replace("</robot>", "<!-- mine --></robot>"))
    with pytest.raises(rg.RegularizeError, match="changed since"):
        session.undo()
    assert "<!-- mine -->" in crank.read_text()


def test_proposals_are_what_the_file_can_hold(crank: Path) -> None:
    session = Session(str(crank))
    before = session.written.reduction.redundant
    assert session.proposals and "Proposals, each tried on this file" in panel(session)
    for number, entry in enumerate(session.proposals):
        session.cure(number)
        assert not session.trial.refused and session.trial.diff
        assert session.trial.report.reduction.redundant == entry.left < before
    joints = {
        name: re.findall(rf'<select data-change="{name}".*?</select>', panel(session))[0]
        for name in "AD"
    }
    assert "line_in_plane" in joints["D"] and "not in this file" not in joints["D"]
    assert "not in this file" in joints["A"].partition("spherical")[0]


def test_what_no_file_holds_can_be_tried_all_the_same(crank: Path) -> None:
    session = Session(str(crank))
    session.change("B", "spherical")
    assert session.trial.change is None
    assert "spherical" in session.trial.refused
    assert session.trial.report.reduction.redundant == 1
    assert "The file cannot hold this" in panel(session)
    with pytest.raises(rg.RegularizeError, match="spherical"):
        session.save()
    session.cure(0)
    assert session.trial.report.reduction.redundant == 0
    session.change("B", "revolute")
    assert "B" not in session.trial.kinds


def test_wrong_wishes_change_nothing(crank: Path) -> None:
    session = Session(str(crank))
    with pytest.raises(rg.ModelError, match="no joint 'X'"):
        session.change("X", "spherical")
    with pytest.raises(rg.ModelError, match="no proposal 99"):
        session.cure(99)
    with pytest.raises(rg.ModelError, match="unknown"):
        session.change("B", "wobbly")
    assert session.version == 0 and session.trial.joints == {}


def test_a_page_names_no_place_outside(
    crank: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started = tmp_path / "started"
    started.mkdir()
    monkeypatch.chdir(started)
    session = Session(str(crank))
    session.change("D", "cylindrical")
    outside = tmp_path.parent / f"{tmp_path.name} outside.urdf"
    (tmp_path / "link").symlink_to(tmp_path.parent)
    for path in (
        str(outside),
        f"../../{outside.name}",
        str(tmp_path / "link" / outside.name),
        str(tmp_path / "link") + "/",
    ):
        with pytest.raises(rg.RegularizeError, match="the bench writes below"):
            session.save(path)
    for name in (".bashrc", "robot.py"):
        with pytest.raises(rg.RegularizeError, match=r"ends in \.urdf"):
            session.save(str(tmp_path / name))
    assert not outside.exists() and session.version == 1
    assert rg.load(session.save("out/robot.urdf")).joint("D").kind == "cylindrical"
    assert session.save(f"{tmp_path}/new/") == str(tmp_path / "new" / "slider_crank.urdf")


def test_names_that_no_file_has_are_refused(
    crank: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    session = Session(str(crank))
    session.change("D", "cylindrical")
    before = crank.read_bytes()

    async def tour(client: Any, home: str) -> None:
        for path in ("", " ", "~/x.urdf", "a\0b.urdf", "A" * 5000 + ".urdf", "\ud800.urdf"):
            answer = await client.post(f"{home}save", json={"path": path})
            assert answer.status == 409, path
            assert "name" in (await answer.json())["said"]
        kept = {"headers": {"Content-Type": "application/json"}}
        for body in (f'{{"number": {"9" * 5000}}}', "[" * 200_000, "\xff", ""):
            answer = await client.post(f"{home}cure", data=body.encode("latin1"), **kept)
            assert answer.status == 400

    visit(session, tour)
    assert crank.read_bytes() == before and [*tmp_path.iterdir()] == [crank]


def test_a_file_that_breaks_is_said_and_the_model_stays(crank: Path) -> None:
    session = Session(str(crank))
    whole = crank.read_text()
    crank.write_text(whole[: len(whole) // 2])
    assert not session.current
    session.read_again()
    assert "slider_crank.urdf" in session.error
    assert "does not read as it is now" in panel(session)
    crank.write_text(whole)
    session.read_again()
    assert session.error == "" and session.current


def visit(session: Session, tour: Callable[[Any, str], Awaitable[None]]) -> None:

    async def run() -> None:
        server = server_side.Server(session)
        served = client_side.TestServer(server.application(), host="127.0.0.1")
        async with client_side.TestClient(served) as client:
            home = f"/{server.token}/"
            ticket = server.ticket
            entry = await client.get(f"/{ticket}/", allow_redirects=False)
            assert (entry.status, entry.headers["Location"]) == (302, home)
            again = await client.get(f"/{ticket}/", allow_redirects=False)
            assert server.ticket == "" and again.status in (403, 404)  # it is spent
            await tour(client, home)

    asyncio.run(run())


def test_the_page_answers_only_who_knows_its_address(crank: Path) -> None:
    async def tour(client: Any, home: str) -> None:
        answer = await client.get(home)
        assert answer.status == 200
        assert "default-src 'none'" in answer.headers["Content-Security-Policy"]
        assert 'id="bench"' in await answer.text()
        assert (await client.get("/guess/")).status == 403
        assert (await client.get("/")).status == 403
        elsewhere = {"Host": "elsewhere.example"}
        assert (await client.get(home, headers=elsewhere)).status == 403
        assert (await client.get(f"{home}events", headers=elsewhere)).status == 403
        for elsewhere in ("http://elsewhere.example", "null", "http://127.0.0.1:1"):
            origin = {"Origin": elsewhere}
            assert (await client.post(f"{home}reset", json={}, headers=origin)).status == 403
            assert (await client.get(f"{home}events", headers=origin)).status == 403
        for host in ("elsewhere.example:127.0.0.1", "127.0.0.1.elsewhere.example", "[::1]:http"):
            assert (await client.get(home, headers={"Host": host})).status == 403
        assert (await client.post(f"{home}reset", data="a=1")).status == 415
        assert (await client.post(f"{home}nonsense", json={})).status == 404
        assert (await client.post(f"{home}change", json={"name": "D"})).status == 404
        wrong = await client.post(f"{home}change", json={"name": "X", "kind": "fixed"})
        assert wrong.status == 409 and "no joint" in (await wrong.json())["said"]
        right = await client.post(f"{home}change", json={"name": "D", "kind": "fixed"})
        assert (await right.json())["version"] == 1

    visit(Session(str(crank)), tour)


def test_pages_hear_of_changed_files(crank: Path) -> None:
    session = Session(str(crank))

    async def tour(client: Any, home: str) -> None:
        async with client.get(f"{home}events") as events:
            assert b'"version": 0' in await events.content.readline()
            for _ in range(100):  # until the watching has begun
                crank.write_text(crank.read_text() + "<!-- more -->\n")
                try:
                    news = b""
                    while not news.startswith(b"data"):
                        news = await asyncio.wait_for(events.content.readline(), 2.0)
                    break
                except asyncio.TimeoutError:
                    continue
            assert b"the file changed" in news

    visit(session, tour)
    assert session.version >= 1


def test_the_address_is_said_and_opened_unless_told_not_to(
    crank: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    opened: list[str] = []
    monkeypatch.setattr(webbrowser, "open", opened.append)

    async def serve(session: Session, port: int, ready: Callable[[str, str], None]) -> None:
        assert (session.trial.report.mechanism.path, port) == (str(crank), 8080)
        ready("http://here/", "http://here/once")

    monkeypatch.setattr("regularize.guests.page.bench.server.serve", serve)
    for more, pages in (["--no-browser"], []), ([], ["http://here/once"]):
        assert main(["bench", str(crank), "--port", "8080", *more]) == 0
        assert capsys.readouterr().out == "http://here/\n"
        assert opened == pages


def test_what_the_bench_cannot_be_opened_with(
    crank: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["bench", str(crank), "--port", "70000"]) != 0
    assert "--port 70000: expected 0 to 65535" in capsys.readouterr().err
    monkeypatch.delitem(sys.modules, "regularize.guests.page.bench.server")
    monkeypatch.setitem(sys.modules, "aiohttp", None)
    assert main(["bench", str(crank)]) != 0
    assert "the bench takes aiohttp: pip install" in capsys.readouterr().err
