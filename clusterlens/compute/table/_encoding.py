"""The encoding of text: byte order mark, valid UTF-8, or a guess that is noted.

Guesses come from charset-normalizer, on lines with non-ASCII characters only, because
other lines carry no information.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterable
from contextlib import suppress

from charset_normalizer import from_bytes

from clusterlens.compute._validation import DataError

# Encodings of tables; if the first one fits as well as others, it wins.
TITLES = {
    "cp1252": "Windows-1252 (western European)",
    "cp1250": "Windows-1250 (central European)",
    "iso8859_2": "ISO 8859-2 (central European)",
    "cp1251": "Windows-1251 (Cyrillic)",
    "koi8_r": "KOI8-R (Cyrillic)",
    "cp866": "DOS 866 (Cyrillic)",
    "mac_roman": "Mac Roman (western European)",
    "mac_cyrillic": "Mac Cyrillic",
    "cp1253": "Windows-1253 (Greek)",
    "cp1254": "Windows-1254 (Turkish)",
    "cp1255": "Windows-1255 (Hebrew)",
    "cp1256": "Windows-1256 (Arabic)",
    "cp932": "Shift-JIS (Japanese)",
    "euc_jp": "EUC-JP (Japanese)",
    "gb18030": "GBK / GB 18030 (Chinese)",
    "big5": "Big5 (Chinese)",
    "cp949": "EUC-KR (Korean)",
    "cp850": "DOS 850 (western European)",
    "cp437": "DOS 437 (western European)",
}
_UNICODE = {
    "utf-8": "UTF-8",
    "utf-16": "UTF-16",
    "utf-16-le": "UTF-16",
    "utf-16-be": "UTF-16",
    "utf-32": "UTF-32",
}
_BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_HEAD = 4096
_END = 4  # bytes that may hold an end-of-file mark and a line end
_SAMPLE = 1 << 15
_NOT_ASCII = re.compile(rb"[\x80-\xff]")
_LINE_END = re.compile(rb"[\r\n]")
# U+0085 of mainframes, and the separators of lines and paragraphs of Unicode, in UTF-8.
_OTHER_LINE_END = re.compile(rb"\xc2\x85|\xe2\x80[\xa8\xa9]")
# Signs that no language has within words, but other encodings in the same place.
_SIGN_IN_WORD = re.compile(
    "[a-zß-öø-ÿ][£¥¦¯±¹³ª¿¾¼º‰„†‡][a-zß-öø-ÿ]|[a-z]Ÿ\\b|(?P<cyrillic>[»¬][а-яё])"
)
_BREAKS = b",;\t \r\n"  # no multi-byte character ends with one of these
_CLOSE_CHAOS = 0.02
_CLOSE_COHERENCE = 0.05


def to_utf8(data: bytes, source: str, encoding: str | None) -> tuple[bytes, str]:
    """Return text as UTF-8, and a note on its original encoding.

    Ctrl-Z, with which DOS ends a file, is left out. If no line ends as usual, the other
    line ends of Unicode are replaced.
    """
    utf8, note = _to_utf8(data, source, encoding)
    if not _LINE_END.search(utf8):
        utf8 = _OTHER_LINE_END.sub(b"\n", utf8)
    ended = b"\x1a" in utf8[-_END:]
    return utf8.rstrip(b"\x1a\r\n") if ended else utf8, note


def _to_utf8(data: bytes, source: str, encoding: str | None) -> tuple[bytes, str]:
    """Return text as UTF-8, all of it, and a note on its encoding."""
    marked = [name for mark, name in _BYTE_ORDER_MARKS if data.startswith(mark)]
    if encoding is not None:
        known = known_encoding(encoding)
        return _decode(data, known, source), f"Encoding: {encoding}, given."
    if marked:
        name = marked[0].removesuffix("-sig")
        return _decode(data, marked[0], source), f"Encoding: {_UNICODE[name]}."
    wide = _wide_encoding(data[:_HEAD])
    if wide:
        return _decode(data, wide, source), f"Encoding: {_UNICODE[wide]}."
    if data.isascii() or _is_utf8(data):
        return data, "Encoding: UTF-8."
    return _guess(data)


def known_encoding(encoding: str) -> str:
    """Return the name of an encoding, after checking that it exists."""
    try:
        return codecs.lookup(encoding).name
    except LookupError:
        raise DataError(
            f"encoding is {encoding!r}, which is not known; give a name such as "
            f"'utf-8', {', '.join(map(repr, list(TITLES)[:3]))}."
        ) from None


def _decode(data: bytes, encoding: str, source: str) -> bytes:
    """Return data in the given encoding as UTF-8."""
    try:
        return data.decode(encoding).removeprefix("\ufeff").encode()
    except (UnicodeError, ValueError, LookupError) as error:
        raise DataError(
            f"{source} is not {encoding} text as it claims ({error}); save it as UTF-8."
        ) from error


def _wide_encoding(head: bytes) -> str | None:
    """Name the UTF-16 byte order of text with zero bytes on one side of each pair."""
    half = len(head) // 2
    low, high = head[::2].count(0), head[1::2].count(0)
    if half < 2 or max(low, high) < 0.1 * half or min(low, high) > 0.01 * half:
        return None
    return "utf-16-le" if high > low else "utf-16-be"


def _is_utf8(data: bytes) -> bool:
    """Check whether data is valid UTF-8."""
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def _guess(data: bytes) -> tuple[bytes, str]:
    """Guess the encoding; name other guesses that are also possible."""
    fitting = _decodings(data, _candidates(_telling_lines(data)))
    sign = _SIGN_IN_WORD.search(fitting[0][1]) if fitting else None
    if sign:
        likely = ["cp1251"] if sign["cyrillic"] else ["cp1252", "cp1250"]
        known = dict.fromkeys([*(name for name, _ in fitting), *likely])
        fitting = sorted(
            _decodings(data, known),
            key=lambda decoding: bool(_SIGN_IN_WORD.search(decoding[1])),
        )
    if not fitting:
        fitting = [("latin-1", data.decode("latin-1"))]
    (name, text), others = fitting[0], fitting[1:]
    rivals = [other for other, differing in others if differing != text]
    title = TITLES.get(name, "Latin-1 (western European)")
    if not rivals:
        return text.encode(), (
            f"Encoding: guessed as {title}; if letters look wrong, give another one "
            "(encoding=...)."
        )
    names = " or ".join(f"{TITLES[other]} (encoding={other!r})" for other in rivals)
    return text.encode(), (
        f"Encoding: guessed as {title}, but it is ambiguous: if letters look wrong, "
        f"try {names}."
    )


def _decodings(data: bytes, names: Iterable[str]) -> list[tuple[str, str]]:
    """Return the encodings that can decode data, each with the text."""
    found = []
    for name in names:
        with suppress(UnicodeDecodeError):
            found.append((name, data.decode(name)))
    return found


def _candidates(sample: bytes) -> list[str]:
    """Name the encodings that fit a sample about equally well, the best first."""
    isolated = list(TITLES)
    matches = list(from_bytes(sample, cp_isolation=isolated)) or list(
        from_bytes(sample, cp_isolation=isolated, threshold=1.0)
    )
    if not matches:
        return ["cp1252"]
    best = matches[0]
    close = [
        match
        for match in matches
        if match.chaos <= best.chaos + _CLOSE_CHAOS
        and match.coherence >= best.coherence - _CLOSE_COHERENCE
    ]
    named = []
    for match in close:
        names = [n for n in match.could_be_from_charset if n in TITLES]
        name = min(names, key=isolated.index)
        named.append((match.chaos, -match.coherence, name != isolated[0], name))
    # A stable sort: the order of the library decides ties.
    return [name for *_, name in sorted(named, key=lambda entry: entry[:3])]


def _telling_lines(data: bytes) -> bytes:
    """Collect the first lines with characters that are not ASCII, all of them whole."""
    pieces, size, at = [], 0, 0
    while size < _SAMPLE and (found := _NOT_ASCII.search(data, at)):
        start = max(data.rfind(b"\n", at, found.start()) + 1, at)
        end_found = _LINE_END.search(data, found.start())
        end = end_found.end() if end_found else len(data)
        piece = _cut(data[start:end])
        pieces.append(piece)
        size, at = size + len(piece), end
    return b"".join(pieces)


def _cut(line: bytes) -> bytes:
    """Shorten a very long line at a place that no character spans."""
    if len(line) <= 2 * _SAMPLE:
        return line
    first = _NOT_ASCII.search(line)
    begin = max(line.rfind(b, 0, first.start()) for b in _marks()) + 1 if first else 0
    ends = [line.rfind(b, begin, begin + _SAMPLE) for b in _marks()]
    return line[begin : max(ends) + 1] if max(ends) >= begin else line[begin:]


def _marks() -> list[bytes]:
    """Return the single bytes at which text can be cut."""
    return [bytes([code]) for code in _BREAKS]
