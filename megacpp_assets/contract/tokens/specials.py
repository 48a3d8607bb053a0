"""The pinned ids of the tokenizer: specials 0-63, the fixed band 0-7199 (docs/contracts.md)."""

from __future__ import annotations

from typing import Final

SPECIAL_NAMES: Final = (
    "PAD", "UNK", "BOS", "EOS", "FIM_PREFIX", "FIM_MIDDLE", "FIM_SUFFIX", "CODE_START", "CODE_END",
    "THINK_START", "THINK_END", "QUERY_TOOL", "INDEX", "DEBUG_CONTEXT", "FILE_SEP", "DIFF_START", "DIFF_END",
    "COMMENT_START", "COMMENT_END", "TOOL_RESULT", "THINK_CODE", "THINK_ERROR", "THINK_FIX", "THINK_VERIFY",
    "THINK_PLAN", "THINK_TRACE", "SCRIPT_START", "SCRIPT_END", "SCRIPT_RESULT", "COMPILE_START", "COMPILE_END",
    "COMPILE_OK", "COMPILE_ERROR", "TEST_START", "TEST_END", "TEST_PASS", "TEST_FAIL", "AST_NODE", "SYMBOL_REF",
    "TYPE_INFO", "SCOPE_ENTER", "SCOPE_EXIT", "INCLUDE_CONTEXT", "TEMPLATE_INST", "OVERLOAD_SET",
    "FIM_INSTRUCTION",
)  # fmt: skip
"""Special tokens 0-45, spelled `<NAME>`; 46 SPACE and 47 NL are ordinary byte tokens, 48-63 reserved."""

PAD_ID: Final = 0
UNK_ID: Final = 1
BOS_ID: Final = 2
EOS_ID: Final = 3
FIM_PREFIX_ID: Final = 4
FIM_MIDDLE_ID: Final = 5
FIM_SUFFIX_ID: Final = 6
FIM_MARKS: Final = (EOS_ID, FIM_PREFIX_ID, FIM_MIDDLE_ID, FIM_SUFFIX_ID)
"""What fill-in-the-middle adds to a document, each once."""
SPACE_ID: Final = 46
NEWLINE_ID: Final = 47

VOCABULARY_SIZE: Final = 131_072
FIXED_IDS: Final = 7200
"""Ids 0-7199 are fixed; learned merges start here."""
