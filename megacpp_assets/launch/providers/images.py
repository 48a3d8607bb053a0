"""Container images of jobs."""

from __future__ import annotations

from megacpp_assets.contract.errors import SpecError


def require_digest(image: str) -> None:
    """Raise `SpecError` for an image that a tag names, because a tag can move to another image."""
    if "@sha256:" not in image:
        do = "name the image by its digest, so that the job runs what you built"
        raise SpecError("launch.settings.image", expected="NAME@sha256:DIGEST", found=repr(image), do=do)
