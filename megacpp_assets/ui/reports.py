"""The pages that `megacpp quality` writes, with links to Dagster's; before it ran, a page that says what to run."""

from __future__ import annotations

import shlex
from html import escape
from pathlib import Path
from typing import Final

from starlette.responses import HTMLResponse, Response

from megacpp_assets.contract.columns import COMPLETE_FILE
from megacpp_assets.defs.reports.assets import REPORTS_JOB
from megacpp_assets.defs.showing.paths import DOCS_PAGE, REPORTS_PAGE
from megacpp_assets.lineage.export.page import STYLE
from megacpp_assets.lineage.whole import artifact_paths
from megacpp_assets.reports import place
from megacpp_assets.storage.remote import shown_root

_JOB_PAGE: Final = f"/locations/__repository__@megacpp_assets.definitions/jobs/{REPORTS_JOB}"
_LINKS: Final = {
    "Assets": "/assets",
    "Asset graph": "/asset-groups",
    "Runs": "/runs",
    "Reports": REPORTS_PAGE,
    "Tables and tests (dbt docs)": DOCS_PAGE,
}
_BODY: Final = "<body>\n"


def with_links(page: str) -> str:
    """Return an HTML page of ours with links to the other pages of the UI at its top.

    The file of the page has none, because it is also read without a UI.
    """
    links = " · ".join(f'<a href="{place}">{escape(name)}</a>' for name, place in _LINKS.items())
    return page.replace(_BODY, f"{_BODY}<nav>{links}</nav>\n", 1)


def reports_page(root: Path) -> str | None:
    """Return the page of the reports, which says if artifacts were made after it; None if it was not built yet."""
    file = place.page(root)
    if not file.is_file():
        return None
    newer = _made_after(root, file.stat().st_mtime)
    stale = f"<p><b>Artifacts made after these reports: {newer:,}.</b> {_how(root)}</p>\n" if newer else ""
    return with_links(file.read_text(encoding="utf-8").replace(_BODY, f"{_BODY}{stale}", 1))


def not_built(root: Path, headers: dict[str, str]) -> Response:
    """Return the answer for a page that `megacpp quality` has not written yet: what to run, and where."""
    head = f'<meta charset="utf-8"><title>No reports yet</title><style>{STYLE}</style>'
    body = f"<h1>No reports yet</h1>\n<p>The tables across all partitions have not been built. {_how(root)}</p>"
    page = f'<!doctype html>\n<html lang="en"><head>{head}</head>\n{_BODY}{body}\n</body></html>\n'
    return HTMLResponse(with_links(page), 404, headers=headers)


def _how(root: Path) -> str:
    command = escape(f"megacpp quality --data-root {shlex.quote(shown_root(root))}")
    return (
        f"Run <code>{command}</code> in a terminal, or materialize all assets of "
        f'<a href="{_JOB_PAGE}">the job {REPORTS_JOB}</a>, then load this page again.'
    )


def _made_after(root: Path, time: float) -> int:
    """Return the number of artifacts that were sealed after `time`."""
    seals = (root / path / COMPLETE_FILE for path in artifact_paths(root))
    return sum(seal.stat().st_mtime > time for seal in seals if seal.is_file())
