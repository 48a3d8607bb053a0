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
    """A repository's C and C++ files that are indexed: their numbers by language, and all bytes.

    `source` says where the figures come from: `PINNED` (counted at the commit), `COUNTED` (bytes of the catalogue,
    files by the mean of pinned repositories) or `BY_CLASS` (both by its size class: may be wrong by a factor of ten).
    """

    name: str
    c_files: float
    cpp_files: float
    source_bytes: float
    source: str = PINNED

    @property
    def features(self) -> tuple[float, float, float, float]:
        """What the cost of a partition is a sum of: one step, C files, C++ files, megabytes."""
        return 1.0, self.c_files, self.cpp_files, self.source_bytes / 1e6


def pinned_size(raw: Artifact) -> Size:
    """Return the size of a pinned repository, from its list of files."""
    files = [file for file in source_files(raw) if not file.skipped]
    in_c = sum(file.language == "c" for file in files)
    return Size(raw.manifest.partition, in_c, len(files) - in_c, sum(file.bytes for file in files))


def entry_size(entry: CatalogueEntry, pinned: Mapping[str, Size]) -> Size:
    """Return the size of a repository of the catalogue.

    `pinned` has sizes by `NAME@REF`, at least one. A pinned reference of the repository counts; of several the last.
    """
    own = [size for key, size in pinned.items() if key.partition("@")[0] == entry.name]
    if own:
        return own[-1]
    known, source = (entry.source_bytes, COUNTED) if entry.source_bytes else (_CLASS_BYTES[entry.size_class], BY_CLASS)
    total = sum(size.source_bytes for size in pinned.values()) or 1.0
    c_files = sum(size.c_files for size in pinned.values()) * known / total
    cpp_files = sum(size.cpp_files for size in pinned.values()) * known / total
    return Size(f"{entry.name}@{entry.ref}", c_files, cpp_files, float(known), source)
