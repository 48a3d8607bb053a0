"""The process in which ScanCode runs: a JSON text a line in, the SPDX expression of its licences a line out.

It imports nothing of this package, so that ScanCode may live in an environment of its own.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version

LEAST_COVERAGE = 94
"""Per cent of a known text that a head must have. ScanCode takes `the GNU GPL v2 with a linking exception` for 54 % of
a text about the LGPL, and the Eclipse Public License 2.0 for 93 % of one about 1.0."""
_LINE_WORDS = 12
"""ScanCode takes a very long line for data."""


def main() -> None:
    """Answer every line of the standard input; an empty text says that ScanCode found no licence."""
    # ScanCode is an extra, and only this process imports it.
    from licensedcode.detection import detect_licenses  # noqa: PLC0415

    for line in sys.stdin:
        words = json.loads(line).split(" ")
        text = "\n".join(" ".join(words[at : at + _LINE_WORDS]) for at in range(0, len(words), _LINE_WORDS))
        detections = list(detect_licenses(query_string=text))
        whole = all(match.coverage() >= LEAST_COVERAGE for each in detections for match in each.matches)
        found = [str(each.license_expression_spdx) for each in detections] if whole else []
        sys.stdout.write(f"{json.dumps(' AND '.join(_distinct(found)))}\n")
        sys.stdout.flush()


def _distinct(expressions: list[str]) -> Iterator[str]:
    """Yield each expression once, in parentheses where another follows; those that name no licence are left out."""
    known = [each for each in dict.fromkeys(expressions) if each and "LicenseRef-scancode-unknown" not in each]
    for each in known:
        yield f"({each})" if len(known) > 1 and " " in each else each


def release() -> int:
    """Write the release of ScanCode; exit code 3 without one."""
    try:
        sys.stdout.write(version("scancode-toolkit"))
    except PackageNotFoundError:
        return 3
    return 0


if __name__ == "__main__":
    if sys.argv[1:] == ["--release"]:
        sys.exit(release())
    main()
