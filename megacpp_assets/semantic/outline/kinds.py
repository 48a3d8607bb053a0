"""libclang's cursor kinds (CXCursorKind): groups of kinds, and the node type of each (docs/contracts.md)."""

from __future__ import annotations

from typing import Final

import numpy as np

from megacpp_assets.contract.names import AST_NODE_UNKNOWN

STRUCT, UNION, CLASS, ENUM, FIELD, ENUM_CONSTANT, FUNCTION, VARIABLE, PARAMETER = 2, 3, 4, 5, 6, 7, 8, 9, 10
TYPEDEF, METHOD, NAMESPACE, LINKAGE, CONSTRUCTOR, DESTRUCTOR, CONVERSION = 20, 21, 22, 23, 24, 25, 26
TEMPLATE_TYPE, TEMPLATE_VALUE, TEMPLATE_TEMPLATE = 27, 28, 29
FUNCTION_TEMPLATE, CLASS_TEMPLATE, PARTIAL_SPECIALIZATION = 30, 31, 32
NAMESPACE_ALIAS, USING_DIRECTIVE, USING_DECLARATION, ALIAS, ACCESS = 33, 34, 35, 36, 39
TYPE_REF, BASE, TEMPLATE_REF, NAMESPACE_REF, MEMBER_REF, OVERLOADED_REF = 43, 44, 45, 46, 47, 49
DECL_REF_EXPR, MEMBER_REF_EXPR, CALL, NEW, LAMBDA = 101, 102, 103, 134, 144
COMPOUND, TRY, DECLARATION_STATEMENT = 202, 224, 231
MACRO_DEFINITION, MACRO_USE, INCLUSION = 501, 502, 503
ALIAS_TEMPLATE, STATIC_ASSERT, FRIEND, CONCEPT = 601, 602, 603, 604
UNEXPOSED, UNEXPOSED_EXPR = 1, 100

FUNCTIONS: Final = frozenset({FUNCTION, METHOD, CONSTRUCTOR, DESTRUCTOR, CONVERSION, FUNCTION_TEMPLATE})
CLASSES: Final = frozenset({STRUCT, UNION, CLASS, ENUM, CLASS_TEMPLATE, PARTIAL_SPECIALIZATION})
ALIASES: Final = frozenset({TYPEDEF, ALIAS, ALIAS_TEMPLATE})
TYPES: Final = CLASSES | ALIASES | {CONCEPT}
CALLABLES: Final = FUNCTIONS | {MACRO_DEFINITION}
TYPE_MEMBERS: Final = frozenset({FIELD, ENUM_CONSTANT})
"""A reference to one of these counts as a use of the type that contains it."""
TYPE_REFERENCES: Final = frozenset({TYPE_REF, TEMPLATE_REF})
NAME_REFERENCES: Final = frozenset({DECL_REF_EXPR, MEMBER_REF_EXPR, MEMBER_REF, OVERLOADED_REF, CALL, MACRO_USE})

KINDS: Final = 1024
"""All kinds are below this number, so that a property of kinds is an array with a kind as index."""

_BUCKETS: Final = {
    1: (FUNCTION, METHOD, CONSTRUCTOR, DESTRUCTOR, CONVERSION, FUNCTION_TEMPLATE),
    2: (CLASS, CLASS_TEMPLATE, PARTIAL_SPECIALIZATION, CONCEPT, BASE, FRIEND, ACCESS),
    3: (STRUCT, UNION),
    4: (ENUM, ENUM_CONSTANT),
    5: (NAMESPACE, NAMESPACE_ALIAS, LINKAGE),
    6: (VARIABLE, PARAMETER, DECLARATION_STATEMENT),
    7: (FIELD,),
    9: (TYPEDEF, ALIAS, ALIAS_TEMPLATE, USING_DIRECTIVE, USING_DECLARATION),
    10: (COMPOUND, 230),
    11: (205,),
    12: (209, 225),
    13: (207, 208),
    14: (214,),
    15: (203, 204, 206),
    17: (133, 223, 224, 226, 227, 228),
    18: (210, 211, 212, 213, 247),
    19: (201,),
    20: (CALL,),
    21: (114,),
    22: (112, 136, 143),
    23: (115,),
    24: (116,),
    25: (MEMBER_REF_EXPR, MEMBER_REF),
    26: (113,),
    27: (117, 124, 125, 126, 127, 128, 152, 280),
    28: (NEW, 135),
    29: (111, LAMBDA),
    30: (TYPE_REF, TEMPLATE_TYPE, TEMPLATE_VALUE, TEMPLATE_TEMPLATE),
    32: (TEMPLATE_REF,),
    33: (NAMESPACE_REF,),
    40: (106, 107, 108, 149),
    41: (109,),
    42: (110,),
    43: (130,),
    44: (123, 131),
    81: (500, MACRO_DEFINITION, MACRO_USE, INCLUSION),
    83: (DECL_REF_EXPR, OVERLOADED_REF, 48, 50),
}
BUCKET_PREPROCESSOR: Final = 81
BUCKET_FILE: Final = 82


def membership(kinds: frozenset[int]) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Return a boolean array over all kinds that is true for `kinds`."""
    table = np.zeros(KINDS, dtype=bool)
    table[sorted(kinds)] = True
    return table


def _bucket_of_kind() -> np.ndarray[tuple[int], np.dtype[np.uint8]]:
    table = np.full(KINDS, AST_NODE_UNKNOWN, dtype=np.uint8)
    for bucket, kinds in _BUCKETS.items():
        table[list(kinds)] = bucket
    return table


BUCKET_OF_KIND: Final = _bucket_of_kind()
