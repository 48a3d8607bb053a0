"""SPDX licence expressions, as a person gives them: each name is of the SPDX list or a LicenseRef of one's own."""

from __future__ import annotations

import functools
import re

from license_expression import ExpressionError, Licensing, ParseError, get_spdx_licensing

from megacpp_assets.contract.errors import SpecError
from megacpp_assets.repos.licensing.licences import UNKNOWN

_LIST = "https://spdx.org/licenses"
_LONGEST = 500
_OWN = re.compile(r"LicenseRef-[A-Za-z0-9.-]+")


def spdx_expression(text: str, what: str) -> str:
    """Return `text` itself where it is an SPDX expression or NOASSERTION; else `SpecError` naming `what`."""
    if text != UNKNOWN and (problem := _problem(text)):
        raise SpecError(
            what,
            expected=f"an SPDX licence expression such as MIT or BSL-1.0, or {UNKNOWN}",
            found=problem,
            do=f"take the names from {_LIST}",
        )
    return text


def is_spdx_expression(text: str) -> bool:
    """Return whether `text` is a valid SPDX expression; a LicenseRef of one's own is valid."""
    return not _problem(text)


def licence_addresses(expression: str) -> list[str]:
    """Return where the SPDX list has each licence and exception of `expression`; where it has not, `expression`
    as it is.
    """
    if _problem(expression):
        return [expression]
    names = _licensing().license_keys(_licensing().parse(expression))
    return [name if _OWN.fullmatch(name) else f"{_LIST}/{name}" for name in names]


def _problem(text: str) -> str:
    """Return what is wrong with an expression, or nothing."""
    if len(text) > _LONGEST or not text.isprintable() or not text.strip():
        return f"{text[:40]!r} of {len(text)} characters"
    licensing = _licensing()
    try:
        unknown = licensing.unknown_license_keys(licensing.parse(text, strict=True))
    # The parser's own errors, and what it raises where it stumbles over building one of them.
    except (ExpressionError, ParseError, AttributeError, TypeError, LookupError, RecursionError):
        return repr(text)
    strangers = [name for name in unknown if not _OWN.fullmatch(name)]
    return f"{', '.join(map(repr, strangers))} in {text!r}" if strangers else ""


@functools.lru_cache(maxsize=1)
def _licensing() -> Licensing:
    return get_spdx_licensing()


@functools.lru_cache(maxsize=1)
def one_word_licences() -> dict[str, str]:
    """Word in small letters -> name of each licence of the SPDX list whose name is one word, as MIT, ICU and Zlib."""
    names = _licensing().known_symbols
    return {name.lower(): name for name in names if name.isalnum() and not names[name].is_exception}
