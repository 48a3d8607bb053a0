"""Items, of which documents are made: a class with all its members, a function, or a chunk of short declarations.

An item is shown whole or as a declaration. The declaration of a function is its signature. That of a class has its
larger inline methods as signatures, or is only its head. Other items are short and have one form. An item is in many
documents, so facts about its text are computed once.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet

from megacpp_assets.semantic.documents.items.class_names import completed_in, qualifiers_in, template_in
from megacpp_assets.semantic.documents.items.classes import Classes, items_in
from megacpp_assets.semantic.documents.items.recent import WORDS, recent
from megacpp_assets.semantic.documents.items.words import WORD, applies, is_operator, without_comments, words_of
from megacpp_assets.semantic.graph.repository import Repository
from megacpp_assets.semantic.graph.spaces import Span
from megacpp_assets.semantic.graph.symbol_rows import ENUMERATOR, KINDS
from megacpp_assets.semantic.graph.words.mentions import KEYWORDS

DEFINES = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)", re.M)
_OUTSIDE = re.compile(r"::\s*+(\w++)(?>(?:\s*+\[[^\]]*+\])*)\s*+;\s*+\Z")  # of a static member: `Key Kept::all;`
_DECLARED = re.compile(r"(?<![A-Za-z_])([A-Za-z_]\w*+)\s*+(?=[;=({\[,}])")
"""Possessive, so that each word is tried once. Without it a string of 60,000 letters takes minutes."""
_ASIDE = re.compile(r"(?:\s+|//[^\n]*|/\*.*?\*/)*", re.S)
_TYPEDEF = re.compile(r"(?>(?:\s+|//[^\n]*|/\*.*?\*/)*)typedef\b", re.S)
"""Possessive: otherwise each comment in front doubles the time for a text without a typedef."""
_TAGGED = re.compile(r"typedef\s+(?:struct|union)\s+[A-Za-z_]\w*")
"""A class that a typedef names and that has a name of its own, so that it can be declared ahead."""
_NAMES_BEHIND = re.compile(r"[ \t]*([A-Za-z_]\w*(?>(?:[ \t]*,[ \t]*\**[ \t]*[A-Za-z_]\w*)*))[ \t]*;")
_ENUMERATION = re.compile(r"(?:typedef\s+)?enum\b(?!\s+(?:class|struct)\b)")
_ENUMERATORS = KINDS.index(ENUMERATOR)
_NO_NAMES = KEYWORDS | {"define"}
"""Words that name nothing."""
EXTERN = re.compile(r"\s*extern\b(?![^;]*=)")
"""The beginning of a variable that is only declared."""
Item = tuple[int, int]
"""A range of chunk numbers, contiguous in its file."""


class Items:
    """The chunks of a repository grouped into items."""

    def __init__(self, repository: Repository) -> None:
        self._repository = repository
        self.of: Sequence[Item] = list(items_in(repository))
        self.classes = Classes(repository, self.of)
        self.declared_chars = recent(self._declared_chars)
        """The characters of an item without its bodies; 0 for a method that a class declares."""
        self.head_chars = recent(self._head_chars)
        """The characters of a class's head; 0 for other items and for classes that only a typedef names."""
        self.aside_chars = recent(self._aside_chars)
        """The characters of comments in front of a chunk, which its declaration leaves out."""
        self.used = recent(self._used)
        """The chunks that a chunk uses."""
        self.named = recent(self._named)
        """The chunks that the signature of a chunk uses, or the macro that opens its namespace."""
        self.holder = recent(self._holder)
        """The class of a member that is defined outside of it. It may be a member of a nested class."""
        self.around_chars = recent(self._around_chars)
        """The characters of the preprocessor's conditions around an item."""
        self.names = recent(self._names_of)
        """The names by which other chunks may use a chunk."""
        self.unresolved = recent(self._unresolved)
        """The classes that other files name only in text that the parser does not resolve."""
        self.behind = recent(self._behind)
        """The place of the names that a typedef gives to a class after its brace; None for other items."""
        self.classes_of = recent(self._find_classes)
        """The class that a chunk defines, forward-declares, names by typedef or defines a member of. Behind a class
        template that a typedef names, its arguments."""
        self.is_variable = recent(self._is_variable)
        """Whether an item declares variables outside of classes and functions, which may need complete types."""
        self.is_macro = recent(self._is_macro)
        """Whether a chunk defines a macro."""
        self.spells = recent(self._spells)
        """Whether a chunk or a condition around it has a name, or an operator, that another chunk declares."""
        self.bodies = recent(self._bodies)
        """The chunks of an item that have a body which can be left out."""
        self.names_behind = recent(self._names_behind)
        """The place of the names that a typedef gives to a class; None if it gives none."""
        self._types = recent(self._types_of)
        """The names of a chunk but for its enumerators."""
        self._tag = recent(self._tag_of)
        self._completing = recent(completed_in, WORDS)
        self._qualifying = recent(qualifiers_in, WORDS)
        self._asked = recent(self._asked_around)
        self._operator = recent(self._operator_of)
        self.words = recent(self._words, WORDS)
        """The words of a chunk."""
        self.defined = recent(self._declared_by)
        """The names that a chunk declares, or the macros that it defines."""

    def _unresolved(self) -> AbstractSet[Item]:
        file_of = self._repository.nodes.file_of
        spelled = {self.of[target] for targets in self._repository.spelled for target in targets}
        resolved = {
            self.of[target]
            for number, edges in enumerate(self._repository.out)
            for target, _, _ in edges
            if file_of(target) != file_of(number)
        }
        return {item for item in spelled - resolved if self.head_chars(item)}

    def owner(self, item: Item) -> Item | None:
        """Return the class whose method the function `item` is, if it is defined outside of the class."""
        return self.holder(item) if self._repository.nodes[item[0]].chunk.kind == "func_body" else None

    def _holder(self, item: Item) -> Item | None:
        node = self._repository.nodes[item[0]]
        name = node.chunk.name.rpartition("::")[0]
        while name and name not in self.classes:
            name = name.rpartition("::")[0]
        holder = self.classes.find(name, node.file)
        return None if holder == item else holder

    def class_of(self, target: int) -> Item | None:
        """Return the first of the classes of a chunk."""
        return next(iter(self.classes_of(target)), None)

    def _find_classes(self, target: int) -> Sequence[Item]:
        item, node = self.of[target], self._repository.nodes[target]
        if self.head_chars(item):
            return [item]
        if node.chunk.kind == "typedef" and "*" not in (text := without_comments(self.text(item))):
            found = dict(self.classes.behind_alias(target, self.used))
            first = [each for each, name in found.items() if name.rpartition("::")[2] == template_in(text)]
            return [*found] if len(found) == 1 else [*dict.fromkeys((*first, *found))] if first else []
        named = self.classes.find(node.chunk.name, node.file) if node.chunk.kind == "class_decl" else self.holder(item)
        return [] if named is None else [named]

    def _bodies(self, item: Item) -> Sequence[int]:
        return [number for number in range(*item) if self._has_body(number)]

    def _has_body(self, number: int) -> bool:
        node = self._repository.nodes[number]
        return node.signature is not None and node.chunk.kind == "func_body"

    def _head_chars(self, item: Item) -> int:
        text, behind = self.signature_text(item[0]), self.behind(item)
        is_head = self._repository.nodes[item[0]].chunk.kind == "class_decl"
        return len(self.head_text(item)) if is_head and (behind or not _TYPEDEF.match(text)) else 0

    def head_text(self, item: Item) -> str:
        """Return the text that declares a class or function: its signature, and the names of a typedef after it."""
        text, behind = self.signature_text(item[0]), self.behind(item)
        if behind is None:
            return text
        source = self._repository.files[self._repository.nodes[item[0]].file].source
        return f"{text} {source.text[behind.char_start : behind.char_end]}"

    def _behind(self, item: Item) -> Span | None:
        first = self._repository.nodes[item[0]]
        if first.chunk.kind != "class_decl" or not _TAGGED.fullmatch(self.signature_text(item[0])):
            return None
        return self.names_behind(item)

    def _names_behind(self, item: Item) -> Span | None:
        first, last = self._repository.nodes[item[0]], self._repository.nodes[item[1] - 1]
        text = self.text(item)
        names = _NAMES_BEHIND.match(text, text.rfind("}") + 1)
        if names is None or not _TYPEDEF.match(text):
            return None
        start, end = (last.chunk.end - len(text[names.span(1)[side] :].encode()) for side in (0, 1))
        return Span(start, end, first.char_start + names.start(1), first.char_start + names.end(1))

    def least_chars(self, item: Item) -> int:
        """Return the characters of the shortest form of `item`: a class's head; 0 for what another class declares."""
        if head := self.head_chars(item):
            return 0 if self.is_inner(item) else head
        return self.declared_chars(item)

    def is_inner(self, item: Item) -> bool:
        """Return whether `item` is a nested class that is defined outside of its class."""
        return self.head_chars(item) > 0 and self.holder(item) is not None

    def _around_chars(self, item: Item) -> int:
        first = self._repository.nodes[item[0]]
        found = self._repository.directives.around(first.file, first.chunk.start)
        return sum(condition.chars for condition in found)

    def whole_chars(self, item: Item) -> int:
        """Return the characters of an item as it is in its file."""
        return self._repository.nodes[item[1] - 1].char_end - self._repository.nodes[item[0]].char_start

    def body_chars(self, item: Item, number: int) -> int:
        """Return the characters that are saved without the body of chunk `number`; for a function also its comment."""
        node = self._repository.nodes[number]
        hidden = node.char_end - node.signature.char_end if node.signature else 0
        return hidden + (self.aside_chars(number) if number == item[0] else 0)

    def _declared_chars(self, item: Item) -> int:
        if self.owner(item) is not None:
            return 0
        bodies = self.bodies(item)
        aside = 0 if item[0] in bodies else self.aside_chars(item[0])
        return self.whole_chars(item) - aside - sum(self.body_chars(item, number) for number in bodies)

    def _aside_chars(self, number: int) -> int:
        node = self._repository.nodes[number]
        if node.signature is not None and node.chunk.kind == "func_body":
            return node.signature.char_start - node.char_start
        found = _ASIDE.match(self._repository.files[node.file].source.text, node.char_start, node.char_end)
        return found.end() - node.char_start if found else 0

    def signature_text(self, number: int) -> str:
        """Return the text of the signature of chunk `number`."""
        node = self._repository.nodes[number]
        text = self._repository.files[node.file].source.text
        return text[node.signature.char_start : node.signature.char_end] if node.signature else ""

    def _used(self, number: int) -> Sequence[int]:
        resolved = [target for target, _, _ in self._repository.out[number]]
        return [*resolved, *(target for target in self._repository.spelled[number] if target not in resolved)]

    def _spells(self, number: int, target: int) -> bool:
        declared = self.defined(target)
        if not (self.words(number).isdisjoint(declared) and self._asked(number).isdisjoint(declared)):
            return True
        return bool(self._operator(target)) and self._is_applied(target, self.text((number, number + 1)))

    def _operator_of(self, number: int) -> str:
        """Return the name of chunk `number` if it is an operator that code applies by its symbol, else ""."""
        name = self._repository.nodes[number].chunk.name
        return name if is_operator(name) else ""

    def _words(self, number: int) -> AbstractSet[str]:
        node = self._repository.nodes[number]
        return words_of(self._repository.files[node.file].source.text[node.char_start : node.char_end])

    def _asked_around(self, number: int) -> AbstractSet[str]:
        """Return the macros on which the conditions around chunk `number` depend."""
        node = self._repository.nodes[number]
        around = self._repository.directives.around(node.file, node.chunk.start)
        return frozenset[str]().union(*(condition.asked() for condition in around))

    def _named(self, number: int) -> tuple[int, ...]:
        words = set(WORD.findall(self.signature_text(number))) | self._asked(number)
        words |= {name for space in self._repository.root_around(number).spaces for name in space.macros}
        return self.named_by(words, self.used(number))

    def named_by(self, words: AbstractSet[str], used: Iterable[int], code: str = "") -> tuple[int, ...]:
        """Return those chunks of `used` that one of `words` names, or the text of a macro that one of them names, and
        the operators that `code` applies.

        A macro may expand to a type, so that a signature with the macro means nothing without the type.
        """
        targets, known = tuple(used), set(words) - _NO_NAMES
        macros = [target for target in targets if self.is_macro(target)]
        while expanded := [target for target in macros if not known.isdisjoint(self.defined(target))]:
            macros = [target for target in macros if target not in expanded]
            known = known.union(*map(self.words, expanded)) - _NO_NAMES
        return tuple(each for each in targets if not known.isdisjoint(self.names(each)) or self._is_applied(each, code))

    def _is_applied(self, number: int, code: str) -> bool:
        operator = self._operator(number)
        return bool(operator) and applies(code, operator)

    def _names_of(self, number: int) -> AbstractSet[str]:
        """Return the names by which chunk `number` may be used: its name, or all words of short declarations.

        All words, because the expansion of a macro may name something that no text names. The type and the initializer
        of a variable do not name the variable, and neither does the class of a static member that is defined outside.
        Members of a class are named by the class, or each by its own name.
        """
        node = self._repository.nodes[number]
        if node.chunk.kind in ("func_body", "class_decl"):
            return self.defined(number)
        if self._is_in_class(number):
            entities = self._repository.files[node.file].entities
            found = entities.named(node.chunk.start, node.chunk.end)
            return {*self.defined(number), *(name.rpartition("::")[2] for name in found)}
        text = self.text((number, number + 1)) if node.chunk.kind == "other" else ""
        if "=" in text:
            return {*_DECLARED.findall(text[: text.index("=") + 1]), node.chunk.name.rpartition("::")[2]}
        outside = _OUTSIDE.search(text)
        return {outside[1]} if outside else self.words(number)

    def _aliases(self, number: int) -> list[str]:
        """Return the names that a typedef gives to the class of chunk `number` after its brace."""
        text = self.text(self.of[number]) if self._repository.nodes[number].chunk.kind == "class_decl" else ""
        return WORD.findall(text[text.rfind("}") :]) if _TYPEDEF.match(text) else []

    def _enumerators(self, number: int) -> list[str]:
        """Return the enumerators of chunk `number`, if it is an enumeration whose enumerators have no scope."""
        node = self._repository.nodes[number]
        text = self.text(self.of[number]) if node.chunk.kind == "class_decl" else ""
        if not _ENUMERATION.match(text, self.aside_chars(number) if text else 0):
            return []
        names = self._repository.files[node.file].entities.named(node.chunk.start, node.chunk.end, _ENUMERATORS)
        return [name.rpartition("::")[2] for name in names]

    def _declared_by(self, number: int) -> AbstractSet[str]:
        """Return the name of chunk `number`, or the names that its short declarations or macros define."""
        node = self._repository.nodes[number]
        if self._is_in_class(number):
            return self.defined(self.of[number][0])
        if node.chunk.kind in ("func_body", "class_decl"):
            return {node.chunk.name.rpartition("::")[2], *self._aliases(number), *self._enumerators(number)}
        text = self.text((number, number + 1))
        return {*DEFINES.findall(text)} or {*_DECLARED.findall(text)}

    def _is_in_class(self, number: int) -> bool:
        """Return whether chunk `number` holds short members of a class."""
        kinds = (self._repository.nodes[each].chunk.kind for each in (self.of[number][0], number))
        return tuple(kinds) == ("class_decl", "class_member")

    def complete_in(self, text: str, numbers: Iterable[int]) -> AbstractSet[int]:
        """Return those of the chunks `numbers` whose class `text` names where it must be complete."""
        return {number for number in dict.fromkeys(numbers) if self.is_complete_in(text, number)}

    def is_complete_in(self, text: str, number: int) -> bool:
        """Return whether `text` names the class of chunk `number` where it must be complete. If a typedef names the
        class, its own name counts only after `struct`. Elsewhere it is a variable's name."""
        (plain, tagged), types = self._completing(text), self._types(number)
        named = types & plain
        return not types.isdisjoint(tagged) or (bool(named) and named != {self._tag(number)})

    def _types_of(self, number: int) -> AbstractSet[str]:
        return self.defined(number) - {"", *self._enumerators(self.of[number][0])}

    def _tag_of(self, number: int) -> str:
        """Return the name of a class that no other name of its typedef equals; "" for other chunks."""
        if self.behind(self.of[number]) is None:
            return ""
        own = self.signature_text(self.of[number][0]).split()[-1]
        return "" if own in self._aliases(number) else own

    def is_qualifier_in(self, text: str, number: int) -> bool:
        """Return whether `text` names something inside of the class of chunk `number`, as `Class::Type`."""
        return "::" in text and not self.defined(number).isdisjoint(self._qualifying(text))

    def is_function(self, number: int) -> bool:
        """Return whether chunk `number` declares or defines a function."""
        return self._repository.nodes[number].chunk.kind in ("func_body", "func_sig")

    def _is_variable(self, item: Item) -> bool:
        is_other = self._repository.nodes[item[0]].chunk.kind == "other"
        return is_other and EXTERN.match(self.text(item)) is None

    def is_unnamed(self, item: Item) -> bool:
        """Return whether `item` is a class or an enumeration that only a typedef names."""
        return self._repository.nodes[item[0]].chunk.kind == "class_decl" and not self.head_chars(item)

    def text(self, item: Item) -> str:
        """Return the text of an item as it is in its file."""
        first, last = self._repository.nodes[item[0]], self._repository.nodes[item[1] - 1]
        return self._repository.files[first.file].source.text[first.char_start : last.char_end]

    def _is_macro(self, number: int) -> bool:
        node = self._repository.nodes[number]
        text = self._repository.files[node.file].source.text
        return node.chunk.kind == "preamble" and DEFINES.search(text, node.char_start, node.char_end) is not None

    def shown(self, item: Item, whole: Iterable[int]) -> list[int]:
        """Return the chunks of `item` that are shown completely if the bodies `whole` are shown."""
        kept = set(whole)
        return [number for number in range(*item) if number in kept or not self._has_body(number)]
