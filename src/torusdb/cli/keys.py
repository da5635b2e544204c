"""`torusdb keys`: the access keys of a server with `--auth`, in a file."""

from __future__ import annotations

import argparse
import re
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torusdb.access.keyring import Key, KeyFile, User
    from torusdb.cli.serve import Commands

EXAMPLES = """\
examples:
  torusdb keys add keys.json --user alice --full-access     a user, a key; its secret is shown this once
  torusdb keys add keys.json --user report --read-only
  torusdb keys add keys.json --user app --policy app.json   what the IAM policy in app.json allows
  torusdb keys add keys.json --user app                     another key of a user that is there
  torusdb keys add keys.json --user app --valid-for 12h     a temporary key, with a session token
  torusdb keys list keys.json
  torusdb keys rotate keys.json AKIAEXAMPLE                 a new key; the old one stays until it is removed
  torusdb keys rotate keys.json AKIAEXAMPLE --grace 24h     the old one ends by itself
  torusdb keys remove keys.json AKIAEXAMPLE

  torusdb serve --auth keys.json                            sees each change within a second
"""

DEFAULT_ACCOUNT = "000000000000"
UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}

READ_ACTIONS = ["BatchGet*", "ConditionCheckItem", "Describe*", "Get*", "List*", "PartiQLSelect", "Query", "Scan"]


def add_to(commands: Commands) -> None:
    parser = commands.add_parser(
        "keys",
        help="Manage the access keys of a server with --auth.",
        description="Manage the access keys of a server with --auth.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    actions = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    _add_add(actions)
    _command(actions, "list", list_keys, "List users and their keys, without secrets.")
    rotate = _command(actions, "rotate", rotate_key, "Make a new key for the user of a key.")
    rotate.add_argument("key", metavar="KEY", help="The access key ID.")
    rotate.add_argument(
        "--grace",
        type=_duration,
        metavar="DURATION",
        help="How long the old key remains valid: 90s, 30m, 24h, 7d; 0s ends it now. Without it, until it is removed.",
    )
    remove = _command(actions, "remove", remove_key, "Remove a key, or a user with all keys.")
    which = remove.add_mutually_exclusive_group(required=True)
    which.add_argument("key", metavar="KEY", nargs="?", help="The access key ID.")
    which.add_argument("--user", metavar="NAME", help="The user to remove, with all keys and policies.")
    _add_account(remove)


def _command(actions: Any, name: str, run: Callable[[argparse.Namespace], int], told: str) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = actions.add_parser(name, help=told, description=told, allow_abbrev=False)
    parser.set_defaults(run=_telling(run))
    parser.add_argument("file", type=Path, metavar="FILE", help="The file of keys.")
    return parser


def _add_add(actions: Any) -> None:
    add = _command(actions, "add", add_key, "Add a key for a user; the first makes the user, and the file.")
    add.add_argument("--user", required=True, metavar="NAME", help="Whose key it is.")
    _add_account(add)
    may = add.add_mutually_exclusive_group()
    may.add_argument("--full-access", action="store_true", help="The user may do everything.")
    may.add_argument("--read-only", action="store_true", help="The user may read everything.")
    may.add_argument(
        "--policy",
        type=Path,
        action="append",
        metavar="PATH",
        help="An IAM policy, as JSON, that says what the user may do. May be given several times.",
    )
    add.add_argument(
        "--valid-for", type=_duration, metavar="DURATION", help="Make a temporary key, with a session token: 90s, 12h."
    )


def _add_account(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--account",
        default=DEFAULT_ACCOUNT,
        metavar="DIGITS",
        help="The account of the user, and so of the tables it sees. [%(default)s]",
    )


def _telling(run: Callable[[argparse.Namespace], int]) -> Callable[[argparse.Namespace], int]:
    """What cannot be done is told in a line."""

    def told(options: argparse.Namespace) -> int:
        from torusdb.access.keyring import KeyFileError, locked

        try:
            with locked(options.file):
                return run(options)
        except KeyFileError as error:
            print(f"torusdb: {error}", file=sys.stderr)
            return 1

    return told


def add_key(options: argparse.Namespace) -> int:
    from torusdb.access import keyring

    keys = keyring.read_key_file(options.file) if options.file.exists() else keyring.KeyFile()
    user = keys.user(options.user, options.account)
    policies = _policies(options)
    if user is None:
        if policies is None:
            raise keyring.KeyFileError(
                f"There is no user '{options.user}' yet: say --full-access, --read-only or --policy PATH"
            )
        user = _new_user(options, policies)
        keys.users.append(user)
    elif policies is not None:
        raise keyring.KeyFileError(f"The user '{user.name}' is there already: its policies stand in {options.file}")
    key = new_key(time.time(), options.valid_for)
    user.keys.append(key)
    keyring.write_key_file(options.file, keys)
    _show(user, key)
    return 0


def _new_user(options: argparse.Namespace, policies: list[dict[str, Any]]) -> User:
    from torusdb.access import keyring

    if not keyring.is_user_name(options.user):
        raise keyring.KeyFileError(f"'{options.user}' is no name of a user: up to 64 letters, digits and +=,.@_- are")
    if not keyring.is_account(options.account):
        raise keyring.KeyFileError(f"'{options.account}' is no account: 12 digits are")
    return keyring.User(options.user, options.account, policies)


def _policies(options: argparse.Namespace) -> list[dict[str, Any]] | None:
    if options.full_access:
        return [_allowing(["*"])]
    if options.read_only:
        return [_allowing(READ_ACTIONS)]
    return None if options.policy is None else [_read_policy(path) for path in options.policy]


def _allowing(actions: list[str]) -> dict[str, Any]:
    statement = {"Effect": "Allow", "Action": [f"dynamodb:{action}" for action in actions], "Resource": "*"}
    return {"Version": "2012-10-17", "Statement": [statement]}


def _read_policy(path: Path) -> dict[str, Any]:
    import json

    from torusdb.access import keyring

    try:
        document: dict[str, Any] = json.loads(path.read_bytes())
    except OSError as error:
        raise keyring.KeyFileError(f"Cannot read {path}: {error.strerror or error}") from None
    except (ValueError, RecursionError):
        raise keyring.KeyFileError(f"{path} is no JSON") from None
    keyring.policies_of(path, "the new user", [document])
    return document


def list_keys(options: argparse.Namespace) -> int:
    from torusdb.access import keyring

    now = time.time()
    rows = [("KEY", "USER", "ACCOUNT", "CREATED", "VALID")]
    for user in keyring.read_key_file(options.file).users:
        rows += [
            (key.access_key_id, user.name, user.account, _date(key.created), _validity(key, now)) for key in user.keys
        ]
        if not user.keys:
            rows.append(("-", user.name, user.account, "-", "no key"))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        print("  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip())
    return 0


def _date(at: Any) -> str:
    return "-" if at is None else at.strftime("%Y-%m-%dT%H:%M:%SZ")


def _validity(key: Key, now: float) -> str:
    from torusdb.access import keyring

    if key.expires is None:
        return "until removed"
    return f"{'ended' if keyring.has_expired(key, now) else 'until'} {_date(key.expires)}"


def rotate_key(options: argparse.Namespace) -> int:
    from torusdb.access import keyring

    keys = keyring.read_key_file(options.file)
    user, old = _owner(keys, options)
    now = time.time()
    if keyring.has_expired(old, now):
        raise keyring.KeyFileError(f"The key {old.access_key_id} has ended: add a new one")
    if old.session_token is not None:
        raise keyring.KeyFileError(f"The key {old.access_key_id} is a temporary one: it ends by itself; add a new one")
    key = new_key(now, None)
    key.policies = old.policies
    user.keys.append(key)
    if options.grace is not None:
        ends = keyring.utc(now + options.grace)
        old.expires = ends if old.expires is None else min(ends, old.expires)
    keyring.write_key_file(options.file, keys)
    _show(user, key)
    print(f"\n{old.access_key_id} is valid {_validity(old, now)}.", file=sys.stderr)
    return 0


def remove_key(options: argparse.Namespace) -> int:
    from torusdb.access import keyring

    keys = keyring.read_key_file(options.file)
    if options.user is not None:
        user = keys.user(options.user, options.account)
        if user is None:
            raise keyring.KeyFileError(f"{options.file} has no user '{options.user}' of account {options.account}")
        keys.users.remove(user)
    else:
        user, key = _owner(keys, options)
        user.keys.remove(key)
    keyring.write_key_file(options.file, keys)
    return 0


def _owner(keys: KeyFile, options: argparse.Namespace) -> tuple[User, Key]:
    from torusdb.access import keyring

    found = keys.owner(options.key)
    if found is None:
        raise keyring.KeyFileError(f"{options.file} has no key {options.key}")
    return found


def new_key(now: float, valid_seconds: float | None) -> Key:
    """A key of the form that AWS has: SDKs and scanners for leaked secrets know it."""
    import base64
    import secrets

    from torusdb.access import keyring

    is_temporary = valid_seconds is not None
    name = base64.b32encode(secrets.token_bytes(10)).decode()
    return keyring.Key(
        ("ASIA" if is_temporary else "AKIA") + name,
        base64.b64encode(secrets.token_bytes(30)).decode(),
        created=keyring.utc(now),
        expires=keyring.utc(now + valid_seconds) if valid_seconds is not None else None,
        session_token=base64.b64encode(secrets.token_bytes(96)).decode() if is_temporary else None,
    )


def _show(user: User, key: Key) -> None:
    """In the form of a profile of the AWS CLI's credentials file."""
    print(f"[{user.name}]\naws_access_key_id = {key.access_key_id}\naws_secret_access_key = {key.secret_access_key}")
    if key.session_token is not None:
        print(f"aws_session_token = {key.session_token}")
    print("The secret is not shown again.", file=sys.stderr)


def _duration(text: str) -> float:
    match = re.fullmatch(r"([0-9]{1,9})([smhd])", text, re.ASCII)
    if match is None:
        raise argparse.ArgumentTypeError(f"{text!r} is no duration: 90s, 30m, 24h and 7d are")
    return float(int(match[1]) * UNITS[match[2]])
