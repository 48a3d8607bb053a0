"""What a parser says of a text: the kinds of its errors, and the names that it does not find."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

from clang import cindex

from megacpp_assets.semantic.documents.measures.drawn import Drawn
from megacpp_assets.semantic.parsing.worker import INCOMPLETE, KEEP_GOING

_PARSED: Final = KEEP_GOING | INCOMPLETE
"""A header that is not there ends no parse; what is instantiated at the end of a text says nothing of names in it."""
_OTHER: Final = "other"
_KINDS: Final = (
    ("missing_header", re.compile(r"file not found$")),
    ("undeclared_name", re.compile(r"undeclared|no member named|no template named|no matching function")),
    ("unknown_type", re.compile(r"unknown (?:type|class|template) name|no type named|expected class name")),
    ("incomplete_class", re.compile(r"incomplete|out-of-line|does not match any declaration|forward declaration")),
    ("redefinition", re.compile(r"redefinition|redeclar|already|conflicting types")),
    ("syntax", re.compile(r"expected|extraneous|unterminated|missing|requires|#(?:else|elif|endif|error)")),
)
"""Kinds of errors by their messages; the first that matches counts."""
_IGNORED: Final = "missing_header"
ERROR_KINDS: Final = (*(name for name, _ in _KINDS if name != _IGNORED), _OTHER)

_HEADER: Final = re.compile(r"'(.*)' file not found$")
_NAME: Final = re.compile(
    r"(?:use of undeclared (?:identifier|template name)|unknown type name|unknown class name|unknown template name|"
    r"no (?:type|template|member|template named|class)[^']*?|expected class name|no matching constructor[^']*|"
    r"undeclared (?:label|function)|undeclared) '(?:\w+::)*~?(\w+)"
)
_OF_THE_SYSTEM: Final = "in namespace 'std'"
"""Ends the message for a name that only a header of the standard library declares."""
_WORD: Final = re.compile(rb"[A-Za-z_]\w*")


class Error(NamedTuple):
    """An error of a parse: its message, and its byte in the text (in the header, if it is in one)."""

    message: str
    offset: int = 0


def errors_of(document: Drawn, arguments: Sequence[str]) -> list[Error]:
    """Parse `document` alone, in its language and standard, and return its errors in order.

    Headers that are missing are among them. libclang is loaded already.
    """
    cxx = "++" in document.standard if document.standard else document.language != "c"
    language, name = ("c++", "document.cc") if cxx else ("c", "document.c")
    standard = [f"-std={document.standard}"] if document.standard else []
    unit = cindex.Index.create().parse(
        name,
        ["-x", language, *standard, "-w", "-ferror-limit=0", *arguments],
        unsaved_files=[(name, document.text)],
        options=_PARSED,
    )
    errors = (each for each in unit.diagnostics if each.severity >= cindex.Diagnostic.Error)
    return [Error(each.spelling, each.location.offset) for each in errors]


def kind_of(message: str) -> str:
    """Return the kind of an error: one of ERROR_KINDS, or `missing_header`."""
    return next((name for name, pattern in _KINDS if pattern.search(message)), _OTHER)


def kinds_of(errors: Sequence[Error]) -> list[str]:
    """Return the kinds of errors, each once and sorted. A missing header is none: it is the repository's own, or
    another library's.
    """
    return sorted({kind_of(each.message) for each in errors} - {_IGNORED})


def missing_headers(errors: Sequence[Error]) -> list[str]:
    """Return the names of the headers that are missing, as they are included."""
    return [found[1] for each in errors if (found := _HEADER.match(each.message))]


def missing_names(errors: Sequence[Error], text: str) -> list[str]:
    """Return the names that `text` uses and that the parser does not find, each once and sorted.

    Names of `std` are left out: a header of the standard library declares them, and no repository.
    """
    code = text.encode()
    return sorted({name for each in errors for name in _names_in(each, code)})


def _names_in(error: Error, code: bytes) -> list[str]:
    """Return what the error says is missing; where it says only that a class's name was expected, what stands there."""
    if error.message == "expected class name" and (found := _WORD.match(code, error.offset)):
        return [found[0].decode()]
    return [] if _OF_THE_SYSTEM in error.message else _NAME.findall(error.message)
