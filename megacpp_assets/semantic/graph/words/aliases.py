"""Finds uses of using-declarations, namespace aliases and using-directives, for which libclang has no references."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from megacpp_assets.semantic.graph.analysis.analysis import FileFacts
from megacpp_assets.semantic.graph.chunks import Root
from megacpp_assets.semantic.graph.spaces import Space
from megacpp_assets.semantic.graph.words.chunk_text import Pairs, code_of, numbered
from megacpp_assets.semantic.graph.words.mentions import last_name

DIRECTIVE = re.compile(rb"\busing\s+namespace\s+([\w:]+)\s*;")
_UNNAMED = "(anonymous)"
_ALIAS = re.compile(rb"\s*(?:using\s+(?!namespace\b)[^=]*|namespace\s+\w+\s*=[^;]*);\s*\Z")


def introduced(files: Sequence[FileFacts]) -> Pairs:
    """Yield uses of the aliases and using-directives of each file, and of the aliases in namespaces of headers."""
    shared: dict[bytes, dict[str, int]] = defaultdict(dict)
    for base, facts in numbered(files):
        yield from _aliases(facts, base)
        yield from _directives(facts, base)
        for space, number, name in _shared_aliases(facts):
            shared[name].setdefault(space, base + number)
    if shared:
        names = rb"(?:" + b"|".join(sorted(shared)) + rb")\b"
        pattern = re.compile(rb"(?<![\w:.])(?<!->)(?<!-> )" + names)
        qualified = re.compile(rb"\b([A-Za-z_]\w*+)::(" + names + rb")")
        for base, facts in numbered(files):
            if pattern.search(facts.source.data):
                yield from _shared_uses(facts, base, pattern, shared)
            if qualified.search(facts.source.data):
                yield from _qualified_uses(facts, base, qualified, shared)


def _shared_aliases(facts: FileFacts) -> Iterator[tuple[str, int, bytes]]:
    """Yield the aliases that a header introduces in a namespace, or in none: its name or "", the chunk, the alias.

    What it introduces in an unnamed or inline namespace, it introduces in the namespace around it too.
    """
    for root, spaces in zip(facts.roots, facts.spaces, strict=True) if facts.file.header else ():
        for number, name in _aliases_in(facts, root):
            for space in reversed(spaces):
                if space.name:
                    yield space.name, number, name
                if not _is_open(facts, space):
                    break
            if not spaces:
                yield "", number, name


def _shared_uses(
    facts: FileFacts, base: int, pattern: re.Pattern[bytes], shared: Mapping[bytes, Mapping[str, int]]
) -> Pairs:
    """Yield the chunks of a file that name an alias of a namespace that they are in, with the chunk of the alias.

    An alias of the file itself comes first. Aliases outside of namespaces count for chunks outside of namespaces: in
    one, the name is mostly that of its own class.
    """
    own = {name for root in facts.roots for _, name in _aliases_in(facts, root)}
    for root, spaces in zip(facts.roots, facts.spaces, strict=True):
        inside = dict.fromkeys(name for space in reversed(spaces) for name in _around(space.name)) or {"": None}
        for number in range(root.first, root.last):
            declared = last_name(facts.chunks[number].name).encode()  # `class Name;` declares what the alias names
            for name in set(pattern.findall(code_of(facts, number))) - own - {declared}:
                meant = (shared[name][space] for space in inside if space in shared[name])
                yield from ((base + number, used) for used in [*meant][:1])


def _around(space: str) -> Iterator[str]:
    """Yield the qualified name of a namespace and those of the namespaces around it: `namespace a::b {` is in `a`."""
    while space:
        yield space
        space = space.rpartition("::")[0]


def _qualified_uses(
    facts: FileFacts, base: int, pattern: re.Pattern[bytes], shared: Mapping[bytes, Mapping[str, int]]
) -> Pairs:
    """Yield the chunks of a file that name an alias behind the last name of its namespace, as `details::make_unique`.

    If several namespaces with that name have such an alias, none is meant.
    """
    for number in range(len(facts.chunks)):
        for qualifier, name in set(pattern.findall(code_of(facts, number))):
            spaces = shared[name].items()
            meant = [used for space, used in spaces if last_name(space) == qualifier.decode()]
            yield from ((base + number, used) for used in meant if len(meant) == 1)


def _aliases(facts: FileFacts, base: int) -> Pairs:
    """Yield uses of the using-declarations and namespace aliases of a file, inside of their scopes."""
    starts = [chunk.start for chunk in facts.chunks]
    for root, spaces in zip(facts.roots, facts.spaces, strict=True):
        for number, name in _aliases_in(facts, root):
            end = _visible_until(facts, spaces)
            pattern = re.compile(rb"(?<![\w:])" + name + rb"\b")
            for match in pattern.finditer(facts.source.data, facts.chunks[number].end, end):
                user = bisect_right(starts, match.start()) - 1
                if match.start() < facts.chunks[user].end and last_name(facts.chunks[user].name).encode() != name:
                    yield base + user, base + number


def _visible_until(facts: FileFacts, spaces: Sequence[Space]) -> int:
    """Return where the names that a file introduces in `spaces` stop being visible without their namespace.

    What an unnamed or inline namespace introduces is visible around it.
    """
    ends = (space.end for space in reversed(spaces) if not _is_open(facts, space))
    return next(ends, len(facts.source.data))


def _is_open(facts: FileFacts, space: Space) -> bool:
    opening = facts.source.data[space.opening.start : space.opening.end]
    return space.name.endswith(_UNNAMED) or opening.split(None, 1)[:1] == [b"inline"]


def _directives(facts: FileFacts, base: int) -> Pairs:
    """Yield uses of the using-directives of a file: all later chunks in their scopes use them."""
    starts = [chunk.start for chunk in facts.chunks]
    for root, spaces in zip(facts.roots, facts.spaces, strict=True):
        for number in range(root.first, root.last):
            if facts.chunks[number].kind == "preamble" and DIRECTIVE.search(code_of(facts, number)):
                end = _visible_until(facts, spaces)
                yield from ((base + user, base + number) for user in range(number + 1, bisect_right(starts, end)))


def _aliases_in(facts: FileFacts, root: Root) -> Iterator[tuple[int, bytes]]:
    """Yield the chunks of `root` that introduce an alias, with the alias."""
    for number in range(root.first, root.last):
        name = last_name(facts.chunks[number].name)
        if name.isidentifier() and facts.chunks[number].kind == "preamble" and _ALIAS.match(code_of(facts, number)):
            yield number, name.encode()
