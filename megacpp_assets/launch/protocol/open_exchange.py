"""Opens the exchange at a URI."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import unquote, urlsplit

from megacpp_assets.contract.errors import SpecError
from megacpp_assets.launch.protocol.exchange import Exchange
from megacpp_assets.launch.protocol.shared_folder import SharedFolder


def open_exchange(uri: str) -> Exchange:
    """Return the exchange at `uri`: `file:///FOLDER` or `gs://BUCKET/FOLDER`. `SpecError` for any other URI."""
    parts = urlsplit(uri)
    path = unquote(parts.path)
    if parts.scheme == "file" and not parts.netloc and path.strip("/"):
        return SharedFolder(Path(path))
    if parts.scheme == "gs" and parts.netloc and not parts.query:
        # Google's client takes half a second to import, so only its users pay for it.
        from megacpp_assets.launch.protocol.bucket import open_bucket  # noqa: PLC0415

        return open_bucket(parts.netloc, path.strip("/"))
    raise SpecError(
        "exchange", expected="file:///FOLDER or gs://BUCKET/FOLDER", found=uri, do="correct launch.exchange"
    )
