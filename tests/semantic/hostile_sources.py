"""Sources written to crash, hang or mislead an indexer, made by formula; `canary` is a host path that they try to read.

`scale` 1 is the short form; 10 is where compilers and parsers without limits die.
"""

from __future__ import annotations

from pathlib import Path

MARK = "HOST_SEEN"
"""The macro that the host's file defines: where it is known, the file was read, and the mark declares its word."""
USE_OF_MARK = f"#ifdef {MARK}\n{MARK}\n#endif\n"
LFS = b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a2146\nsize 12345\n"


def refused() -> dict[str, bytes]:
    """Files that never become documents, each for a stated reason."""
    text = "int wide() { return 1; }\n"
    return {
        "nul.cc": b"int a;\0int b;\n",
        "utf32.cc": text.encode("utf-32"),
        "utf16_no_mark.cc": text.encode("utf-16-le"),
        "no_encoding.cc": b"// \x98\xff\x8d\x81\nint none();\n",
        "pointer.cc": LFS,
        "blank.cc": b" \n\t\n",
        "huge.cc": b"// " + b"x" * 4_000_100,
    }


def reads(canary: Path) -> dict[str, bytes]:
    """Attempts to read, probe or include what lies outside the tree."""
    path = str(canary)
    lines = {
        "absolute": f'#include "{path}"',
        "angled": f"#include <{path}>",
        "climb": '#include "../../../../../../../../../../../../../..' + path + '"',
        "next": f'#include_next "{path}"',
        "import": f'#import "{path}"',
        "embed": f'const char data[] = {{\n#embed "{path}"\n}};',
        "macro": f'#define WHERE "{path}"\n#include WHERE',
        "pasted": "#define S(x) #x\n#define Q(x) S(x)\n#include Q(" + path + ")",
        "passwd": '#include "/etc/passwd"',
        "environ": '#include "/proc/self/environ"',
        "device": '#include "/dev/zero"',
        "terminal": '#include "/dev/tty"',
        "standard_input": '#include "/dev/stdin"\n#include "/dev/fd/3"',
        "pool_pipes": "\n".join(f'#include "/proc/self/fd/{number}"' for number in range(24)),
        "probe": f'#if __has_include("{path}") || __has_include("/etc/passwd")\n#include "{path}"\n'
        f"#else\n#define HIDDEN 1\n#endif",
        "depends": f'#pragma GCC dependency "{path}"',
        "precompiled": f'#pragma GCC pch_preprocess "{path}"',
        "module": f'#pragma clang module load x\nimport "{path}";\nimport <{path}>;',
        "assembler": f'__asm {{ .include "{path}" }}\nasm(".incbin \\"{path}\\"\\n.include \\"{path}\\"");',
        "line": f'#line 1 "{path}"\n# 1 "{path}" 1 3',
        "link": '#include "out.h"\n#include "away/canary.h"',
        "view": '#include "../../tree.view.json"\n#include "../tree.view.json"',
    }
    return {
        f"{name}.cc": f"{line}\n{USE_OF_MARK}int from_{name}() {{ return undeclared_{name}; }}\n".encode()
        for name, line in lines.items()
    }


def odd() -> dict[str, bytes]:
    """Harmless to a compiler, but not what tools expect: each becomes a document, byte for byte."""
    return {
        "bidi.cc": "int ad\u202emin() { return 0; } // \u2066 \u2069\n".encode(),
        "homoglyph.cc": "int s\u0441ope() { return 0; }\n".encode(),
        "bom.cc": b"\xef\xbb\xbfint marked() { return 0; }\n",
        "utf16.cc": "int wide() { return 1; }\n".encode("utf-16"),
        "utf16be.cc": b"\xfe\xff" + "int wide_be() { return 1; }\n".encode("utf-16-be"),
        "latin1.cc": b"// caf\xe9\nint latin() { return 1; }\n",
        "surrogate.cc": b'const char *surrogate() { return "\xed\xa0\x80"; }\n',
        "overlong.cc": b"// \xc0\xaf\nint overlong() { return 1; }\n",
        "crlf.cc": b"int crlf()\r\n{\r\n  return 0;\r\n}\r\n",
        "cr.cc": b"// one\rint cr() { return 0; }\r",
        "no_end.cc": b"int no_end() { return 0; }",
        "spliced.cc": b"int spl\\\nic\\\r\ned() { return 0; } // \\\nstill a comment\n",
        "trigraph.cc": b'int tri() { return sizeof("??/"); }\n',
        "unclosed_comment.cc": b"int before() { return 0; }\n/* never closed\nint inside();\n",
        "unclosed_raw.cc": b'int early() { return 0; }\nconst char *raw = R"x(never closed)y";\n',
        "unclosed_if.cc": b"#if 1\nint open() { return 0; }\n",
        "stray.cc": b"}}}) ] #endif\n#else\n#endif\nint stray() { return 0; } @ ` $\n",
        "special.cc": b"// <bos> <|endoftext|> <eos>\nint special() { return 0; }\n",
        "controls.cc": b"int controls(int a\x01) { return 0; }\x0c\x0b\x1a // \x7f\x1b[31m\n",
        "line_file.cc": b'#line 4294967295 "x\\ny"\nint line_file() { return __LINE__; }\n',
        "separators.cc": "// a\u2028b\u2029c\u0085d\nint separators() { return 0; }\n".encode(),
    }


def many(piece: str, count: int) -> str:
    """`piece` again and again, in lines of ordinary length."""
    return (piece * 100 + "\n") * (count // 100) + piece * (count % 100)


def bombs(scale: int) -> dict[str, bytes]:
    """Small texts that cost a compiler its stack, its memory or its time."""
    n = 10_000 * scale
    laughs = "#define L0 x\n" + "".join(f"#define L{i} L{i - 1} L{i - 1} L{i - 1} L{i - 1}\n" for i in range(1, 24))
    texts = {
        "parens": "int parens() { return " + many("(", n) + "1" + many(")", n) + "; }",
        "open_parens": "int open_parens() { return " + many("(", n),
        "braces": "void braces() " + many("{", n) + many("}", n),
        "open_braces": "void open_braces() " + many("{", n),
        "brackets": "int a" + many("[1]", n) + ";",
        "nots": "int nots() { return " + many("!", n) + "1; }",
        "minus": "int minus() { return " + many("- ", n) + "1; }",
        "stars": "int " + many("*", n) + "stars;",
        "sum": "int sum() { return " + many("1+", n) + "1; }",
        "ternary": "int ternary() { return " + many("1?1:", n) + "1; }",
        "assigns": "int assigns(int a) { return " + many("a=", n) + "1; }",
        "else_if": "void else_if(int a) { if (a) {}" + many(" else if (a) {}", n) + " }",
        "labels": "void labels() { " + "".join(f"l{i}:" for i in range(n)) + "; }",
        "calls": "struct S { S g(); };\nvoid calls(S s) { s" + many(".g()", n // 10) + "; }",
        "nested_calls": "int f(int);\nint nested_calls() { return " + many("f(", n) + "1" + many(")", n) + "; }",
        "namespaces": "".join(f"namespace n{i} {{ " for i in range(n)) + "int deep;" + many("}", n),
        "classes": many("struct c { ", n // 10) + many("};", n // 10),
        "lambdas": "auto lambdas = " + many("[] { return ", n // 20) + "1" + many("; }", n // 20) + ";",
        "angles": "template <class T> struct A {};\n" + many("A<", n) + "int" + many(">", n) + " angles;",
        "deep_template": "template <int N> struct D { enum { v = D<N - 1>::v }; };\nint deep = D<100000>::v;",
        "wide_template": "template <int N, int M> struct F { enum { v = F<N-1, M*2>::v + F<N-1, M*2+1>::v }; };\n"
        "template <int M> struct F<0, M> { enum { v = M }; };\nint wide = F<28, 1>::v;",
        "constexpr_loop": "constexpr long f() { long n = 0; while (true) ++n; return n; }\nconstexpr long x = f();",
        "sequence": "using T = __make_integer_seq<std_seq, long, 1000000000>;\nint sequence();",
        "big_integer": "unsigned _BitInt(8388608) big(unsigned _BitInt(8388608) v) { return v * v / 3; }",
        "laughs": laughs + "int laughs = L23;",
        "recursive_macro": "#define f(x) f(f(x) f(x))\n#define g f(f(f(f(f(f(f(g)))))))\nint recursive_macro = g g;",
        "self_include": '#include "self_include.cc"\nint self_include();',
        "mutual": '#include "mutual_b.h"\nint mutual();',
        "conditionals": many("#if 1\n", n) + "int conditionals;\n" + many("#endif\n", n),
        "elif": "#if 0\n" + many("#elif 0\n", n) + "#endif\nint elif;",
        "line": "int line() { return 0; } // " + "x" * 900_000,
        "one_identifier": "int " + "a" * 900_000 + ";",
        "one_number": "int one_number = " + "9" * 900_000 + ";",
        "one_string": 'const char *one_string = "' + "s" * 900_000 + '";',
        "one_character": "int one_character = '" + "c" * 500_000 + "';",
        "quotes": many('"', n) + "\nint quotes;" + many("'", n),
        "raw_marks": many('R"', n) + "\nint raw_marks;",
        "comments": many("/*", n) + "\n*/ int comments;",
        "semicolons": many(";", n * 5) + "int semicolons;",
        "commas": "int commas[] = {" + many("1,", n) + "};",
        "splices": "int a\\\n" + "\\\n" * n + "b;",
        "hashes": many("#", n) + "\n" + many("#\n", n) + "int hashes;",
        "spaces": " " * 900_000 + "int spaces;",
        "crash": "int crash();\n#pragma clang __debug crash",
        "overflow": "int overflow();\n#pragma clang __debug overflow_stack",
        "fatal": "int fatal();\n#pragma clang __debug llvm_fatal_error",
        "enumerators": "enum E { " + ",".join(f"e{i}" for i in range(n)) + " };",
        "cases": "void cases(int v) { switch (v) { " + "".join(f"case {i}:" for i in range(n)) + "; } }",
        "errors": "".join(f"undeclared{i} x{i};\n" for i in range(n)),
        "overloads": "".join(f"void o(int(*)[{i + 1}]);" for i in range(n // 20)) + "void overloads() { o(0); }",
    }  # fmt: skip
    return {f"{name}.cc": f"{text}\n".encode() for name, text in texts.items()} | {
        "mutual_b.h": b'#include "mutual_c.h"\n',
        "mutual_c.h": b'#include "mutual_b.h"\nint mutual_c();\n',
    }
