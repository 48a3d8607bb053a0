"""Turns an error status of a provider's API into an exception."""

from __future__ import annotations

from typing import Final

from megacpp_assets.contract.errors import EnvironmentLacks, TrainingFailed
from megacpp_assets.launch.launcher import Unanswered

_TEMPORARY: Final = {0, 408, 409, 429, *range(500, 600)}
_UNAUTHORIZED: Final = {401, 403}


def api_error(api: str, status: int, message: str, *, answered: bool, login: str) -> Exception:
    """Return the exception for an HTTP `status` (0 if there was none) with its `message`.

    A temporary error is `Unanswered`. So is an authorization error after the API has `answered` once, because the
    credentials may be renewed. Credentials that never worked are `EnvironmentLacks`, and `login` says how to log in. A
    request that the API rejects is `TrainingFailed`.
    """
    words = f"{status} {message}"
    quota = "quota" in message.lower()
    if (status in _TEMPORARY and not quota) or (status in _UNAUTHORIZED and answered and not quota):
        return Unanswered(f"{api}: {words}")
    if status in _UNAUTHORIZED and not quota:
        return EnvironmentLacks(api, expected="permission to use it", found=words, do=login)
    do = "change launch.settings, or ask for fewer machines"
    return TrainingFailed(api, expected="an accepted job", found=words, do=do)
