"""What stage `curated_files` finds in C/C++ texts, and at what cost: licence heads, copies, secrets, benchmark answers.

Without any source: fmt 11.0.0 and googletest v1.15.0 from MEGACPP_GIT_MIRROR and the headers of /usr/include. Peers are
detect-secrets and, where it is installed, datatrove. Recall is of pieces of the texts, planted in other code.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import random
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor

import _hygiene_peers as peers
from _arguments import run
from _cores import choose, hold
from _harness import Figure, compare, cpu_seconds, report
from _labelled_finds import SETS, judged, labels
from _labelled_secrets import labelled
from _planted_answers import CHANGES, items_of, planted
from _sources import SOURCE, default_sources, load

from megacpp_assets.compute.lifetime import die_with_parent
from megacpp_assets.contract.sources.quality_rules import RULES
from megacpp_assets.curation.benchmark_sets import Item
from megacpp_assets.curation.benchmarks import Benchmarks, benchmarks_of
from megacpp_assets.curation.copies import Copies
from megacpp_assets.curation.figures import broken_rules, figures_of
from megacpp_assets.curation.licensing.licences import Licences
from megacpp_assets.curation.secrets import finds_of
from megacpp_assets.semantic.tree.text import refusal

BENCH = "hygiene"
SHARE = 0.6
LEAST_COPY = 0.7
MOST_BYTES = 4_000_000
ITEMS = 300
LABELLED = 25
"""Lines of each kind of the labelled set."""
SECRET_PEER_BYTES = 100_000
"""All plugins take nine seconds a megabyte."""
COPY_PEER_BYTES = 3_000_000
"""datatrove takes a second a megabyte."""


def main(arguments: Sequence[str]) -> None:
    """A line for each figure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sources", nargs="*", metavar="SOURCE", help=SOURCE)
    parser.add_argument("--rules", action="store_true", help="Only count the files that each quality rule reports.")
    options = parser.parse_args(arguments)
    texts = load(options.sources or default_sources())
    hold(choose(1))
    _quality_rules(texts)
    if options.rules:
        return
    decoded = [text.decode() for text in texts]
    items = items_of(decoded, ITEMS)
    benchmarks = benchmarks_of(items)
    _passes(texts, decoded, benchmarks)
    _recall(items, benchmarks)
    _false_answers(decoded, items, benchmarks)
    _secrets_beside_the_peer(texts)
    _labelled_secrets()
    _labelled_finds()
    _copies_beside_the_peer(decoded)
    _order(decoded, benchmarks)


def _quality_rules(texts: Sequence[bytes]) -> None:
    """Files that each rule of published corpora would drop, of those of which documents are made."""
    read = [text for text in texts if not refusal(text, MOST_BYTES)]
    counts = Counter(rule for text in read for rule in broken_rules(figures_of(text)))
    for rule in RULES:
        report(Figure(BENCH, f"files that {rule} reports, of {len(read)}", "files"), counts[rule])


def _passes(texts: Sequence[bytes], decoded: Sequence[str], benchmarks: Benchmarks) -> None:
    size = sum(map(len, texts)) / 1e6
    what = f"{len(texts)} files of {size:.1f} MB"
    report(Figure(BENCH, f"licence heads, {what}", "CPU-s"), cpu_seconds(lambda: _licences(texts)))
    passes: dict[str, Callable[[], object]] = {
        "near-duplicates": lambda: _copies(decoded),
        "secrets": lambda: [finds_of(text) for text in texts],
        f"{len(benchmarks.names)} benchmark items": lambda: [benchmarks.found_in(text, SHARE) for text in decoded],
    }
    for name, work in passes.items():
        report(Figure(BENCH, f"{name}, {what}", "MB/CPU-s"), size / cpu_seconds(work))


def _licences(texts: Sequence[bytes]) -> list[str]:
    licences = Licences("NOASSERTION")
    for number, text in enumerate(texts):
        licences.read(f"{number}.h", text)
    licences.classify("known", lambda heads: dict.fromkeys(heads, "MIT"))
    return [licences.of(f"{number}.h").expression for number in range(len(texts))]


def _copies(texts: Sequence[str]) -> list[tuple[str, str]]:
    copies, by_name = Copies(), {hashlib.sha256(text.encode()).hexdigest(): text for text in texts}
    for name, text in by_name.items():
        copies.add(name, text)
    return copies.near(by_name.__getitem__, LEAST_COPY)


def _drawn(texts: Sequence[bytes], size: int) -> list[bytes]:
    """Texts of together at most `size` bytes, by hash."""
    some, left = [], size
    for text in sorted(texts, key=lambda text: hashlib.sha256(text).digest()):
        if len(text) <= left:
            some.append(text)
            left -= len(text)
    return some


def _recall(items: Sequence[Item], benchmarks: Benchmarks) -> None:
    """Share of the items that are found, and of their characters that are masked, by how the copy was changed."""
    for name, change in CHANGES.items():
        found, covered, whole = 0, 0, 0
        for item in items:
            copy = change(item.texts[0])
            text = planted(copy)
            start = text.index(copy)
            found += item.name in benchmarks.found_in(text, SHARE)
            places = [(each.start, each.end) for each in benchmarks.answers_in(text, SHARE) if each.item == item.name]
            covered += len(
                {at for first, end in places for at in range(max(first, start), min(end, start + len(copy)))}
            )
            whole += len(copy)
        report(Figure(BENCH, f"recall of {len(items)} planted items, {name}", "share"), found / max(1, len(items)))
        report(Figure(BENCH, f"characters of them that are masked, {name}", "share"), covered / max(1, whole))


def _false_answers(texts: Sequence[str], items: Sequence[Item], benchmarks: Benchmarks) -> None:
    """Pairs of an item and a text that is not its own; vendored copies count too, so this is an upper bound."""
    own = {item.name: item.texts[0] for item in items}
    pairs = [(name, text) for text in texts for name in benchmarks.found_in(text, SHARE) if own[name] not in text]
    report(Figure(BENCH, f"items found in other texts, of {len(items)} x {len(texts)}", "pairs"), len(pairs))


def _secrets_beside_the_peer(texts: Sequence[bytes]) -> None:
    some = _drawn(texts, SECRET_PEER_BYTES)
    size = sum(map(len, some)) / 1e6
    figure = Figure(BENCH, f"secrets, {len(some)} files of {size:.2f} MB", "MB/CPU-s", size)
    with peers.detect_secrets_settings():
        compare(
            figure,
            lambda: [finds_of(text) for text in some],
            lambda: [peers.secret_lines(text.decode()) for text in some],
            peer_name="detect-secrets 1.5.0",
            runs=3,
        )


def _labelled_secrets() -> None:
    """Recall and precision on the labelled set, ours and the peer's without its entropy plugins."""
    lines = labelled(LABELLED)
    text = "\n".join(line.line for line in lines)
    labels = {number for number, line in enumerate(lines, start=1) if line.secret}
    ours = {find.line for find in finds_of(text.encode())}
    with peers.detect_secrets_settings():
        kinds = peers.secret_lines(text)
    theirs = {number for number, found in kinds.items() if any("Entropy" not in kind for kind in found)}
    what = f"of {len(labels)} labelled secrets in {len(lines)} lines"
    for found, whose in ((ours, ""), (theirs, ", detect-secrets without entropy")):
        right = len(found & labels)
        report(Figure(BENCH, f"recall {what}{whose}", "share"), right / len(labels))
        report(Figure(BENCH, f"precision {what}{whose}", "share"), right / max(1, len(found)))
    report(
        Figure(BENCH, f"lines {what} that detect-secrets finds and we do not", "lines"), len((theirs & labels) - ours)
    )


def _labelled_finds() -> None:
    """Precision by rule on finds in libraries of the mirror that were read, and how many right ones are not found."""
    for name in SETS:
        records = [record for record in labels() if record.set == name]
        counts, unread = judged(records)
        what = f"of {len(records)} labelled finds, {name} set"
        report(Figure(BENCH, f"{what}: not read, for their library is not in the mirror", "finds"), unread)
        for rule, counted in counts.items():
            found = counted.found_right + counted.found_wrong
            if found:
                report(Figure(BENCH, f"{what}: {rule}, right of {found} that are found", "share"), counted.precision)
            lost = counted.right - counted.found_right
            report(Figure(BENCH, f"{what}: {rule}, right ones of {counted.right} that are not found", "finds"), lost)
        found_right = sum(counted.found_right for counted in counts.values())
        found = found_right + sum(counted.found_wrong for counted in counts.values())
        if found:
            report(Figure(BENCH, f"{what}: precision, {found} that are found", "share"), found_right / found)


def _copies_beside_the_peer(texts: Sequence[str]) -> None:
    """Signatures, bands, verification and clusters against datatrove's pipeline with the same bands."""
    if not peers.HAS_DATATROVE:
        return
    some = [text.decode() for text in _drawn([text.encode() for text in texts], COPY_PEER_BYTES)]
    size = sum(map(len, some)) / 1e6
    figure = Figure(BENCH, f"near-duplicates end to end, {len(some)} files of {size:.1f} MB", "MB/CPU-s", size)
    peer_name = peers.datatrove_name()
    compare(figure, lambda: _copies(some), lambda: peers.datatrove_near_duplicates(some), peer_name=peer_name, runs=1)


def _order(texts: Sequence[str], benchmarks: Benchmarks) -> None:
    """Whether pairs, secrets and answers are the same in shuffled order, and with 2 and 4 processes."""
    some = [text.decode() for text in _drawn([text.encode() for text in texts], COPY_PEER_BYTES)]
    first = _answer(some, benchmarks, 1)
    shuffled = random.Random(40).sample(some, len(some))
    different = sum(_answer(shuffled, benchmarks, workers) != first for workers in (1, 2, 4))
    report(Figure(BENCH, "of 1, 2 and 4 processes over shuffled texts, those with another result", "runs"), different)


_looked_for: list[Benchmarks] = []


def _answer(texts: Sequence[str], benchmarks: Benchmarks, workers: int) -> tuple[object, object]:
    _looked_for[:] = [benchmarks]
    if workers == 1:
        found = list(map(_found, texts))
    else:
        with ProcessPoolExecutor(workers, initializer=die_with_parent, initargs=(os.getpid(),)) as pool:
            found = list(pool.map(_found, texts, chunksize=16))
    return sorted(_copies(texts)), sorted(found)


def _found(text: str) -> tuple[object, ...]:
    digest = hashlib.sha256(text.encode()).hexdigest()
    return digest, tuple(finds_of(text.encode())), tuple(_looked_for[0].answers_in(text, SHARE))


if __name__ == "__main__":
    run(main)
