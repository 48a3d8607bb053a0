"""Pictures of a materialization as files in Dagster's home, which `megacpp ui` serves.

The UI shows markdown of at most 1,000 characters without a click. A link to a picture fits, a picture does not.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

import dagster as dg

from megacpp_assets.defs.showing.paths import PICTURE_PAGE, home_of
from megacpp_assets.storage.artifact import Artifact
from megacpp_assets.storage.atomic import write_any

_FOLDER: Final = "pictures"
_IS_SVG: Final = "<svg"


def write_pictures(artifact: Artifact, pictures: dict[str, str]) -> dict[str, dg.MarkdownMetadataValue]:
    """Write each picture; return the markdown that shows it. Values that are not SVG are shown as text."""
    return {title: dg.MetadataValue.md(_hung(artifact, title, text)) for title, text in pictures.items()}


def _hung(artifact: Artifact, title: str, text: str) -> str:
    if not text.startswith(_IS_SVG):
        return text
    slug = re.sub(r"[^a-z0-9]+", "_", title.lower()).strip("_")
    write_any(picture_file(artifact.root, artifact.manifest.sha256, slug), text.encode())
    return f"![{title}]({PICTURE_PAGE}/{artifact.manifest.sha256}/{slug})"


def picture_file(root: Path, manifest_sha256: str, slug: str) -> Path:
    """Return the file of a picture of the artifact with that manifest. Both names must have been validated."""
    return home_of(root) / _FOLDER / manifest_sha256 / f"{slug}.svg"
