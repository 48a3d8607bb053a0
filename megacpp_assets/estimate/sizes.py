"""The size of a repository, from the best source that there is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from megacpp_assets.repos.catalogue import CatalogueEntry
from megacpp_assets.storage.artifact import Artifact
from megacpp_assets.storage.git_objects import source_files

PINNED: Final = "pinned"
COUNTED: Final = "by the catalogue"
BY_CLASS: Final = "by size class"
_CLASS_BYTES: Final = {"S": 2e6, "M": 10e6, "L": 70e6, "H": 300e6}
"""C and C++ bytes of a clone in the middle of its size class. Two thirds of a tree are C or C++: the median of twenty
libraries (abseil-cpp, BLAKE3, cJSON, double-conversion, fmt, folly, googletest, indicators, jq, leveldb, libuv, lz4,
nlohmann/json, redis, spdlog, tidy-html5, tinyxml2, toml11, yaml-cpp, zlib)."""


@dataclass(frozen=True, slots=True)
class Size:
    """A repository's C and C++ files that are indexed: their number, and their bytes by language.

    `source` says where the figures come from: `PINNED` (counted at the commit), `COUNTED` (bytes of the catalogue) or
    `BY_CLASS` (bytes by its size class: may be wrong by a factor of ten). The number of files and the share of C are
    those of pinned repositories where they are not known.
    """

    name: str
    files: float
    c_bytes: float
    cpp_bytes: float
    source: str = PINNED

    @property
    def source_bytes(self) -> float:
        """Bytes of both languages."""
        return self.c_bytes + self.cpp_bytes

    @property
    def features(self) -> tuple[float, float, float, float]:
        """What the cost of a partition is a sum of: one step, files, megabytes of C, megabytes of C++.

        Nine libraries chose them: megabytes without languages, or files by language, were wrong by twice as much.
        """
        return 1.0, self.files, self.c_bytes / 1e6, self.cpp_bytes / 1e6


def pinned_size(raw: Artifact) -> Size:
    """Return the size of a pinned repository, from its list of files."""
    files = [file for file in source_files(raw) if not file.skipped]
    total, in_c = sum(file.bytes for file in files), sum(file.bytes for file in files if file.language == "c")
    return Size(raw.manifest.partition, len(files), in_c, total - in_c)


def entry_size(entry: CatalogueEntry, pinned: Mapping[str, Size]) -> Size:
    """Return the size of a repository of the catalogue.

    `pinned` has sizes by `NAME@REF`, at least one. A pinned reference of the repository counts; of several the last.
    """
    own = [size for key, size in pinned.items() if key.partition("@")[0] == entry.name]
    if own:
        return own[-1]
    known, source = (entry.source_bytes, COUNTED) if entry.source_bytes else (_CLASS_BYTES[entry.size_class], BY_CLASS)
    share = known / (sum(size.source_bytes for size in pinned.values()) or 1.0)
    files, in_c = (sum(values) * share for values in zip(*((s.files, s.c_bytes) for s in pinned.values()), strict=True))
    return Size(f"{entry.name}@{entry.ref}", files, in_c, known - in_c, source)
