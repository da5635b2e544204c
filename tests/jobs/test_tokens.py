"""Tokens of transactions are cleared when they are good no longer."""

from __future__ import annotations

from tests.jobs.by_hand import NOON, ByHand, JobRun
from tests.operations.shorthand import S
from tests.storage.model_engine import ModelEngine
from torusdb.api.decode import from_python
from torusdb.jobs.tokens import clear_tokens
from torusdb.model import keys
from torusdb.operations.registry import OPERATIONS
from torusdb.operations.tokens import TOKEN_SECONDS, period_of
from torusdb.storage import driver


def use(things: ByHand, token: str) -> None:
    member = {"Put": {"TableName": "Things", "Item": {"pk": S(token)}}}
    things.call("TransactWriteItems", TransactItems=[member], ClientRequestToken=token)


def tokens(things: ByHand) -> list[bytes]:
    return [key for key, _ in things.stored() if key.startswith(keys.TOKEN_SPACE)]


def test_there_is_nothing_to_do_without_tokens(things: ByHand) -> None:
    before = things.stored()
    assert JobRun(things, clear_tokens).finish() is None
    assert things.stored() == before


def test_tokens_stay_while_they_are_good_and_go_soon_after(things: ByHand) -> None:
    assert NOON % TOKEN_SECONDS == 0
    things.clock = NOON + TOKEN_SECONDS - 1
    use(things, "a")
    use(things, "b")
    kept = tokens(things)
    due = JobRun(things, clear_tokens).finish()
    assert due == NOON + 2 * TOKEN_SECONDS
    things.clock = due - 0.001
    assert JobRun(things, clear_tokens).finish() == due
    assert tokens(things) == kept
    things.clock = due
    assert JobRun(things, clear_tokens).finish() is None
    assert tokens(things) == []
    assert things.call("Scan", TableName="Things")["Count"] == 2


def test_periods_go_one_after_another(things: ByHand) -> None:
    for number in range(4):
        things.clock = NOON + number * TOKEN_SECONDS
        use(things, f"token {number}")
    assert len(tokens(things)) == 2 * 4  # each with the marker of its period
    assert JobRun(things, clear_tokens).finish() == NOON + 4 * TOKEN_SECONDS
    assert len(tokens(things)) == 2 * 2


def test_a_period_in_which_nothing_happened_is_no_hurdle(things: ByHand) -> None:
    use(things, "early")
    things.clock = NOON + 100 * TOKEN_SECONDS
    use(things, "late")
    assert JobRun(things, clear_tokens).finish() == NOON + 102 * TOKEN_SECONDS
    assert len(tokens(things)) == 2


def test_clearing_goes_on_after_a_crash_at_any_step(things: ByHand) -> None:
    for number in range(3):
        things.clock = NOON + number * TOKEN_SECONDS
        use(things, f"token {number}")
    things.clock = NOON + 10 * TOKEN_SECONDS
    for steps in range(1, 10):
        run = JobRun(things, clear_tokens)
        for _ in range(steps):
            run.step()
        things.reopen()
    assert JobRun(things, clear_tokens).finish() is None
    assert tokens(things) == []


def test_only_the_first_token_of_a_period_wakes_the_job(things: ByHand) -> None:
    woken: list[float] = []
    things.ctx.wake_jobs = lambda: woken.append(things.clock)
    use(things, "a")
    use(things, "b")
    assert woken == [NOON]
    things.clock += TOKEN_SECONDS
    use(things, "c")
    assert woken == [NOON, NOON + TOKEN_SECONDS]


def test_tokens_of_other_accounts_are_left_alone(things: ByHand) -> None:
    use(things, "mine")
    theirs = keys.token_key("999999999999", "eu-west-2", period_of(NOON), "TransactWriteItems", "theirs")
    prefix = keys.token_prefix("999999999999", "eu-west-2")
    assert theirs.startswith(prefix)
    assert keys.token_period(prefix, theirs) == period_of(NOON)
    assert not any(key.startswith(prefix) for key in tokens(things))


def test_a_token_that_is_not_yet_durable_is_waited_for_however_far_the_clock_jumps() -> None:
    """Otherwise the job would see none, rest, and leave it for good."""
    engine = ModelEngine()
    hand = ByHand(engine=engine)
    key = {"AttributeName": "pk", "AttributeType": "S"}
    schema = [{"AttributeName": "pk", "KeyType": "HASH"}]
    hand.call(
        "CreateTable",
        TableName="Things",
        AttributeDefinitions=[key],
        KeySchema=schema,
        BillingMode="PAY_PER_REQUEST",
    )
    engine.stages = True
    member = {"Put": {"TableName": "Things", "Item": {"pk": S("a")}}}
    request = {"TransactItems": [member], "ClientRequestToken": "a"}
    operation = OPERATIONS["TransactWriteItems"]
    staged = driver.run(engine, operation(hand.ctx, from_python("TransactWriteItems", request)))
    hand.clock += 4 * 3600
    first = driver.run(engine, JobRun(hand, clear_tokens).next_step())  # type: ignore[arg-type]
    assert first.ticket is not None
    assert first.ticket is staged.ticket
