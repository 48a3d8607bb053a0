"""Names in code by its words alone, and whether a chunk may be what a name refers to. No parser is needed."""

from __future__ import annotations

import re
from collections.abc import Container, Iterator
from typing import NamedTuple

from megacpp_assets.semantic.graph.analysis.analysis import FileFacts

_TOKEN = re.compile(rb"[A-Za-z_]\w*|\d[\w.']*|::|->|[^\s\w]")
_WORD = re.compile(rb"\b[A-Za-z_]\w*")
"""A name. It does not match the letters inside a number, such as `xff` in 0xff."""
_ACCESS = ("::", ".", "->")
_NO_TYPES = frozenset(
    "and case class co_return co_yield const constexpr delete else enum extern final goto inline mutable new "
    "not operator or private protected public register return sizeof static struct throw typename union "
    "virtual volatile".split()
)
"""Words that do not end a type, so that a name after them is not declared there."""
KEYWORDS = _NO_TYPES | frozenset(
    "alignas alignof auto bool break catch char char16_t char32_t char8_t concept const_cast constinit consteval "
    "continue decltype default do double dynamic_cast explicit export false float for friend if int long namespace "
    "noexcept nullptr register reinterpret_cast restrict short signed static_assert static_cast switch template this "
    "thread_local true try typedef typeid unsigned using void volatile wchar_t while".split()
)
"""Words of the language. A macro of that name is used where the parser expands it, never by the word alone."""
_TAGS = ("struct", "union", "enum", "class")
_BEFORE_VALUE = (",", "{", "(", "=", "&", "?", ":", "return")
_BEHIND_VALUE = (",", "}", ")", ";", ":")


class Mention(NamedTuple):
    """A name in code.

    `by` is `.`, `->`, `::` or "" before it, `of` the token before that. `called`: `(` or `<` follows. `tagged`: a word
    such as `struct` is before it. `value`: it may be the value of an initializer or an argument.
    """

    name: str
    by: str
    of: str
    called: bool
    tagged: bool = False
    value: bool = False


def words_of(code: bytes) -> set[str]:
    """Return the names in `code`, without the words of the language."""
    return {word.decode() for word in _WORD.findall(code)} - KEYWORDS


def mentions(code: bytes) -> Iterator[Mention]:
    """Yield the names in code with the tokens around them, without the names of its own variables and parameters."""
    around = _tokens_around(code)
    own = {name for _, before, name, after in around if _is_declared(before, after)}
    for of, before, name, after in around:
        is_name = name.isidentifier() and name not in KEYWORDS
        if is_name and (name not in own or before == "::"):
            is_value = before in _BEFORE_VALUE and after in _BEHIND_VALUE
            by = before if before in _ACCESS else ""
            yield Mention(name, by, of, after in ("(", "<"), before in _TAGS, is_value)


def variables_of(code: bytes) -> set[str]:
    """Return the names that are declared in `code` behind the name of their type, as `negated` is in `bool negated)`.
    One that is also qualified, or has template arguments, may mean something else too."""
    own, others = set[str](), set[str]()
    for _, before, name, after in _tokens_around(code):
        if name.isidentifier() and before.isidentifier() and _is_declared(before, after):
            own.add(name)
        elif before == "::" or after in ("::", "<"):
            others.add(name)
    return own - others


def _tokens_around(code: bytes) -> list[tuple[str, str, str, str]]:
    """Return each token with the two before it and the one behind it."""
    tokens = ["", "", *(token.decode(errors="replace") for token in _TOKEN.findall(code)), ""]
    return list(zip(tokens, tokens[1:], tokens[2:], tokens[3:], strict=False))


def _is_declared(before: str, after: str) -> bool:
    """Return whether a name between these tokens is declared there, after its type."""
    ends_type = before in ("*", "&", ">") or (before.isidentifier() and before not in _NO_TYPES)
    return ends_type and after in ("=", ";", ",", ")", "[", ":")


class Target(NamedTuple):
    """A chunk to which a name may refer: its scope, whether the scope is a class, whether it is a function, whether it
    defines, whether it is a variable, and whether a typedef.
    """

    name: str
    scope: str
    member: bool
    function: bool
    defines: bool
    variable: bool
    alias: bool

    @staticmethod
    def of(facts: FileFacts, number: int, classes: Container[str]) -> Target:
        """Return chunk `number` of a file; `classes` are the names of all classes."""
        name, kind = facts.chunks[number].name, facts.chunks[number].kind
        scope, has_head = name.rpartition("::")[0], facts.signatures[number] is not None
        around = "::".join(part for part in scope.split("::") if part != "(anonymous)")
        defines = kind in ("typedef", "preamble") or (has_head and kind != "func_sig")
        is_function = kind in ("func_body", "func_sig")
        return Target(name, around, scope in classes, is_function, defines, kind == "other", kind == "typedef")

    def fits(self, mention: Mention, user: str) -> bool:
        """Return whether the `mention` in the chunk `user` can refer to this chunk."""
        if (self.function and not (mention.called or mention.value)) or (self.alias and mention.tagged):
            return False
        if mention.by == "::" and mention.of.isidentifier():
            return f"::{self.name}".endswith(f"::{mention.of}::{mention.name}")
        if mention.by in (".", "->"):
            return self.member
        return self.is_visible_from(user)

    def is_visible_from(self, user: str) -> bool:
        """Return whether the unqualified name is enough in the chunk `user`.

        It is if this chunk is in a scope around `user`. Code outside of namespaces may have a using-directive, and
        argument-dependent look-up may find a function in any namespace.
        """
        if not self.scope or user.startswith(f"{self.scope}::"):
            return True
        return not self.member and (self.function or "::" not in user)


def last_name(name: str) -> str:
    """Return the name after the last `::`."""
    return name.rpartition("::")[2]
