"""Orders pieces around the macros that they define, since the preprocessor reads a document from top to bottom."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet

from megacpp_assets.semantic.documents.items.items import Item, Items
from megacpp_assets.semantic.documents.items.recent import recent
from megacpp_assets.semantic.documents.text.order import Piece, reached
from megacpp_assets.semantic.graph.preprocessor.conditions import Condition
from megacpp_assets.semantic.graph.repository import Repository
from megacpp_assets.semantic.graph.spaces import Span

_CHANGE = re.compile(r"^[ \t]*#[ \t]*(?:define|undef)[ \t]+([A-Za-z_]\w*)", re.M)


class Macros:
    """The macros that the items of one repository define."""

    def __init__(self, items: Items) -> None:
        self._items = items
        self.numbers = recent(self._numbers_of)
        """The chunks of an item that define macros."""
        self.defined = recent(self._defined_by)
        """The macros that an item defines, each with its chunk."""

    def of(self, pieces: Sequence[Piece]) -> dict[str, tuple[int, int]]:
        """Return the piece, by number, and the chunk that define each macro."""
        defined = ((place, self.defined(piece.item)) for place, piece in enumerate(pieces))
        return {name: (place, number) for place, found in defined for name, number in found.items()}

    def _numbers_of(self, item: Item) -> Sequence[int]:
        return tuple(filter(self._items.is_macro, range(*item)))

    def _defined_by(self, item: Item) -> Mapping[str, int]:
        return {name: number for number in self.numbers(item) for name in self._items.defined(number)}


class MacroOrder:
    """What pieces need of the macros of one repository."""

    def __init__(self, repository: Repository, items: Items) -> None:
        self._repository = repository
        self._items = items
        self._macros = Macros(items)
        self._changed = recent(self._changed_in)

    def arrange(self, pieces: Sequence[Piece], needs: Sequence[set[int]], opening: Sequence[frozenset[str]]) -> None:
        """Change what each piece `needs`, by number, so that macros have the right meaning everywhere.

        `opening` are the macros that open namespaces before each piece.
        """
        macros = self._macros.of(pieces)
        self._untie(pieces, needs)
        self._decide(pieces, needs, {name: place for name, (place, _) in macros.items()}, opening)
        self._defer(pieces, needs)
        self._delay(pieces, needs, {name: place for name, (place, _) in macros.items()})
        self._keep(pieces, needs, {name: number for name, (_, number) in macros.items()})

    def _untie(self, pieces: Sequence[Piece], needs: Sequence[set[int]]) -> None:
        """Let a macro come before what it names, if that needs the macro: its text is read only where it is used.

        The other pieces that use the macro need what it names instead.
        """
        defining = [place for place, piece in enumerate(pieces) if self._macros.numbers(piece.item)]
        users: list[set[int]] = [set() for _ in pieces]
        for number, needed in enumerate(needs if defining else ()):
            for each in needed:
                users[each].add(number)
        for place, piece in ((place, pieces[place]) for place in defining):
            macros = self._macros.numbers(piece.item)
            if needs[place] and users[place]:
                others = set(range(*piece.item)).difference(macros)
                firm = {self._items.of[target] for number in others for target in self._items.used(number)}
                tied = needs[place] & reached(users, place)
                for each in sorted(each for each in tied if pieces[each].item not in firm):
                    needs[place].discard(each)
                    users[each].discard(place)
                    for user in sorted(users[place] - reached(needs, each)):
                        needs[user].add(each)
                        users[each].add(user)

    def _decide(
        self,
        pieces: Sequence[Piece],
        needs: Sequence[set[int]],
        macros: Mapping[str, int],
        opening: Sequence[frozenset[str]],
    ) -> None:
        """Let a piece come behind the macros on which its conditions and its `opening` depend, those of `macros`, by
        their pieces.

        In one file a macro that is defined below says nothing above. The default of a macro says nothing to what is
        shown only without that macro.
        """
        for place, piece in enumerate(pieces) if macros else ():
            named = opening[place].union(*(each.named() for each in _conditions(piece)))
            if named.isdisjoint(macros):
                continue
            denied = {name for name in _denied(piece) & macros.keys() if name in _denied(pieces[macros[name]])}
            for other in sorted({macros[name] for name in named & macros.keys() - denied} - {place} - needs[place]):
                is_above = pieces[other].file != piece.file or pieces[other].span.start < piece.span.start
                if is_above and place not in reached(needs, other):
                    needs[place].add(other)

    def _defer(self, pieces: Sequence[Piece], needs: Sequence[set[int]]) -> None:
        """Let a default of a macro come behind the pieces that are shown only if it is not defined: those of other
        files, and those above it in its own file.

        Headers that are not included together may each have a default: `#ifndef ASSERT`, `#define ASSERT(c)`. Where one
        of them defines more under that condition, all of it comes first.
        """
        defined = [self._macros.defined(piece.item).keys() for piece in pieces]
        defaults: dict[str, list[int]] = defaultdict(list)
        for place, names in enumerate(defined):
            for name in sorted(names & _denied(pieces[place])) if names else ():
                defaults[name].append(place)
        for place, piece in enumerate(pieces) if defaults else ():
            denied = _denied(piece)
            for name in sorted(denied & (defaults.keys() - defined[place])) if denied else ():
                for other in defaults[name]:
                    is_same = pieces[other].file == piece.file
                    if is_same and pieces[other].span.start < piece.span.start:
                        continue
                    if is_same:
                        needs[place].discard(other)
                    if other not in reached(needs, place):
                        needs[other].add(place)

    def _delay(self, pieces: Sequence[Piece], needs: Sequence[set[int]], macros: Mapping[str, int]) -> None:
        """Let each of `macros`, by its piece, need the pieces of other files that have its name as a word and do not
        use it.

        Such a word is another name there, such as a field in a header that comes before the macro in its file. The
        preprocessor would replace it. In a file with errors it may be the macro, if it is written like one.
        """
        names = frozenset(macros)
        for place, piece in enumerate(pieces) if macros else ():
            words = {name for number in range(*piece.item) for name in names & self._items.words(number)}
            for macro in {macros[name] for name in words} - {place} - needs[place]:
                if pieces[macro].file == piece.file:
                    continue
                if self._repository.files[piece.file].parsed.errors and self._is_shouted(pieces[macro]):
                    needs[place] |= {macro} if place not in reached(needs, macro) else set()
                elif macro not in reached(needs, place):
                    needs[macro].add(place)

    def _is_shouted(self, piece: Piece) -> bool:
        """Return whether a piece defines a macro without small letters."""
        return all(name.isupper() for number in range(*piece.item) for name in self._items.defined(number))

    def _keep(self, pieces: Sequence[Piece], needs: Sequence[set[int]], macros: Mapping[str, int]) -> None:
        """Keep the order of a file around a macro that it defines or undefines several times.

        Each piece that changes it needs the pieces of its file that name the macro above it, and these need the last
        change above them. An order that other needs exclude is left out. `macros` are those of all pieces, by chunk.
        """
        changes: dict[tuple[int, str], list[int]] = defaultdict(list)
        for place, piece in enumerate(pieces):
            for name in self._changed(piece.file, piece.span):
                changes[piece.file, name].append(place)
        changes = {key: changing for key, changing in changes.items() if len(changing) > 1}
        files = {file for file, _ in changes}
        words = {place: self._expanded(each, macros) for place, each in enumerate(pieces) if each.file in files}
        for (file, name), changing in changes.items():
            users = {place for place, own in words.items() if pieces[place].file == file and name in own}
            in_file = sorted({*users, *changing}, key=lambda place: pieces[place].span.start)
            _keep_between(in_file, frozenset(changing), needs)

    def _changed_in(self, file: int, span: Span) -> Sequence[str]:
        """Return the macros that a place of a file defines or undefines, each once."""
        text = self._repository.files[file].source.text[span.char_start : span.char_end]
        return list(dict.fromkeys(_CHANGE.findall(text))) if "#" in text else []

    def _expanded(self, piece: Piece, macros: Mapping[str, int]) -> AbstractSet[str]:
        """Return the words of a piece, of the texts that it includes, and of the `macros` that these name."""
        included = (number for fragment in piece.fragments for number in fragment.chunks)
        words = frozenset[str]().union(*map(self._items.words, (*range(*piece.item), *included)))
        return words.union(*(self._items.words(macros[name]) for name in macros.keys() & words))


def _conditions(piece: Piece) -> Iterator[Condition]:
    return (each for each in piece.scopes if isinstance(each, Condition))


def _denied(piece: Piece) -> AbstractSet[str]:
    """Return the macros of which the definition would hide a piece."""
    return frozenset[str]().union(*(each.denied() for each in _conditions(piece)))


def _keep_between(places: Sequence[int], changing: AbstractSet[int], needs: Sequence[set[int]]) -> None:
    """Let those of `places` that are `changing` a macro need what is above them, up to the change before, and the
    others need the change above them. Nothing below the first change needs a later one.
    """
    later = {place for place in places if place in changing}
    for place in places:
        later.discard(place)
        needs[place] -= later if len(later) < len(changing) else set()
    above: list[int] = []
    for place in places:
        for each in above if place in changing else above[:1]:
            if place not in reached(needs, each):
                needs[place].add(each)
        above = [place] if place in changing else [*above, place]
