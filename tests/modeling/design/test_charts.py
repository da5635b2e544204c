"""Charts in all forms: what stands in them, and that nothing breaks out of them."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser

import pytest

from tests.modeling import shop as shop_model
from tests.modeling.design.designs import design_from
from torusdb.modeling.design import Check, Finding, check, design_of
from torusdb.modeling.design.charts.content import content_of, printable
from torusdb.modeling.design.charts.layout import Column, Span, cells_of, columns, plain
from torusdb.modeling.design.charts.markdown import code, escaped
from torusdb.modeling.design.samples import samples_of

SHOP = design_of(shop_model)


FINDINGS = [
    Finding("error", "collision", "Order.key", "Two orders can have one key."),
    Finding("warning", "hot-key", "Order.by_status", "One status has all orders.", "there are few"),
]


def with_findings(*findings: Finding) -> Check:
    return Check(content_of(SHOP, samples_of(SHOP), findings))


HOSTILE = r"""
t = Table("hostile", partition_key="pk", sort_key="sk",
          indexes=[GlobalIndex("hostile", partition_key="pk", sort_key="x|<b>")])
t.name = "t|<script>alert(1)</script>`"  # which a declaration refuses
t.indexes[0].name = "i\"><img src=x onerror=alert(1)>|"
class Thing(Entity, table=t, type_name="</style><script>"):
    '''</article><script>alert("doc")</script> | **bold** [link](javascript:alert(1))'''
    key = Key("A|`<i>#{id}", "\x1b[31m{id}")
    id: Attr[str]
    value: Attr[str] = attr(name="</td><script>|", default="<script>|`\x1b[2J\u202e")
class Other(Entity, table=t):
    key = Key("OTHER#{n}", "<script>")
    by_x = Key("A|`<i>#{thing}", "<script>|", index=t.indexes[0]) if False else None
    n: Attr[int]
    thing: Attr[str]
@pattern("</table><script>alert('pattern')</script> | `x` \x07", filter_keeps=0.5)
def things(id: str) -> Query[Thing]:
    return Thing.key.query(Thing.id == id).filter(Thing.value == "<script>|\x1b[0m")
"""


# ----------------------------------------------------------------------------------------------------- the terminal


def test_the_terminal_shows_patterns_and_views() -> None:
    text = plain(check(SHOP).lines(140))
    assert re.search(r"orders_by_status +Query +gsi1 +gsi1pk = 'ORDERS#open' AND gsi1sk BETWEEN", text)
    table, emails = text.split("\nshop  table\n")[1].split("\n\nemails  global index, holds all attributes\n")
    rows = [line for line in table.splitlines() if not line.startswith("─")]
    assert rows[0].split() == ["pk", "sk", "entity", "attributes"]
    assert re.match(r"CUSTOMER#101  #ORDER#9999999999999996  Order     customer=101", rows[1])
    assert re.match(r"              PROFILE                  Customer  id=101  name=Ann", rows[4])
    assert emails.split("\n\n")[0].count("EMAIL#") == 3, "one of the four customers has no address"
    assert "Customer  1─n  Order        Order.customer = Customer.id, in one partition (Order.key)" in text


@pytest.mark.parametrize("width", [1, 40, 60, 80, 100, 200])
def test_no_line_is_longer_than_the_terminal_is_wide(width: int) -> None:
    for design in (SHOP, design_from(HOSTILE)):
        lines = check(design).lines(width)
        assert max(cells_of("".join(span.text for span in line).rstrip()) for line in lines) <= max(width, 40)


def test_what_does_not_fit_is_cut_or_wrapped() -> None:
    headings = [Column("a"), Column("b", wraps=True)]
    lines = plain(columns(headings, [["x" * 30, "one two three four five six"]], 30)).splitlines()
    assert lines[2:] == ["xxxxxxxxxxxxx…  one two three", "                four five six"]
    assert plain(columns(headings, [["a", "b"], None, ["c", "wörd"]], 40)).splitlines()[2:] == [
        "a  b",
        "───────",
        "c  wörd",
    ]


@pytest.mark.parametrize("width", range(20, 60))
def test_nothing_is_lost_where_lines_are_wrapped(width: int) -> None:
    text = "to be, or not to be: that is the question; whether 'tis nobler in the mind"
    lines = columns([Column("a"), Column("b", wraps=True)], [["x", text]], width)
    assert max(cells_of("".join(span.text for span in line)) for line in lines) <= width
    assert plain(lines[2:]).removeprefix("x").split() == text.split()


def test_wide_characters_take_two_places() -> None:
    lines = plain(columns([Column("name"), Column("x")], [["日本語の名前", "1"], ["ab", "2"]], 14)).splitlines()
    assert lines[2:] == ["日本語の名…  1", "ab           2"]
    assert cells_of("e\u0301") == 1


def test_styles_are_kept_beside_the_text() -> None:
    (line,) = columns([Column("a")], [[[Span("k=", "dim"), Span("v" * 50)]]], 10)[2:]
    assert line[:2] == [Span("k=", "dim"), Span("vvvvvvv…")]


def test_the_text_of_a_check_is_what_the_terminal_shows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "77")
    checked = check(shop_model)
    assert str(checked) == plain(checked.lines(77))
    assert repr(checked) == "<check of tests.modeling.shop>"


def test_findings_are_in_every_form_and_errors_count_unless_accepted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "150")
    checked = with_findings(*FINDINGS)
    for text in (str(checked), checked.markdown(), checked.html(), checked.json()):
        assert "Two orders can have one key." in text
        assert "there are few" in text
    assert str(checked).splitlines()[0].endswith("2 access patterns, 1 error"), "what is accepted is not counted"
    assert '<a href="#entity-Order"><code>Order.key</code></a>' in checked.html()
    assert checked.has_errors
    assert not with_findings(FINDINGS[1]).has_errors
    assert not with_findings(FINDINGS[0]._replace(accepted="so be it")).has_errors


# ------------------------------------------------------------------------------------------------------------- JSON


def test_json_is_for_programs() -> None:
    facts = json.loads(with_findings(*FINDINGS).json())
    (table,) = facts["tables"]
    assert [each["name"] for each in table["patterns"]] == ["customer_with_orders", "orders_by_status"]
    assert table["patterns"][1]["operation"] == "Query"
    assert table["patterns"][1]["index_name"] == "gsi1"
    assert table["patterns"][0]["entities"] == ["Customer", "Order"]
    assert table["entities"][1]["keys"][0]["sort"] == {"sk": "#ORDER#{number:newest_first}"}
    assert [each["name"] for each in table["indexes"]] == ["emails", "gsi1", "gsi2", "lsi1"]
    assert facts["relations"][0]["fields"] == {"customer": "id"}
    assert facts["findings"][0] == FINDINGS[0]._asdict()


# --------------------------------------------------------------------------------------------------------- Markdown


def cells(line: str) -> list[str]:
    return re.split(r"(?<!\\)\|", line.strip())[1:-1]


@pytest.mark.parametrize("source", [None, HOSTILE])
def test_tables_of_markdown_have_as_many_cells_in_every_row(source: str | None) -> None:
    text = check(SHOP if source is None else design_from(source)).markdown()
    tables = re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE)
    assert len(tables) > 5
    for table in tables:
        assert len({len(cells(line)) for line in table.splitlines()}) == 1


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("a", "`a`"),
        ("", ""),
        ("a|b", r"`a\|b`"),
        ("a`b", "``a`b``"),
        ("`a", "`` `a ``"),
        (r"a\|b", "<code>a&#92;&#124;b</code>"),
        ("a\nb", r"`a\nb`"),
    ],
)
def test_code_in_a_cell(text: str, wanted: str) -> None:
    assert code(text) == wanted


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("# a", r"\# a"),
        ("1. a", r"1\. a"),
        ("- a", r"\- a"),
        ("a - b #1.", "a - b #1."),
        ("<b>|*_[a](b)", r"\<b\>\|\*\_\[a\](b)"),
        ("a\\|b", r"a\\\|b"),
    ],
)
def test_text_in_markdown_is_text(text: str, wanted: str) -> None:
    assert escaped(text) == wanted


def test_markdown_has_a_diagram() -> None:
    (diagram,) = re.findall(r"```mermaid\n(.*?)```", check(SHOP).markdown(), re.DOTALL)
    assert diagram.startswith("erDiagram\n")
    assert '    e0["Customer"] {\n        str id PK\n        str name\n' in diagram
    assert "        str customer PK, FK\n" in diagram
    assert '    e0 ||--o{ e1 : "customer"\n' in diagram


def test_nothing_breaks_out_of_markdown() -> None:
    text = check(design_from(HOSTILE)).markdown()
    outside_code = re.sub(r"(`+)(?!`).*?(?<!`)\1(?!`)", "", text.replace("```", ""))
    assert not re.search(r"(?<!\\)<(?!br>)", outside_code)
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert not re.search(r"(?<!\\)\]\(javascript", outside_code)


# ------------------------------------------------------------------------------------------------------------- HTML


class Page(HTMLParser):
    """Checks the nesting of tags, and keeps what stands in them."""

    EMPTY = frozenset({"meta", "br", "wbr", "rect", "path", "circle", "line"})

    def __init__(self, html: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in self.EMPTY:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open[-1:] != ["style"]:
            self.text += data


def test_the_page_is_whole() -> None:
    page = Page(with_findings(*FINDINGS).html())
    assert page.open == []
    ids = [attributes["id"] for _, attributes in page.tags if "id" in attributes]
    assert len(ids) == len(set(ids))
    links = [attributes["href"] for tag, attributes in page.tags if tag == "a"]
    assert {link.removeprefix("#") for link in links if link} <= set(ids)
    names = [tag for tag, _ in page.tags]
    assert names.count("h1") == 1
    assert names.count("table") == names.count("caption") == names.count("thead")
    for wanted in (
        "customer_with_orders",
        "gsi1pk = 'ORDERS#open'",
        "CUSTOMER#{customer}",
        "Two orders can have",
        "Lamp",
    ):
        assert wanted in page.text


def test_the_page_loads_nothing_and_runs_nothing() -> None:
    html = check(SHOP).html()
    page = Page(html)
    assert not {"script", "link", "img", "iframe", "object", "form"} & {tag for tag, _ in page.tags}
    assert not [name for _, attributes in page.tags for name in attributes if name.startswith("on") or name == "src"]
    assert "url(" not in html
    assert "@import" not in html
    assert (
        "meta",
        {"http-equiv": "Content-Security-Policy", "content": "default-src 'none'; style-src 'unsafe-inline'"},
    ) in page.tags


def test_nothing_breaks_out_of_the_page() -> None:
    html = check(design_from(HOSTILE)).html()
    page = Page(html)
    assert page.open == []
    assert not {"script", "img", "i"} & {tag for tag, _ in page.tags}
    assert "</td><script>|" in page.text, "shown as what it is"
    assert "\x1b" not in html
    assert "\u202e" not in html
    page = Page(check(design_from(HOSTILE))._repr_html_())
    assert [tag for tag, _ in page.tags] == ["iframe"]


def test_text_that_would_move_the_cursor_is_told_as_such() -> None:
    assert printable("a\x1b[2J\u202eb\ud800ä✓") == "a\\x1b[2J\\u202eb\\ud800ä✓"
    assert "\x1b" not in plain(check(design_from(HOSTILE)).lines(100))


def test_a_sparse_index_that_no_item_is_in() -> None:
    design = design_from("""
empty = GlobalIndex("empty", partition_key="x")
t = Table("things", partition_key="pk", indexes=[empty])
class Note(Entity, table=t):
    key = Key("NOTE#{id}")
    id: Attr[str]
""")
    checked = check(design)
    for text in (str(checked), checked.markdown(), checked.html()):
        assert "No item has its keys." in text
    assert "None is declared" in str(checked)


def test_an_index_has_what_it_holds_only() -> None:
    design = design_from("""
some = GlobalIndex("some", partition_key="x", include=["title"])
keys = GlobalIndex("keys", partition_key="y", include=())
t = Table("things", partition_key="pk", indexes=[some, keys])
class Note(Entity, table=t):
    key = Key("NOTE#{id}")
    a = Key("A", index=some)
    b = Key("B", index=keys)
    id: Attr[str]
    title: Attr[str]
    text: Attr[str]
""")
    content = content_of(design, samples_of(design, 1), [])
    table, some, keys = content.tables[0].views
    assert [name for name, _ in table.groups[0].rows[0].attributes] == ["id", "title", "text"]
    assert [name for name, _ in some.groups[0].rows[0].attributes] == ["title"]
    assert some.groups[0].rows[0].other_keys == [("pk", "NOTE#101")]
    assert keys.groups[0].rows[0].attributes == []
    assert (some.holds, keys.holds) == ("the keys and title", "the keys only")


def test_items_of_a_partition_are_in_the_order_of_the_sort_key() -> None:
    design = design_from("""
t = Table("things", partition_key="pk", sort_key=number_key("sk"))
class Step(Entity, table=t):
    key = Key("STEPS", "{number}")
    number: Attr[int]
samples = Samples(*(Step(number=number) for number in (10, 9, -1, 100)))
""")
    (group,) = content_of(design, samples_of(design), []).tables[0].views[0].groups
    assert [row.sort for row in group.rows] == ["-1", "9", "10", "100"]


def test_partitions_are_told_apart_by_their_keys_and_not_by_what_is_shown_of_them() -> None:
    design = design_from("""
t = Table("things", partition_key=binary_key("pk"))
class Blob(Entity, table=t):
    key = Key("{id}")
    id: Attr[bytes]
samples = Samples(Blob(id=b"12345678a"), Blob(id=b"12345678b"))
""")
    groups = content_of(design, samples_of(design), []).tables[0].views[0].groups
    assert [group.partition for group in groups] == ["0x3132333435363738…"] * 2


def test_two_tables_with_entities_of_one_name() -> None:
    tables = "".join(
        f"""
{name} = Table("{name}", partition_key="pk")
class Note(Entity, table={name}):
    key = Key("NOTE#{{id}}")
    id: Attr[str]
"""
        for name in ("one", "two")
    )
    checked = check(design_from(tables))
    assert 'id="entity-Note"' in checked.html()
    assert 'id="entity-Note-2"' in checked.html()
    assert str(checked).count("NOTE#") == 8
