"""Runs everything that a release is judged by, and writes down what came of it, a line a command.

Usage: ``python tests/campaigns/state.py [--corpus FOLDER] [--only NAME,NAME]``. Lines of commands
that are not run stay as they are in ``.github/STATE.md``, with the commit that they were run on.
Commands on FOLDER, a folder with models of others, are left out without one. The exit status is 1
where a command fails.
"""

from __future__ import annotations

import argparse
import re
import resource
import shlex
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TABLE = ROOT / ".github" / "STATE.md"
HEAD = """# State of the whole

What a release is judged by, what it came to and on which commit: written by
`python tests/campaigns/state.py`, which runs these commands.

| name | command | outcome | figure | CPU s | date | commit |
|---|---|---|---|---|---|---|
"""
#: Environments of tox, the short ones first.
SHORT = "lint types wheel plain quick docs dist lowest sanitizers peers"
LONG = "cores fuzz coverage py nightly"
PYTHON = "{python} tests/campaigns/"
#: Campaigns at the size that their page names; ``{corpus}`` stands for the folder of models.
CAMPAIGNS = {
    "proofs": PYTHON + "proved_table.py",
    "descents": PYTHON + "descent_table.py",
    "noise": PYTHON + "noise_table.py",
    "rounding": PYTHON + "rounding_table.py",
    "metamorphic": PYTHON + "metamorphic.py 2000",
    "false motions": PYTHON + "false_motions.py 2000",
    "forgeries": PYTHON + "forgeries.py 500",
    "broken files": PYTHON + "fuzz.py 100000",
    "endurance": PYTHON + "endurance.py",
    "objects": PYTHON + "objects_table.py",
    "engines": PYTHON + "engines_table.py assets",
    "engines on the corpus": PYTHON + "engines_table.py {corpus}",
    "peers' counts": PYTHON + "peers_table.py {corpus}",
    "writing": PYTHON + "writing_table.py {corpus}",
    "robots": PYTHON + "robots_table.py",
    "verbs": PYTHON + "speed_table.py {corpus} 36000",
    "freecad": "{tox} -e freecad",
}


def commands() -> dict[str, str]:
    """Return every command by its name."""
    return {**{name: f"{{tox}} -e {name}" for name in f"{SHORT} {LONG}".split()}, **CAMPAIGNS}


def figure_of(output: str) -> str:
    """Return what a command came to: the summaries of tests in it, else its last line."""
    plain = re.sub(r"\x1b\[[0-9;]*m", "", output)
    found = re.findall(r"^=* ?(\d[^=\n]*(?:passed|failed|error)[^=\n]*?) in [\d.]+s", plain, re.M)
    lines = [line.strip() for line in plain.splitlines() if line.strip()]
    last = [line for line in lines if not re.match(r"([a-z]+: |congratulations)", line)][-1:]
    return " · ".join(found or last).replace("|", "/")[:160]


def run(command: str, corpus: Path | None) -> tuple[bool, str, float]:
    """Run a command; return whether it succeeded, what it came to, and its CPU seconds."""
    words = {"python": shlex.quote(sys.executable), "corpus": shlex.quote(str(corpus))}
    words["tox"] = f"{words['python']} -m tox"
    before = sum(_cpu())
    ran = subprocess.run(
        shlex.split(command.format(**words)),
        cwd=ROOT,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    return ran.returncode == 0, figure_of(ran.stdout), sum(_cpu()) - before


def _cpu() -> tuple[float, float]:
    """Return user and system seconds of all commands that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime, used.ru_stime


def main(arguments: list[str]) -> int:
    """Run the commands that are asked for, and write the table after each."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--corpus", type=Path)
    parser.add_argument("--only", type=lambda text: text.split(","), default=list(commands()))
    asked = parser.parse_args(arguments)
    text = TABLE.read_text("utf-8") if TABLE.exists() else ""
    rows = {row.split(" | ")[0][2:]: row for row in text.splitlines() if row.startswith("| ")}
    commit = subprocess.check_output(["git", "rev-parse", "--short=8", "HEAD"], cwd=ROOT, text=True)
    failed = False
    for name in asked.only:
        command = commands()[name]
        if "{corpus}" in command and asked.corpus is None:
            continue
        good, figure, seconds = run(command, asked.corpus)
        failed |= not good
        said = command.format(python="python", tox="tox", corpus="FOLDER")
        cells = [name, f"`{said}`", "passed" if good else "**failed**", figure, f"{seconds:.0f}"]
        rows[name] = f"| {' | '.join([*cells, time.strftime('%Y-%m-%d'), commit.strip()])} |"
        TABLE.write_text(HEAD + "\n".join(rows[k] for k in commands() if k in rows) + "\n", "utf-8")
        print(rows[name], flush=True)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
