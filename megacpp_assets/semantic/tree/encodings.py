"""The encoding of a source file: from its byte order mark, as UTF-8, or as charset-normalizer finds it.

In: the bytes of a blob. Out: its text, the codec with which the same bytes come back, and how certain that codec is.
"""

from __future__ import annotations

import codecs
from typing import Final, NamedTuple

import numpy as np
from charset_normalizer import from_bytes
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
_SAMPLE_BYTES: Final = 1 << 16


class Decoded(NamedTuple):
    """The text of a blob behind its byte order `mark`, with `text.encode(encoding)` equal to the bytes there.

    `certainty` is 1.0 for UTF-8 and where a mark tells the encoding. Otherwise it is how much more disorder the next
    best encoding gives than this one, from 0 (as good) to 1 (none fits), in the measure of charset-normalizer.
    """

    text: str
    encoding: str
    certainty: float
    mark: bytes


def decoded(data: bytes) -> Decoded | None:
    """The text of `data`, or None where no encoding gives one."""
    mark, encoding = next(((mark, name) for mark, name in _MARKS if data.startswith(mark)), (b"", UTF8))
    text = _text(data[len(mark) :], encoding) if encoding else None
    if text is not None:
        return Decoded(text, encoding, 1.0, mark)
    return None if mark else _detected(data)


def _detected(data: bytes) -> Decoded | None:
    """As `decoded`, of bytes that are not UTF-8 and have no mark."""
    # Lines of ASCII say nothing, and so many of them make every encoding look right.
    lines = b"\n".join(line for line in data.split(b"\n") if not line.isascii())[:_SAMPLE_BYTES]
    if _is_broken_utf8(lines):
        return None
    found = from_bytes(lines, cp_isolation=_CANDIDATES, enable_fallback=False)
    ranked = sorted(found, key=lambda match: (match.chaos, -match.coherence, _CANDIDATES.index(match.encoding)))
    for place, match in enumerate(ranked):
        text = _text(data, match.encoding)
        if text is not None:
            following = ranked[place + 1].chaos if place + 1 < len(ranked) else 1.0
            return Decoded(text, match.encoding, round(following - match.chaos, 3), b"")
    return None


def _is_broken_utf8(data: bytes) -> bool:
    """Whether most of what is not ASCII is UTF-8: read in another encoding, it would be other characters."""
    text = data.decode(errors="replace")
    return sum(not character.isascii() for character in text) > 2 * text.count("\ufffd")


def _text(data: bytes, encoding: str) -> str | None:
    """The text of `data`; None unless it encodes to the same bytes again."""
    try:
        text = data.decode(encoding)
        return text if encoding == UTF8 or text.encode(encoding) == data else None
    except UnicodeError:
        return None


def offsets_in_blob(found: Decoded) -> NDArray[np.int64]:
    """For each byte of the text in UTF-8, and for its end: the offset in the blob of the character that it is of."""
    points, which = np.unique(np.frombuffer(found.text.encode("utf-32-le"), dtype="<u4"), return_inverse=True)
    stored, own = (_sizes(points.tolist(), encoding)[which] for encoding in (found.encoding, UTF8))
    starts = len(found.mark) + np.concatenate(([0], np.cumsum(stored)))
    return np.append(np.repeat(starts[:-1], own), starts[-1]).astype(np.int64)


def _sizes(points: list[int], encoding: str) -> NDArray[np.int64]:
    return np.array([len(chr(point).encode(encoding)) for point in points], dtype=np.int64)
