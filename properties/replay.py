"""Replays one case: python -m properties.replay CANDIDATE PROPERTY "CASE" [--engine NAME].

From another folder than the checkout: python CHECKOUT/properties/replay.py, with the same arguments.
"""

from __future__ import annotations

import argparse
import difflib
import os
import sys
import typing
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

if not __package__:  # run by its path, from whatever folder
    sys.path[0] = str(Path(__file__).parents[1])

from properties import allowed, cases, catalogue, lives, replays, tally
from properties.candidate import BadCandidate
from properties.engines import BadEngine
from properties.judge import Judge
from properties.printable import told
from properties.verdict import NotJudged, Violation

# What a printed case may be made of.
NAMES = {
    name: one
    for module in (cases, lives, replays)
    for name, one in vars(module).items()
    if isinstance(one, type) and issubclass(one, cases.Case) and one is not cases.Case
}


def replay(candidate: str, property_name: str, case: Any, engine: str = "auto", baseline: str | None = None) -> None:
    """Judges one case of one property ("values.dense_exact"), with autotuned kernels in each of their configurations.

    baseline: the kernel that properties of the baseline group compare with.

    Raises its Violation, or NotJudged; ValueError, in one line, for a property that is none or a case that the
    contract does not allow.
    """
    invariant = _invariant(property_name)
    kind = typing.get_type_hints(invariant)["case"]
    if not isinstance(case, kind):
        raise ValueError(f"{property_name} judges a {kind.__name__}, not {case!r}")
    if fault := allowed.fault(case):
        raise ValueError(fault)
    ops = Judge.from_options(candidate, engine, Path.cwd(), baseline).ops
    for choice in range(ops.configurations):
        try:
            invariant(ops.configured(choice), case)
        except Violation as violation:
            raise violation.explain() from None


def case_of(text: str) -> Any:
    """A printed case, read back. Raises ValueError in one line."""
    try:
        return eval(text, {"__builtins__": {}}, NAMES)
    except NameError as error:
        raise ValueError(f"the case names {error.name}{_meant(str(error.name), NAMES)}") from None
    except SyntaxError as error:
        raise ValueError(f"the case is not Python: {error.msg} at character {error.offset} of {text!r}") from None
    except Exception as error:
        raise ValueError(_wrong_argument(error) or f"the case cannot be read: {error}") from None


def _wrong_argument(error: Exception) -> str | None:
    """`Geometry.__init__() got an unexpected keyword argument 'w'`, with the arguments that there are."""
    words = str(error).split("'")
    kind = NAMES.get(str(error).partition(".")[0])
    if kind is None or "unexpected keyword argument" not in words[0]:
        return None
    names = list(typing.get_type_hints(kind))
    return f"{kind.__name__} has no {words[1]}{_meant(words[1], names)}"


def _meant(name: str, names: typing.Iterable[str]) -> str:
    """The names that there are, and the one of them that was likely meant."""
    known = sorted(names)
    by_lower_case = {one.lower(): one for one in known}
    close = difflib.get_close_matches(name.lower(), by_lower_case, n=1)
    meant = f"; did you mean {by_lower_case[close[0]]}?" if close else ";"
    return f"{meant} allowed: {', '.join(known)}"


def _invariant(property_name: str) -> Callable[[Any, Any], None]:
    known = [entry.name for entry in catalogue.entries() if entry.group != "proof"]  # which no case is judged by
    if property_name not in known:
        raise ValueError(f"property {property_name!r} is unknown{_meant(property_name, known)}")
    return catalogue.invariant_of(property_name)


class _Parser(argparse.ArgumentParser):
    """Ends with the exit code of a wrong request, in one line."""

    def error(self, message: str) -> NoReturn:
        self.exit(4, f"ERROR: {message}\n")


def main(arguments: list[str]) -> int:
    """Prints the violation and returns 1, or says that the case holds and returns 0; 4 for a wrong request."""
    parser = _Parser(prog="python -m properties.replay", description="Judges one case, as a failure prints it, again.")
    parser.add_argument("candidate", metavar="CANDIDATE", help="a file ending in .py, or a module name")
    parser.add_argument("property", metavar="PROPERTY", help="as values.dense_exact")
    parser.add_argument("case", metavar="CASE", help="as a failure prints it: " + ", ".join(f"{n}(...)" for n in NAMES))
    parser.add_argument("--engine", default="auto", metavar="NAME", help="auto, cuda, ttir or interpreter")
    parser.add_argument("--baseline", metavar="PATH|MODULE", help="what baseline.* compares with")
    options = parser.parse_args(arguments)
    try:
        case = case_of(options.case)
        replay(options.candidate, options.property, case, options.engine, options.baseline)
    except Violation as violation:
        print(violation)
        _tell_beside()
        return 1
    except (BadCandidate, BadEngine, NotJudged, ValueError) as error:
        print(f"ERROR: {error}", file=sys.stderr)
        return 4
    except Exception as error:  # the candidate's own are violations by now
        print(f"ERROR: cannot judge that case: {told(error)}", file=sys.stderr)
        return 4
    print(f"holds: {options.property} for {case!r}")
    _tell_beside()
    return 0


def _tell_beside() -> None:
    """Prints the first line of each violation that was seen while the property was judged, and where."""
    for beside in (example for count in tally.COUNTS.values() for example in count.examples.values()):
        at = [line for line in beside.splitlines() if line.startswith("At:")]
        print(f"seen beside: {beside.splitlines()[0]}", *at, sep="\n             ")


def quietly(command: Callable[[], int]) -> int:
    """Runs a command whose reader may leave early, as `head` does: what it no longer reads is nobody's error."""
    code = 1
    try:
        code = command()
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # Python flushes once more as it ends
    return code


if __name__ == "__main__":
    sys.exit(quietly(lambda: main(sys.argv[1:])))
