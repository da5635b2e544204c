"""SELECT from indexes: what they hold, what they are charged, what they cannot tell."""

from __future__ import annotations

from typing import Any

import pytest

from tests.operations.conftest import MakeTable
from tests.operations.reads import item, put
from tests.operations.statements import all_pages, plain, run, select
from torusdb import Database

NAME = "Songs"
LABEL = 'Songs."by-label"'
YEAR = 'Songs."by-year"'
NO_INDEX = "The table does not have the specified index"
PROJECTS_NOT = "One or more parameter values were invalid: "


@pytest.fixture(autouse=True)
def songs(db: Database, make_table: MakeTable) -> None:
    make_table(
        "artist:S track:N",
        NAME,
        globally={"by-label": ("label:S made:N", ["title"]), "by-place": ("land:S town:S | street:S house:N", "ALL")},
        locally={"by-year": ("artist:S made:N", "KEYS_ONLY")},
    )
    for track in range(4):
        put(
            db,
            NAME,
            item(
                artist="nina",
                track=track,
                made=1960 - track,
                label="colpix" if track % 2 else "philips",
                title=f"song {track}",
                fill="x" * 5000,
                land="us",
                town="ny",
                street="main" if track < 2 else "side",
                house=track,
            ),
        )
    put(db, NAME, item(artist="solo", track=9))


def tracks(found: list[dict[str, Any]]) -> str:
    return " ".join(each["track"] for each in found)


def charged(db: Database, statement: str) -> dict[str, float]:
    consumed = run(db, statement, ReturnConsumedCapacity="INDEXES")["ConsumedCapacity"]
    units = {"table": consumed["Table"]["CapacityUnits"]}
    for member in ("GlobalSecondaryIndexes", "LocalSecondaryIndexes"):
        units.update({name: charge["CapacityUnits"] for name, charge in consumed.get(member, {}).items()})
    assert consumed["CapacityUnits"] == sum(units.values())
    return units


@pytest.mark.parametrize(
    ("source", "clause", "expected"),
    [
        (LABEL, "WHERE label = 'colpix'", "3 1"),
        (LABEL, "WHERE label = 'colpix' ORDER BY made DESC", "1 3"),
        (LABEL, "WHERE label = 'colpix' AND made > 1958", "1"),
        (LABEL, "WHERE label IN ['philips', 'colpix']", "2 0 3 1"),
        (LABEL, "WHERE label IN ['philips', 'colpix'] ORDER BY label ASC, made ASC", "3 1 2 0"),
        (LABEL, "WHERE label = 'colpix' AND title = 'song 1'", "1"),
        (LABEL, "WHERE label = 'colpix' AND track = 3", "3"),
        (LABEL, "WHERE label = 'nope'", ""),
        (YEAR, "WHERE artist = 'nina'", "3 2 1 0"),
        (YEAR, "WHERE artist = 'nina' AND made BETWEEN 1958 AND 1959", "2 1"),
        (YEAR, "WHERE artist = 'nina' ORDER BY made DESC", "0 1 2 3"),
        (YEAR, "WHERE artist = 'solo'", ""),
        ('"Songs"."by-place"', "WHERE land = 'us' AND town = 'ny'", "0 1 2 3"),
        ('"Songs"."by-place"', "WHERE land = 'us' AND town = 'ny' AND street = 'side'", "2 3"),
        ('"Songs"."by-place"', "WHERE land = 'us' AND town = 'ny' AND street = 'side' AND house > 2", "3"),
        ('"Songs"."by-place"', "WHERE town IN ['ny', 'la'] AND land = 'us' AND street >= 'n'", "2 3"),
    ],
)
def test_keyed_reads(db, source, clause, expected):
    assert tracks(select(db, f"SELECT track FROM {source} {clause}")) == expected
    by_page = [
        each for page in all_pages(db, f"SELECT track FROM {source} {clause}", Limit=1) for each in page["Items"]
    ]
    assert tracks(plain(by_page)) == expected


@pytest.mark.parametrize("clause", ["", "WHERE made > 0", "WHERE label > 'a'", "WHERE label = 'colpix' OR title <> ''"])
def test_scans_see_what_is_in_the_index(db, clause):
    assert sorted(tracks(select(db, f"SELECT track FROM {LABEL} {clause}")).split()) == ["0", "1", "2", "3"]


def test_all_columns_are_what_the_index_holds(db):
    [found] = select(db, f"SELECT * FROM {LABEL} WHERE label = 'colpix' AND made = 1959")
    assert found == {"artist": "nina", "track": "1", "made": "1959", "label": "colpix", "title": "song 1"}
    [found] = select(db, f"SELECT * FROM {YEAR} WHERE artist = 'nina' AND made = 1959")
    assert found == {"artist": "nina", "track": "1", "made": "1959"}


def test_capacity_is_the_index_s(db):
    assert charged(db, f"SELECT * FROM {LABEL} WHERE label = 'colpix'") == {"table": 0.0, "by-label": 0.5}
    assert charged(db, f"SELECT * FROM {LABEL}") == {"table": 0.0, "by-label": 0.5}
    assert charged(db, f"SELECT * FROM {YEAR} WHERE artist = 'nina'") == {"table": 0.0, "by-year": 0.5}
    assert charged(db, f"SELECT * FROM {LABEL} WHERE label IN ['colpix', 'philips', 'x']") == {
        "table": 0.0,
        "by-label": 1.5,
    }


def test_what_a_local_index_does_not_hold_is_fetched_from_the_table(db):
    """Each item read is charged as a read of its own: two units of 4 KB, halved, for every one of 5 KB."""
    statement = f"SELECT track, title FROM {YEAR} WHERE artist = 'nina' AND made > 1957"
    assert select(db, statement) == [{"track": str(track), "title": f"song {track}"} for track in (2, 1, 0)]
    assert charged(db, statement) == {"table": 3.0, "by-year": 0.5}


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        (
            f"SELECT track, fill, street FROM {LABEL}",
            f"{PROJECTS_NOT}Global secondary index by-label does not project [fill, street]",
        ),
        (
            f"SELECT * FROM {LABEL} WHERE label = 'colpix' AND fill = 'x'",
            f"{PROJECTS_NOT}Secondary index by-label does not project one or more filter attributes: [fill]",
        ),
        (
            f"SELECT * FROM {YEAR} WHERE artist = 'nina' AND title = 'x'",
            f"{PROJECTS_NOT}Secondary index by-year does not project one or more filter attributes: [title]",
        ),
        ("SELECT * FROM Songs.nope", NO_INDEX),
        ("SELECT * FROM Songs.nope WHERE artist = 'nina'", NO_INDEX),
        (
            f"SELECT * FROM {LABEL} WHERE label = 1",
            "Key attribute's data type should match its data type in table's schema: Key label",
        ),
        (
            f"SELECT * FROM {LABEL} WHERE label = 'x' ORDER BY track",
            "Attribute track in ORDER BY clause must be part of the primary key",
        ),
    ],
)
def test_refusals(refused, statement, message):
    assert refused("ExecuteStatement", {"Statement": statement}) == ("ValidationException", message)


def test_to_a_scan_what_the_index_lacks_is_missing(db):
    assert select(db, f"SELECT track FROM {LABEL} WHERE fill > ''") == []
    assert len(select(db, f"SELECT track FROM {LABEL} WHERE fill IS MISSING")) == 4


def test_a_global_index_is_not_read_consistently(db, refused):
    assert refused("ExecuteStatement", {"Statement": f"SELECT * FROM {LABEL}", "ConsistentRead": True}) == (
        "ValidationException",
        "Strongly consistent read is not supported on Global Secondary Indexes",
    )
    statement = f"SELECT track FROM {YEAR} WHERE artist = 'nina'"
    assert tracks(select(db, statement, ConsistentRead=True)) == "3 2 1 0"


def test_no_table_comes_before_no_index(refused):
    assert refused("ExecuteStatement", {"Statement": "SELECT * FROM Nowhere.nope"})[0] == "ResourceNotFoundException"
