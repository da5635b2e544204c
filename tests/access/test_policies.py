"""What policies allow: against an evaluator written independently, and by the letter of the guide's examples."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.access import naive
from torusdb.access.conditions import PolicyError
from torusdb.access.decisions import Identity, Need
from torusdb.access.policies import read_policy
from torusdb.errors import AccessDeniedException

TABLE = "arn:aws:dynamodb:eu-west-2:123456789012:table/Music"
ACTIONS = ["dynamodb:GetItem", "dynamodb:PutItem", "dynamodb:Query", "dynamodb:BatchGetItem"]
RESOURCES = [TABLE, f"{TABLE}/index/ByYear", f"{TABLE}/stream/2026-11-19T06:00:00.000", TABLE + "2"]


class Context(dict[str, list[str]]):
    """The condition keys of a request, as they are."""

    def values(self, key: str) -> list[str] | None:  # type: ignore[override]
        return self.get(key)


def verdict(
    policies: list[dict[str, Any]],
    need: Need,
    context: dict[str, list[str]] | None = None,
    *,
    narrowing: list[dict[str, Any]] | None = None,
    resource: dict[str, Any] | str | None = None,
) -> str:
    """ "Allow", or the end of what is said instead."""
    identity = Identity(
        "123456789012",
        "alice",
        [read_policy(policy) for policy in policies],
        None if narrowing is None else [read_policy(policy) for policy in narrowing],
    )
    text = json.dumps(resource) if isinstance(resource, dict) else resource
    told = set()
    for _ in range(2):  # what is remembered says the same
        try:
            identity.require(need, Context(context or {}), text)
            told.add("Allow")
        except AccessDeniedException as error:
            begin = (
                f"User: arn:aws:iam::123456789012:user/alice is not authorized to perform: {need.action} "
                f"on resource: {need.resource} "
            )
            told.add(str(error.message).removeprefix(begin))
    (said,) = told
    return said


def policy(*statements: dict[str, Any]) -> dict[str, Any]:
    return {"Version": "2012-10-17", "Statement": list(statements)}


def allow(action: Any = "dynamodb:*", resource: Any = "*", **more: Any) -> dict[str, Any]:
    return {"Effect": "Allow", "Action": action, "Resource": resource, **more}


def deny(action: Any = "dynamodb:*", resource: Any = "*", **more: Any) -> dict[str, Any]:
    return {**allow(action, resource, **more), "Effect": "Deny"}


GET = Need("dynamodb:GetItem", TABLE)
IMPLICIT = "because no identity-based policy allows the dynamodb:GetItem action"
EXPLICIT = "with an explicit deny in an identity-based policy"
BY_RESOURCE = "with an explicit deny in a resource-based policy"


# Against the naive evaluator

action_patterns = st.sampled_from(
    [*ACTIONS, "*", "dynamodb:*", "dynamodb:Get*", "DYNAMODB:getitem", "dynamodb:?etItem"]
)
resource_patterns = st.sampled_from(
    [*RESOURCES, "*", "arn:aws:dynamodb:*:*:table/Mus*", TABLE + "/*", TABLE + "/index/?yYear"]
)
texts = st.sampled_from(["alice", "bob", "Alice", "1", "2.5", "10", "", "al*", "*", "?ob"])
single = ["dynamodb:Select", "dynamodb:ReturnValues", "aws:username"]
multiple = ["dynamodb:LeadingKeys", "dynamodb:Attributes"]
plain_operators = st.sampled_from(
    [
        "StringEquals",
        "StringNotEquals",
        "StringEqualsIgnoreCase",
        "StringNotEqualsIgnoreCase",
        "StringLike",
        "StringNotLike",
    ]
)
numeric_operators = st.sampled_from(
    ["NumericEquals", "NumericNotEquals", "NumericLessThan", "NumericGreaterThanEquals"]
)
numbers = st.sampled_from(["1", "2.5", "10"])


@st.composite
def conditions(draw: st.DrawFn) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for _ in range(draw(st.integers(0, 2))):
        over = draw(st.sampled_from(["", "ForAllValues:", "ForAnyValue:"]))
        key = draw(st.sampled_from(multiple if over else single))
        if draw(st.booleans()):
            operator, values = draw(plain_operators), draw(st.lists(texts, min_size=1, max_size=3))
        else:
            operator, values = draw(numeric_operators), draw(st.lists(numbers, min_size=1, max_size=2))
        operator = over + operator + draw(st.sampled_from(["", "IfExists"]))
        found.setdefault(operator, {})[key] = draw(st.sampled_from([values, values[0]]))
    if draw(st.integers(0, 4)) == 0:
        key = draw(st.sampled_from(single + multiple))
        found["Null"] = {key: draw(st.sampled_from(["true", "false"]))}
    return found


@st.composite
def statements(draw: st.DrawFn) -> dict[str, Any]:
    return {
        "Effect": draw(st.sampled_from(["Allow", "Allow", "Deny"])),
        draw(st.sampled_from(["Action", "Action", "NotAction"])): draw(
            st.lists(action_patterns, min_size=1, max_size=2)
        ),
        draw(st.sampled_from(["Resource", "Resource", "NotResource"])): draw(
            st.lists(resource_patterns, min_size=1, max_size=2)
        ),
        "Condition": draw(conditions()),
    }


policies = st.lists(st.lists(statements(), min_size=1, max_size=3).map(lambda found: policy(*found)), max_size=2)
contexts = st.fixed_dictionaries(
    {},
    optional={
        **{key: st.lists(texts, min_size=1, max_size=1) for key in single},
        **{key: st.lists(texts, max_size=3) for key in multiple},
    },
)


@given(policies, st.sampled_from(ACTIONS), st.sampled_from(RESOURCES), contexts)
def test_policies_decide_as_the_naive_evaluator(
    given_policies: list[dict[str, Any]], action: str, resource: str, context: dict[str, list[str]]
) -> None:
    expected = {
        "Allow": "Allow",
        "Deny": EXPLICIT,
        "None": f"because no identity-based policy allows the {action} action",
    }
    need = Need(action, resource)
    assert verdict(given_policies, need, context) == expected[naive.decision(given_policies, action, resource, context)]


@given(policies, st.lists(st.tuples(st.sampled_from(ACTIONS), st.sampled_from(RESOURCES), contexts), max_size=6))
def test_what_is_remembered_of_one_request_is_no_answer_to_another(
    given_policies: list[dict[str, Any]], asked: list[tuple[str, str, dict[str, list[str]]]]
) -> None:
    identity = Identity("123456789012", "alice", [read_policy(each) for each in given_policies])
    for action, resource, context in asked:
        try:
            identity.require(Need(action, resource), Context(context), None)
            allowed = True
        except AccessDeniedException:
            allowed = False
        assert allowed is (naive.decision(given_policies, action, resource, context) == "Allow")


# By hand


def test_nothing_is_allowed_by_itself() -> None:
    assert verdict([], GET) == IMPLICIT
    assert verdict([policy(allow("dynamodb:PutItem"))], GET) == IMPLICIT
    assert verdict([policy(allow())], GET) == "Allow"


def test_an_explicit_deny_wins_wherever_it_stands() -> None:
    assert verdict([policy(allow(), deny("dynamodb:Get*"))], GET) == EXPLICIT
    assert verdict([policy(deny("dynamodb:Get*")), policy(allow())], GET) == EXPLICIT


def test_a_single_statement_need_be_no_list() -> None:
    assert verdict([{"Version": "2012-10-17", "Statement": allow("*")}], GET) == "Allow"


def test_an_index_is_not_its_table() -> None:
    need = Need("dynamodb:Query", f"{TABLE}/index/ByYear")
    assert verdict([policy(allow("*", TABLE))], need) != "Allow"
    assert verdict([policy(allow("*", f"{TABLE}/index/*"))], need) == "Allow"


def test_policies_of_a_key_narrow_what_its_user_may() -> None:
    wide, get, put = policy(allow()), policy(allow("dynamodb:GetItem")), policy(allow("dynamodb:PutItem"))
    assert verdict([wide], GET, narrowing=[get]) == "Allow"
    assert verdict([wide], GET, narrowing=[put]) == "because no session policy allows the dynamodb:GetItem action"
    assert verdict([wide], GET, narrowing=[]) == "because no session policy allows the dynamodb:GetItem action"
    assert verdict([wide], GET, narrowing=[get, policy(deny())]) == "with an explicit deny in a session policy"
    assert verdict([put], GET, narrowing=[get]) == IMPLICIT


# Resource policies

ALICE = "arn:aws:iam::123456789012:user/alice"


@pytest.mark.parametrize(
    ("principal", "allowed", "denied"),
    [
        ("*", True, True),
        ({"AWS": "*"}, True, True),
        ({"AWS": ALICE}, True, True),
        ({"AWS": ["arn:aws:iam::123456789012:user/bob", ALICE]}, True, True),
        ({"AWS": "arn:aws:iam::123456789012:user/bob"}, False, False),
        ({"AWS": "123456789012"}, False, True),
        ({"AWS": "arn:aws:iam::123456789012:root"}, False, True),
        ({"AWS": "arn:aws:iam::999999999999:root"}, False, False),
        ({"Service": "replication.dynamodb.amazonaws.com"}, False, False),
    ],
)
def test_resource_policies_join_in(principal: Any, allowed: bool, denied: bool) -> None:
    allowing = policy({**allow("dynamodb:GetItem", TABLE), "Principal": principal})
    assert verdict([], GET, resource=allowing) == ("Allow" if allowed else IMPLICIT)
    denying = policy({**deny("dynamodb:GetItem", TABLE), "Principal": principal})
    assert verdict([policy(allow())], GET, resource=denying) == (BY_RESOURCE if denied else "Allow")


def test_a_deny_of_either_side_wins() -> None:
    allowing = policy({**allow(), "Principal": "*"})
    assert verdict([policy(deny())], GET, resource=allowing) == EXPLICIT


def test_everyone_but() -> None:
    but_alice = policy({"Effect": "Deny", "Action": "*", "Resource": "*", "NotPrincipal": {"AWS": ALICE}})
    but_bob = policy({"Effect": "Deny", "Action": "*", "Resource": "*", "NotPrincipal": {"AWS": "bob"}})
    assert verdict([policy(allow())], GET, resource=but_alice) == "Allow"
    assert verdict([policy(allow())], GET, resource=but_bob) == BY_RESOURCE


@pytest.mark.parametrize(
    "text", ["", "{", "[]", '{"Statement": []}', '{"Statement": [{"Effect": "Deny"}]}', "[" * 100000]
)
def test_a_resource_policy_that_cannot_be_read_denies(text: str) -> None:
    assert verdict([policy(allow())], GET, resource=text) == BY_RESOURCE
    for verb in ("Get", "Put", "Delete"):
        mending = Need(f"dynamodb:{verb}ResourcePolicy", TABLE)
        assert verdict([policy(allow())], mending, resource=text) == "Allow"
        assert verdict([], mending, resource=text).startswith("because no identity-based policy allows")


def test_a_resource_policy_is_asked_each_time() -> None:
    identity = Identity("123456789012", "alice", [read_policy(policy(allow()))])
    identity.require(GET, Context(), None)
    with pytest.raises(AccessDeniedException):
        identity.require(GET, Context(), json.dumps(policy({**deny(), "Principal": "*"})))


# The guide's examples of fine-grained access


def test_own_items_only() -> None:
    own = policy(
        allow(Condition={"ForAllValues:StringEquals": {"dynamodb:LeadingKeys": ["${aws:username}"]}}),
    )
    name = {"aws:username": ["alice"]}
    assert verdict([own], GET, {**name, "dynamodb:LeadingKeys": ["alice"]}) == "Allow"
    assert verdict([own], GET, {**name, "dynamodb:LeadingKeys": ["alice", "bob"]}) == IMPLICIT
    assert verdict([own], GET, name) == "Allow"  # a Scan: the key is absent, as the guide warns


def test_some_attributes_only() -> None:
    some = policy(
        allow(
            Condition={
                "ForAllValues:StringEquals": {"dynamodb:Attributes": ["Artist", "Song"]},
                "StringEqualsIfExists": {"dynamodb:Select": "SPECIFIC_ATTRIBUTES"},
            }
        )
    )
    asked = {"dynamodb:Attributes": ["Artist"], "dynamodb:Select": ["SPECIFIC_ATTRIBUTES"]}
    assert verdict([some], GET, asked) == "Allow"
    assert verdict([some], GET, {**asked, "dynamodb:Attributes": ["Artist", "Price"]}) == IMPLICIT
    assert verdict([some], GET, {**asked, "dynamodb:Select": ["ALL_ATTRIBUTES"]}) == IMPLICIT
    assert verdict([some], GET, {"dynamodb:Attributes": ["Artist"]}) == "Allow"


def test_no_full_scans() -> None:
    need = Need("dynamodb:PartiQLSelect", TABLE)
    rules = policy(deny("dynamodb:PartiQLSelect", Condition={"Bool": {"dynamodb:FullTableScan": ["true"]}}), allow())
    assert verdict([rules], need, {"dynamodb:FullTableScan": ["true"]}) == EXPLICIT
    assert verdict([rules], need, {"dynamodb:FullTableScan": ["false"]}) == "Allow"


# Variables, dates, ARNs


@pytest.mark.parametrize(
    ("wanted", "value", "matches"),
    [
        ("${aws:username}", "a*", True),
        ("${aws:username}", "ab", False),
        ("x-${aws:username}-*", "x-a*-1", True),
        ("x-${aws:username}-*", "x-ab-1", False),
        ("${*}", "*", True),
        ("${*}", "a", False),
        ("${?}${$}", "?$", True),
        ("${aws:PrincipalAccount}", "", False),
        ("${aws:PrincipalAccount, 'none'}", "none", True),
        ("[a]", "a", False),
        ("[a]", "[a]", True),
        ("a.c", "abc", False),
        ("?", "", False),
        ("a*b*?c", "aXbbYc", True),
        ("a*b*?c", "aXbc", False),
        ("**a*", "ba", True),
        ("*ab*b", "aab", False),
        pytest.param("*a" * 20 + "*b", "a" * 2048, False, id="a key that would be looked at for hours"),
    ],
)
def test_variables_and_wildcards(wanted: str, value: str, matches: bool) -> None:
    rules = policy(allow(Condition={"ForAllValues:StringLike": {"dynamodb:LeadingKeys": wanted}}))
    context = {"aws:username": ["a*"], "dynamodb:LeadingKeys": [value]}
    assert (verdict([rules], GET, context) == "Allow") is matches


def test_variables_mean_nothing_to_the_old_version() -> None:
    rules = {**policy(allow(Condition={"StringEquals": {"aws:username": "${aws:username}"}})), "Version": "2008-10-17"}
    assert verdict([rules], GET, {"aws:username": ["alice"]}) == IMPLICIT
    assert verdict([rules], GET, {"aws:username": ["${aws:username}"]}) == "Allow"


def test_a_variable_in_a_resource() -> None:
    rules = policy(allow(resource="arn:aws:dynamodb:*:*:table/${aws:username}-*"))
    for name, expected in (("Music", "Allow"), ("Musi", IMPLICIT)):
        resource = Need(GET.action, TABLE + "-1")
        assert verdict([rules], resource, {"aws:username": [name]}) == expected


@pytest.mark.parametrize(
    ("operator", "wanted", "matches"),
    [
        ("DateLessThan", "2026-11-19T06:00:01Z", True),
        ("DateLessThan", "2026-11-19T06:00:00Z", False),
        ("DateLessThanEquals", "2026-11-19T07:00:00+01:00", True),
        ("DateGreaterThan", "2026-11-18", True),
        ("DateEquals", "1795068000", True),
        ("DateNotEquals", "2026-11-19T06:00:00Z", False),
        ("DateEquals", "once", False),
    ],
)
def test_dates(operator: str, wanted: str, matches: bool) -> None:
    rules = policy(allow(Condition={operator: {"aws:CurrentTime": wanted}}))
    assert (verdict([rules], GET, {"aws:CurrentTime": ["2026-11-19T06:00:00Z"]}) == "Allow") is matches


@pytest.mark.parametrize("operator", ["ArnLike", "ArnEquals"])
def test_arns_match_part_by_part(operator: str) -> None:
    for wanted, matches in (("arn:aws:iam::*:user/al*", True), ("arn:*/alice", False), (ALICE, True)):
        rules = policy(allow(Condition={operator: {"aws:PrincipalArn": wanted}}))
        assert (verdict([rules], GET, {"aws:PrincipalArn": [ALICE]}) == "Allow") is matches


def test_names_of_keys_are_read_in_any_case() -> None:
    rules = policy(allow(Condition={"StringEquals": {"DynamoDB:select": "COUNT"}}))
    assert verdict([rules], GET, {"dynamodb:Select": ["COUNT"]}) == "Allow"


# What is refused when it is read


@pytest.mark.parametrize(
    ("broken", "said"),
    [
        ([], "a policy is no object"),
        ({"Version": "2012-10-17"}, "a policy has no Statement"),
        ({"Version": "2020-01-01", "Statement": [allow()]}, "the Version '2020-01-01' is neither"),
        ({**policy(allow()), "Comment": ""}, "a policy has no element 'Comment'"),
        (policy({**allow(), "Actions": "*"}), "a Statement has no element 'Actions'"),
        (policy({**allow(), "Effect": "Permit"}), "the Effect of a Statement is neither Allow nor Deny"),
        (policy({"Effect": "Allow", "Resource": "*"}), "a Statement has neither Action nor NotAction"),
        (policy({**allow(), "NotAction": "*"}), "a Statement has both Action and NotAction"),
        (policy({"Effect": "Allow", "Action": "*"}), "a Statement has neither Resource nor NotResource"),
        (policy(allow(action=[])), "Action is neither a text nor a list of texts"),
        (policy(allow(action="GetItem")), "the action 'GetItem' does not say of which service it is"),
        (policy(allow(resource="table/Music")), "the resource 'table/Music' is no ARN"),
        (policy({**allow(), "Principal": "*"}), "the policy of a user has a Principal"),
        (policy(allow(Condition=[])), "a Condition is no object of operators"),
        (policy(allow(Condition={"StringEquals": "x"})), "the operator 'StringEquals' has no object of keys"),
        (
            policy(allow(Condition={"StringIs": {"aws:username": "a"}})),
            "the condition operator 'StringIs' is not known",
        ),
        (
            policy(allow(Condition={"IpAddress": {"aws:username": "a"}})),
            "the condition operator 'IpAddress' is not known",
        ),
        (
            policy(allow(Condition={"StringEquals": {"aws:SourceIp": "a"}})),
            "the condition key 'aws:SourceIp' is not known",
        ),
        (
            policy(allow(Condition={"StringEquals": {"dynamodb:LeadingKeys": "a"}})),
            "'dynamodb:LeadingKeys' has several",
        ),
        (policy(allow(Condition={"StringEquals": {"aws:username": []}})), "has no values for 'aws:username'"),
        (policy(allow(Condition={"StringEquals": {"aws:username": [{}]}})), "is neither text, number nor boolean"),
        (policy(allow(Condition={"StringEquals": {"aws:username": "${aws:userid}"}})), "key 'aws:userid' is not known"),
        (policy(allow(Condition={"Null": {"aws:username": "maybe"}})), "the operator 'Null' takes true or false"),
        (policy(allow(Condition={"ForAllValues:Null": {"aws:username": "true"}})), "the operator 'Null' takes"),
        (policy(allow(Condition={"ForSomeValues:StringEquals": {"aws:username": "true"}})), "is not known"),
    ],
)
def test_a_policy_that_could_not_be_in_force_is_refused(broken: Any, said: str) -> None:
    with pytest.raises(PolicyError) as caught:
        read_policy(broken)
    assert said in str(caught.value)
