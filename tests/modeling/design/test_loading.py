from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from torusdb.modeling import ModelError
from torusdb.modeling.design import Rate, Volume, Workload, load_design
from torusdb.modeling.design.loading import design_of

MODEL = """
from torusdb.modeling import Attr, Entity, Get, Key, Table, pattern
from torusdb.modeling.design import Rate, Volume, Workload

shop = Table("shop", partition_key="pk")

class Customer(Entity, table=shop):
    key = Key("CUSTOMER#{id}")
    id: Attr[str]

@pattern("A customer")
def customer(id: str) -> Get[Customer]:
    return Get(Customer, id=id)

workload = Workload(Volume(Customer, items=5), Rate(customer, per_second=3))
"""


@pytest.fixture(autouse=True)
def _modules_as_they_were(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "modules", dict(sys.modules))


def test_a_design_is_what_stands_in_a_file(tmp_path: Path) -> None:
    (tmp_path / "shop_model.py").write_text(MODEL)
    path_before = list(sys.path)
    design = load_design(tmp_path / "shop_model.py")
    assert sys.path == path_before
    (table,) = design.tables
    assert (design.name, table.name, list(table.entities)) == ("shop_model", "shop", ["Customer"])
    assert [volume.items for volume in design.workload.volumes.values()] == [5]
    assert [(rate.pattern.name, rate.per_second) for rate in design.workload.rates.values()] == [("customer", 3)]


def test_a_file_of_a_package_is_imported_as_part_of_it(tmp_path: Path) -> None:
    package = tmp_path / "company" / "models"
    package.mkdir(parents=True)
    for folder in (package, package.parent):
        (folder / "__init__.py").touch()
    (package / "tables.py").write_text(MODEL)
    (package / "all.py").write_text("from .tables import Customer, customer, workload")
    design = load_design(str(package / "all.py"))
    assert design.name == "company.models.all"
    assert [table.name for table in design.tables] == ["shop"], "found by its entities"
    assert design.workload.volumes


def test_a_module_is_found_where_one_stands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "shop_in_a_module.py").write_text(MODEL)
    monkeypatch.chdir(tmp_path)
    assert load_design("shop_in_a_module").name == "shop_in_a_module"


def test_two_files_of_one_name_are_two_designs(tmp_path: Path) -> None:
    for folder, name in (("a", "first"), ("b", "second")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "one_name.py").write_text(MODEL.replace('"shop"', f'"{name}"'))
    names = [load_design(tmp_path / folder / "one_name.py").tables[0].name for folder in "ab"]
    assert names == ["first", "second"]


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("x = 1", "has no table in it"),
        ("import nothing_like_it", r"ModuleNotFoundError: No module named .* \(broken_0.py, line 1\)"),
        ("x = 1\nraise RuntimeError('no')", r"RuntimeError: no \(broken_0.py, line 2\)"),
        ("x = (", "SyntaxError"),
        (MODEL.replace("{id}", "{ident}"), "Customer.key .*ident"),
    ],
)
def test_what_is_wrong_with_a_file_is_told_with_its_place(tmp_path: Path, source: str, message: str) -> None:
    (tmp_path / "broken_0.py").write_text(source)
    with pytest.raises(ModelError, match=message):
        load_design(tmp_path / "broken_0.py")


def test_no_file() -> None:
    with pytest.raises(ModelError, match=r"There is no file nowhere\.py"):
        load_design("nowhere.py")


@pytest.mark.parametrize("source", [".", "..", "./", "models/shop", ".shop", "shop.", ""])
def test_neither_a_file_nor_a_module(source: str) -> None:
    with pytest.raises(ModelError, match=r"is neither a Python file \(shop\.py\) nor a module \(shop\.model\)"):
        load_design(source)


def test_what_is_expected_is_checked(tmp_path: Path) -> None:
    (tmp_path / "expected.py").write_text(MODEL)
    module_design = load_design(tmp_path / "expected.py")
    module = sys.modules["expected"]
    customer, entity = module.customer, module.Customer
    for make, message in [
        (lambda: Volume(entity, items=-1), r"Volume\(Customer\): items is -1, and cannot be below 0"),
        (lambda: Volume(entity, items=1, hottest_writes=2), "hottest_writes is a part, above 0 and up to 1, not 2"),
        (lambda: Rate(customer, per_second=-1), r"Rate\(customer\): per_second is -1"),
        (lambda: Workload(Volume(entity, items=1), Volume(entity, items=2)), "a Volume of Customer twice"),
        (lambda: Workload(Rate(customer, per_second=1), Rate(customer, per_second=2)), "a Rate of customer twice"),
    ]:
        with pytest.raises(ModelError, match=message):
            make()
    module.more = Workload(Volume(entity, items=9))
    with pytest.raises(ModelError, match="twice"):
        design_of(module)
    assert module_design.workload


def test_a_file_that_was_edited_is_loaded_anew(tmp_path: Path) -> None:
    """As a notebook needs it, even where the edit changes neither the size nor the second."""
    path = tmp_path / "edited_here.py"
    source = 'from torusdb.modeling import *\nt = Table("{}", partition_key="pk")\n'
    path.write_text(source.format("one"))
    first = load_design(path)
    assert load_design(path).tables == first.tables, "unchanged, it is the same"
    stamp = path.stat()
    path.write_text(source.format("two"))
    os.utime(path, ns=(stamp.st_atime_ns, stamp.st_mtime_ns + 1000))
    assert [table.name for table in load_design(path).tables] == ["two"]
    path.write_text("t = 1 / 0\n")
    with pytest.raises(ModelError, match="ZeroDivisionError"):
        load_design(path)
    path.write_text(source.format("three") + "# mended\n")
    assert [table.name for table in load_design(path).tables] == ["three"]
    sys.modules.pop("edited_here")
