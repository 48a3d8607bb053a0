"""Encodings of source files: found, recorded, and every offset led back to the bytes of the commit."""

from __future__ import annotations

import codecs

import pytest
from hypothesis import given
from hypothesis import strategies as st

from megacpp_assets.semantic.tree.encodings import Decoded, decoded
from megacpp_assets.semantic.tree.text import decode

CODE = "#include <stdio.h>\n" + "int value(int first) { return first * 3; }\n" * 60
COMMENTS = {
    "cp1252": "// Autor: Jörg Müller, Größe überprüfen; “naïve café”",
    "gb18030": "// 这是一个测试文件用于检查编码。返回两个数的和",
    "cp932": "// これはテストファイルです。文字コードを確認します",
    "big5": "// 這是一個測試檔案用於檢查編碼方式",
    "cp949": "// 이것은 시험 파일입니다. 인코딩을 확인합니다",
    "cp1251": "// Это тестовый файл для проверки кодировки",
}
MARKS = {"utf-16-le": codecs.BOM_UTF16_LE, "utf-16-be": codecs.BOM_UTF16_BE, "utf-8": codecs.BOM_UTF8}


@pytest.mark.parametrize("encoding", COMMENTS)
def test_a_comment_in_ascii_code_tells_its_encoding(encoding: str) -> None:
    text = f"{CODE}{COMMENTS[encoding]}\n{CODE}"
    found = decoded(text.encode(encoding))
    assert found is not None and (found.text, found.encoding) == (text, encoding)
    assert 0 < found.certainty <= 1


@pytest.mark.parametrize("comment", ["// é", "// 20°C ± 3µ", "// © 1999", "/* Grüße aus Köln, äöü é */"])
def test_a_few_western_letters_are_not_taken_for_half_characters(comment: str) -> None:
    found = decoded(comment.encode("latin-1"))
    assert found is not None and (found.text, found.encoding) == (comment, "cp1252")


@pytest.mark.parametrize("encoding", MARKS)
def test_a_byte_order_mark_decides(encoding: str) -> None:
    data = MARKS[encoding] + CODE.encode(encoding)
    assert decoded(data) == Decoded(CODE, encoding, 1.0, MARKS[encoding])


def test_bytes_that_no_encoding_gives_back_have_no_text() -> None:
    assert decoded("// größe, weiß, grün\n".encode() + b"// caf\xe9\n") is None
    assert decoded(b"// \xff\x98\x81\n") is None
    assert decoded(codecs.BOM_UTF32_LE + CODE.encode("utf-32-le")) is None
    assert decoded(codecs.BOM_UTF16_LE + b"i") is None


@given(st.sampled_from(sorted(MARKS)), st.text(min_size=1, max_size=40), st.data())
def test_each_character_is_led_back_to_its_bytes(encoding: str, text: str, data: st.DataObject) -> None:
    source = decode("a.cc", MARKS[encoding] + text.encode(encoding))
    first, last = sorted(data.draw(st.tuples(*[st.integers(0, len(text))] * 2)))
    ours = [len(text[:place].encode()) for place in (first, last)]
    start, end = map(source.in_blob, ours)
    assert source.blob[start:end] == text[first:last].encode(source.encoding)
    assert source.from_blob([(start, end)]) == [tuple(ours)]
