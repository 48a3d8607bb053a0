"""Secrets and personal data: what is found, what is not, and that replacing moves no offset.

The keys are put together here, so that no scanner of this repository takes them for real ones.
"""

from __future__ import annotations

import pytest

from megacpp_assets.curation.secrets import finds_of
from megacpp_assets.storage.git_objects import with_spans_replaced

_AWS = "AKIA" + "QWERTYUIOPASDFGH"
_GITHUB = "ghp" + "_" + "aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC1dE3fG5"
_PEM = "-----BEGIN RSA " + "PRIVATE KEY-----\nMIIEpAIBAAKCAQEAx\nyz0123456789\n-----END RSA PRIVATE KEY-----"


@pytest.mark.parametrize(
    ("text", "rule", "found"),
    [
        ("// by Jane <jane.doe@corp-mail.com>\n", "email", "jane.doe@corp-mail.com"),
        ('auto host = "204.232.175.90";', "ip_address", "204.232.175.90"),
        ('auto dns = "2001:4860:4860:0:0:0:0:8888";', "ip_address", "2001:4860:4860:0:0:0:0:8888"),
        ('open("/home/jdoe/notes.txt");', "home_folder", "jdoe"),
        (f'key = "{_AWS}";', "AWSKey", _AWS),
        (f'token = "{_GITHUB}";', "GitHubToken", _GITHUB),
        ('url = "https://bob:s3cretPw@host/x";', "BasicAuth", "s3cretPw"),
        ('password = "hunter2horse";', "Keyword", "hunter2horse"),
        ("// it asks 204.232.175.90.", "ip_address", "204.232.175.90"),
        ("// the server is 31.12.7.9 now", "ip_address", "31.12.7.9"),
        ('connect("9.20.96.160");', "ip_address", "9.20.96.160"),
        ("// 2.31.234.19 - - [27/Mar/2016]", "ip_address", "2.31.234.19"),
        ('sip = "62.212.114.60:5060";', "ip_address", "62.212.114.60"),
        ("tcp://185.12.40.200/x", "ip_address", "185.12.40.200"),
        ('dns = {"198.137.231.1"};', "ip_address", "198.137.231.1"),
        ("// mailto://jane@corp-mail.com", "email", "jane@corp-mail.com"),
    ],
)
def test_a_planted_secret_is_found_and_replaced_in_place(text: str, rule: str, found: str) -> None:
    data = f"int before;\n{text}\nint after;\n".encode()
    (find,) = finds_of(data)
    assert (find.rule, find.line, data[find.start : find.end].decode()) == (rule, 2, found)
    plain = with_spans_replaced(data, [(find.start, find.end)])
    assert len(plain) == len(data) and found.encode() not in plain
    assert plain[: find.start] == data[: find.start] and plain[find.end :] == data[find.end :]


def test_a_private_key_over_several_lines_is_one_find() -> None:
    (find,) = finds_of(_PEM.encode())
    assert find.rule == "private_key" and b"MIIEpAIBAAKCAQEAx" not in with_spans_replaced(
        _PEM.encode(), [(find.start, find.end)]
    )


@pytest.mark.parametrize(
    "text",
    [
        "// mail to someone@example.com\n",
        "a@b; x@y.z\n",
        '"192.168.0.1" "127.0.0.1" "203.0.113.7"\n',
        "// version 1.2.3.4, zlib 1.2.5.2\n",
        'open("/home/user/x"); open("C:\\\\Users\\\\fred\\\\x");\n',
        'const char* b = "-----BEGIN RSA '
        + 'PRIVATE KEY-----";\nconst char* e =\n    "-----END RSA PRIVATE KEY-----";\n',
        "std::vector<std::string> a = b ? c : d::e::f;\n",
        "const int table[] = {0xdeadbeef, 0x12345678};\n",
        'password = "$PASSWORD";\n',
        '"https://user:pass@host/x" "https://user:pass%2fword@host" "%s://%s:%s@%s/"\n',
        '"1.2.3.4" "2.3.4.5" "16.32.48.64" "12.13.0.0" "8.8.8.8"\n',
        '"2121:0000:0000:0000:0000:0000:0000:0303"\n',
        '"Phil <phil@company.xx>" "joe@no.where"\n',
        "// * 12.2.5.32 Before the name, 12.2.5.72 after it, RFC 9000 17.2.5.1\n",
        '"2.0.0.1" "192.1.1.1" version2num("7.2.1.0")\n',
        'strcmp(ver, "1.11.2.100"); return "1.11.2.100"; "X-Proto-Version", "61.6.0.3"\n',
        'resolve("1.2.128.129"); resolve("[1.2.128.129]:80"); peer = "64.56.78.90";\n',
        '"128.1.2.3" "80.80.32.32" "16.32.64.128" "11.22.33.45" "200.100.0.100" ah(dp, "A", "198.41.0.4")\n',
        '"193.99.144.0" "193.99.144.255" "208.67.222.222"\n',
        '"255.255.255.0" "255.254.0.0" "0.0.0.0" "224.0.0.251" "239.255.255.250" "169.254.3.4" "100.64.7.9"\n',
        '"198.51.100.77" "10.20.130.4" "172.16.99.1" "198.18.4.200" "240.12.99.1" 1.3.6.1.4.1.311.2\n',
        '"alice@corp.org" "1%.4d@corp.org" "/home/user1/a"\n',
        'key = "AKIA' + 'IOSFODNN7EXAMPLE";\n',
        'strcmp(name, "aes256-gcm@openssh.com")\n',
        "// https://lists.corp.org/archives/list/dev@corp.org/ https://jane@corp.org/x\n",
        "// Message-ID: <CALPttHe@mail.corp.org> bug-tool@corp.org noreply@corp.org\n",
        '[EXT_ID_MASTER_SECRET] = "master_secret"; key_private_key_file = "PrivateKeyFile";\n',
        'ssl_private_key = "certs/server.key"; password = "Enter it: "; password = "test_password";\n',
        f'"{"0123456789ABCDEF" * 2}{_AWS}0123"\n',
        'jwt("eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.' + "eyJzdWIiOiIxMjM0NTY3ODkwIn0." + 'dozjgNryP4J3jVmNHl0w5N")\n',
    ],
)
def test_what_only_looks_like_a_secret_is_not_found(text: str) -> None:
    assert finds_of(text.encode()) == []


def test_a_text_that_is_all_secret_stays_as_long_as_it_was() -> None:
    data = ("a.b@mail.corp.com\n" * 50).encode()
    finds = finds_of(data)
    assert len(finds) == 50
    assert with_spans_replaced(data, [(find.start, find.end) for find in finds]) == b"x.x@xxxx.xxxx.xxx\n" * 50
