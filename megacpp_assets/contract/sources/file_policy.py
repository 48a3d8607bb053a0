"""What happens to files that are not plain text: the words that stages record, and the policy behind each.

A file of a C or C++ name is taken, taken with a flag, or left out with a reason; there is nothing between.
"""

from __future__ import annotations

from typing import Final

SYMLINK = "symbolic link"
SUBMODULE = "submodule"
NOT_CODE = "not C or C++"
OBJECTIVE_C = "Objective-C or Objective-C++"
OPENCL = "OpenCL C"
PREPROCESSED = "output of a preprocessor, or of SWIG's input language"
NOT_INCLUDED = "no source includes it"
UNSAFE_PATH = "unsafe path"
NOT_PLAIN_PATH = "path is not a plain relative path"
CLASHING_PATH = "path clashes with another file's folder"
EMPTY = "empty"
LFS_POINTER = "LFS pointer"
TOO_LARGE = "over the size limit"
NO_ROOM = "tree over 8 GiB"
LONG_LINE = "line over the length limit"
UTF16 = "broken UTF-16, or UTF-32"
BINARY = "binary (NUL byte)"
GENERATED = "generated"
REMOVED = "removed"
LICENCE = "licence not permitted"
QUALITY = "quality rule"
COPY = "copy of another file"
SHARED_COPY = "copy of a file of another repository"
BENCHMARK = "benchmark item"
NOT_UTF8 = "unknown encoding"

OTHER_LANGUAGES: Final = frozenset({OBJECTIVE_C, OPENCL, PREPROCESSED})
"""Reasons of files that hold C or C++ in part: unlike a text or an image, they are listed as left out."""

BOM = "bom"
TRANSCODED = "transcoded"
CRLF = "crlf"
BIDI = "bidi"
RESPONSE_FILE = "response file not read"

TREE_BYTES: Final = 8 << 30
"""What one tree may take on disk while it is indexed: any number of paths may name one blob."""
LINE_BYTES: Final = 1 << 16
"""A longer line is a table or an attack: it costs lexers and parsers more than their time in proportion."""

POLICY: Final = {
    SYMLINK: "no document: the file that it names has a path of its own, or is not of the tree; who includes it by the "
    "link's path finds it, if it is of the tree",
    SUBMODULE: "another repository; index that one",
    NOT_CODE: "chosen by the end of the name; may still be read where a source includes it",
    OBJECTIVE_C: "its classes and messages are another grammar; the C++ headers beside it are taken",
    OPENCL: "its address spaces and vector types are another dialect of C",
    PREPROCESSED: "`.i` and `.ii`: made from another file, or a list of declarations for SWIG",
    NOT_INCLUDED: "a `.def` or `.inc` that nothing names: a linker's list of exports, a part of a makefile, …; no C++",
    UNSAFE_PATH: "cannot be written below a folder of ours, or named, without surprise: control characters, `..`, …",
    NOT_PLAIN_PATH: "as above, or in the folder `.megacpp`, which is ours",
    CLASHING_PATH: "one name is a file and a folder on this file system",
    EMPTY: "nothing, or white space alone",
    LFS_POINTER: "three lines of git-lfs in place of the file, which is not fetched",
    TOO_LARGE: "above the recipe's `file_bytes`: tables and amalgamations; still there for those who include it",
    NO_ROOM: f"the files before it in path order fill the {TREE_BYTES} bytes that a tree may take; no real one does",
    LONG_LINE: f"a line above {LINE_BYTES} bytes; still there for those who include it",
    UTF16: "begins with the mark of UTF-16 and is none, or is UTF-32, which no compiler reads",
    BINARY: "has a NUL byte, or is UTF-16 without its mark",
    GENERATED: "says in a comment before its first code that a tool wrote it. Taken and flagged: it may be context and "
    "has no document of its own. A dataset of commits leaves it out",
    REMOVED: "its owner, or the dataset's, took it out (`megacpp remove`); still there for those who include it",
    LICENCE: "the recipe's lists do not permit its licence; still there for those who include it",
    BENCHMARK: "holds an item of a benchmark that the recipe names; still there for those who include it",
    COPY: "another file of the repository is equal or nearly so, and stays; still there for those who include it",
    SHARED_COPY: "the recipe's list of copies across repositories says which one stays; still there for includes",
    QUALITY: "breaks a quality rule by which the recipe drops files; still there for those who include it",
    NOT_UTF8: "neither UTF-8 nor in an encoding of semantic/tree/encodings.py that gives the same bytes again; of a "
    "commit's documents, not UTF-8",
    BOM: "taken; the mark is part of no text, and offsets count its bytes",
    TRANSCODED: "taken: lexer, parser and documents have the text in UTF-8, offsets are those of the commit's bytes",
    CRLF: "taken as it is, line ends included: nothing is normalised",
    RESPONSE_FILE: "parsed without the options of a response file (`@flags.rsp`) that its command line names: it is "
    "missing, outside the tree, too large or names itself",
    BIDI: "taken and flagged: shown text and read text may differ (Trojan source), the model reads bytes",
}
"""Word -> policy, for every word that `skipped`, `reason` and `flags` may hold of a file."""
