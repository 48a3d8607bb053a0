"""A labelled set of secrets: lines with one of a kind each, and lines that only look like them.

Every secret is made up at run time, so that no scanner takes this file for a leak.
"""

from __future__ import annotations

import hashlib
import random
import string
from collections.abc import Iterator
from typing import NamedTuple

_LETTERS = string.ascii_letters + string.digits


class Labelled(NamedTuple):
    """A line, and whether it has a secret."""

    line: str
    secret: bool


def labelled(count: int) -> list[Labelled]:
    """Return `count` lines of each kind, the same in every run."""
    draw = random.Random(40)
    return [line for number in range(count) for line in (*_secrets(draw, number), *_plain(draw, number))]


def _text(draw: random.Random, length: int, of: str = _LETTERS) -> str:
    return "".join(draw.choices(of, k=length))


def _secrets(draw: random.Random, number: int) -> Iterator[Labelled]:
    upper = string.ascii_uppercase + string.digits
    word = f"{_text(draw, 10)}{number}"
    lines = (
        f'const char* key = "AKIA{_text(draw, 16, upper)}";',
        f'auto token = "ghp_{_text(draw, 36)}";',
        f'connect("https://user{number}:{word}@db.corp{number}.net/x");',
        f'std::string password = "{word}";',
        f'#define API_KEY "{_text(draw, 32)}"',
        f'client_secret = "{_text(draw, 24)}";',
        f"// slack: xoxb-{_text(draw, 12, string.digits)}-{_text(draw, 12, string.digits)}-{_text(draw, 24)}",
        f'stripe("sk_live_{_text(draw, 24)}");',
        f'send("SG.{_text(draw, 22)}.{_text(draw, 43)}");',
        f'mailchimp = "{_text(draw, 32, "0123456789abcdef")}-us{number % 10}";',
        f"registry: //registry.npmjs.org/:_authToken=npm_{_text(draw, 36)}",
        f'"glpat-{_text(draw, 20)}"',
    )
    yield from (Labelled(line, True) for line in lines)


def _plain(draw: random.Random, number: int) -> Iterator[Labelled]:
    digest = hashlib.sha256(str(number).encode()).hexdigest()
    lines = (
        f'static const char sum[] = "{digest}";',
        f"const uint32_t table[] = {{0x{digest[:8]}, 0x{digest[8:16]}, 0x{digest[16:24]}}};",
        f"bool check_password(const std::string& password{number});",
        f"if (secret_size_{number} == 0) return;",
        f'#include "third_party/key{number}/secret.h"',
        f"// See https://example.com/a/{number} for the protocol.",
        f"password = getenv(name{number});",
        f"auto passwd = getpwuid(uid{number});",
    )
    yield from (Labelled(line, False) for line in lines)
