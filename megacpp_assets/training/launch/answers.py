"""What a status of a provider's API that is no success means for an attempt."""

from __future__ import annotations

from typing import Final

from megacpp_assets.contract.errors import EnvironmentLacks, TrainingFailed
from megacpp_assets.training.launch.launcher import Unanswered

_NOT_NOW: Final = {0, 408, 409, 429, *range(500, 600)}
_NOT_ALLOWED: Final = {401, 403}


def refusal(api: str, status: int, message: str, *, answered: bool, login: str) -> Exception:
    """`Unanswered` for what may pass, and for credentials that end after the API has `answered` to them: they may be
    renewed. `EnvironmentLacks` for those that were never good, `TrainingFailed` for what it will not carry out.
    """
    words = f"{status} {message}"
    quota = "quota" in message.lower()
    if (status in _NOT_NOW and not quota) or (status in _NOT_ALLOWED and answered and not quota):
        return Unanswered(f"{api}: {words}")
    if status in _NOT_ALLOWED and not quota:
        return EnvironmentLacks(api, expected="the right to use it", found=words, do=login)
    do = "change launch.settings, or ask for less"
    return TrainingFailed(api, expected="a job that it takes", found=words, do=do)
