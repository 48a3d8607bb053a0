"""`tokenizer.lock`: the identity of a tokenizer, and texts that it must encode in one way, checked at every load."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields

from megacpp_assets.contract.canonical import canonical_json, sha256_bytes
from megacpp_assets.contract.columns import TOKENIZER_FILE
from megacpp_assets.contract.errors import SpecError, TokenizerDrift
from megacpp_assets.contract.lock.corpus_lock import TokenizerPin
from megacpp_assets.contract.recipe.documents import TokenizerRecipe
from megacpp_assets.contract.tokens.specials import SPECIAL_NAMES
from megacpp_assets.storage.artifact import Artifact
from megacpp_assets.tokenizer.vocabulary.fixed import special, special_ids

LOCK_FILE = "tokenizer.lock"
FORMAT = 2
RESTORE = "remove its folder tokenizer/DATASET: the next megacpp run restores a pinned one from its registry"
BPE_MODEL = "bpe"
"""The algorithm that turns text into tokens: merges by rank. Other models have other names, and no corpus mixes two."""

FORGERY = " ".join(special(name) for name in SPECIAL_NAMES) + "".join(special(name) for name in SPECIAL_NAMES)
"""A text that spells every special token. It must encode without one."""

GOLDEN_TEXTS = (
    "",
    "#include <vector>\n\nint main() {\n    std::vector<int> v{1, 2, 3};\n    return v[0] == 0x1F ? 0 : 1;\n}\n",
    "template<typename T>\nconstexpr auto end_point(T const& p) -> decltype(p->x) {\n\treturn p->x <=> T::zero();\n}\n",
    "#  define CHECK(x) \\\n    do { if (!(x)) abort(\"\\n\"); } while (0)\r\n",
    "// \\brief na\u00efve \u4e2d\u6587 \U0001f600 e\u0301\n",
    "x  =  y>>1;  \t\t ++i--; a->b->*c; 1'000.5e-3f ===== ----> \x00\ufeff\u202e",
    FORGERY,
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Golden:
    """A text and the ids that it must give, BOS included."""

    text: str
    ids: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class TokenizerLock:
    """The identity of a tokenizer: its registry commit, its bytes, its meaning."""

    model: str
    commit: str
    sha256: str
    size: int
    recipe: TokenizerRecipe
    special_ids: Mapping[str, int]
    goldens: tuple[Golden, ...]

    @property
    def pin(self) -> TokenizerPin:
        """How `corpus.lock` names this tokenizer."""
        return TokenizerPin(self.commit, self.sha256)

    def to_bytes(self) -> bytes:
        """Return canonical JSON."""
        # `asdict` would copy each id of each golden text, which costs more than everything else here.
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        goldens = [{"text": golden.text, "ids": golden.ids} for golden in self.goldens]
        return canonical_json({"format": FORMAT, **values, "recipe": asdict(self.recipe), "goldens": goldens})

    @staticmethod
    def from_bytes(data: bytes) -> TokenizerLock:
        """Parse a lock. `TokenizerDrift` if it is not in the canonical form of `to_bytes`."""
        try:
            raw = json.loads(data)
            if raw.pop("format") != FORMAT:
                raise ValueError("another format")
            raw["recipe"] = TokenizerRecipe(**raw["recipe"])
            raw["goldens"] = tuple(Golden(entry["text"], tuple(entry["ids"])) for entry in raw["goldens"])
            lock = TokenizerLock(**raw)
            if lock.to_bytes() != data:
                raise ValueError("bytes that are not canonical")
        except (ValueError, KeyError, TypeError, AttributeError, SpecError) as error:
            raise TokenizerDrift(LOCK_FILE, expected="a lock written by megacpp", found=str(error)) from error
        return lock

    def check_file(self, data: bytes) -> None:
        """Raise `TokenizerDrift` unless `data` is the locked `tokenizer.json`."""
        _same(f"size of {TOKENIZER_FILE}", self.size, len(data))
        _same(f"sha256 of {TOKENIZER_FILE}", self.sha256, sha256_bytes(data))

    def check_meaning(self, vocabulary_size: int, encode: Callable[[str], Sequence[int]]) -> None:
        """Raise `TokenizerDrift` unless sizes and special ids are the pinned ones and every golden text encodes as
        locked.
        """
        _same("model", BPE_MODEL, self.model)
        _same("vocabulary size", self.recipe.vocabulary_size, vocabulary_size)
        _same("special ids", special_ids(), dict(self.special_ids))
        if FORGERY not in {golden.text for golden in self.goldens}:
            _same("golden texts", "one that spells the special tokens", "none")
        for golden in self.goldens:
            found = tuple(encode(golden.text))
            _same(f"encoding of {golden.text[:40]!r}", golden.ids, found)
            if min(found[1:], default=len(SPECIAL_NAMES)) < len(SPECIAL_NAMES):
                _same(f"encoding of {golden.text[:40]!r}", "no special token but BOS", found)


def read_lock(artifact: Artifact) -> TokenizerLock:
    """Return the lock of a published tokenizer."""
    return TokenizerLock.from_bytes(artifact.file(LOCK_FILE).read_bytes())


def pin_of(artifact: Artifact) -> TokenizerPin:
    """Return the pin for `corpus.lock` of a published tokenizer."""
    return read_lock(artifact).pin


def _same(what: str, expected: object, found: object) -> None:
    if expected != found:
        raise TokenizerDrift(what, expected=expected, found=found, do=RESTORE)
