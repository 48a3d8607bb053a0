"""Pages of the data root beside Dagster's: the audit of a checkpoint, made when it is asked for, and dbt's docs."""

from __future__ import annotations

import string
from pathlib import Path
from typing import Final

from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, Response
from starlette.routing import BaseRoute, Route

from megacpp_assets.contract.errors import MegacppError
from megacpp_assets.defs.showing.paths import AUDIT_PAGE, DOCS_PAGE
from megacpp_assets.lineage.export.write import page_of
from megacpp_assets.lineage.history import read_history
from megacpp_assets.lineage.queries import known_checkpoint
from megacpp_assets.reports import place
from megacpp_assets.ui.refusals import quoted, refusal, said

_SHA256_DIGITS: Final = 64
_NOTHING: Final = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
_AUDIT_POLICY: Final = f"{_NOTHING}; style-src 'unsafe-inline'; sandbox"
_DOCS_POLICY: Final = (
    f"{_NOTHING}; script-src 'unsafe-inline' 'unsafe-eval'; style-src 'unsafe-inline'; img-src data:; font-src data:; "
    "sandbox allow-scripts"
)
"""Their scripts run as those of nobody: the door takes nothing from a page without an origin."""


def routes_of(root: Path) -> list[BaseRoute]:
    """What is served of `root`: nothing is named by its path, so no other file can be asked for."""

    def audit(request: Request) -> Response:
        return _audit(root, request.path_params["manifest"])

    def docs(request: Request) -> Response:
        del request
        return _docs(place.docs(root))

    return [Route(f"{AUDIT_PAGE}/{{manifest}}", audit), Route(DOCS_PAGE, docs)]


def _audit(root: Path, manifest: str) -> Response:
    """The audit page of the checkpoint of that manifest, also of one that was replaced since."""
    if len(manifest) != _SHA256_DIGITS or not set(manifest) <= set(string.hexdigits.lower()):
        expected = f"the {_SHA256_DIGITS} digits of a checkpoint's manifest"
        do = "follow the link on the checkpoint's page"
        return refusal(404, "audit page", expected=expected, found=quoted([manifest]), do=do)
    try:
        history = read_history(root)
        page = page_of(history, known_checkpoint(history, manifest))
    except MegacppError as error:
        return said(404, error)
    return HTMLResponse(page, headers=_headers(_AUDIT_POLICY))


def _docs(file: Path) -> Response:
    if not file.is_file():
        do = "materialise the group quality, or run megacpp quality"
        return refusal(404, "docs of the reports", expected="to be made", found="none", do=do)
    return FileResponse(file, media_type="text/html", headers=_headers(_DOCS_POLICY))


def _headers(policy: str) -> dict[str, str]:
    return {
        "Content-Security-Policy": policy,
        "X-Content-Type-Options": "nosniff",
        "Referrer-Policy": "no-referrer",
        "Cache-Control": "no-store",
    }
