"""Decides whether a licence expression may be used, given patterns of allowed and denied licences."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from typing import Any

from license_expression import Licensing, get_spdx_licensing

from megacpp_assets.repos.licensing.licences import UNKNOWN


@dataclass(frozen=True, slots=True)
class LicencePolicy:
    """Patterns over SPDX names. `A OR B` needs one permitted licence, `A AND B` needs both.

    `A WITH E` is judged by a pattern that matches all of it, else as `A`, because an exception only permits more. So
    `GPL-*` denies every GPL file except those that `GPL-2.0-only WITH *` allows.
    """

    allowed: tuple[str, ...] = ()
    denied: tuple[str, ...] = ()

    def permits(self, expression: str) -> bool:
        """Return whether a file under `expression` may be used. NOASSERTION is a name like any other."""
        if expression == UNKNOWN:
            return self._permits_name(UNKNOWN)
        return _holds(_licensing().parse(expression), self._permits_symbol)

    def _permits_symbol(self, symbol: Any) -> bool:
        licence = getattr(symbol, "license_symbol", None)
        if licence is None:
            return self._permits_name(str(symbol.key))
        whole = f"{licence.key} WITH {symbol.exception_symbol.key}"
        exact = [each for each in (*self.allowed, *self.denied) if " WITH " in each and fnmatchcase(whole, each)]
        return self._permits_name(whole if exact else str(licence.key))

    def _permits_name(self, name: str) -> bool:
        if _matches(name, self.denied):
            return False
        return not self.allowed or _matches(name, self.allowed) or " WITH " in name


def _matches(name: str, patterns: Sequence[str]) -> bool:
    return any((" WITH " in pattern) == (" WITH " in name) and fnmatchcase(name, pattern) for pattern in patterns)


def _holds(node: Any, permits: Callable[[Any], bool]) -> bool:
    """Return whether the tree of an expression is permitted. `permits` judges its leaves."""
    licensing = _licensing()
    if isinstance(node, licensing.AND):
        return all(_holds(each, permits) for each in node.args)
    if isinstance(node, licensing.OR):
        return any(_holds(each, permits) for each in node.args)
    return permits(node)


@cache
def _licensing() -> Licensing:
    return get_spdx_licensing()
