"""An exchange in a bucket of Google Cloud Storage, or of the emulator that STORAGE_EMULATOR_HOST names.

Credentials come from the environment only (application default credentials).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import requests
from google.api_core.exceptions import Forbidden, GoogleAPIError, NotFound, Unauthorized
from google.auth.exceptions import DefaultCredentialsError, GoogleAuthError
from google.cloud import storage
from google.cloud.storage.retry import DEFAULT_RETRY

from megacpp_assets.contract.errors import EnvironmentLacks, LineageGap
from megacpp_assets.launch.launcher import Unanswered
from megacpp_assets.launch.protocol.exchange import RECORD_BYTES, Exchange, too_large

_ANSWER_SECONDS: Final = 60
_RETRY: Final = DEFAULT_RETRY.with_timeout(10)
"""A transfer survives a gap of 10 seconds. The caller retries after a longer one."""

_LOGIN: Final = "log in (gcloud auth application-default login), or give the machine's service account the bucket"


def open_bucket(name: str, folder: str) -> Exchange:
    """Return the exchange in `folder` of the bucket `name`; `EnvironmentLacks` if there are no credentials."""
    try:
        client = storage.Client()
    except (DefaultCredentialsError, OSError) as error:
        raise EnvironmentLacks(f"gs://{name}", expected="credentials", found="none", do=_LOGIN) from error
    return _Bucket(client.bucket(name), folder)


@dataclass(frozen=True, slots=True)
class _Bucket:
    """The methods are those of `Exchange`. The store itself promises that every object appears whole."""

    bucket: Any
    folder: str

    @property
    def uri(self) -> str:
        """`gs://BUCKET/FOLDER`."""
        return f"gs://{self.bucket.name}/{self.folder}".rstrip("/")

    def read(self, name: str, limit: int = RECORD_BYTES) -> bytes | None:
        """See `Exchange`. The request asks for one byte more than the limit, to notice a longer object."""
        with self._answering():
            try:
                data: bytes = self._blob(name).download_as_bytes(end=limit, timeout=_ANSWER_SECONDS, retry=_RETRY)
            except NotFound:
                return None
        if len(data) > limit:
            raise too_large(f"{self.uri}/{name}", limit)
        return data

    def write(self, name: str, data: bytes) -> None:
        """See `Exchange`."""
        with self._answering():
            self._blob(name).upload_from_string(data, "application/octet-stream", timeout=_ANSWER_SECONDS, retry=_RETRY)

    def holds(self, name: str, size: int) -> bool:
        """See `Exchange`."""
        return self._size(name) == size

    def send(self, name: str, file: Path) -> None:
        """See `Exchange`."""
        with self._answering():
            self._blob(name).upload_from_filename(
                str(file), "application/octet-stream", timeout=_ANSWER_SECONDS, retry=_RETRY
            )

    def fetch(self, name: str, file: Path, size: int) -> None:
        """See `Exchange`."""
        found = self._size(name)
        if found != size:
            raise LineageGap(
                f"{self.uri}/{name}",
                expected=f"a file of {size} bytes",
                found="none" if found is None else f"{found} bytes",
            )
        with self._answering():
            self._blob(name).download_to_filename(str(file), timeout=_ANSWER_SECONDS, retry=_RETRY)

    def _size(self, name: str) -> int | None:
        with self._answering():
            found = self.bucket.get_blob(f"{self.folder}/{name}".lstrip("/"), timeout=_ANSWER_SECONDS, retry=_RETRY)
        return None if found is None else int(found.size)

    def _blob(self, name: str) -> Any:
        return self.bucket.blob(f"{self.folder}/{name}".lstrip("/"))

    @contextmanager
    def _answering(self) -> Iterator[None]:
        try:
            yield
        except NotFound:
            raise
        except (Unauthorized, Forbidden) as error:
            found = f"{error.code} {error.message}"
            raise EnvironmentLacks(self.uri, expected="the right to use it", found=found, do=_LOGIN) from error
        except (GoogleAPIError, GoogleAuthError, requests.RequestException) as error:
            raise Unanswered(f"{self.uri}: {type(error).__name__}: {error}") from error
