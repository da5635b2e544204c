"""Content codings of bodies: gzip and deflate, both ways, with a limit on what a small body may grow to."""

from __future__ import annotations

import zlib

COMPRESSED_FROM_BYTES = 4096
"""Answers below it are not worth compressing. The service leaves small answers alone as well."""
COMPRESSION_LEVEL = 1
"""Level 1 takes about 6 ms for a page of 1 MB and gets most of what there is to get from JSON."""

GZIP_WINDOW = 16 + zlib.MAX_WBITS
ZLIB_WINDOW = zlib.MAX_WBITS
RAW_WINDOW = -zlib.MAX_WBITS


class UnknownCodingError(Exception):
    """A coding other than gzip and deflate, or several of them."""


class BrokenBodyError(Exception):
    """The body is not what its coding says."""


class TooLargeError(Exception):
    """The body would grow beyond the limit."""


def decode(body: bytes, coding: bytes, bytes_max: int) -> bytes:
    """The body of a request without its coding."""
    name = coding.strip().lower()
    if name in (b"", b"identity"):
        return body
    if name in (b"gzip", b"x-gzip"):
        return _inflate(body, GZIP_WINDOW, bytes_max)
    if name == b"deflate":
        # RFC 9110 8.4.1.2: zlib's format; some clients send the raw format without its two bytes of header.
        is_zlib = len(body) >= 2 and body[0] & 0x0F == zlib.DEFLATED and int.from_bytes(body[:2]) % 31 == 0
        return _inflate(body, ZLIB_WINDOW if is_zlib else RAW_WINDOW, bytes_max)
    raise UnknownCodingError(coding)


def _inflate(body: bytes, window: int, bytes_max: int) -> bytes:
    """One stream, with nothing behind it: a body of many small streams would take quadratic time."""
    decoder = zlib.decompressobj(window)
    try:
        decoded = decoder.decompress(body, bytes_max + 1)
    except zlib.error as error:
        raise BrokenBodyError(str(error)) from None
    if len(decoded) > bytes_max:
        raise TooLargeError
    if not decoder.eof:
        raise BrokenBodyError("the stream is cut short")
    if decoder.unused_data:
        raise BrokenBodyError("bytes behind the end of the stream")
    return decoded


def accepts_gzip(accept_encoding: bytes) -> bool:
    """Whether an Accept-Encoding header admits gzip: named, or `*`, and not with quality 0."""
    admitted: dict[bytes, bool] = {}
    for part in accept_encoding.lower().split(b","):
        name, _, parameters = part.partition(b";")
        quality = parameters.replace(b" ", b"").removeprefix(b"q=")
        admitted[name.strip()] = quality.rstrip(b"0") not in (b"0.", b"") if quality else True
    return admitted.get(b"gzip", admitted.get(b"*", False))


def compress(body: bytes) -> bytes:
    """gzip, without a time in its header: equal bodies have equal bytes."""
    compressor = zlib.compressobj(COMPRESSION_LEVEL, zlib.DEFLATED, GZIP_WINDOW)
    return compressor.compress(body) + compressor.flush()
