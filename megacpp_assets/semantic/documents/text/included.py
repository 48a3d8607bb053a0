"""Chooses the include directives of a document: each once, within a room, with the directives that configure them.

Standard headers that the document needs are always shown.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from itertools import accumulate

from megacpp_assets.semantic.documents.standard_names import HEADERS
from megacpp_assets.semantic.documents.text.scopes import names_of
from megacpp_assets.semantic.graph.directives import HeadLine
from megacpp_assets.semantic.graph.spaces import Span


class Included:
    """The includes that were chosen so far, and the characters that are left for more.

    Names in angle brackets are outside of the repository. A name in quotes is shown if a root's file includes it,
    except for the paths `present`, whose text the document shows. The text below the includes defines `macros`.
    """

    def __init__(
        self,
        room: int,
        present: AbstractSet[str],
        needed: AbstractSet[str] = frozenset(),
        macros: AbstractSet[str] = frozenset(),
    ) -> None:
        self._room = room
        self._macros = macros
        self.missing = set(needed)
        """The standard headers that are needed and not shown yet."""
        self._present = present
        self._shown: set[tuple[str, ...]] = set()

    def stand_elsewhere(self, lines: Iterable[HeadLine]) -> None:
        """Record that the document shows `lines` as part of its pieces."""
        for line in lines:
            self.missing -= set() if line.conditions else self._provided(line.spelling[1])

    def chosen(self, lines: Sequence[HeadLine], under: AbstractSet[str], *, is_root_file: bool) -> list[HeadLine]:
        """Return the `lines` of a file that are shown: includes and directives that configure them, in file order.

        An include that the preprocessor skipped is shown if the file's text in the document is under all of its
        conditions. `under` names the conditions of that text. A line whose condition calls a macro is left out, unless
        a shown directive before it, or the text below, defines the macro: a preprocessor rejects such a condition.
        """
        kept: dict[int, HeadLine] = {}
        opened: set[Span] = set()
        configuring: dict[int, list[HeadLine]] = defaultdict(list)
        reserved: dict[int, list[HeadLine]] = defaultdict(list)
        for line in lines:
            if not line.spelling[0]:
                configuring[line.run].append(line)
                if _is_reserved(line):
                    reserved[line.run].append(line)
        for line in lines:
            if not self._is_wanted(line, is_root_file):
                continue
            hidden = line.dropped and not under >= set(names_of(line.conditions))
            if hidden or self._is_shown(line):
                continue
            # Of a standard header under no condition, most lines are known to configure nothing.
            is_plain = line.spelling[0] == "<" and line.spelling[1] in HEADERS and not line.conditions
            group = self._group(line, (reserved if is_plain else configuring)[line.run], kept)
            if self._lacked(line, group, kept):
                continue
            fresh = {start: each for start, each in group.items() if start not in kept}
            opening = {span for each in line.conditions for span in (*each.lines, each.closing)} - opened
            chars = sum(each.chars for each in fresh.values())
            chars += sum(span.char_end - span.char_start + 1 for span in opening)
            provided = set() if line.conditions else self._provided(line.spelling[1])
            if provided or chars <= self._room:
                self._room -= 0 if provided else chars
                self.missing -= provided
                self._shown.add((*names_of(line.conditions), *line.spelling))
                opened |= opening
                kept |= fresh
        return [line for line in lines if line.span.start in kept]

    def _group(
        self, line: HeadLine, configuring: Sequence[HeadLine], kept: Mapping[int, HeadLine]
    ) -> dict[int, HeadLine]:
        """Return an include with the directives that configure it, by their first bytes.

        They come before it, are about a macro that one before it defines, or undefine what the include may define.
        """
        group = {line.span.start: line}
        named = {each.spelling[1] for each in configuring if each.span.start < line.span.start}
        for each in configuring:
            is_near = each.spelling[1] in named or each.undefines == line.span.start
            if is_near and _configures(each, line) and not self._lacked(each, group, kept):
                group[each.span.start] = each
        return group

    def _lacked(self, line: HeadLine, *shown: Mapping[int, HeadLine]) -> AbstractSet[str]:
        """Return the macros that the conditions around `line` call and neither the text nor a line before defines."""
        if not line.conditions:
            return frozenset()
        called = frozenset[str]().union(*(condition.called() for condition in line.conditions)) - self._macros
        lines = (each for lines in shown for each in lines.values()) if called else ()
        before = (each for each in lines if not each.spelling[0] and each.span.start < line.span.start)
        return called.difference(each.spelling[1] for each in before)

    def _provided(self, name: str) -> set[str]:
        """Return the needed headers that including `name` provides: `<stdio.h>` provides `<cstdio>` too."""
        plain = name.removesuffix(".h")
        return self.missing & {name, name if plain == name else f"c{plain}"}

    def _is_wanted(self, line: HeadLine, is_root_file: bool) -> bool:
        mark, name = line.spelling
        return mark == "<" or (mark == '"' and is_root_file and not self._is_present(name))

    def _is_present(self, name: str) -> bool:
        return any(path == name or path.endswith(f"/{name}") for path in self._present)

    def _is_shown(self, line: HeadLine) -> bool:
        """Return whether the same include is shown without a condition, or under outer conditions of this line."""
        if not line.conditions:
            return line.spelling in self._shown
        outer = accumulate(((name,) for name in names_of(line.conditions)), initial=tuple[str, ...]())
        return any((*names, *line.spelling) in self._shown for names in outer)


def _configures(line: HeadLine, include: HeadLine) -> bool:
    """Return whether `line`, which is no include, may configure `include`. A header of the standard depends on reserved
    names alone, as `_GNU_SOURCE`, and on those in its conditions: other macros of a library between its includes are
    not for them."""
    _, macro = line.spelling
    bracket, header = include.spelling
    if bracket != "<" or _is_reserved(line) or header not in HEADERS:
        return True
    return any(macro in condition.named() for condition in include.conditions)


def _is_reserved(line: HeadLine) -> bool:
    """Return whether `line`, which is no include, defines a reserved name or no macro."""
    _, macro = line.spelling
    return not macro or macro.startswith("_")
