"""Documents that stand alone: of some drawn by their ids, how many lack no name that their repository defines.

Each text is parsed by libclang as a file of its own beside the system's headers. A name is missing where the parser
does not find it and the repository defines it; a name of the system, or of a library that is not there, is not.
What a text lacks, or that it ends its parser, is remembered: most documents of a reference are those of the one before.
"""

from __future__ import annotations

import hashlib
import os
import re
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import NamedTuple

import orjson
from clang import cindex

from megacpp_assets.compute.executors.executor import BatchExecutor
from megacpp_assets.compute.limits import allow, allow_all, limit_memory
from megacpp_assets.semantic.commands.compiler_view import view_arguments, write_view
from megacpp_assets.semantic.commands.toolchain import Toolchain, working_directory
from megacpp_assets.semantic.parsing.lots import may_be_machine_failure
from megacpp_assets.semantic.parsing.worker import INCOMPLETE, KEEP_GOING, SKIP_BODIES, Limits
from megacpp_assets.semantic.tree.tree_contents import header_state
from megacpp_assets.storage.caching.cache import Cache
from megacpp_assets.storage.caching.code import code_identity

SYSTEM = "bits/stdc++.h"
"""The headers of the standard library: what they declare is nobody else's, whichever of them a document includes."""
_COMPILED = "system.pch"
DOCUMENT = KEEP_GOING | INCOMPLETE
"""A header that is not there ends no parse; what is instantiated at the end of a text says nothing of names in it."""
_SERIALIZED = DOCUMENT | 0x10 | SKIP_BODIES
"""The system's headers as they are saved, without the bodies of functions: 0.9 CPU seconds in place of 1.5."""
TEXT_CPU_S = 5
"""CPU seconds that a text may take beside the system's headers: one of 4,096 tokens takes 0.02, or has no end."""
_MISSING = re.compile(
    r"(?:use of undeclared (?:identifier|template name)|unknown type name|unknown class name|unknown template name|"
    r"no (?:type|template|member|template named|class)[^']*?|expected class name|no matching constructor[^']*|"
    r"use of undeclared label|undeclared) '(?:\w+::)*~?(\w+)"
)
_WORD = re.compile(rb"[A-Za-z_]\w*")
NAMED = frozenset({"function", "class", "macro", "typedef", "field", "enumerator", "enum", "namespace"})
"""Kinds of symbols that stand outside of functions. What a document declares but does not complete is not missing."""


@dataclass(frozen=True, slots=True)
class Trial:
    """A text to parse in the scratch `folder`, which has the system's headers compiled."""

    folder: str
    text: str
    toolchain: Toolchain
    limits: Limits
    language: str = "c++"
    standard: str = ""


def names_defined(declared: Iterable[tuple[str, str]]) -> frozenset[str]:
    """Last names of the definitions among `declared`, each a name and its kind."""
    return frozenset(name.rpartition("::")[2] for name, kind in declared if kind in NAMED)


class Finding(NamedTuple):
    """Words about a text, such as the names that it lacks; None if the text ended its parser."""

    words: tuple[str, ...] | None


class Findings:
    """What the module `code` found of texts. Findings are kept in `store` under everything that decides them."""

    def __init__(self, store: Cache | None, toolchain: Toolchain, limits: Limits, code: str = __name__) -> None:
        self._store = store
        if store is None:
            return
        facts = {
            "code": code_identity(code),
            "compiler": dict(toolchain.identity),
            "headers": header_state(toolchain.header_roots, toolchain.library),
            "visible": toolchain.visible,
            "system": SYSTEM,
            "limits": asdict(limits),
        }
        self._base = orjson.dumps(facts, option=orjson.OPT_SORT_KEYS)

    def find(self, text: str) -> Finding | None:
        """Return what was found of `text`; None if nothing is known."""
        found = self._store.get(self._key(text)) if self._store else None
        if found is None:
            return None
        words = orjson.loads(found)
        return Finding(None if words is None else tuple(words))

    def keep(self, text: str, found: Finding) -> None:
        """Remember what was found of `text`."""
        if self._store:
            self._store.put(self._key(text), orjson.dumps(found.words))

    def _key(self, text: str) -> str:
        return hashlib.sha256(self._base + text.encode()).hexdigest()


def count_alone(
    texts: Sequence[str],
    defined: frozenset[str],
    toolchain: Toolchain,
    executor: BatchExecutor,
    limits: Limits,
    *,
    store: Cache | None = None,
) -> tuple[int, int]:
    """Return how many of `texts` were parsed, and how many of those lack none of the names `defined`.

    Texts that `store` knows are not parsed again.
    """
    findings = Findings(store, toolchain, limits)
    known = {text: found for text in texts if (found := findings.find(text)) is not None}
    for text, found in _tried([text for text in texts if text not in known], toolchain, executor, limits):
        findings.keep(text, found)
        known[text] = found
    parsed = [lacks for text in texts if text in known and (lacks := known[text].words) is not None]
    return len(parsed), sum(map(defined.isdisjoint, parsed))


def _tried(
    texts: Sequence[str], toolchain: Toolchain, executor: BatchExecutor, limits: Limits
) -> Iterator[tuple[str, Finding]]:
    """Yield what each of `texts` lacks, but for those whose parser ended by what may be the machine's doing."""
    if not texts:
        return
    with trial_folder(toolchain) as folder:
        (compiled,) = executor.run(compile_system, [Trial(folder, "", toolchain, limits)], timeout_s=limits.wall_s)
        if compiled.failure is not None:
            return
        limits = replace(limits, cpu_s=min(limits.cpu_s, TEXT_CPU_S))
        trials = [Trial(folder, text, toolchain, limits) for text in texts]
        for outcome in executor.run(try_document, trials, timeout_s=limits.wall_s):
            if outcome.value is not None or not may_be_machine_failure(outcome.failure or ""):
                yield texts[outcome.index], Finding(outcome.value)


def compile_system(trial: Trial) -> None:
    """In a worker: the standard library's headers, compiled once for all documents."""
    with confined(trial):
        Path("system.h").write_text(f"#include <{SYSTEM}>\n")
        arguments = ["-x", "c++-header", *_arguments(trial), "-Xclang", "-fno-pch-timestamp"]
        cindex.Index.create().parse("system.h", arguments, options=_SERIALIZED).save(_COMPILED)


def try_document(trial: Trial) -> tuple[str, ...]:
    """In a worker: the names that the text lacks."""
    with confined(trial):
        arguments = ["-x", "c++", *_arguments(trial), "-include-pch", _COMPILED]
        return tuple(lacks(trial.text, arguments))


def lacks(text: str, arguments: Sequence[str]) -> list[str]:
    """Return the names that `text` uses and that the parser does not find, sorted."""
    unit = cindex.Index.create().parse(
        "document.cc", [*arguments, "-w", "-ferror-limit=0"], unsaved_files=[("document.cc", text)], options=DOCUMENT
    )
    code = text.encode()
    errors = (each for each in unit.diagnostics if each.severity >= cindex.Diagnostic.Error)
    return sorted({name for each in errors for name in _names_in(each, code)})


def _names_in(error: cindex.Diagnostic, code: bytes) -> list[str]:
    """Return what the error says is missing; where it says only that a class's name was expected, what stands there."""
    if error.spelling == "expected class name" and (found := _WORD.match(code, error.location.offset)):
        return [found[0].decode()]
    return _MISSING.findall(error.spelling)


def _arguments(trial: Trial) -> list[str]:
    return ["-std=c++17", "-w", "-resource-dir", trial.toolchain.resource_dir, *view_arguments(trial.folder)]


@contextmanager
def trial_folder(toolchain: Toolchain) -> Iterator[str]:
    """An empty folder whose parses see the headers of `toolchain` and nothing else of this machine."""
    with tempfile.TemporaryDirectory(prefix="megacpp-documents-") as scratch:
        folder = os.path.realpath(Path(scratch, "tree"))
        os.mkdir(folder)
        write_view(folder, toolchain.visible)
        yield folder


@contextmanager
def confined(trial: Trial) -> Iterator[None]:
    """Let this worker parse in the folder of `trial`, within its limits."""
    if not cindex.Config.loaded:
        cindex.Config.set_library_file(trial.toolchain.library)
    with working_directory(Path(trial.folder)):
        if trial.limits.applied:
            limit_memory(trial.limits.memory_bytes)
            allow(trial.limits.cpu_s, trial.limits.wall_s)
        yield
        if trial.limits.applied:
            allow_all()
