"""Finds secrets and personal data in a text: keys, passwords, e-mail addresses, IP addresses and home folders.

Fixed texts select the lines that may hold something. detect-secrets' plugins, which need nine seconds per megabyte,
examine those lines only. A find is identified by the hash of its text, never by the text.
"""

from __future__ import annotations

import hashlib
import ipaddress
import re
import string
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import pairwise
from typing import Any, NamedTuple

EMAIL = "email"
IP_ADDRESS = "ip_address"
HOME_FOLDER = "home_folder"
PRIVATE_KEY = "private_key"
_KEYWORD, _AWS, _TOKEN = "Keyword", "AWSKey", "JwtToken"

_PLUGINS = (
    "ArtifactoryDetector", "AWSKeyDetector", "AzureStorageKeyDetector", "BasicAuthDetector", "DiscordBotTokenDetector",
    "GitHubTokenDetector", "GitLabTokenDetector", "JwtTokenDetector", "KeywordDetector", "MailchimpDetector",
    "NpmDetector", "OpenAIDetector", "PypiTokenDetector", "SendGridDetector", "SlackDetector", "SquareOAuthDetector",
    "StripeDetector", "TelegramBotTokenDetector", "TwilioKeyDetector",
)  # fmt: skip
"""Plugins that recognise a kind of key by its form.

The entropy plugins are left out: they report every table of constants. IP addresses and private keys are found here, as
ranges.
"""
_MARKS = (
    b"AKC", b"A3T", b"AKIA", b"ABIA", b"ACCA", b"ASIA", b"AccountKey", b"://", b"ghp_", b"gho_", b"ghu_", b"ghs_",
    b"ghr_", b"glpat-", b"eyJ", b"-us", b"_authToken", b"sk-", b"pypi-", b"SG.", b"xox", b"hooks.slack", b"sq0csp",
    b"k_live", b":AA",
)  # fmt: skip
_WORDS = (
    b"api_key", b"apikey", b"api-key", b"auth_key", b"authkey", b"password", b"passwd", b"passphrase", b"private_key",
    b"privatekey", b"priv_key", b"secret", b"service_key", b"account_key", b"db_pass", b"database_pass", b"pwd",
)  # fmt: skip
"""A line without any of these texts, in any case, has nothing that a plugin finds.

Searching fixed texts is many times faster than one expression of alternatives.
"""
_CREDENTIALS = re.compile(rb"://[^/\s:@\"']{1,64}:[^/\s@]")
_PRIVATE_KEY = re.compile(rb"-----BEGIN (?:[A-Z]+ )*PRIVATE KEY(?: BLOCK)?-----(?P<find>.{16,20000}?)-----END ", re.S)
_KEY_TEXT = re.compile(rb"[A-Za-z0-9+/=]{16}")
"""Between the two lines of a program that reads keys there is code, and no such text."""
_EMAIL = re.compile(
    rb"(?<![\w.+%@-])(?P<find>[A-Za-z0-9][\w.+%-]{0,63}@(?:[A-Za-z0-9-]{1,63}\.){1,4}[A-Za-z]{2,12})(?![\w@(-])"
)
_IP4 = re.compile(rb"(?P<find>[0-9]{1,3}\.[0-9]{1,3}\.[0-9]{1,3}\.[0-9]{1,3})(?![\w-]|\.\w)")
_IP6 = re.compile(rb"(?P<find>(?:[0-9A-Fa-f]{1,4}:){4,7}[0-9A-Fa-f]{1,4})(?![\w.:-])")
_IN_IP6 = re.compile(rb":[0-9A-Fa-f]{1,4}:[0-9A-Fa-f]{1,4}:")
_HOME = re.compile(rb"(?:/home/|/Users/|[A-Z]:\\{1,2}Users\\{1,2})(?P<find>[A-Za-z][\w.-]{1,31})(?=[/\\\"'\s])")
_URL = re.compile(rb"[A-Za-z][A-Za-z0-9+.-]{1,12}://[^\s\"'<>=]*$")
"""What stands before an address that is a part of a URL: a user of a host, or a message in an archive."""
_ADDRESS_HINT = re.compile(rb"addr|server|host|peer|client|gateway|subnet|ping |connect|\bip\b|\bipv?4|\bdns", re.I)
_VERSION = re.compile(rb"(?:version\w*|\bver|release|revision|section|chapter|clause|RFC|v)\.?[ :=\"'(v,]{0,5}$", re.I)
_DOMAINS = frozenset(
    "com org net edu gov mil int arpa info biz name pro aero coop museum mobi asia tel jobs cat dev app page cloud "
    "tech xyz online site space website store blog email systems solutions software codes digital network live life "
    "world today group team work works guru ninja rocks fun club zone agency company consulting services engineering "
    "academy institute science studio design media press news social chat link top vip shop".split()
)
"""Ends of domains beside the codes of countries. Others, such as `.test` and `.no.where`, are mostly invented."""
_EXAMPLES = frozenset(
    "example.com example.org example.net foo.com bar.com domain.com email.com host.com openssh.com libssh.org "
    "googlegroups.com lists.sourceforge.net".split()
)
"""Domains of invented addresses, of algorithms of SSH (`aes128-gcm@openssh.com`), and of mailing lists."""
_LISTS = re.compile(r"(?:bug-[\w-]+|[\w-]+-(?:devel|dev|users|list|bugs|discuss|announce))$", re.I)
_NOBODY = frozenset(
    "alice bob carol dave foo bar test tester user username git "
    "noreply no-reply nobody anonymous donotreply do-not-reply".split()
)
_MESSAGE_IDS = re.compile(rb"(?:message-id|in-reply-to|references)[: ]+<?$", re.I)
_USERS = frozenset(
    "user user1 user2 username users name me you tester runner vagrant ubuntu travis shared public default "
    "alice bob carol dave fred barney foo bar test xx xxx joecitizen joecitzen nodejs".split()
)
_PLACEHOLDER = re.compile(
    r"(?:invalid|wrong|change[-_ ]?me|(?:s[3e]cr[3e]t|admin|login)$|.*:\s*$|"
    r".*pass(?:word|wd|phrase)?\b|.*_?pwd$|.*(?:password|secret|passwd)[^0-9]*$)",
    re.I,
)
"""A value that says what it stands for, as `test_password` does."""
_EXAMPLE_TOKEN = ("IjEyMzQ1Njc4", "MjM0NTY3ODkw", "MTIzNDU2Nzg5", "Sm9obiBE", "b2huIERv")
"""Base64 of parts of `"1234567890"` and `John Doe`, the subject of the JSON Web Token of jwt.io."""
_KEY_FILE = re.compile(r".*\.(?:key|pem|crt|cert|cer|der|pub|p12|pfx|jks|h|c)$", re.I)
_NAME_SERVERS = frozenset(
    "8.8.8.8 8.8.4.4 1.1.1.1 1.0.0.1 9.9.9.9 208.67.222.222 208.67.220.220 198.41.0.4 170.247.170.2 192.33.4.12 "
    "199.7.91.13 192.203.230.10 192.5.5.241 192.112.36.4 198.97.190.53 192.36.148.17 192.58.128.30 193.0.14.129 "
    "199.7.83.42 202.12.27.33".split()
)
"""Public resolvers, and the thirteen servers of the root zone."""
_DIGITS, _ROW = "1234567890", 6
"""So many digits in this order, without the hundreds, are no address that somebody has."""
_REPEATED = frozenset((*range(11, 100, 11), 111, 222))
_ALLOCATED_IP6 = (
    frozenset((0x2001, 0x2002, 0x2003)),
    frozenset((0x240, 0x260, 0x261, 0x262, 0x263, 0x280, 0x2A0, 0x2A1, 0x2C0)),
)
"""First 16 and 12 bits of the IPv6 addresses that IANA has given out; others are invented."""
_VALUE = 5
"""Characters of the shortest value. A shorter group of an expression is only the prefix of a value."""
_VERSION_BYTES = 16
_URL_BYTES = 200
_HINT_BYTES = 200
"""The bytes around a find that are read for hints. A whole line may have 64 KiB."""
_VERSION_PART = 30
_ADDRESS_PART = 100
"""Outside of quotes, four numbers below the first are a version or a section, `zlib 1.2.5.2`. So are four below the
second, unless the line speaks of addresses.
"""
_JOINED = frozenset(bytes([byte]) for byte in b"_.:-" + string.ascii_letters.encode() + string.digits.encode())


class Find(NamedTuple):
    """A find of `rule` at bytes `start` to `end` of a text, in line `line` (from 1)."""

    rule: str
    line: int
    start: int
    end: int
    sha256: str


def finds_of(data: bytes) -> list[Find]:
    """Return every secret and personal datum of a text, by position. Of overlapping ones, the first and longer one
    counts.
    """
    found = sorted({*_ranges(data), *_keys(data)}, key=lambda each: (each[1], -each[2], each[0]))
    finds: list[Find] = []
    line, at = 1, 0
    for rule, start, end in found:
        if not finds or start >= finds[-1].end:
            line, at = line + data.count(b"\n", at, start), start
            finds.append(Find(rule, line, start, end, hashlib.sha256(data[start:end]).hexdigest()))
    return finds


def private_keys(data: bytes) -> list[tuple[int, int]]:
    """Return where the private keys of a text are: the only finds of more than one line."""
    if b"PRIVATE KEY" not in data:
        return []
    return [match.span("find") for match in _PRIVATE_KEY.finditer(data) if _KEY_TEXT.search(match["find"])]


def _ranges(data: bytes) -> Iterator[tuple[str, int, int]]:
    """Yield (rule, start, end) of what is recognised by its form alone."""
    yield from ((PRIVATE_KEY, *span) for span in private_keys(data))
    for start, line in _lines_with(data, (b"@",)):
        yield from ((EMAIL, *_span(match, start)) for match in _EMAIL.finditer(line) if _is_a_persons(line, match))
    for start, line in _lines_with(data, (b"/home/", b"Users")):
        yield from ((HOME_FOLDER, *_span(match, start)) for match in _HOME.finditer(line) if _is_a_user(match))
    yield from ((IP_ADDRESS, *match.span("find")) for match in _IP4.finditer(data) if _is_public(data, match))
    if _IN_IP6.search(data):
        yield from ((IP_ADDRESS, *match.span("find")) for match in _IP6.finditer(data) if _is_public(data, match))


def _span(match: re.Match[bytes], offset: int) -> tuple[int, int]:
    start, end = match.span("find")
    return offset + start, offset + end


def _lines_with(data: bytes, texts: Sequence[bytes]) -> list[tuple[int, bytes]]:
    """Return (start, line) of each line that contains one of `texts`, in order."""
    starts: set[int] = set()
    for text in texts:
        at = data.find(text)
        while at >= 0:
            starts.add(data.rfind(b"\n", 0, at) + 1)
            end = data.find(b"\n", at)
            at = data.find(text, end) if end >= 0 else -1
    return [
        (start, data[start : end if (end := data.find(b"\n", start)) >= 0 else len(data)]) for start in sorted(starts)
    ]


def _is_a_persons(line: bytes, match: re.Match[bytes]) -> bool:
    """Return whether an e-mail address is of a domain that is not reserved for examples, and neither a mailing list,
    nor a part of a URL, nor the name of a message.
    """
    local, _, domain = match["find"].decode("ascii", "replace").lower().rpartition("@")
    end = domain.rpartition(".")[2]
    if (
        (len(end) > 2 and end not in _DOMAINS)
        or end in ("xx", "zz")
        or ".".join(domain.split(".")[-2:]) in _EXAMPLES
        or domain in _EXAMPLES
    ):
        return False
    if local in _NOBODY or "%" in local or domain.startswith("lists.") or _LISTS.match(local):
        return False
    before = line[max(0, match.start("find") - _URL_BYTES) : match.start("find")]
    url = _URL.search(before)
    return (url is None or url[0].startswith(b"mailto:")) and not _MESSAGE_IDS.search(before)


def _is_public(data: bytes, match: re.Match[bytes]) -> bool:
    """Return whether an IP address is public, and not a version number or part of a longer word."""
    start, end = match.span("find")
    if start and data[start - 1 : start] in _JOINED:
        return False
    try:
        address = ipaddress.ip_address(match["find"].decode())
    except ValueError:
        return False
    if not address.is_global or address.is_multicast or _is_invented(address):
        return False
    before = data[max(0, start - _VERSION_BYTES) : start]
    if _VERSION.search(before):
        return False
    # A version may have a large number only at its end, as that of a build.
    is_version = address.version == 4 and max(address.packed[:3]) < _VERSION_PART
    is_whole = before.endswith((b'"', b"'", b"//")) and data[end : end + 1] in (b'"', b"'", b":", b"/", b"\\")
    if not is_version and (is_whole or max(address.packed) >= _ADDRESS_PART):
        return True
    return max(address.packed) >= _VERSION_PART and bool(_ADDRESS_HINT.search(_line_of(data, start)))


def _line_of(data: bytes, at: int) -> bytes:
    """Return what stands around `at` in its line."""
    first = max(0, at - _HINT_BYTES)
    return data[max(first, data.rfind(b"\n", first, at) + 1) : _line_end(data, at)][: 2 * _HINT_BYTES]


def _is_invented(address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> bool:
    """Return whether an address is a network or its broadcast, a public name server, not given out, or of a pattern.

    Patterns are those that people invent: `1.2.3.4`, `128.1.2.3`, `1.2.128.129`, `192.1.1.1`, `80.80.32.32`,
    `16.32.64.128`, `11.22.33.45`, `64.56.78.90`.
    """
    if isinstance(address, ipaddress.IPv6Address):
        first = int(address) >> 112
        return first not in _ALLOCATED_IP6[0] and first >> 4 not in _ALLOCATED_IP6[1]
    parts = address.packed
    if parts[3] in (0, 255) or parts[1:3] == b"\0\0" or str(address) in _NAME_SERVERS:
        return True
    steps = [following - part for part, following in pairwise(parts)]
    is_even = len(set(steps[1:])) == 1 or steps[0] == steps[2] == 1
    is_round = len(set(parts)) <= 2 or all(part % 10 == 0 for part in parts) or all(part % 16 == 0 for part in parts)
    digits = "".join(str(part % 100) for part in parts)
    is_row = any(_DIGITS[at : at + _ROW] in digits for at in range(len(_DIGITS) - _ROW + 1))
    return is_even or is_round or is_row or len({part for part in parts if part in _REPEATED}) > 1


def _is_a_user(match: re.Match[bytes]) -> bool:
    return match["find"].decode("ascii", "replace").lower() not in _USERS


def _line_end(data: bytes, start: int) -> int:
    end = data.find(b"\n", start)
    return len(data) if end < 0 else end


def _keys(data: bytes) -> Iterator[tuple[str, int, int]]:
    """Yield (rule, start, end) of what detect-secrets finds in the selected lines."""
    marked = {
        start: line for start, line in _lines_with(data, _MARKS) if b"://" not in line or _CREDENTIALS.search(line)
    }
    for start, line in _lines_with(data.lower(), _WORDS):
        marked[start] = data[start : start + len(line)]
    for start, line in sorted(marked.items()):
        yield from _of_line(line, start)


def _of_line(line: bytes, offset: int) -> Iterator[tuple[str, int, int]]:
    text = line.decode("latin-1")
    for name, plugin in _plugins():
        for start, end in _values(plugin, text):
            if not _is_placeholder(text[start:end]) and not _is_other(name, text, start, end):
                yield name, offset + start, offset + end


def _values(plugin: Any, text: str) -> Iterator[tuple[int, int]]:
    """Yield where a plugin finds a value: the longest group of its expression, or the whole match if that is a
    prefix.
    """
    for expression in getattr(plugin, "denylist", ()):
        for match in expression.finditer(text):
            groups = [match.span(number) for number in range(1, expression.groups + 1) if match[number]]
            longest = max(groups, key=lambda span: span[1] - span[0], default=match.span())
            is_value = longest[1] - longest[0] >= _VALUE or expression.pattern.startswith("://")
            yield longest if is_value else match.span()
    if not hasattr(plugin, "denylist"):
        for value in plugin.analyze_string(text):
            if (start := text.find(value)) >= 0:
                yield start, start + len(value)


def _is_placeholder(value: str) -> bool:
    """Return whether a value is a placeholder: few different characters, or a name instead of a value."""
    is_word = _PLACEHOLDER.match(value) or _KEY_FILE.match(value)
    return len(set(value)) < _VALUE or value.startswith(("$", "<", "%", "{")) or bool(is_word)


def _is_other(plugin: str, text: str, start: int, end: int) -> bool:
    """Return whether what `plugin` finds is something else: a name, part of a longer word, or a published example."""
    if plugin == _KEYWORD:
        return _is_named_before(text, start, end)
    if plugin == _AWS:
        return _is_within_word(text, start, end) or text[start:end].endswith("EXAMPLE")
    return plugin == _TOKEN and any(part in text[start:end] for part in _EXAMPLE_TOKEN)


def _is_named_before(text: str, start: int, end: int) -> bool:
    """Return whether a value is the end of the name that it is given to: `[ID_MASTER_SECRET] = "master_secret"`."""
    names = (_letters(name) for name in re.findall(r"\w+", text[:start]))
    value = _letters(text[start:end])
    return bool(value) and any(name.endswith(value) or name.removesuffix("file") == value for name in names)


def _letters(name: str) -> str:
    return name.replace("_", "").lower()


def _is_within_word(text: str, start: int, end: int) -> bool:
    return text[start - 1 : start].isalnum() or text[end : end + 1].isalnum()


@cache
def _plugins() -> tuple[tuple[str, Any], ...]:
    # The import costs half a second and most repositories have no such line, so it happens here.
    from detect_secrets.core.plugins.util import get_mapping_from_secret_type_to_class  # noqa: PLC0415

    plugins: list[Any] = list(get_mapping_from_secret_type_to_class().values())
    classes = {plugin.__name__: plugin for plugin in plugins}
    return tuple((name.removesuffix("Detector"), classes[name]()) for name in _PLUGINS)
