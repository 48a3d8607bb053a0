"""The classes of a repository by their qualified names. A class is a range of chunk numbers, as every item."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from megacpp_assets.semantic.graph.repository import Repository


class Classes:
    """The classes of each name; those of amalgamations come last."""

    def __init__(self, repository: Repository, of: Sequence[tuple[int, int]]) -> None:
        """`of` has the item of each chunk."""
        self._repository = repository
        self._found: dict[str, list[tuple[int, int]]] = {}
        pasted: dict[str, list[tuple[int, int]]] = {}
        for place in repository.roots:
            if place.root.kind == "class_decl" and repository.nodes[place.unit[0]].signature is not None:
                classes = pasted if place.file in repository.amalgamations else self._found
                classes.setdefault(place.root.name, []).append(of[place.unit[0]])
        for name, items in pasted.items():
            self._found.setdefault(name, []).extend(items)

    def __contains__(self, name: str) -> bool:
        return name in self._found

    def beside(self, name: str, file: int) -> Sequence[tuple[int, int]]:
        """Return the classes of `file` with this name, in order."""
        return [item for item in self._found.get(name, ()) if self._repository.nodes[item[0]].file == file]

    def find(self, name: str, file: int) -> tuple[int, int] | None:
        """Return the class with this name: the one in `file` if there is one, else the first."""
        found = self._found.get(name, ())
        return next((item for item in found if self._repository.nodes[item[0]].file == file), next(iter(found), None))

    def behind_alias(self, target: int, used: Callable[[int], Sequence[int]]) -> Iterator[tuple[tuple[int, int], str]]:
        """Yield the classes that a typedef or an alias uses, directly or by other aliases, each with the name by which
        the chunk `target` calls it. `used` returns the chunks that a chunk uses."""
        file, seen = self._repository.nodes[target].file, {target}
        pending = [(each, "") for each in used(target)]
        while pending:
            number, called = pending.pop(0)
            chunk = self._repository.nodes[number].chunk
            if (found := self.find(chunk.name, file)) is not None:
                yield found, called or chunk.name
            elif chunk.kind == "typedef" and number not in seen:
                seen.add(number)
                pending += [(each, called or chunk.name) for each in used(number)]


def items_in(repository: Repository) -> Iterator[tuple[int, int]]:
    """Yield the item of each chunk: its class, or the chunk itself."""
    for place in repository.roots:
        units = [repository.nodes[number].unit for number in range(*place.unit)]
        yield from ([place.unit] * len(units) if place.unit in units else units)
