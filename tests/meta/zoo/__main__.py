"""The zoo as a page, or one of its kernels: python -m tests.meta.zoo > docs/zoo.md, … NAME > kernel.py."""

from __future__ import annotations

import sys

from properties.replay import quietly
from properties.scenarios import SCENARIOS
from tests.meta.candidates.faults import FAULTS
from tests.meta.zoo import ZOO
from tests.meta.zoo.animal import BASE
from tests.meta.zoo.classes import CLASSES

HEAD = """\
# A zoo of real bugs

Written by `python -m tests.meta.zoo`; a test keeps it current. An animal is a Triton kernel of the upstream form, with
one bug of a class that was reported in public: it is the base kernel, `tests/meta/zoo/base.py`, with one or two
paragraphs changed. `tests/meta/test_zoo.py` judges all of them on the `ttir` engine: the base holds the smallest known
case, the animal violates in it the property that must catch it, and is found by what profile `pr` draws for that
property. From a checkout:

```
python -m tests.meta.zoo NAME > kernel.py
python -m properties.replay kernel.py PROPERTY "CASE"
```

| class | animal | what goes wrong | caught by | smallest known case |
|---|---|---|---|---|
"""

CLASSES_HEAD = """
## Classes

Numbers are those of the field notes, where the classes come from. The notes say that each was reported in public, and
give no links. A life is one of [public_bugs.md](public_bugs.md); a fault is one of `tests/meta/candidates/faults.py`, a
copy of the plain candidate on the host, which is no kernel.

| | what goes wrong | public report | animals | life | faults |
|---|---|---|---|---|---|
"""


def _names(names: list[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def page() -> str:
    """The page: the animals by class, then the classes with what else has them."""
    lines = [HEAD.rstrip("\n")]
    for animal in ZOO.values():
        caught = f"`{animal.property_name}`"
        if animal.found_by:
            caught += f", which a run sees while it judges `{animal.found_by}`"
        lines.append(f"| {animal.bug_class} | `{animal.name}` | {animal.summary} | {caught} | `{animal.case!r}` |")
    lines.append(CLASSES_HEAD.rstrip("\n"))
    lives = dict(enumerate(SCENARIOS, 1))  # they have the numbers of the classes
    for number, kind in CLASSES.items():
        animals = [animal.name for animal in ZOO.values() if animal.bug_class == number]
        faults = [fault.name for fault in FAULTS.values() if fault.bug_class == number]
        life = [lives[number]] if number in lives else []
        cells = (str(number), kind.title, kind.report, _names(animals), _names(life), _names(faults))
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def main(arguments: list[str]) -> int:
    """Prints the page, or the kernel of an animal, or that of the base; 4 for a name that is none."""
    kernels = {"base": BASE.read_text(), **{name: animal.kernel for name, animal in ZOO.items()}}
    if not arguments:
        print(page(), end="")
    elif len(arguments) == 1 and arguments[0] in kernels:
        print(kernels[arguments[0]], end="")
    else:
        print(f"ERROR: no kernel {' '.join(arguments)!r}; allowed is one of: {', '.join(kernels)}", file=sys.stderr)
        return 4
    return 0


if __name__ == "__main__":
    sys.exit(quietly(lambda: main(sys.argv[1:])))
