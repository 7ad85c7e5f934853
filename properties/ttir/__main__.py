"""Runs a script, or a module, under the machine: python -m properties.ttir [--no-fma] script.py [its arguments].

With -m the script is a module's name: `python -m properties.ttir -m pytest kernel_test.py`.
Exits 1 for a hazard, as the script itself where that fails, and 5 where nothing was launched.
"""

from __future__ import annotations

import argparse
import runpy
import sys
import traceback
from pathlib import Path

from . import Machine


def main(arguments: list[str]) -> int:
    """Runs the script, prints what the machine saw, and returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m properties.ttir", description=__doc__)
    parser.add_argument("--no-fma", action="store_true", help="do not contract products and sums")
    parser.add_argument("-m", dest="is_module", action="store_true", help="the script is the name of a module")
    parser.add_argument("--loop-limit", type=int, default=100_000, help="rounds after which a loop is stopped")
    parser.add_argument("script", help="a Python file that launches Triton kernels on CPU tensors")
    parser.add_argument("rest", nargs=argparse.REMAINDER, help="arguments of the script")
    options = parser.parse_args(arguments)
    path = Path(options.script)
    if not options.is_module and not path.is_file():
        parser.error(f"script = {options.script}: no such file")
    sys.argv = [options.script, *options.rest]
    sys.path.insert(0, str(Path.cwd() if options.is_module else path.resolve().parent))
    failure, status = None, 1
    with Machine(fma=not options.no_fma, loop_limit=options.loop_limit) as machine:
        try:
            if options.is_module:
                runpy.run_module(options.script, run_name="__main__", alter_sys=True)
            else:
                runpy.run_path(str(path), run_name="__main__")
        except SystemExit as end:  # a script that ends by sys.exit(main()) has launched all the same
            failure = None if end.code in (None, 0) else f"the script ended with exit code {end.code}"
            status = end.code if failure and isinstance(end.code, int) else 1
        except (Exception, KeyboardInterrupt) as error:  # what was seen before it must not be lost
            last = traceback.extract_tb(error.__traceback__)[-1]
            failure = f"the script ended with {type(error).__name__} at {last.filename}:{last.lineno}: {error}"
    for hazard in machine.hazards:
        print(hazard)
    total = len(machine.hazards) + machine.dropped
    counts = (
        _counted(total, "hazard"),
        _counted(len(machine.launches), "launch", "launches"),
        _counted(machine.specialisations, "specialisation"),
    )
    print("{} in {} of {}".format(*counts), file=sys.stderr)
    if failure:
        print(failure, file=sys.stderr)
    if not machine.launches and not failure:
        print("nothing was judged: the script launched no kernel in this process", file=sys.stderr)
        return 5
    return status if total or failure else 0


def _counted(number: int, one: str, many: str = "") -> str:
    return f"{number} {one if number == 1 else many or one + 's'}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
