"""What a parse of a tree reports beside its files."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ParseReport:
    """Counts of shared headers and their audits, and problems of the compile database.

    `unbuilt` headers did not compile; `dropped` headers failed their audit or had no calls to compare. `units_audited`
    were parsed with and without their header; `calls_compared` are the compared calls (in files with errors, those that
    the plain parse resolved). `units_doubted` were parsed again without their header because of errors;
    `units_within` have fewer errors inside of a file that includes them, and count as they are there.
    `database_unread` is the reason why the compile database is not used, or only in part, or "". `warned` are the files
    with a response file that was not read.
    """

    headers: int = 0
    unbuilt: int = 0
    dropped: int = 0
    units_audited: int = 0
    calls_compared: int = 0
    calls_differing: int = 0
    units_doubted: int = 0
    units_within: int = 0
    database_unread: str = ""
    warned: tuple[str, ...] = ()


def ignore_report(report: ParseReport) -> None:
    """Do nothing: the default of `report`."""
