"""The last lines of a test run name what was skipped, counted, below the reason: what the machine lacks for it.

A plug-in of pytest. With xdist the reports of all workers come together in the process that prints.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator

import pytest


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print the list, if anything was skipped."""
    reports = terminalreporter.stats.get("skipped", [])
    if not reports:
        return
    terminalreporter.section(f"{len(reports)} skipped tests")
    for line in described((_reason(report), report.nodeid) for report in reports):
        terminalreporter.write_line(line)


def described(skipped: Iterable[tuple[str, str]]) -> Iterator[str]:
    """One line a reason, below it one a test; cases of one test are counted, not listed."""
    tests: dict[str, Counter[str]] = defaultdict(Counter)
    for reason, node in skipped:
        tests[reason][node.partition("[")[0]] += 1
    for reason, counted in sorted(tests.items()):
        yield f"{counted.total()} skipped: {reason}"
        for test, cases in sorted(counted.items()):
            yield f"    {test}" + (f" ({cases} cases)" if cases > 1 else "")


def _reason(report: pytest.TestReport | pytest.CollectReport) -> str:
    place = report.longrepr
    return place[2].removeprefix("Skipped: ") if isinstance(place, tuple) else str(place)
