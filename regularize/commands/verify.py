"""`regularize verify`: check a proof that rows can never matter, without trusting who wrote it."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from regularize.adapters.common.input_files import read_bytes
from regularize.commands.files import add_model_options, load_model, reads_model
from regularize.commands.options import count, option, positive
from regularize.errors import ReadError, RegularizeError
from regularize.escape import displayed
from regularize.output_files import write_file

if TYPE_CHECKING:
    from regularize.reduction.reduce import Reduction


def add(parser: argparse.ArgumentParser) -> None:
    """Add the options of the verb."""
    parser.epilog = "exit status: 0 it holds, 1 it does not or claims too little, 2 unreadable"
    option(parser, "proof PROOF", "file of `check --proof`", type=Path)
    option(parser, "--model MODEL", "is it about this model?")
    words = "how far the model may be from what is proved, radians and parts of its size (1e-5)"
    option(parser, "--rtol RTOL", words, type=positive)
    words = "how many rows it has to prove, or more; without: anything"
    option(parser, "--expect ROWS", words, type=count)
    add_model_options(parser)


def run(arguments: argparse.Namespace) -> int:
    """Check one proof; return 0 if it holds, else 1."""
    from regularize.proofs.verifier import read, shown, verify

    if arguments.model is None and reads_model(arguments):
        raise RegularizeError("options on how to read a model go with --model MODEL; name it")
    try:
        document = read(read_bytes(str(arguments.proof)))
    except ValueError as error:
        why = f"no proof, which `check --proof` writes: {error}"
        raise ReadError(str(arguments.proof), why) from error
    if not isinstance(document, dict) or "fingerprint" not in document:
        raise ReadError(str(arguments.proof), "no proof: `check --proof` writes one")
    verdict = verify(document)
    if verdict.holds and arguments.model is not None:
        from regularize.proofs.document import match

        within = {} if arguments.rtol is None else {"rtol": arguments.rtol}
        verdict = match(document, verdict, load_model(arguments.model, arguments), **within)
    head, words = "does not hold", [displayed(verdict.reason)]
    if verdict.holds:
        head = "holds" if verdict.claims else "nothing is claimed"
        words = [*verdict.claims, *verdict.assumptions]
        words += ["In the author's words, which are not checked:"] * bool(document["undecided"])
        words += [
            f"  {', '.join(map(shown, part['cuts']))}: not decided, {displayed(part['reason'])}"
            for part in document["undecided"]
        ]
        proved = sum(part["conclusion"]["removed"] for part in document["parts"])
        if proved < (arguments.expect or 0):
            head = f"proves {proved} rows, fewer than the {arguments.expect} expected"
    sys.stdout.write("\n".join([head, *words, ""]))
    return int(head != "holds")


def write_proof(reduction: Reduction, path: Path) -> None:
    """Write the proof of a reduction, once the checker has accepted it."""
    from regularize.proofs.prove import prove
    from regularize.proofs.verifier import verify

    text = json.dumps(prove(reduction), indent=1, ensure_ascii=False) + "\n"
    verdict = verify(json.loads(text))
    if not verdict.holds:
        raise RegularizeError(f"{path}: not written, the checker refuses it: {verdict.reason}")
    write_file(path, text)
