"""Calls found: of those that a compiler emits for each unit, unoptimised, the share that the index has, by kind.

Needs a clang of any version from 14 on, for this measurement only (`apt-get install --no-install-recommends clang`). A
source is a repository as URL@REF or PATH@REF; without any: fmt and googletest as the catalogue pins them. A call counts
where the index has its callee (by the last part of its name) on the token that calls or as a call from there. What a
function's own head or a range-based loop calls is left out: nobody wrote it. A macro's own is what some use of it calls
without spelling it: another use, whose arguments happen to hold that symbol, did not write the call either.
"""

from __future__ import annotations

import argparse
import re
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from _arguments import positive, run
from _emitted import Emitted, emitted, find_clang, last_part
from _harness import Figure, report
from semantic import Checkout, checked_out, entries

from megacpp_assets.compute.executors.local import LocalPool
from megacpp_assets.contract import columns as c
from megacpp_assets.semantic.graph.analysis.analysis import analyse
from megacpp_assets.semantic.labels.symbol_names import symbol_table
from megacpp_assets.semantic.outline import kinds as k
from megacpp_assets.semantic.outline.lexer import lex
from megacpp_assets.semantic.outline.macros import invocations
from megacpp_assets.semantic.parsing.parse import DEFAULT_OPTIONS, parse_tree
from megacpp_assets.semantic.parsing.parsed import ParsedFile
from megacpp_assets.semantic.tree.text import SourceText

BENCH = "calls"
_CALLING = k.membership(frozenset({k.CALL, k.DECL_REF_EXPR, k.MEMBER_REF_EXPR, k.OVERLOADED_REF}))
_NAME = re.compile(rb"(?:::\s*)?(?:[A-Za-z_]\w*\s*(?:<[^;{}()]*?>\s*)?::\s*(?:template\s+)?)*~?([A-Za-z_]\w*)")
_WORD = re.compile(rb"\w+")
_SYMBOL = re.compile(rb"[^\w\s]{1,3}")
_CAST = re.compile(rb"static_cast\s*<[^;{}()]*>|\([^;{}()]*\)")
_QUOTED = re.compile(rb'"(?:\\.|[^"\\\n])*"')
_AFTER = re.compile(rb"\s*(?:<[^;{}()]*>\s*)?(.)")
_TYPE_BEFORE = re.compile(rb"(?:\w|>)\Z")
_WORD_BEFORE = re.compile(rb"\b(?:return|throw|co_return|co_yield|case|else|in|and|or|not)\Z")
NAMED, OPERATORS, CONSTRUCTORS = KINDS = ("named", "operators", "constructors")
_BUILT_IN = frozenset({"move", "forward", "as_const", "addressof"})
"""Functions that the compiler does not call: what stands there constructs what they are passed to."""
MACROS, UNWRITTEN = "made by macros", "unwritten"


Called = Mapping[int, set[str]]
"""Names of callees by the byte that calls."""


class Index(NamedTuple):
    """Of one file: its bytes, where lines and macro invocations are, and callees: by the token that calls (the column
    `call_targets`), and by where calls begin, behind every operator as well (the graph)."""

    code: bytes
    lines: list[int]
    macros: list[tuple[int, int]]
    called: Called
    graph: Called


def index(source: SourceText, parsed: ParsedFile, chars: np.ndarray) -> Index:
    """What our index of a file says of its calls."""
    code, cursors = source.data, parsed.cursors
    assert cursors is not None and source.is_ascii
    table = symbol_table(parsed.symbols)
    short = [last_part(name)[0] for name in parsed.symbols.qualified_name]
    names: defaultdict[int, set[str]] = defaultdict(set)
    for row, name in enumerate(short):
        names[int(table.id[row])].add(name)
    called: defaultdict[int, set[str]] = defaultdict(set)
    graph: defaultdict[int, set[str]] = defaultdict(set)
    for place in np.flatnonzero(chars[c.CALL_TARGETS]).tolist():
        called[place] |= names[int(chars[c.CALL_TARGETS][place])]
    for cursor in np.flatnonzero((cursors.kind == k.CALL) & (cursors.uses >= 0)).tolist():
        start, end, name = int(cursors.start[cursor]), int(cursors.end[cursor]), short[int(cursors.uses[cursor])]
        graph[start].add(name)
        if name.startswith("operator") and any(name in called.get(place, ()) for place in range(start, end)):
            called[start].add(name)
    breaks = [0, *(at + 1 for at, byte in enumerate(code) if byte == ord("\n"))]
    return Index(code, breaks, [(a, b) for a, b in invocations(lex(code), cursors).tolist()], called, graph)


class Place(NamedTuple):
    """All that a compiler calls from one byte of a file: functions, and constructors by their classes."""

    offset: int
    functions: frozenset[str]
    constructors: frozenset[str]
    callers: frozenset[str]
    own: frozenset[str] = frozenset()
    """Those of them that the macro used here calls by itself."""


Own = set[tuple[bytes, str]]
"""(macro, callee's whole name) of what macros call by themselves."""


def own_callees(found: Index, calls: Iterable[Emitted]) -> Own:
    """What each macro used in a file calls there although the use does not spell it."""
    own: Own = set()
    for call in calls:
        macro = _macro(found, _offset(found, call))
        if macro and not _spelled(found.code[slice(*macro)], call.callee, constructor=call.constructor):
            own.add((_macro_name(found, macro), call.name))
    return own


def _offset(found: Index, call: Emitted) -> int:
    return found.lines[call.line - 1] + call.column - 1


def _macro(found: Index, offset: int) -> tuple[int, int] | None:
    return next((span for span in found.macros if span[0] <= offset < span[1]), None)


def _macro_name(found: Index, macro: tuple[int, int]) -> bytes:
    name = _WORD.match(found.code, macro[0])
    return name[0] if name else b""


def _own_of(found: Index, offset: int, calls: Iterable[Emitted], own: Own) -> frozenset[str]:
    macro = _macro(found, offset)
    if not macro:
        return frozenset()
    name = _macro_name(found, macro)
    written = {call.callee for call in calls if (name, call.name) not in own}
    return frozenset(call.callee for call in calls) - written


def places(found: Index, calls: Iterable[Emitted], own: Own) -> list[Place]:
    """`calls` by place, ascending."""
    at: defaultdict[int, list[Emitted]] = defaultdict(list)
    for call in calls:
        at[_offset(found, call)].append(call)
    return [
        Place(
            offset,
            frozenset(call.callee for call in here if not call.constructor),
            frozenset(call.callee for call in here if call.constructor),
            frozenset(call.caller for call in here),
            _own_of(found, offset, here, own),
        )
        for offset, here in sorted(at.items())
    ]


def judged(found: Index, place: Place) -> Iterator[tuple[str, str, bool]]:
    """(kind, callee, whether `found` has it) of the calls of one place; `UNWRITTEN` for those that nobody wrote.

    A place constructs once: what else is constructed there is a default argument, as the allocator of a string is.
    """
    macro = _macro(found, place.offset)
    if macro:
        yield from _in_macro(found, place, macro)
        return
    name = _NAME.match(found.code, place.offset)
    symbol = _SYMBOL.match(found.code, place.offset)
    end = name.end() if name else symbol.end() if symbol else place.offset + 1
    if cast := _CAST.match(found.code, place.offset):
        end = cast.end()
    token = name[1].decode() if name else ""
    for callee in sorted(place.functions):
        operator = callee.startswith("operator")
        ranged = operator and not name and found.code[place.offset : end].startswith(b":")
        conversion = operator and callee[len("operator")].isspace()
        spelled = token == callee or (operator and not conversion and not ranged) or token == "operator"
        kind = UNWRITTEN if not spelled else OPERATORS if operator else NAMED
        yield kind, callee, _has(found.called, (place.offset, end), callee)
    if place.constructors:
        function = token in place.functions | place.callers | _BUILT_IN
        written = not function and _constructs(found.code, place.offset, name)
        has = any(_has(found.called, (place.offset, end), callee) for callee in place.constructors)
        yield CONSTRUCTORS if written else UNWRITTEN, ", ".join(sorted(place.constructors)), has


def _in_macro(found: Index, place: Place, macro: tuple[int, int]) -> Iterator[tuple[str, str, bool]]:
    """What an invocation calls: by its arguments if they spell the callee, else by its body."""
    text = found.code[slice(*macro)]
    for callee in sorted(place.functions):
        kind = OPERATORS if callee.startswith("operator") else NAMED
        kind = kind if callee not in place.own and _spelled(text, callee) else MACROS
        yield kind, callee, _has(found.graph if kind == MACROS else found.called, macro, callee)
    for callee in sorted(place.constructors):
        kind = CONSTRUCTORS if callee not in place.own and _spelled(text, callee, constructor=True) else MACROS
        yield kind, callee, _has(found.graph if kind == MACROS else found.called, macro, callee)


def _constructs(code: bytes, offset: int, name: re.Match[bytes] | None) -> bool:
    """Whether what stands at `offset` is a written construction: `{`, `T(`, `v{`, `new T`, `static_cast<`, `T v;`."""
    if code[offset : offset + 1] == b"{" or code.startswith(b"static_cast<", offset):
        return True
    if not name:
        return False
    after, before = _AFTER.match(code, name.end()), code[max(0, offset - 200) : offset].rstrip()
    if (after and after[1] in b"({") or re.search(rb"\bnew\Z", before):
        return True
    return bool(after and after[1] in b";[,") and bool(_TYPE_BEFORE.search(before)) and not _WORD_BEFORE.search(before)


def _spelled(text: bytes, callee: str, *, constructor: bool = False) -> bool:
    """Whether `text`, a macro and its arguments, writes a call of `callee`: its name, with arguments for a constructor,
    or its symbol; a conversion and `()` are written with the keyword, as brackets say nothing."""
    text, name = _QUOTED.sub(b"", text), callee.removeprefix("operator").strip().encode()
    if callee.startswith("operator") and (name == b"()" or callee[len("operator")].isspace()):
        return b"operator" in text
    if re.match(rb"\w", name):
        behind = rb"\s*(?:<[^;{}()]*>\s*)?[({]" if constructor else rb"(?!\w)"
        return re.search(rb"(?<!\w)" + re.escape(name) + behind, text) is not None
    return re.search(rb"(?<![-+*/%^&|=!<>])" + re.escape(name) + rb"(?![-+*/%^&|=!<>])", text) is not None


def _has(called: Called, span: tuple[int, int], callee: str) -> bool:
    return any(callee in called.get(place, ()) for place in range(*span))


def _written(counts: Counter[str]) -> int:
    return sum(counts[kind] for kind in KINDS)


def measure(checkout: Checkout, clang: str, *, verbose: bool) -> None:
    """Print the shares of one repository."""
    executor = LocalPool(1)
    try:
        parsed = {
            f.path: f
            for f in parse_tree(checkout.tree, checkout.files, checkout.toolchain, executor, options=DEFAULT_OPTIONS)
        }
    finally:
        executor.close()
    arguments = {unit.path: unit.arguments for unit in checkout.units}
    total: Counter[str] = Counter()
    lost: Counter[str] = Counter()
    units: list[tuple[str, Index, set[Emitted]]] = []
    own: Own = set()
    for file, source in checkout.sources.taken:
        if file.path not in arguments or file.header or parsed[file.path].cursors is None or not source.is_ascii:
            continue
        calls = emitted(clang, checkout.tree, file.path, arguments[file.path])
        if calls is None:
            continue
        known = index(source, parsed[file.path], analyse(file, source, parsed[file.path])[1])
        units.append((file.path, known, calls))
        own |= own_callees(known, calls)
    for path, known, calls in units:
        for place in places(known, calls, own):
            for kind, callee, has in judged(known, place):
                total[kind] += 1
                lost[kind] += not has
                if verbose and not has and kind in KINDS:
                    print(f"{path}:{_line(known, place.offset)} {kind} {callee}")
    for kind in (*KINDS, MACROS, UNWRITTEN):
        _report(kind, checkout, len(units), (lost[kind], total[kind]))
    _report("all written", checkout, len(units), (_written(lost), _written(total)))


def _report(kind: str, checkout: Checkout, units: int, counts: tuple[int, int]) -> None:
    lost, total = counts
    figure = Figure(BENCH, f"{kind}, {checkout.name}, {units} units", "per cent")
    report(figure, 100 * (1 - lost / total) if total else 100, peer_name=f"{total} calls in LLVM IR")


def _line(found: Index, offset: int) -> str:
    """Line, column and text."""
    number = bisect_right(found.lines, offset)
    start = found.lines[number - 1]
    text = found.code[start:].partition(b"\n")[0].decode(errors="replace").strip()
    return f"{number}:{offset - start + 1} | {text} |"


def main(arguments: Sequence[str]) -> None:
    """Print every line; an error of ours with what to install or name if clang or a source is missing."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sources", nargs="*", metavar="SOURCE")
    parser.add_argument("--every", type=positive, default=1)
    parser.add_argument("--lost", action="store_true", help="print each call that is not found")
    options = parser.parse_args(arguments)
    clang = find_clang()
    for entry in entries(options.sources):
        with checked_out(entry, options.every) as checkout:
            measure(checkout, clang, verbose=options.lost)


if __name__ == "__main__":
    run(main)
