"""Answers to rejected requests: one sentence of plain text, which no browser takes for a page."""

from __future__ import annotations

from starlette.responses import PlainTextResponse, Response

from megacpp_assets.contract.errors import MegacppError, SpecError

_LONGEST_QUOTE = 100


def refusal(status: int, what: str, *, expected: str, found: str, do: str) -> Response:
    """Return the answer to a rejected request. Its connection ends with it."""
    return said(status, SpecError(what, expected=expected, found=found, do=do))


def said(status: int, error: MegacppError) -> Response:
    """Return the message of an error as such an answer."""
    headers = {"X-Content-Type-Options": "nosniff", "Cache-Control": "no-store", "Connection": "close"}
    return PlainTextResponse(f"{error}\n", status, headers)


def quoted(values: list[str]) -> str:
    """Return at most the beginning of each text that a client sent."""
    return ", ".join(repr(value[:_LONGEST_QUOTE]) for value in values) or "none"
