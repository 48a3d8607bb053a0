"""Splits a command line as a POSIX shell does: quotes and backslashes; nothing is expanded or run.

In: a string of any length. Out: the first words of `shlex.split`, or None if there is an error (an open quote, a
backslash at the end) among them. The time is linear: `shlex` takes minutes for one word of megabytes.
"""

from __future__ import annotations

import re

_PIECE = re.compile(
    r"""(?P<space>[ \t\r\n]++)|(?P<plain>[^ \t\r\n'"\\]++)|(?P<escaped>(?>(?:\\.)+))|'(?P<single>[^']*+)'"""
    r'''|"(?P<double>[^"\\]*+(?>(?:\\.[^"\\]*+)*))"''',
    re.DOTALL,
)
_IN_DOUBLE = re.compile(r'\\(["\\])')


def shell_words(command: str, limit: int) -> list[str] | None:
    """Return the first `limit` words of `command`; None if a quote stays open among them or a backslash is the last
    character.
    """
    words: list[str] = []
    word: list[str] | None = None
    position = 0
    for piece in _PIECE.finditer(command):
        if piece.start() != position:
            return None
        position = piece.end()
        if piece.lastgroup == "space":
            _end(words, word)
            word = None
            if len(words) >= limit:
                return words
        else:
            word = [] if word is None else word
            word.append(_text(piece))
    _end(words, word)
    return words if position == len(command) else None


def _end(words: list[str], word: list[str] | None) -> None:
    if word is not None:  # an empty pair of quotes is a word too
        words.append("".join(word))


def _text(piece: re.Match[str]) -> str:
    kind = piece.lastgroup or ""
    text = piece[kind]
    if kind == "escaped":
        return text[1::2]
    return _IN_DOUBLE.sub(r"\1", text) if kind == "double" else text
