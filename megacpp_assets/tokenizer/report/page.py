"""The quality page of a tokenizer: its statistics as markdown, for the terminal, the artifact and Dagster's UI."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from megacpp_assets.contract.names import STRUCTURE_CATEGORIES
from megacpp_assets.tokenizer.report.statistics import PartTotals, Statistics
from megacpp_assets.tokenizer.train import RARE_COUNT

PAGE_FILE = "quality.md"


def quality_page(statistics: Statistics) -> str:
    """Return bytes per token by repository and language, fertility, ids and the longest tokens. Ends with a newline."""
    sections = [
        "# Tokenizer quality",
        _corpus(statistics),
        _parts("repository", {"all": statistics.whole, **statistics.repos}),
        _parts("language", statistics.languages),
        _fertility(statistics),
        "## Longest tokens that occur\n\n" + "\n".join(f"    {text!r}" for text in statistics.longest_tokens),
    ]
    return "\n\n".join(sections) + "\n"


def _corpus(statistics: Statistics) -> str:
    overflow = "would overflow: its merges may differ" if statistics.reference_overflows else "does not overflow"
    facts = {
        "round-trip failures": f"{statistics.round_trip_failures}",
        "words, unique words": f"{statistics.words:,}, {statistics.unique_words:,}",
        "merges, the last one's count": f"{statistics.merges:,}, {statistics.last_merge_count:,}",
        "pairs dropped for a fixed word": f"{statistics.forbidden_pairs:,}",
        "largest pair count": f"{statistics.largest_pair_count:,} (the 32-bit reference {overflow})",
        "learned ids": f"{statistics.learned_ids:,}",
        "reserved ids": f"{statistics.unused_ids:,}",
        "ids that never occur": f"{statistics.silent_ids:,}",
        **_filled(statistics),
    }
    return _table(("fact", "value"), list(facts.items()))


def _filled(statistics: Statistics) -> dict[str, str]:
    """Return how much of the vocabulary the corpus is large enough for; nothing if an older release trained it."""
    if statistics.rare_ids is None or statistics.filled_size is None:
        return {}
    short = statistics.last_merge_count < RARE_COUNT
    answer = f"{statistics.filled_size:,} ids; use fewer ids or more text" if short else "the whole of it"
    return {
        f"learned ids that occur fewer than {RARE_COUNT} times": f"{statistics.rare_ids:,}",
        "vocabulary that the corpus can fill": answer,
    }


def _parts(kind: str, parts: Mapping[str, PartTotals]) -> str:
    rows = [
        (name, f"{part.files:,}", f"{part.bytes:,}", f"{part.tokens:,}", f"{part.bytes_per_token:.3f}")
        for name, part in parts.items()
    ]
    return f"## By {kind}\n\n" + _table((kind, "files", "bytes", "tokens", "bytes per token"), rows)


def _fertility(statistics: Statistics) -> str:
    rows = [
        (kind, f"{found.words:,}", _ratio(found.tokens, found.words), _ratio(found.bytes, found.tokens))
        for kind, found in statistics.fertility.items()
    ]
    return "## By kind of word\n\n" + _table(("kind", "words", "tokens per word", "bytes per token"), rows)


def category_page(repos: Mapping[str, Mapping[str, Mapping[str, int]]]) -> str:
    """Return bytes per token of each repository's documents by structure category. `repos` holds bytes and tokens of
    each.
    """
    names = [name for name in STRUCTURE_CATEGORIES if any(name in parts for parts in repos.values())]
    rows = [(repo, *(_per_token(parts.get(name, {})) for name in names)) for repo, parts in repos.items()]
    return "## Bytes per token by repository and category\n\n" + _table(("repository", *names), rows) + "\n"


def _per_token(part: Mapping[str, int]) -> str:
    return _ratio(part["bytes"], part["tokens"]) if part.get("tokens") else ""


def _ratio(value: int, by: int) -> str:
    return f"{value / max(1, by):.3f}"


def _table(names: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    lines = [names, tuple("---" for _ in names), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
