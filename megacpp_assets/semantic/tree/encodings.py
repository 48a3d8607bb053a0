"""The encoding of a source file: from its byte order mark, as UTF-8, or as charset-normalizer finds it.

In: the bytes of a blob. Out: its text, the codec with which the same bytes come back, and how certain that codec is.
"""

from __future__ import annotations

import codecs
from typing import Final, NamedTuple

import numpy as np
from charset_normalizer import CharsetMatch, from_bytes
from numpy.typing import NDArray

UTF8: Final = "utf-8"
_MARKS: Final = (
    (codecs.BOM_UTF8, UTF8),
    (codecs.BOM_UTF32_LE, ""),  # begins as UTF-16 does; no compiler reads UTF-32
    (codecs.BOM_UTF32_BE, ""),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_CANDIDATES: Final = ["cp1252", "gb18030", "cp932", "big5", "cp949", "cp1251"]
"""Codecs without state, so that a part of a text is a part of the bytes. `cp1252` reads Latin-1, `gb18030` reads GBK,
`cp932` reads Shift-JIS, `cp949` reads EUC-KR."""
_WESTERN: Final = "cp1252"
_MOST_CLUSTERS: Final = 1 / 3
_MOST_CHAOS: Final = 0.5
"""A comment of a few words with many accents reaches 0.38; charset-normalizer's own limit of 0.2 rejects it."""
_CYRILLIC_PENALTY: Final = 0.05
"""Of two encodings that fit short text alike, the Western one is more frequent in source code."""
_SAMPLE_BYTES: Final = 1 << 16


class Decoded(NamedTuple):
    """The text of a blob after its byte order `mark`. `text.encode(encoding)` equals the bytes there.

    `certainty` is 1.0 for UTF-8, and if a mark names the encoding. For a Western text it is the share of single letters
    (`_clusters`). Otherwise it says how much more disorder the next best encoding gives, from 0 (the same) to 1 (no
    other encoding fits), as charset-normalizer measures it.
    """

    text: str
    encoding: str
    certainty: float
    mark: bytes


def decoded(data: bytes) -> Decoded | None:
    """Return the text of `data`, or None where no encoding gives one."""
    mark, encoding = next(((mark, name) for mark, name in _MARKS if data.startswith(mark)), (b"", UTF8))
    text = _text(data[len(mark) :], encoding) if encoding else None
    if text is not None:
        return Decoded(text, encoding, 1.0, mark)
    return None if mark else _detected(data)


def _detected(data: bytes) -> Decoded | None:
    """Do the same as `decoded` for bytes that are not UTF-8 and have no mark."""
    # Lines of ASCII say nothing, and so many of them make every encoding look right.
    lines = b"\n".join(line for line in data.split(b"\n") if not line.isascii())[:_SAMPLE_BYTES]
    if _is_broken_utf8(lines):
        return None
    clusters = _clusters(lines)
    text = _text(data, _WESTERN) if clusters < _MOST_CLUSTERS else None
    if text is not None:
        return Decoded(text, _WESTERN, round(1.0 - clusters, 3), b"")
    found = from_bytes(lines, cp_isolation=_CANDIDATES, enable_fallback=False, threshold=_MOST_CHAOS)
    ranked = sorted(found, key=_disorder)
    for place, match in enumerate(ranked):
        text = _text(data, match.encoding)
        if text is not None:
            following = ranked[place + 1].chaos if place + 1 < len(ranked) else 1.0
            return Decoded(text, match.encoding, round(max(following - match.chaos, 0.0), 3), b"")
    return None


def _clusters(data: bytes) -> float:
    """Return the share of bytes over 127 that are next to another one.

    Western languages write single letters with accents between ASCII letters. In Cyrillic and East Asian encodings
    nearly every such byte has a neighbour. charset-normalizer takes a lone degree sign for half a Japanese syllable.
    """
    high = np.concatenate(([False], np.frombuffer(data, dtype=np.uint8) > 127, [False]))
    beside = high[1:-1] & (high[:-2] | high[2:])
    return float(beside.sum() / high.sum())


def _disorder(match: CharsetMatch) -> tuple[float, float, int]:
    penalty = _CYRILLIC_PENALTY if match.encoding == "cp1251" else 0.0
    return match.chaos + penalty, -match.coherence, _CANDIDATES.index(match.encoding)


def _is_broken_utf8(data: bytes) -> bool:
    """Return whether most of what is not ASCII is UTF-8: read in another encoding, it would be other characters."""
    text = data.decode(errors="replace")
    return sum(not character.isascii() for character in text) > 2 * text.count("\ufffd")


def _text(data: bytes, encoding: str) -> str | None:
    """Return the text of `data`; None unless it encodes to the same bytes again."""
    try:
        text = data.decode(encoding)
        return text if encoding == UTF8 or text.encode(encoding) == data else None
    except UnicodeError:
        return None


def offsets_in_blob(found: Decoded) -> NDArray[np.int64]:
    """Return, for each byte of the text in UTF-8 and for its end, the offset in the blob of the character of
    that byte.
    """
    points, which = np.unique(np.frombuffer(found.text.encode("utf-32-le"), dtype="<u4"), return_inverse=True)
    stored, own = (_sizes(points.tolist(), encoding)[which] for encoding in (found.encoding, UTF8))
    starts = len(found.mark) + np.concatenate(([0], np.cumsum(stored)))
    return np.append(np.repeat(starts[:-1], own), starts[-1]).astype(np.int64)


def _sizes(points: list[int], encoding: str) -> NDArray[np.int64]:
    return np.array([len(chr(point).encode(encoding)) for point in points], dtype=np.int64)
