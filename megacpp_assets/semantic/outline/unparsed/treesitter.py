"""The outline of a file by tree-sitter, for text that libclang did not parse.

A syntax error loses only its own text.
"""

from __future__ import annotations

from functools import cache, lru_cache
from typing import NamedTuple

import tree_sitter
import tree_sitter_cpp

from megacpp_assets.semantic.outline.nodes import Node, Role

_CLASSES = frozenset({"class_specifier", "struct_specifier", "union_specifier", "enum_specifier"})
_ROLES = {
    "namespace_definition": Role.NAMESPACE,
    "linkage_specification": Role.NAMESPACE,
    **dict.fromkeys(sorted(_CLASSES), Role.CLASS),
    "function_definition": Role.FUNCTION,
    "inline_method_definition": Role.FUNCTION,
    "field_declaration": Role.MEMBER,
    "enumerator": Role.MEMBER,
    "friend_declaration": Role.MEMBER,
    "type_definition": Role.TYPEDEF,
    "alias_declaration": Role.TYPEDEF,
    "concept_definition": Role.TYPEDEF,
    "using_declaration": Role.USING,
    "namespace_alias_definition": Role.USING,
    "declaration": Role.VARIABLE,
    "static_assert_declaration": Role.OTHER,
    "expression_statement": Role.OTHER,
    "attributed_statement": Role.OTHER,
    "template_instantiation": Role.OTHER,
}
_WRAPPERS = frozenset({"template_declaration", "export_declaration"})
"""Nodes that contain one declaration and have its role."""
_THROUGH = frozenset(
    {
        "translation_unit", "ERROR", "declaration_list", "field_declaration_list", "enumerator_list", "preproc_if",
        "preproc_ifdef", "preproc_else", "preproc_elif", "preproc_elifdef",
    }
)  # fmt: skip
_HOLDERS = frozenset({Role.NAMESPACE, Role.CLASS, Role.MEMBER, Role.TYPEDEF, Role.VARIABLE})
_DEEPEST = 64
"""The maximum depth that is visited. Qualified names would grow with the square of the depth."""
_TERMINATOR_BYTES = 64
_BODIES = frozenset({"compound_statement", "try_statement"})
_BODY_ENDS = ("_list", "compound_statement")
_BECOMES_MEMBER = frozenset({Role.PROTOTYPE, Role.VARIABLE, Role.USING, Role.OTHER})
_CALLS = """
(call_expression function: (identifier) @plain)
(call_expression function: (template_function name: (identifier) @plain))
(call_expression function: (field_expression argument: (this) field: (field_identifier) @plain))
(call_expression function: (field_expression field: (field_identifier) @member))
(call_expression function: (field_expression field: (template_method name: (field_identifier) @member)))
(call_expression function: (qualified_identifier) @qualified)
"""
_NAMES = frozenset(
    {"identifier", "field_identifier", "type_identifier", "qualified_identifier", "operator_name", "destructor_name",
     "namespace_identifier", "template_function", "operator_cast", "nested_namespace_specifier"}
)  # fmt: skip


@cache
def _parser() -> tree_sitter.Parser:
    return tree_sitter.Parser(tree_sitter.Language(tree_sitter_cpp.language()))


@cache
def _calls() -> tree_sitter.Query:
    return tree_sitter.Query(tree_sitter.Language(tree_sitter_cpp.language()), _CALLS)


@lru_cache(maxsize=4)
def _parsed(code: bytes) -> tree_sitter.Tree:
    """Return the tree of `code`. It is cached, because callers ask for its errors and then for its outline."""
    return _parser().parse(code)


def has_errors(code: bytes) -> bool:
    """Return whether `code` has syntax errors."""
    return _parsed(code).root_node.has_error


def syntax_outline(code: bytes, scope: str = "") -> list[Node]:
    """Return nodes in pre-order. Names are as written, qualified by `scope` and the enclosing scopes; USRs are 0."""
    tree = _parsed(code)
    found: list[Node] = []
    stack = [_Visit(tree.root_node, 1, scope, False)]
    while stack:
        stack.extend(reversed(_visit(code, stack.pop(), found)))
    return sorted(found, key=lambda node: (node.start, -node.end, node.depth))


class Call(NamedTuple):
    """A call: the offset of the called name, its last component, and the scope before it.

    `scope` is "" for a plain name or one after `this`, and None for a member of another object.
    """

    place: int
    name: str
    scope: str | None


def syntax_calls(code: bytes) -> list[Call]:
    """Return each call with a named callee, in order."""

    def text(node: tree_sitter.Node) -> str:
        return code[node.start_byte : node.end_byte].decode(errors="replace")

    found = tree_sitter.QueryCursor(_calls()).captures(_parsed(code).root_node)
    calls = {node.start_byte: Call(node.start_byte, text(node), None) for node in found.get("member", ())}
    for node in found.get("plain", ()):
        calls[node.start_byte] = Call(node.start_byte, text(node), "")
    for qualified in found.get("qualified", ()):
        node, scope = qualified, ""
        while (inner := node.child_by_field_name("name")) is not None:
            before = node.child_by_field_name("scope")
            scope = text(before).partition("<")[0] if before is not None else scope
            node = inner
        calls[node.start_byte] = Call(node.start_byte, text(node), scope)
    return [calls[place] for place in sorted(calls)]


class _Visit(NamedTuple):
    """A node to visit, with its depth and scope."""

    node: tree_sitter.Node
    depth: int
    scope: str
    in_class: bool


def _visit(code: bytes, at: _Visit, found: list[Node]) -> list[_Visit]:
    """Record the node if it declares; return the children to visit."""
    if at.depth > _DEEPEST:
        return []
    if at.node.type in _THROUGH:
        return [at._replace(node=child) for child in at.node.named_children]
    inner = _declared(at.node)
    role = _role(inner, at.in_class)
    if role is None:
        return []
    own = _name(inner)
    name = "::".join(filter(None, (at.scope, own))) if own else ""
    solid = role is not Role.CLASS or any(child.type.endswith(_BODY_ENDS) for child in inner.children)
    found.append(Node(at.node.start_byte, _end(code, at.node), role, at.depth, name, definition=solid))
    if role is Role.FUNCTION:
        bodies = [child for child in inner.children if child.type in _BODIES]
        found.extend(Node(body.start_byte, body.end_byte, Role.BODY, at.depth + 1, "") for body in bodies)
    if role not in _HOLDERS or _is_marked_class(inner):
        return []
    scope = name or at.scope if role in (Role.NAMESPACE, Role.CLASS) else at.scope
    inside = [child for child in inner.named_children if child.type in _THROUGH or child.type in _CLASSES]
    return [_Visit(child, at.depth + 1, scope, at.in_class or role is Role.CLASS) for child in inside]


def _end(code: bytes, node: tree_sitter.Node) -> int:
    """Return the end of a declaration with the semicolon, or the comma of an enumerator, after it."""
    end = node.end_byte
    after = code[end : end + _TERMINATOR_BYTES]
    mark = after.lstrip()[:1]
    closes = mark == b";" or (mark == b"," and node.type == "enumerator")
    return end + after.index(mark) + 1 if closes and code[end - 1 : end] != b";" else end


def _declared(node: tree_sitter.Node) -> tree_sitter.Node:
    while node.named_children and (node.type in _WRAPPERS or _is_bare_linkage(node) or _is_friend_function(node)):
        node = node.named_children[-1]
    return node


def _is_friend_function(node: tree_sitter.Node) -> bool:
    """Return whether the node is a friend with a body, as `friend int f() { … }`."""
    return node.type == "friend_declaration" and node.named_children[-1].type == "function_definition"


def _is_bare_linkage(node: tree_sitter.Node) -> bool:
    """Return whether the node is `extern "C"` without braces."""
    return node.type == "linkage_specification" and node.named_children[-1].type != "declaration_list"


def _role(node: tree_sitter.Node, in_class: bool) -> Role | None:
    role = _ROLES.get(node.type)
    if node.type == "declaration" and any(_is_function(child) for child in node.named_children):
        role = Role.PROTOTYPE
    if role is Role.FUNCTION and not any(child.type in _BODIES for child in node.children):
        role = Role.PROTOTYPE
    if role is Role.FUNCTION and _is_marked_class(node):
        role = Role.CLASS
    return Role.MEMBER if in_class and role in _BECOMES_MEMBER else role


def _is_marked_class(node: tree_sitter.Node) -> bool:
    """Return whether the node is `class EXPORT Box { … };`, which tree-sitter parses as a function."""
    if node.type != "function_definition":
        return False
    kind, name = node.child_by_field_name("type"), node.child_by_field_name("declarator")
    return kind is not None and kind.type in _CLASSES and name is not None and name.type == "identifier"


def _is_function(node: tree_sitter.Node) -> bool:
    while node.type in ("pointer_declarator", "reference_declarator") and node.named_children:
        node = node.named_children[-1]
    inner = node.child_by_field_name("declarator") if node.type == "function_declarator" else None
    return inner is not None and inner.type != "parenthesized_declarator"


def _name(node: tree_sitter.Node) -> str:
    """Return the declared name as written; "" if it is missing."""
    current: tree_sitter.Node | None = node
    while current is not None:
        if current.type in _NAMES:
            return (current.text or b"").decode(errors="replace").split("<")[0].strip()
        step = current.child_by_field_name("name") or current.child_by_field_name("declarator")
        if step is None and current.named_children:
            step = next((child for child in current.named_children if child.type.endswith("declarator")), None)
        current = step
    return ""
