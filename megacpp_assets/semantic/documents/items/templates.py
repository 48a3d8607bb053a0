"""What class templates need that no reference of the parser names.

- Specialisations. No reference says which of them a compiler takes, and `is_string<T>` means `false_type` without them.
- Declarations ahead of a template, which may give it default arguments.
- What templates ask of their arguments: `typename Encoding::Ch` needs the type `Ch` of each class that is `Encoding`.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import cached_property

from megacpp_assets.semantic.documents.items.class_names import qualified_in
from megacpp_assets.semantic.documents.items.items import Item, Items
from megacpp_assets.semantic.documents.items.recent import recent
from megacpp_assets.semantic.documents.items.words import words_of
from megacpp_assets.semantic.graph.repository import Repository

_CLASS = re.compile(r"\b(?:class|struct|union)\b.*", re.S)
_MOST = 600
"""The specialisations that come with a template have at most so many characters together."""
_LONGEST_AHEAD = 1000
"""The maximum number of characters of a chunk that declares a template ahead. Short declarations share a chunk."""
_AHEAD = re.compile(r"\btemplate\s*+<((?:[^;{}()]|\([^;{}()]*+\))*?)>\s*+(?:class|struct)\s++([A-Za-z_]\w*+)\s*+;")
"""A declaration ahead of a template: its parameters and its name."""
_PARAMETER = re.compile(r"\b(?:typename|class)\b\s*+(?:\.\.\.)?\s*+([A-Za-z_]\w*+)\s*+(?=[,>=])")
_INSTANCE = re.compile(r"\b([A-Za-z_]\w*+)\s*+<((?>(?:[^<>;(){}]++|<[^<>;(){}]*+>)*))>")
"""A template with its arguments, which may be templates with theirs."""
_DEFAULT = re.compile(r"=\s*+([^,]*+)")
"""The default argument of a parameter."""
_ALIAS = re.compile(
    r"\busing\s++([A-Za-z_]\w*+)\s*+=\s*+(?>(?:(?:::\s*+)?[A-Za-z_]\w*+\s*+::\s*+)*)([A-Za-z_]\w*+)\s*+[<;]"
)
"""A name of a class, and the class."""


class Templates:
    """What the class templates of one repository need."""

    def __init__(self, repository: Repository, items: Items) -> None:
        self._repository = repository
        self._items = items
        self.specialised = recent(self._specialised)
        """The specialisations of a class template in its file, the first ones if they are long together."""
        self.ahead = recent(self._ahead_of)
        """The declaration ahead of a class template if it or the definition has default arguments."""

    def _specialised(self, item: Item) -> Sequence[Item]:
        if not self._is_template(item) or self._specialises(item):
            return ()
        found: list[Item] = []
        room, node = _MOST, self._repository.nodes[item[0]]
        for other in self._items.classes.beside(node.chunk.name, node.file):
            if self._is_template(other) and self._specialises(other):
                room -= self._items.declared_chars(other)
                if room < 0:
                    break
                found.append(other)
        return found

    def _is_template(self, item: Item) -> bool:
        return bool(self._items.head_chars(item)) and "template" in self._items.signature_text(item[0])

    def _specialises(self, item: Item) -> bool:
        """Return whether the head of a class gives its template arguments, as `struct hash<T *>`."""
        head = _CLASS.search(self._items.signature_text(item[0]))
        name = self._repository.nodes[item[0]].chunk.name.rpartition("::")[2]
        return head is not None and re.search(rf"\b{re.escape(name)}\s*<", head[0].partition(":")[0]) is not None

    def _ahead_of(self, item: Item) -> Item | None:
        if not self._items.head_chars(item) or self._specialises(item):
            return None
        node, head = self._repository.nodes[item[0]], self._items.signature_text(item[0])
        has_defaults = "=" in _CLASS.sub("", head)
        found = [
            number
            for number, gives_defaults in self._aheads.get(node.chunk.name, ())
            if gives_defaults != has_defaults and self._items.of[number] != item
        ]
        found.sort(key=lambda number: self._repository.nodes[number].file != node.file)
        return self._items.of[found[0]] if found else None

    @cached_property
    def _aheads(self) -> Mapping[str, Sequence[tuple[int, bool]]]:
        """The chunks that declare each class template ahead, by its qualified name, and whether they give it default
        arguments."""
        found: dict[str, list[tuple[int, bool]]] = defaultdict(list)
        for number, node in enumerate(self._repository.nodes):
            is_short = node.char_end - node.char_start <= _LONGEST_AHEAD
            if is_short and node.signature is None and node.chunk.kind == "class_decl":
                spaces = self._repository.root_around(number).spaces
                within = f"{spaces[-1].name}::" if spaces else ""
                for parameters, name in _AHEAD.findall(self._items.text((number, number + 1))):
                    found[within + name].append((number, "=" in parameters))
        return found

    @cached_property
    def asked(self) -> Mapping[str, AbstractSet[str]]:
        """What class templates ask of a class, as `Encoding::Ch`, by the name of a class that is their argument."""
        found: dict[str, set[str]] = defaultdict(set)
        asking = {name: names for name, names in self._asking().items() if names}
        for facts in self._repository.files if asking else ():
            for template, arguments in _INSTANCE.findall(facts.source.text) if facts.file.language != "c" else ():
                for name in words_of(arguments) if template in asking else ():
                    found[name] |= asking[template]
        for template, item in self._class_templates():
            for default in _DEFAULT.findall(_CLASS.sub("", self._items.signature_text(item[0]))):
                for name in words_of(default) if template in asking else ():
                    found[name] |= asking[template]
        return self._of_bases(found) if found else found

    def _of_bases(self, asked: Mapping[str, set[str]]) -> Mapping[str, AbstractSet[str]]:
        """Return `asked` also of what the classes are made of: what is asked of an alias is asked of its class, and
        what is asked of a class may be in one of its bases."""
        found, pending = defaultdict(set, asked), sorted(asked)
        while pending:
            name = pending.pop()
            for other in self._leading.get(name, ()):
                if not found[name] <= found[other]:
                    found[other] |= found[name]
                    pending.append(other)
        return found

    @cached_property
    def _leading(self) -> Mapping[str, AbstractSet[str]]:
        """The class that each alias outside of classes names, and the words of the bases of each class."""
        found: dict[str, set[str]] = defaultdict(set)
        for number, node in enumerate(self._repository.nodes):
            if node.chunk.kind == "typedef":
                for alias, target in _ALIAS.findall(self._items.text((number, number + 1))):
                    found[alias].add(target)
            elif node.chunk.kind == "class_decl" and node.signature is not None:
                behind = self._repository.files[node.file].source.text[node.signature.char_end : node.char_end]
                found[node.chunk.name.rpartition("::")[2]] |= words_of(behind.partition("{")[0])
        return found

    def _asking(self) -> Mapping[str, set[str]]:
        """Return what each class template, by its name, asks of its arguments, itself or by those that it passes on."""
        asking: dict[str, set[str]] = defaultdict(set)
        users: dict[str, set[str]] = defaultdict(set)
        for name, item in self._class_templates():
            parameters, text = set(_PARAMETER.findall(self._items.signature_text(item[0]))), self._items.text(item)
            asking[name] |= {asked for holder, asked in qualified_in(text) if holder in parameters}
            for other, given in _INSTANCE.findall(text):
                if not parameters.isdisjoint(words_of(given)):
                    users[other].add(name)
        pending = sorted(asking)
        while pending:
            name = pending.pop()
            for user in users.get(name, ()):
                if not asking[name] <= asking[user]:
                    asking[user] |= asking[name]
                    pending.append(user)
        return asking

    def _class_templates(self) -> Iterator[tuple[str, Item]]:
        for number, node in enumerate(self._repository.nodes):
            item = self._items.of[number]
            if item[0] == number and node.chunk.kind == "class_decl" and self._is_template(item):
                yield node.chunk.name.rpartition("::")[2], item
