"""Section `[alerts]` of a recipe: a command or a webhook that is called when unattended work fails."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

from megacpp_assets.contract.errors import SpecError
from megacpp_assets.contract.recipe.key import key, require_allowed
from megacpp_assets.contract.recipe.ranges import between

_VARIABLE: Final = re.compile(r"\$[A-Z][A-Z0-9_]*")
_LOOPBACK: Final = ("127.0.0.1", "localhost", "::1")
_MOST_SECONDS: Final = 60


@dataclass(frozen=True, slots=True)
class AlertsRecipe:
    """A command and a webhook, called once each when a nightly run or the run of a release fails, a release is rejected
    or a tag moves.

    An alert changes no byte of an artifact.
    """

    command: tuple[str, ...] = key(
        (),
        "A program and its arguments, started without a shell; the alert is JSON on its standard input.",
        allowed="a list of texts; empty for none",
    )
    webhook: str = key(
        "",
        "Address to which the alert is sent as JSON by POST; its `text` is one sentence. $NAME stands for the "
        "address in that environment variable, which keeps it secret.",
        allowed='"", $NAME, or an https address without user and query',
    )
    seconds: int = key(
        10, "Time after which a command or a webhook is cancelled.", allowed=between(1, _MOST_SECONDS), unit="seconds"
    )

    def __post_init__(self) -> None:
        require_allowed(self, "alerts")
        if self.command and not self.command[0]:
            raise SpecError("alerts.command", expected="a program and its arguments", found="an empty name")
        if self.webhook and not _VARIABLE.fullmatch(self.webhook):
            require_webhook("alerts.webhook", self.webhook)
            if urlsplit(self.webhook).query or "@" in self.webhook:
                do = "put the address in an environment variable and write $NAME: recipes are kept and shown"
                raise SpecError("alerts.webhook", expected="no user and no query", found="one", do=do)

    @property
    def is_set(self) -> bool:
        """Whether the recipe names a command or a webhook."""
        return bool(self.command or self.webhook)


def require_webhook(where: str, url: str) -> None:
    """Raise `SpecError` about `where`, which does not show the URL, unless it is https, or http on this machine."""
    try:
        parts = urlsplit(url)
        host = parts.hostname
        known = bool(host) and (parts.port is None or parts.port > 0)
    except ValueError:
        known, host = False, None
    if not known or not (parts.scheme == "https" or (parts.scheme == "http" and host in _LOOPBACK)):
        raise SpecError(where, expected="https://HOST/PATH, or http:// on this machine", found="another address")
