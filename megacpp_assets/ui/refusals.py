"""What is said to those who are not let in: one sentence of plain text, which no browser takes for a page."""

from __future__ import annotations

from starlette.responses import PlainTextResponse, Response

from megacpp_assets.contract.errors import MegacppError, SpecError

_LONGEST_QUOTE = 100


def refusal(status: int, what: str, *, expected: str, found: str, do: str) -> Response:
    """The answer to a request that nobody behind the door is to see; its connection ends with it."""
    return said(status, SpecError(what, expected=expected, found=found, do=do))


def said(status: int, error: MegacppError) -> Response:
    """What an error says, as such an answer."""
    headers = {"X-Content-Type-Options": "nosniff", "Cache-Control": "no-store", "Connection": "close"}
    return PlainTextResponse(f"{error}\n", status, headers)


def quoted(values: list[str]) -> str:
    """What somebody sent, no more than a part of each."""
    return ", ".join(repr(value[:_LONGEST_QUOTE]) for value in values) or "none"
