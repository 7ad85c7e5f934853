"""Makes report.md and report.html of a report.json anew: python -m properties.report DIR/report.json [DIR]."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from properties.report import write
from properties.report.document import VERSION


def main(arguments: list[str]) -> int:
    """Writes the files next to the given one, or into a folder; returns 4 for a wrong request."""
    if len(arguments) not in (1, 2):
        print(__doc__, file=sys.stderr)
        return 4
    source = Path(arguments[0])
    try:
        report = json.loads(source.read_text(encoding="utf-8"))
        if not isinstance(report, dict) or report.get("version") != VERSION:
            raise ValueError(f"{source} is no report of version {VERSION}")
        print(*write(report, Path(arguments[1]) if arguments[1:] else source.parent), sep="\n")
    except (OSError, ValueError) as error:
        print(f"ERROR: {error}", file=sys.stderr)
        return 4
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
