"""Documents that compile: how many of a sample libclang parses without an error, and the kinds of the errors.

Each text is parsed alone, in its own language and standard, with the toolchain's headers and no others. A header that
is missing is no error of the text: it is the repository's own, or another library's.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from clang import cindex

from megacpp_assets.compute.executors.executor import BatchExecutor
from megacpp_assets.compute.executors.select import open_local
from megacpp_assets.semantic.commands.compiler_view import view_arguments
from megacpp_assets.semantic.commands.toolchain import Toolchain
from megacpp_assets.semantic.documents.measures import alone
from megacpp_assets.semantic.documents.measures.alone import DOCUMENT, Finding, Findings, Trial, confined, trial_folder
from megacpp_assets.semantic.documents.measures.drawn import Drawn
from megacpp_assets.semantic.parsing.lots import may_be_machine_failure
from megacpp_assets.semantic.parsing.worker import Limits
from megacpp_assets.storage.caching.cache import Cache

OTHER: Final = "other"
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
_MISSING: Final = re.compile(r"'(.*)' file not found$")
ERROR_KINDS: Final = (*(name for name, _ in _KINDS if name != _IGNORED), OTHER)


@dataclass(frozen=True, slots=True)
class Compiled:
    """How many documents were parsed, how many have no error, and of each kind of error how many documents have one."""

    parsed: int = 0
    clean: int = 0
    kinds: Mapping[str, int] = field(default_factory=dict)

    def as_stats(self) -> dict[str, Any]:
        """Return the figures of a repository in its statistics."""
        per_cent = round(100 * self.clean / self.parsed, 3) if self.parsed else 0.0
        return {
            "documents_compile_parsed": self.parsed,
            "documents_compiled": self.clean,
            "documents_compiled_per_cent": per_cent,
            "documents_compile_errors": dict(self.kinds),
        }


def parsed_alone(
    drawn: Sequence[Drawn], defined: frozenset[str], toolchain: Toolchain, limits: Limits, store: Cache
) -> dict[str, Any]:
    """Return how many of the `drawn` documents were parsed alone, the share that lacks no name of the repository (those
    `defined`), and the share that compiles; nothing if none is drawn. Raises what the executor raises.
    """
    if not drawn:
        return {}
    texts = [each.text for each in drawn]
    with open_local() as executor:
        parsed, whole = alone.count_alone(texts, defined, toolchain, executor, limits, store=store)
        compiled = count_compiling(drawn, toolchain, executor, limits, store=store)
    per_cent = round(100 * whole / parsed, 3) if parsed else 0.0
    counts = {"documents_parsed": parsed, "documents_alone": whole, "documents_alone_per_cent": per_cent}
    return {**counts, **compiled.as_stats()}


def count_compiling(
    documents: Sequence[Drawn],
    toolchain: Toolchain,
    executor: BatchExecutor,
    limits: Limits,
    *,
    store: Cache | None = None,
) -> Compiled:
    """Return how many of `documents` compile. A text that `store` knows is not parsed again; one that ends its parser
    is not among the parsed.
    """
    findings = Findings(store, toolchain, limits, __name__)
    known = {each: found for each in documents if (found := findings.find(_identity(each))) is not None}
    for document, found in _tried([each for each in documents if each not in known], toolchain, executor, limits):
        findings.keep(_identity(document), found)
        known[document] = found
    parsed = [words for each in documents if each in known and (words := known[each].words) is not None]
    kinds = Counter(kind for words in parsed for kind in set(words))
    counted = {kind: kinds[kind] for kind in ERROR_KINDS if kinds[kind]}
    return Compiled(len(parsed), sum(not words for words in parsed), counted)


def _identity(document: Drawn) -> str:
    return "\0".join(document)


def _tried(
    documents: Sequence[Drawn], toolchain: Toolchain, executor: BatchExecutor, limits: Limits
) -> Iterator[tuple[Drawn, Finding]]:
    """Yield the kinds of errors of each document. A document whose parser the machine may have ended is left out."""
    if not documents:
        return
    limits = replace(limits, cpu_s=min(limits.cpu_s, alone.TEXT_CPU_S))
    with trial_folder(toolchain) as folder:
        trials = [Trial(folder, each.text, toolchain, limits, each.language, each.standard) for each in documents]
        for outcome in executor.run(try_compile, trials, timeout_s=limits.wall_s):
            if outcome.value is not None or not may_be_machine_failure(outcome.failure or ""):
                yield documents[outcome.index], Finding(outcome.value)


def try_compile(trial: Trial) -> tuple[str, ...]:
    """In a worker: the kind of each error of a text."""
    with confined(trial):
        view = ["-resource-dir", trial.toolchain.resource_dir, *view_arguments(trial.folder)]
        document = Drawn(trial.text, trial.language, trial.standard)
        return tuple(kind_of(message) for message in errors_of(document, view))


def errors_of(document: Drawn, arguments: Sequence[str]) -> list[str]:
    """Return the messages of the errors of `document`, in order; headers that are missing are left out."""
    return [message for message in messages_of(document, arguments) if kind_of(message) != _IGNORED]


def messages_of(document: Drawn, arguments: Sequence[str]) -> list[str]:
    """Return the messages of the errors of `document`, in order."""
    cxx = "++" in document.standard if document.standard else document.language != "c"
    language, name = ("c++", "document.cc") if cxx else ("c", "document.c")
    standard = [f"-std={document.standard}"] if document.standard else []
    unit = cindex.Index.create().parse(
        name,
        ["-x", language, *standard, "-w", "-ferror-limit=0", *arguments],
        unsaved_files=[(name, document.text)],
        options=DOCUMENT,
    )
    return [each.spelling for each in unit.diagnostics if each.severity >= cindex.Diagnostic.Error]


def missing_headers(messages: Sequence[str]) -> list[str]:
    """Return the names of the headers that `messages` say are missing, as they are included."""
    return [found[1] for message in messages if (found := _MISSING.match(message))]


def kind_of(message: str) -> str:
    """Return the kind of an error: one of ERROR_KINDS, or `missing_header`."""
    return next((name for name, pattern in _KINDS if pattern.search(message)), OTHER)
