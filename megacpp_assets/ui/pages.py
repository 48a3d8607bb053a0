"""Pages of the data root that are served beside Dagster's: audits of checkpoints, pictures, reports, dbt's
documentation.
"""

from __future__ import annotations

import re
import string
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, RedirectResponse, Response
from starlette.routing import BaseRoute, Route

from megacpp_assets.contract.errors import MegacppError
from megacpp_assets.defs.keys import report_key
from megacpp_assets.defs.reports.graph import read_graph
from megacpp_assets.defs.showing.gallery import picture_file
from megacpp_assets.defs.showing.paths import AUDIT_PAGE, DOCS_PAGE, PICTURE_PAGE, REPORTS_PAGE, asset_path
from megacpp_assets.lineage.export.write import page_of
from megacpp_assets.lineage.history import read_history
from megacpp_assets.lineage.queries import known_checkpoint
from megacpp_assets.pipeline.corpus import open_corpus
from megacpp_assets.pipeline.stages import STAGES, Kind
from megacpp_assets.reports import place
from megacpp_assets.ui.refusals import quoted, refusal, said
from megacpp_assets.ui.reports import not_built, reports_page, with_links

Endpoint = Callable[[Request], Response]

_SHA256_DIGITS: Final = 64
_SLUG: Final = r"[a-z0-9_]+"
_NOTHING: Final = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
_PICTURE_POLICY: Final = f"{_NOTHING}; style-src 'unsafe-inline'; sandbox"
_PAGE_POLICY: Final = f"{_PICTURE_POLICY} allow-same-origin"
"""They run no script either. Without an origin of their own, the guard would reject their links to Dagster's pages."""
_DOCS_POLICY: Final = (
    f"{_NOTHING}; script-src 'unsafe-inline' 'unsafe-eval'; style-src 'unsafe-inline'; img-src data:; font-src data:; "
    "sandbox allow-scripts"
)
"""Their scripts run with an opaque origin, and the guard accepts nothing from a page without an origin."""


def routes_of(root: Path) -> list[BaseRoute]:
    """Return the routes of `root`. Nothing is named by a path, so no other file can be requested."""

    def audit(request: Request) -> Response:
        return _audit(root, request.path_params["manifest"])

    def docs(request: Request) -> Response:
        del request
        return _docs(root)

    def reports(request: Request) -> Response:
        del request
        page = reports_page(root)
        headers = _headers(_PAGE_POLICY)
        return not_built(root, headers) if page is None else HTMLResponse(page, headers=headers)

    def picture(request: Request) -> Response:
        return _picture(root, request.path_params["manifest"], request.path_params["slug"])

    return [
        *(Route(f"/assets/{name}", _asset_page(root, name)) for name in STAGES),
        *(Route(f"/assets/{name}", _to(report_key(name).path)) for name in read_graph()),
        Route(f"{PICTURE_PAGE}/{{manifest}}/{{slug}}", picture),
        Route(f"{AUDIT_PAGE}/{{manifest}}", audit),
        Route(REPORTS_PAGE, reports),
        Route(DOCS_PAGE, docs),
    ]


def _audit(root: Path, manifest: str) -> Response:
    """Return the audit page of the checkpoint with that manifest, also if it was replaced since."""
    if not _is_sha256(manifest):
        expected = f"the {_SHA256_DIGITS} digits of a checkpoint's manifest"
        do = "follow the link on the checkpoint's page"
        return refusal(404, "audit page", expected=expected, found=quoted([manifest]), do=do)
    try:
        history = read_history(root)
        page = page_of(history, known_checkpoint(history, manifest)).decode()
    except MegacppError as error:
        return said(404, error)
    return HTMLResponse(with_links(page), headers=_headers(_PAGE_POLICY))


def _asset_page(root: Path, stage: str) -> Endpoint:
    """Redirect from the name of a stage to its asset, of the active dataset and the first phase."""

    def lead(request: Request) -> Response:
        try:
            corpus = open_corpus(root)
        except MegacppError as error:
            return said(404, error)
        phase = corpus.recipe.curriculum[0] if STAGES[stage].kind is Kind.MIXTURE else ""
        return _to(asset_path(corpus.dataset, stage, phase))(request)

    return lead


def _to(path: Sequence[str]) -> Endpoint:
    """Redirect to the asset with that key."""

    def lead(request: Request) -> Response:
        view = f"?{request.url.query}" if request.url.query else ""
        return RedirectResponse(f"/assets/{'/'.join(path)}{view}", 303)

    return lead


def _picture(root: Path, manifest: str, slug: str) -> Response:
    """Return a picture that was drawn when the artifact with that manifest was recorded."""
    named = _is_sha256(manifest) and re.fullmatch(_SLUG, slug) is not None
    file = picture_file(root, manifest, slug) if named else None
    if file is None or not file.is_file():
        do = "run the step again, or remove dagster/ of the data root and run megacpp run, which records it again"
        return refusal(404, "picture", expected="one of a materialization", found=quoted([manifest, slug]), do=do)
    return FileResponse(file, media_type="image/svg+xml", headers=_headers(_PICTURE_POLICY))


def _is_sha256(text: str) -> bool:
    return len(text) == _SHA256_DIGITS and set(text) <= set(string.hexdigits.lower())


def _docs(root: Path) -> Response:
    """Return dbt's documentation. It has no links to Dagster's pages: its scripts have no origin of their own."""
    file = place.docs(root)
    if not file.is_file():
        return not_built(root, _headers(_PAGE_POLICY))
    return FileResponse(file, media_type="text/html", headers=_headers(_DOCS_POLICY))


def _headers(policy: str) -> dict[str, str]:
    return {
        "Content-Security-Policy": policy,
        "X-Content-Type-Options": "nosniff",
        "Referrer-Policy": "no-referrer",
        "Cache-Control": "no-store",
    }
