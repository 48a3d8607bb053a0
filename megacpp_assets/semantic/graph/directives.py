"""The directives of a repository's files that documents show: conditions around text, and include lines."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from megacpp_assets.semantic.graph.analysis.analysis import FileFacts
from megacpp_assets.semantic.graph.groups import CONFIGURING, INCLUDES, MOST_CONFIGURING, guard_definitions
from megacpp_assets.semantic.graph.preprocessor.conditions import (
    Condition,
    Conditions,
    guard_number,
    runs_of_directives,
)
from megacpp_assets.semantic.graph.spaces import Span, spans_of
from megacpp_assets.semantic.outline.lexer import Lexed, lex

_SPELLING = re.compile(r'#\s*\w+\s*(<|")([^>"]+)[>"]')
_MACRO = re.compile(r"#\s*(?:define|undef)\s+(\w+)")
_DEFINED = re.compile(rb"[ \t]*#[ \t]*define[ \t]+(\w+)")
_ONCE = re.compile(rb"[ \t]*#[ \t]*pragma[ \t]+once\b")


_FILES, _PLACES = 1 << 10, 1 << 14
"""The numbers of files and of places whose directives stay in memory."""
_NO_MARKS = np.zeros(0, dtype=np.bool_)


class HeadLine(NamedTuple):
    """An include directive, or a directive that configures one.

    `spelling` is the opening bracket of an include and the name after it; for other directives it is "" and the macro
    that they define, if any. Lines of equal `run` have no declaration between them. `dropped` means that the
    preprocessor skipped the include. `undefines` is the first byte of the include in front of an `#undef`, or -1.
    """

    span: Span
    spelling: tuple[str, str]
    conditions: tuple[Condition, ...]
    run: int
    dropped: bool
    undefines: int = -1

    @property
    def chars(self) -> int:
        """The number of characters of the directive on a line of its own."""
        return self.span.char_end - self.span.char_start + 1


class Directives:
    """The directives of the files of a repository. A file is lexed when it is needed."""

    def __init__(self, files: Sequence[FileFacts]) -> None:
        self._files = files
        self._conditions = lru_cache(_FILES)(self._conditions_of)
        self.around = lru_cache(_PLACES)(self._around)
        """Returns the conditions in which an offset of a file is, outer ones first.

        Text that begins there may reach over the `#endif`, if each arm of a conditional has a head of one function.
        """
        self.head = lru_cache(_FILES)(self._head)
        """Returns the include directives of a file and the directives that configure them, in the file's order."""

    def __reduce__(self) -> tuple[type[Directives], tuple[Sequence[FileFacts]]]:
        """Return what another process makes them from."""
        return Directives, (self._files,)

    def _conditions_of(self, file: int) -> tuple[Lexed, Conditions] | None:
        source = self._files[file].source
        if b"#" not in source.data:
            return None
        lexed = lex(source.data)
        # The marks take a byte for each byte of the file. Nothing below reads them.
        lexed = replace(lexed, commented=_NO_MARKS, quoted=_NO_MARKS, directed=_NO_MARKS)
        return lexed, Conditions(source, lexed)

    def _around(self, file: int, start: int) -> tuple[Condition, ...]:
        found = self._conditions(file)
        return found[1].around(start) if found else ()

    def _head(self, file: int) -> tuple[HeadLine, ...]:
        found, facts = self._conditions(file), self._files[file]
        if found is None:
            return ()
        lexed, _ = found
        seen = {span.start for span in facts.includes}
        guards = guard_definitions(facts.source.data, lexed) | _guard_of_file(facts.source.data, lexed)
        chosen = [
            (number, run)
            for run, numbers in enumerate(runs_of_directives(facts.source.data, lexed))
            for number in _lines(facts.source.data, lexed, numbers, guards)
        ]
        places = [(int(start), int(end)) for start, end in lexed.directives[[number for number, _ in chosen]].tolist()]
        spans = spans_of(facts.source, places)
        includes = [
            start for (number, _), (start, _) in zip(chosen, places, strict=True) if lexed.names[number] in INCLUDES
        ]
        return tuple(
            HeadLine(
                span,
                self._spelled(file, span) if (included := lexed.names[number] in INCLUDES) else self._macro(file, span),
                self._around(file, span.start),
                run,
                included and span.start not in seen,
                _last_before(includes, span.start) if lexed.names[number] == "undef" else -1,
            )
            for (number, run), span in zip(chosen, spans, strict=True)
        )

    def _spelled(self, file: int, span: Span) -> tuple[str, str]:
        text = self._files[file].source.text[span.char_start : span.char_end]
        match = _SPELLING.search(text)
        return (match[1], match[2]) if match else ('"', text)

    def _macro(self, file: int, span: Span) -> tuple[str, str]:
        match = _MACRO.search(self._files[file].source.text, span.char_start, span.char_end)
        return "", match[1] if match else ""


def _last_before(places: Sequence[int], place: int) -> int:
    """Return the last of the sorted `places` before `place`, -1 if there is none."""
    count = bisect_left(places, place)
    return places[count - 1] if count else -1


def _guard_of_file(code: bytes, lexed: Lexed) -> AbstractSet[int]:
    """Return the number of the definition of the include guard of a whole file, if it has one."""
    guard = guard_number(code, lexed)
    return frozenset((guard + 1,)) if guard >= 0 else frozenset()


def _lines(code: bytes, lexed: Lexed, numbers: range, guards: AbstractSet[int]) -> Iterator[int]:
    """Yield the includes of a run, the nearest definitions before each, and the `#undef`s after the last.

    Of a macro with several definitions, as in the arms of a conditional, all come along.
    """
    names = lexed.names
    places = [number for number in numbers if names[number] in INCLUDES]
    if not places:
        return
    configuring = [
        number
        for number in numbers
        if names[number] in CONFIGURING
        and number not in guards
        and not _ONCE.match(code, *lexed.directives[number].tolist())
        and (number < places[-1] or names[number] != "define")
    ]
    kept = {number for place in places for number in [each for each in configuring if each < place][-MOST_CONFIGURING:]}
    kept |= {number for number in configuring if number > places[-1]}
    defined = {number: _DEFINED.match(code, *lexed.directives[number].tolist()) for number in configuring}
    named = {match[1] for number in kept if (match := defined.get(number))}
    kept |= {number for number, match in defined.items() if match and match[1] in named}
    yield from sorted({*places, *kept})
