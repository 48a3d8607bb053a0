"""The difference of two file versions: hunks of stretches of lines, numbered on both sides.

The shortest edit script is native. A block of lines that may stand at several places, as the lines of one of two equal
functions may, stands where its ends are indented least, close no block, and are beside a blank line.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from megacpp_assets.versions._lines import changed_blocks
from megacpp_assets.versions.files import FileVersion

CONTEXT: Final = 32
REMOVED: Final = 45
ADDED: Final = 43
"""What a stretch is: the byte before its lines in a patch, a space, `-` or `+`."""


class Stretch(NamedTuple):
    """`lines` neighbouring lines of a hunk that are CONTEXT, REMOVED or ADDED.

    `pre` and `post` are the first of them, from 0. If they are not on a side, it is the next line of that side.
    """

    kind: int
    pre: int
    post: int
    lines: int


Hunk = list[Stretch]


def hunks_of(pre: FileVersion, post: FileVersion, context: int) -> list[Hunk]:
    """Return the hunks, with `context` unchanged lines around each change. Changes whose context meets are one hunk."""
    hunks: list[Hunk] = []
    done_pre = done_post = 0
    found = changed_blocks(pre.data, pre.starts, post.data, post.starts)
    for pre_first, pre_end, post_first, post_end in found.reshape(-1, 4).tolist():
        between = pre_first - done_pre
        if not hunks or between > 2 * context:
            if hunks:
                _add(hunks[-1], CONTEXT, done_pre, done_post, min(context, between))
            hunks.append([])
            between = min(context, between)
        _add(hunks[-1], CONTEXT, pre_first - between, post_first - between, between)
        _add(hunks[-1], REMOVED, pre_first, post_first, pre_end - pre_first)
        _add(hunks[-1], ADDED, pre_end, post_first, post_end - post_first)
        done_pre, done_post = pre_end, post_end
    if hunks:
        _add(hunks[-1], CONTEXT, done_pre, done_post, min(context, pre.lines - done_pre))
    return hunks


def _add(hunk: Hunk, kind: int, pre: int, post: int, count: int) -> None:
    if count:
        hunk.append(Stretch(kind, pre, post, count))
