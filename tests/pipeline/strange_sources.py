# ruff: noqa: E501 - a source on one line
"""Files that people really commit and that some stage could stumble over: each is a few lines or a few kilobytes."""

from __future__ import annotations

import random
import subprocess
from pathlib import Path

LICENSE = "MIT License\n\nPermission is hereby granted, free of charge, to any person\n"


def _functions(count: int) -> str:
    return "".join(f"int f{number}() {{ return {number}; }}\n" for number in range(count))


def _long_function(cases: int) -> str:
    lines = (f"  case {number}: x += {number % 91} * x; break;\n" for number in range(cases))
    return f"int longer(int x) {{\n  switch (x) {{\n{''.join(lines)}  }}\n  return x;\n}}\n"


def _class(methods: int) -> str:
    lines = (f"  int m{each}(int a) {{ return m{each * 7 % methods}(a) + {each}; }}\n" for each in range(methods))
    return f"#pragma once\nclass Big {{\n public:\n{''.join(lines)}}};\n"


def _long_names(count: int) -> str:
    letters = random.Random(1)
    names = ("".join(letters.choice("abcdefgh_XYZ") for _ in range(1000)) for _ in range(count))
    return "".join(f"int {name}() {{ return 1; }}\n" for name in names)


def _table(numbers: int) -> str:
    return (
        f"static const unsigned char T[] = {{\n{', '.join(f'0x{each * 37 % 256:02x}' for each in range(numbers))}}};\n"
    )


SOURCES: dict[str, str | bytes] = {
    "LICENSE": LICENSE,
    "special_tokens.cpp": '// <BOS> <EOS> <PAD> <|endoftext|> </s>\nint BOS(int a) { return a; }\nauto* s = "<BOS><EOS>";\n',
    "many_functions.cpp": _functions(400),
    "long_function.cpp": _long_function(3000),
    "comments_only.h": f"/* {'lorem ipsum dolor ' * 400} */\n",
    "nothing.c": "// nothing\n",
    "letters.cpp": 'int größe(int ñ) { return ñ; }\nint 日本語 = größe(3);\nauto* t = "🙂\u202e\u200b\ufeff é";\n',
    "carriage_returns.cpp": b"int a(){\rreturn 1;\r}\rint b(){ return a(); }\r",
    "control_characters.cpp": b"int c(){ return 1; }\x0c\nint d(){\x0b return c(); }\x0c\n\x1a",
    "long_line.cpp": f'const char* u = "{"x" * 60_000}";\nint g() {{ return u[0]; }}\n',
    "deep.cpp": f"int h(int x) {{ return {'(' * 200}x{')' * 200}; }}\nint i() {{ {'if (1) {' * 100}{'}' * 100} return h(1); }}\n",
    "macros.h": "".join(f"#define M{each}(a) ((a) + {each})\n" for each in range(500)),
    "uses_macros.cpp": '#include "macros.h"\n#define X(n) int n##_x() { return M1(n##_y); }\nint q_y;\nX(q)\n',
    "trigraphs.c": "??=include <stddef.h>\nint t(int a<::>) { return a<:0:> ??! 1; }\n%: define DG 1\n",
    "raw_string.cpp": 'auto r = R"x(\nint fake() { }\n// } { )x";\nint real() { return 1; }\n#line 7 "other.cpp"\nint after() { return real(); }\n',
    'folder with space/na"me.cpp': "int spaced() { return 1; }\n",
    "ünï/ça.hpp": "#pragma once\ninline int uni() { return 2; }\n",
    "class.hpp": _class(400),
    "uses_class.cpp": '#include "class.hpp"\nint big(Big& b) { return b.m1(2) + b.m399(1); }\n',
    "macro_namespaces.cpp": "#define BEGIN namespace a { namespace b {\n#define END }}\nBEGIN\nint in() { return 1; }\nEND\nint out() { return a::b::in(); }\n",
    "broken.cpp": "int ok() { return 1; }\nclass { { { (((\nint also() { return ok(); }\n",
    "old_style.c": 'int kr(a, b) int a; char *b; { return a + *b; }\nint ckr() { return kr(1, "x"); }\n',
    "utf16.cpp": "int wide() { return 1; }\n".encode("utf-16"),
    "latin1.cpp": "// Größe é\nint latin() { return 1; }\n".encode("latin-1"),
    "long_names.cpp": _long_names(8),
    "table.h": _table(20_000),
} | {
    f"same/s{each}.cpp": f"static int same(int a) {{ return a * 2; }}\nint call{each}() {{ return same({each}); }}\n"
    for each in range(12)
}


def commit_strange_sources(folder: Path) -> None:
    """Make `folder` a git repository with `SOURCES`, tagged `v1`."""
    for name, text in SOURCES.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text if isinstance(text, bytes) else text.encode())
    git = ("git", "-c", "user.name=Somebody", "-c", "user.email=somebody@example.org", "-C", str(folder))
    for arguments in (("init", "--quiet"), ("add", "--all"), ("commit", "--quiet", "--message", "v1"), ("tag", "v1")):
        subprocess.run([*git, *arguments], check=True)
