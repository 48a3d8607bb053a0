"""The members of classes one by one, so that a document can show a class with only those members that its roots use."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from itertools import chain
from typing import TypeVar

from megacpp_assets.semantic.documents.items.beside import Beside, Excerpt, excerpt_of
from megacpp_assets.semantic.documents.items.class_names import qualified_in
from megacpp_assets.semantic.documents.items.enumerators import enumerators_in, valued_with
from megacpp_assets.semantic.documents.items.items import Item, Items
from megacpp_assets.semantic.documents.items.member_places import (
    ASIDE,
    Cut,
    called_name,
    friends_in,
    has_whole_conditions,
    macros_in,
    names_in_class,
    outermost,
    places_in,
    with_macro,
)
from megacpp_assets.semantic.documents.items.mentions import Mentions
from megacpp_assets.semantic.documents.items.recent import recent
from megacpp_assets.semantic.documents.items.templates import Templates
from megacpp_assets.semantic.documents.items.words import without_comments, words_of
from megacpp_assets.semantic.graph.preprocessor.conditions import Condition
from megacpp_assets.semantic.graph.repository import Node, Repository
from megacpp_assets.semantic.graph.signatures import declared_end, needs_body
from megacpp_assets.semantic.graph.spaces import Span
from megacpp_assets.semantic.graph.symbol_rows import FUNCTION, Form
from megacpp_assets.semantic.labels.symbol_names import symbol_id

CLOSING = "\n};"
OPENING = -1
"""In place of a member's number: the head of a class with its bases."""
_BRACE = re.compile(rb"(?:(?>" + ASIDE.pattern + rb")|[^{};/]|/(?![/*]))*?\{", re.S)
"""A comment ends at its first `*/`: otherwise each comment doubles the ways to read a text without a brace."""
_LABEL = re.compile(rb"\b(public|protected|private)\s*:(?!:)")
_VIRTUAL = re.compile(rb"\b(?:virtual|override|final)\b")
_MADE = re.compile(rb"[A-Za-z_]\w*(?:\s*\([^(){};]*\))?")
"""A macro in place of fields."""
_ALIAS = re.compile(r"(?:typedef\s+(?!(?:class|struct|union|enum)\b)|using\s)")
"""A member that only names a type, which may be incomplete there."""
_PUBLIC = "public"
_ENUM = re.compile(r"enum\b")
_ENUMERATION = re.compile(r"(?:typedef\s+)?enum\b")
Value = TypeVar("Value")


class Members:
    """The members of the classes of one repository."""

    def __init__(self, repository: Repository, items: Items, mentions: Mentions) -> None:
        self._repository = repository
        self._items = items
        self._mentions = mentions
        self.templates = Templates(repository, items)
        self.of = recent(self._of)
        """The excerpt of a class, without members if none can be cut out of it."""
        self.with_named = recent(self._with_named)
        """Member `number` of the class `item` with the others that its declaration names, as a type of the class."""
        self.needs = recent(self._needs)
        """Return the chunks that member `number` of the class `item` names. The number -1 means the opening of the
        class.
        """
        self.partial = recent(self._partial_of)
        """The excerpt of an enumeration or of a struct that a typedef alone names; None for others."""
        self.valued = recent(self._valued_of)
        """Of each enumerator of an enumeration the numbers of those that must be shown with it; see `valued_with`."""
        self.qualified_by = recent(self._qualified_by)
        """The members of classes that the declaration of a function or type names, as `Class::Type`."""
        self.completing = recent(self._completing_of)
        """The classes that the head and the members of a class need complete, by the number of the member."""
        self._completed = recent(self._completed_with)
        self.inside = recent(self._inside_of)
        """The members of other classes that each member of a class names, by its number."""
        self.reached = recent(self._reached_by)
        """The chunks that an item uses, and the macros that its macros invoke."""
        self._beside = recent(self._members_beside)
        self._asked = recent(self._asked_of)

    def _of(self, item: Item) -> Excerpt | None:
        node = self._repository.nodes[item[0]]
        if (
            node.signature is None
            or not self._items.head_chars(item)
            or _ENUM.match(self._items.signature_text(item[0]))
        ):
            return None
        source = self._repository.files[node.file].source
        end = self._repository.nodes[item[1] - 1].chunk.end
        brace = _BRACE.match(source.data, node.signature.end, end)
        if brace is None or brace[0].count(b"(") != brace[0].count(b")"):
            return None
        found = self._with_macros(node, brace.end(), end, list(self._cut(node, brace.end(), end)))
        return excerpt_of(source, (node.signature.start, brace.end()), found)

    def _partial_of(self, item: Item) -> Excerpt | None:
        node, aside = self._repository.nodes[item[0]], self._items.aside_chars(item[0])
        source = self._repository.files[node.file].source
        is_enum = self.is_enumeration(item)
        if node.chunk.kind != "class_decl" or (self._items.head_chars(item) and not is_enum):
            return None
        start = node.chunk.start + len(source.text[node.char_start : node.char_start + aside].encode())
        end = self._repository.nodes[item[1] - 1].chunk.end
        brace = _BRACE.match(source.data, start, end)
        if brace is None:
            return None
        entities = self._repository.files[node.file].entities
        found = list(enumerators_in(entities, brace.end(), end) if is_enum else self._cut(node, brace.end(), end))
        excerpt = excerpt_of(source, (start, brace.end()), found)
        is_usable = any(self._values_in(item, excerpt)) if is_enum else bool(excerpt.members)
        return excerpt if is_usable else None

    def _valued_of(self, item: Item) -> Sequence[AbstractSet[int]]:
        excerpt = self.partial(item)
        return () if excerpt is None else self._values_in(item, excerpt)

    def _values_in(self, item: Item, excerpt: Excerpt) -> Sequence[AbstractSet[int]]:
        begin = excerpt.opening.char_end
        places = [(each.span.char_start - begin, each.span.char_end - begin) for each in excerpt.members]
        end = self._repository.nodes[item[1] - 1].char_end
        text = self._repository.files[self._repository.nodes[item[0]].file].source.text[begin:end]
        return valued_with(text, places)

    def is_enumeration(self, item: Item) -> bool:
        """Return whether `item` is an enumeration."""
        return _ENUMERATION.match(self._items.text(item), self._items.aside_chars(item[0])) is not None

    def shown_of(self, item: Item) -> Excerpt | None:
        """Return what can be shown of a class in part, of one that has no excerpt its partial form."""
        return self.of(item) or self.partial(item)

    def _cut(self, node: Node, start: int, end: int) -> Iterator[Cut]:
        """Yield the declarations between the braces that the parser saw and that hold no directive."""
        facts = self._repository.files[node.file]
        code, stop = facts.source.data, end
        reached, label = start, ""
        for place, *held in outermost(places_in(facts.entities, start, end)):
            first = with_macro(code, reached, place)
            yield from friends_in(code, reached, first.start, label)
            labels = _LABEL.findall(ASIDE.sub(b" ", code[reached : first.start]))
            label = labels[-1].decode() if labels else label
            reached = first.end
            text, has_body = code[first.start : first.end], first.form & Form.BODY
            end = declared_end(code, first.start, first.end) if has_body else first.end
            if needs_body(code[first.start : end]):
                has_body, end = Form(0), first.end
            is_ended = text.endswith((b";", b"}")) or _MADE.fullmatch(text) is not None
            is_whole = has_whole_conditions(code[first.start : end])
            is_cut = (b"\n#" in code[first.start : end].replace(b" ", b"") and not is_whole) or not is_ended
            is_cut = is_cut or (not has_body and text.count(b"(") < text.count(b")"))  # inside a macro's arguments
            if not first.form & Form.PARSED or is_cut:
                continue
            names_friend = text.startswith(b"friend") and not has_body
            ids = frozenset(symbol_id(each.name) for each in (first, *held) if not names_friend)
            names = names_in_class(first, held)
            called = called_name(first.name) if (is_function := first.kind == FUNCTION) else ""
            is_virtual = is_function and _VIRTUAL.search(text) is not None
            # A macro that the parser does not know ends the declaration: `name(int value) NOEXCEPT {`.
            is_unended = is_function and text.endswith(b")") and text.partition(b"(")[0].strip() == called.encode()
            if has_body or is_unended:
                yield Cut((first.start, end), ";", label, ids, frozenset(), called, is_virtual)
            else:
                names = frozenset() if is_function or names_friend else names
                yield Cut((first.start, end), "", label, ids, names, called, is_virtual)
        yield from friends_in(code, reached, stop, label)

    def _with_macros(self, node: Node, start: int, end: int, members: Sequence[Cut]) -> list[Cut]:
        """Return `members` and the macros that are defined between them, in their order.

        A macro that is defined inside of a member, as in a class without methods, comes with that member.
        """
        facts = self._repository.files[node.file]
        macros = list(macros_in(facts.source.data, facts.entities, start, end))
        between = [macro for macro in macros if not any(_holds(each, macro) for each in members)]
        found = sorted((*(_with_held(each, macros) for each in members), *between), key=lambda each: each.place)
        label, result = "", list[Cut]()
        for each in found:
            label = label if each.is_macro else each.label
            result.append(each._replace(label=label))
        return result

    def _with_named(self, item: Item, number: int) -> frozenset[int]:
        found = self._asked(item) | (set() if number == OPENING else self._beside(item).named_with(number))
        return found | self._friends_of(item, found) | ({OPENING} if number == OPENING else set())

    def _asked_of(self, item: Item) -> frozenset[int]:
        """Return the types and constants of a class that templates ask of an argument, with what they name."""
        excerpt = self.of(item)
        names = self.templates.asked.get(self._repository.nodes[item[0]].chunk.name.rpartition("::")[2], frozenset())
        members = enumerate(excerpt.members if excerpt and names else ())
        asked = [number for number, each in members if not each.called and not each.names.isdisjoint(names)]
        return frozenset[int]().union(*map(self._beside(item).named_with, asked))

    def _members_beside(self, item: Item) -> Beside:
        excerpt = self.of(item)
        members = excerpt.members if excerpt else ()
        return Beside(members, [self._code(item, member.span) for member in members])

    def _friends_of(self, item: Item, numbers: AbstractSet[int]) -> AbstractSet[int]:
        """Return the friends of a class, if not all of its members `numbers` are public."""
        excerpt = self.of(item)
        members = excerpt.members if excerpt else ()
        if all(members[number].label == _PUBLIC for number in numbers if members):
            return frozenset()
        friends = (number for number, member in enumerate(members) if member.is_friend)
        return frozenset[int]().union(*map(self._beside(item).named_with, friends))

    def conditions(self, item: Item, span: Span) -> tuple[Condition, ...]:
        """Return the conditions around a member at `span` that are inside its class, outer ones first."""
        excerpt = self.shown_of(item)
        around = self._repository.directives.around(self._repository.nodes[item[0]].file, span.start)
        return tuple(each for each in around if excerpt is not None and each.start > excerpt.opening.start)

    def text(self, item: Item, span: Span) -> str:
        text = self._repository.files[self._repository.nodes[item[0]].file].source.text
        return text[span.char_start : span.char_end]

    def _code(self, item: Item, span: Span) -> str:
        return without_comments(self.text(item, span))

    def _needs(self, item: Item, number: int) -> tuple[int, ...]:
        excerpt = self.shown_of(item)
        if excerpt is None:
            return ()
        span = excerpt.opening if number == OPENING else excerpt.members[number].span
        words = words_of(self.text(item, span))
        for condition in self.conditions(item, span):
            words |= condition.asked()
        return self._items.named_by(words, self.reached(item))

    def _reached_by(self, item: Item) -> Sequence[int]:
        targets = dict.fromkeys(target for chunk in range(*item) for target in self._items.used(chunk))
        pending = [target for target in targets if self._items.is_macro(target)]
        while pending:  # The parser tells no macro that the text of another one invokes.
            for target in self._items.used(pending.pop()):
                if self._items.is_macro(target) and target not in targets:
                    targets[target] = None
                    pending.append(target)
        return tuple(targets)

    def completes(self, item: Item, numbers: Collection[int] | None) -> Sequence[Item]:
        """Return the classes that must be complete where a class is shown with the members `numbers`, or with all if
        that is None: its bases, the types of its fields that are no pointers and no references, and the classes whose
        types its functions name.
        """
        return self._completed(item, None if numbers is None else frozenset(numbers))

    def _completed_with(self, item: Item, numbers: frozenset[int] | None) -> Sequence[Item]:
        shown = None if numbers is None else {OPENING, *numbers}
        return tuple(dict.fromkeys(chain.from_iterable(_of_members(self.completing(item), shown))))

    def _completing_of(self, item: Item) -> Mapping[int, Sequence[Item]]:
        excerpt = self.of(item)
        numbers = range(OPENING, len(excerpt.members) if excerpt else 0)
        found = ((number, self._completed_by_member(item, number)) for number in numbers)
        needed = ((number, [each for each in classes if each != item]) for number, classes in found)
        return {number: classes for number, classes in needed if classes}

    def _completed_by_member(self, item: Item, number: int) -> Sequence[Item]:
        excerpt, needed = self.of(item), self.needs(item, number)
        if excerpt is None or number == OPENING:
            return list(chain.from_iterable(map(self._items.classes_of, needed)))
        member, text = excerpt.members[number], self._code(item, excerpt.members[number].span)
        is_field = not member.called and not member.is_friend and _ALIAS.match(text) is None
        is_complete = self._items.is_complete_in if is_field else self._items.is_qualifier_in
        # A macro that stands for fields needs their types complete too.
        text += "".join(self._items.text(self._items.of[each]) for each in needed if self._items.is_macro(each))
        return [item for each in needed if is_complete(text, each) for item in self._items.classes_of(each)]

    def _inside_of(self, item: Item) -> Mapping[int, Sequence[tuple[Item, int]]]:
        excerpt = self.of(item)
        numbers = range(OPENING, len(excerpt.members)) if excerpt else ()
        found = ((number, self._named_inside(item, number)) for number in numbers)
        return {number: inside for number, inside in found if inside}

    def _named_inside(self, item: Item, number: int) -> Sequence[tuple[Item, int]]:
        excerpt = self.of(item)
        if excerpt is None:
            return ()
        span = excerpt.opening if number == OPENING else excerpt.members[number].span
        names, targets = set(qualified_in(self._code(item, span))), list(self.needs(item, number))
        for alias, member in enumerate(excerpt.members if names else ()):
            through = [name for holder, name in names if holder in member.names]
            if through and not member.called and _ALIAS.match(self._code(item, member.span)):
                targets += (needed := self.needs(item, alias))
                classes = (self._repository.nodes[each[0]].chunk for each in map(self._items.class_of, needed) if each)
                names |= {(each.name.rpartition("::")[2], name) for each in classes for name in through}
        return self._inside_classes(names, targets, item) if names else ()

    def _inside_classes(
        self, names: AbstractSet[tuple[str, str]], targets: Iterable[int], user: Item
    ) -> Sequence[tuple[Item, int]]:
        """Return the members that have one of `names`, (class, member), of those classes that the chunks `targets` of
        the `user` lead to."""
        found: list[tuple[Item, int]] = []
        for other in dict.fromkeys(map(self._items.class_of, targets)):
            if other is not None and other != user and (inside := self.of(other)) is not None:
                last = self._repository.nodes[other[0]].chunk.name.rpartition("::")[2]
                wanted = {name for holder, name in names if holder == last}
                found += [(other, each) for each, member in enumerate(inside.members) if member.names & wanted]
        return found

    def _qualified_by(self, item: Item) -> Sequence[tuple[Item, int]]:
        if self._items.head_chars(item) or self._items.is_macro(item[0]):
            return ()
        head = self._items.signature_text(item[0])
        names = qualified_in(without_comments(head or self._items.text(item)))
        targets = self._items.named(item[0]) if head else self._items.used(item[0])
        return self._inside_classes(names, targets, item) if names else ()

    def completed_by(self, item: Item) -> list[Item]:
        """Return the classes that the variables of `item`, or its fields if a typedef names it, need complete."""
        text = self._items.text(item)
        targets = dict.fromkeys(target for number in range(*item) for target in self._items.used(number))
        completed = (each for each in targets if self._items.is_complete_in(text, each))
        named = dict.fromkeys(item for each in completed for item in self._items.classes_of(each))
        return [each for each in named if each != item]

    def shown_in_part(self, item: Item, start: int, end: int) -> frozenset[int]:
        """Return the head of the class `item` and its members that have some of the characters [start, end).

        They are what a part of the class shows. Of other items nothing is.
        """
        excerpt = self.of(item)
        if excerpt is None:
            return frozenset()
        spans = ((number, member.span) for number, member in enumerate(excerpt.members))
        held = {number for number, span in spans if span.char_start < end and start < span.char_end}
        return frozenset({OPENING, *held})

    def label_at(self, item: Item, place: int) -> str:
        """Return the access label of the first member of the class `item` from the character `place` on; "" if none."""
        excerpt = self.of(item)
        members = excerpt.members if excerpt else ()
        return next((each.label for each in members if each.span.char_start >= place), "")

    def declared(self, item: Item) -> AbstractSet[int]:
        """Return the ids of what a class declares between its braces."""
        first, last = self._repository.nodes[item[0]], self._repository.nodes[item[1] - 1]
        start = first.signature.char_end if first.signature else first.char_start
        return self._mentions.declared(first.file, start, last.char_end)

    def own(self, unit: Item) -> list[int]:
        """Return the id of the member that `unit` defines outside of its class."""
        chunk = self._repository.nodes[unit[0]].chunk
        return [symbol_id(chunk.name)] if self._items.holder(self._items.of[unit[0]]) is not None else []

    def chunks(self, item: Item, numbers: Collection[int]) -> list[int]:
        """Return the chunks of `item` that hold some of the members `numbers`."""
        excerpt = self.shown_of(item)
        shown = [number for number in numbers if number != OPENING]
        starts = [excerpt.members[number].span.start for number in shown] if excerpt else []
        places = ((number, self._repository.nodes[number].chunk) for number in range(*item))
        return [number for number, chunk in places if any(chunk.start <= start < chunk.end for start in starts)]


def _holds(member: Cut, macro: Cut) -> bool:
    return member.place[0] <= macro.place[0] < member.place[1]


def _with_held(member: Cut, macros: Sequence[Cut]) -> Cut:
    """Return a member that also declares those of `macros` which are defined inside of it."""
    held = [macro for macro in macros if _holds(member, macro)]
    ids, names = (member.ids, *(each.ids for each in held)), (member.names, *(each.names for each in held))
    return member._replace(ids=frozenset().union(*ids), names=frozenset().union(*names)) if held else member


def _of_members(found: Mapping[int, Value], numbers: Collection[int] | None) -> Iterator[Value]:
    """Yield what was `found` of the members `numbers`, or of all if that is None, in their order."""
    chosen = found if numbers is None else sorted(frozenset(numbers).intersection(found))
    return (found[number] for number in chosen)
