"""TLS: the context of a server, from the files of a certificate and its key."""

from __future__ import annotations

import ssl
from pathlib import Path

from torusdb.server.listen import ListenError, reason


def server_context(certificate: Path, key: Path) -> ssl.SSLContext:
    """Raises `ListenError`, whose message names the file that cannot be used. TLS 1.2 or newer."""
    for path in (certificate, key):
        try:
            path.read_bytes()
        except OSError as error:
            raise ListenError(f"Cannot read {path}: {reason(error)}") from None
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    try:
        # A key that is encrypted would be asked for on the terminal, where nobody may be.
        context.load_cert_chain(certificate, key, password=_no_password)
    except _EncryptedError:
        raise ListenError(f"The key in {key} is encrypted: TorusDB takes keys without a password") from None
    except ssl.SSLError as error:
        raise ListenError(_said(error, certificate, key)) from None
    return context


class _EncryptedError(Exception):
    pass


def _no_password() -> str:
    raise _EncryptedError


def _said(error: ssl.SSLError, certificate: Path, key: Path) -> str:
    if error.reason == "KEY_VALUES_MISMATCH":
        return f"The key in {key} is not that of the certificate in {certificate}"
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(certificate)
    except ssl.SSLError:
        return f"There is no certificate in PEM format in {certificate}"
    return f"There is no private key in PEM format in {key}"
