"""Decides which failed requests to a bucket are tried again, and translates the other failures into our errors."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

import requests
from google.api_core.exceptions import Forbidden, GoogleAPIError, NotFound, PreconditionFailed, RetryError, Unauthorized
from google.api_core.retry import Retry
from google.auth.exceptions import GoogleAuthError
from google.cloud.storage.exceptions import DataCorruption, InvalidResponse
from google.cloud.storage.retry import DEFAULT_RETRY

from megacpp_assets.contract.errors import BucketUnreachable, EnvironmentLacks

LOGIN: Final = "log in (gcloud auth application-default login), or give the account the role Storage Object Admin"
AGAIN: Final = "run the same command again: it continues"


@dataclass(frozen=True, slots=True)
class Patience:
    """How long a request may take, how long it is retried, and the first pause between tries. All in seconds."""

    answer: float = 60
    retries: float = 180
    first_pause: float = 1

    def retry(self) -> Retry:
        """Return Google's exponential backoff with these limits."""
        longest = min(30.0, 30 * self.first_pause)
        return Retry(predicate=_is_transient, initial=self.first_pause, maximum=longest, timeout=self.retries)


def _is_transient(error: Exception) -> bool:
    """Return whether a retry may succeed: as Google's client says, after a timeout, or for a body that was damaged."""
    broken = (requests.Timeout, requests.ConnectionError, requests.exceptions.ChunkedEncodingError, DataCorruption)
    return isinstance(error, broken) or bool(DEFAULT_RETRY._predicate(error))


@contextmanager
def translated(uri: str) -> Iterator[None]:
    """Turn the errors of Google's client about `uri` into ours. A 404 and a failed precondition pass unchanged.

    Raises:
        EnvironmentLacks: access is denied.
        BucketUnreachable: there was no valid answer within all retries.
    """
    try:
        yield
    except (NotFound, PreconditionFailed):
        raise
    except (Unauthorized, Forbidden) as error:
        found = f"{error.code} {error.message}"
        raise EnvironmentLacks(uri, expected="permission", found=found, do=LOGIN) from error
    except (GoogleAPIError, GoogleAuthError, InvalidResponse, DataCorruption, requests.RequestException) as error:
        cause = error.cause if isinstance(error, RetryError) and error.cause else error
        found = f"{type(cause).__name__}: {cause}"
        raise BucketUnreachable(uri, expected="an answer", found=found, do=AGAIN) from error


def no_bucket(name: str) -> BucketUnreachable:
    """Return the error for a bucket that does not exist, or no longer."""
    do = "create it, or name another; the next run stores again what the cache has and the bucket lacks"
    return BucketUnreachable(f"gs://{name}", expected="a bucket", found="no such bucket", do=do)
