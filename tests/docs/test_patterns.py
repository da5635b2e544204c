"""Entries of docs/patterns show what is true: their code runs, and what they show of the database comes of it."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "tools"))

from pattern_pages import FAMILIES, PATTERNS, SECTIONS, BadPage, Page, pages, with_index  # noqa: E402
from pattern_runs import rewritten, run  # noqa: E402

pytest.importorskip("boto3", reason="db.client() is boto3's")

ENTRIES = pages()
README = (PATTERNS / "README.md").read_text()


@pytest.mark.parametrize("page", ENTRIES, ids=lambda page: page.slug)
def test_an_entry_shows_what_comes_of_its_code(page: Page) -> None:
    if "from ksuid import" in page.text:
        pytest.importorskip("ksuid", reason="torusdb[ids] is not installed")
    assert page.text == rewritten(page), f"run tools/write_patterns.py {page.slug}"


@pytest.mark.skipif(shutil.which("ruff") is None, reason="ruff is not installed")
def test_the_code_of_entries_is_clean(tmp_path: Path) -> None:
    """No name that is imported and not used, or used and not there, nor what else ruff finds."""
    for page in ENTRIES:
        code = "\n\n".join(block.text for block in page.blocks() if block.kind == "python")
        (tmp_path / f"{page.slug}.py").write_text(code)
    ruff = ["ruff", "check", "--no-cache", "--isolated", "--select", "F,B", "--output-format", "concise"]
    given = ["--config", 'builtins = ["client", "streams", "remove_expired"]']
    found = subprocess.run([*ruff, *given, "."], capture_output=True, text=True, cwd=tmp_path, check=False)
    assert found.returncode == 0, found.stdout + found.stderr


def test_the_index_has_all_entries() -> None:
    assert with_index(README, ENTRIES) == README, "run tools/write_patterns.py"
    for page in ENTRIES:
        assert README.count(f"({page.slug}.md)") >= 1


def test_it_is_said_how_entries_are_written() -> None:
    told = README.partition("## How to write an entry")[2]
    assert ", ".join(SECTIONS) in " ".join(told.split())
    assert ", ".join(FAMILIES) in " ".join(told.split())


# -- that the checks find what is wrong

GOOD = """# Notes of an author

*Relationships.* You want the notes of an author.

## Problem

There are notes.

## Shape

<!-- shape -->
| pk | sk | _type | other attributes |
| --- | --- | --- | --- |
| `NOTE#ann` | `0001` | `Note` | author: ann, number: 1 |
|  | `0002` | `Note` | author: ann, number: 2 |
| `NOTE#bob` | `0001` | `Note` | author: bob, number: 1 |
<!-- /shape -->

## Code

```python
from torusdb.modeling import Attr, Entity, Key, Store, Table

notes = Table("notes", partition_key="pk", sort_key="sk")


class Note(Entity, table=notes):
    key = Key("NOTE#{author}", "{number:04}")
    author: Attr[str]
    number: Attr[int]


store = Store(notes, client)
store.create_table()
# cost: three notes
for author, number in [("ann", 2), ("ann", 1), ("bob", 1)]:
    store.put(Note(author=author, number=number))
print(store.get(Note, author="ann", number=3))
```

```text
None
```

## Cost

```python
store.put(Note(author="cat", number=1))

# cost: the notes of Ann
store.run(Note.key.query(Note.author == "ann")).all()
```

<!-- cost -->
| what is done | requests | read units | write units |
| --- | --- | --- | --- |
| three notes | 3 × PutItem |  | 3 |
| the notes of Ann | Query | 0.5 |  |
<!-- /cost -->

## How it fails

It does not.

## When not to use it

Never.

## Related

Nothing.
"""


def page(text: str) -> Page:
    return Page("notes", text)


def test_a_good_page_is_left_as_it_is() -> None:
    assert rewritten(page(GOOD)) == GOOD


@pytest.mark.parametrize(
    "shown",
    [
        "|  | `0002` | `Note` | author: ann, number: 2 |\n",
        "| three notes | 3 × PutItem |  | 3 |\n",
        "None\n",
    ],
    ids=["shape", "cost", "output"],
)
def test_what_is_shown_wrongly_is_written_as_it_is(shown: str) -> None:
    for wrong in (GOOD.replace(shown, ""), GOOD.replace(shown, shown.replace("3", "4").replace("o", "a"))):
        assert wrong != GOOD
        assert rewritten(page(wrong)) == GOOD


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("## Related", "## Other", r"has the sections \['Problem', .* 'Other'\]; all have"),
        ("It does not.", "", "has nothing in its section 'How it fails'"),
        ("*Relationships.*", "*Love.*", "is of the family 'Love'; there are Relationships, "),
        ("You want", "One wants", r"begins with '# Title', an empty line, and '\*Family\.\* You want …'"),
        ("<!-- /shape -->", "<!-- shape/ -->", "needs <!-- shape -->"),
        ("There are notes.", "There are notes. <!-- todo -->", "has a comment that is neither"),
        ("<!-- cost -->", "<!-- price -->", "needs <!-- shape -->"),
        ("There are notes.", "note " * 701, "has 7.. words and .. lines of code"),
        ("author: Attr[str]\n", f"author: Attr[str]  # {'x' * 109}\n", "has a line of code of over 120 characters"),
        ("# cost: the notes of Ann\n", "# cost: the notes of Ann\n\n", "no statement on the line below # cost: 'the n"),
        (").all()", ")", "measures 'the notes of Ann', which makes no request"),
        ("# cost: the notes of Ann\n", "# cost: three notes\n", "names the costs .*, and measured"),
        ("    store.put(Note(author=a", "    # cost: one\n    store.put(Note(author=a", "'one' is measured within an"),
        ("```text\nNone\n```", "", r"notes\.md:22 prints, and no ```text block behind it"),
        ("store.create_table()\n", "store.create_table()\nclient.create_table(**{**notes.create_parameters(), "
         "'TableName': 'other'})\n", "There are the tables notes, other: say which"),
    ],
)  # fmt: skip
def test_a_page_that_is_not_as_pages_are_is_refused(old: str, new: str, message: str) -> None:
    changed = GOOD.replace(old, new, 1)
    assert changed != GOOD
    with pytest.raises(BadPage, match=message):
        rewritten(page(changed))


def test_a_failure_of_the_code_names_the_line_of_the_page() -> None:
    with pytest.raises(ZeroDivisionError) as caught:
        run(page(GOOD.replace('store.put(Note(author="cat", number=1))', "1 / 0")))
    last = caught.traceback[-1]
    assert (Path(last.path).name, GOOD.splitlines()[last.lineno].strip()) == (
        "notes.md",
        'store.put(Note(author="cat", number=1))',
    )


def test_an_index_is_shown_as_its_own_table() -> None:
    indexed = (
        GOOD.replace("Key, Store", "GlobalIndex, Key, Store")
        .replace("notes =", 'by_number = GlobalIndex("by_number", partition_key="n")\nnotes =')
        .replace('"sk")\n', '"sk", indexes=[by_number])\n')
        .replace("    author: Attr", '    other = Key("{number}", index=by_number)\n    author: Attr')
        .replace("<!-- shape -->", "<!-- shape notes.by_number -->")
    )
    shown = rewritten(page(indexed)).partition("<!-- shape notes.by_number -->\n")[2].partition("\n<!--")[0]
    assert shown.splitlines()[2:] == [
        "| `1` | `NOTE#ann` | `0001` | `Note` | author: ann, number: 1 |",
        "|  | `NOTE#bob` | `0001` | `Note` | author: bob, number: 1 |",
        "| `2` | `NOTE#ann` | `0002` | `Note` | author: ann, number: 2 |",
    ]
    assert "| three notes | 3 × PutItem |  | 6 (3 in by_number) |" in rewritten(page(indexed))


def test_a_refused_request_is_marked() -> None:
    code = '# cost: again\ntry:\n    store.insert(Note(author="ann", number=1))\nexcept Exception:\n    pass\n'
    changed = GOOD.replace('print(store.get(Note, author="ann", number=3))\n', code).replace("```text\nNone\n```\n", "")
    assert "| again | PutItem (refused) |  |  |" in rewritten(page(changed))


def test_what_has_expired_stays_until_the_page_has_it_removed() -> None:
    expiring = (
        GOOD.replace("import Attr, Entity, Key, Store, Table", "import Attr, Entity, Key, Store, Table, ttl")
        .replace("from torusdb", "from datetime import UTC, datetime\n\nfrom torusdb", 1)
        .replace(
            "    author: Attr",
            "    until: Attr[datetime] = ttl(default=datetime(2025, 1, 1, tzinfo=UTC))\n    author: Attr",
        )
    )
    removing = expiring.replace("print(", "remove_expired()\nprint(")
    for text, notes in (expiring, 3), (removing, 0):
        shown = rewritten(page(text)).partition("<!-- shape -->\n")[2].partition("\n<!--")[0]
        assert shown.count("until: ") == notes
