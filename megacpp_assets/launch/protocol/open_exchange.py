"""Opens the exchange at a URI."""

from __future__ import annotations

from pathlib import Path
from typing import Final
from urllib.parse import unquote, urlsplit

from megacpp_assets.contract.errors import SpecError
from megacpp_assets.launch.protocol.exchange import Exchange
from megacpp_assets.launch.protocol.shared_folder import SharedFolder

EXCHANGES: Final = "file:///FOLDER or gs://BUCKET/FOLDER"


def open_exchange(uri: str) -> Exchange:
    """Return the exchange at `uri`. `SpecError` for a URI that names none."""
    require_exchange(uri)
    parts = urlsplit(uri)
    path = unquote(parts.path)
    if parts.scheme == "file":
        return SharedFolder(Path(path))
    # Google's client takes half a second to import, so only its users pay for it.
    from megacpp_assets.launch.protocol.bucket import open_bucket  # noqa: PLC0415

    return open_bucket(parts.netloc, path.strip("/"))


def require_exchange(uri: str) -> None:
    """Raise `SpecError` unless `uri` is of the form `EXCHANGES`: a path would be another folder on another machine."""
    parts = urlsplit(uri)
    folder = parts.scheme == "file" and not parts.netloc and bool(unquote(parts.path).strip("/"))
    bucket = parts.scheme == "gs" and bool(parts.netloc) and not parts.query
    if not (folder or bucket):
        raise SpecError("launch.exchange", expected=EXCHANGES, found=uri, do="correct launch.exchange")
