"""What the work of the kit may ask of whoever runs it. Work is written once, as generators that yield these and are
sent what came of them; a driver (`store`) runs it on a client, with or without async.

A `Request` is answered with the client's response, or its exception is raised at the yield; `Together` with the
responses in order; `Pause` with nothing; `Ask` and `Outside` with what their functions give."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Generator
from typing import Any, NamedTuple, TypeAlias, TypeVar

T = TypeVar("T")


class Request(NamedTuple):
    """One call of a client: `client.<method>(**parameters)`."""

    method: str
    parameters: dict[str, Any]


class Together(NamedTuple):
    """Requests that need not wait for each other."""

    requests: list[Request]


class Outside(NamedTuple):
    """Something that the database is not asked for, such as an object in another store. The function may block: with
    async it runs in a thread."""

    function: Callable[[], Any]


class Pause(NamedTuple):
    """To wait before the next request: at most `seconds_max`, and a random part of it, so that many do not come back at
    once."""

    seconds_max: float


class Ask(NamedTuple):
    """To call a function of the program's, which is asynchronous where the store is."""

    function: Callable[[], Any]


Step: TypeAlias = Request | Together | Pause | Ask | Outside
Work: TypeAlias = Generator[Step, Any, T]


def drive(work: Work[T], do: Callable[[Step], Any]) -> T:
    """Runs work to its end: `do` answers each step, or raises what the work is to see."""
    try:
        step = next(work)
        while True:
            try:
                answer = do(step)
            except Exception as error:
                step = work.throw(error)
            else:
                step = work.send(answer)
    except StopIteration as end:
        value: T = end.value
        return value


async def drive_async(work: Work[T], do: Callable[[Step], Awaitable[Any]]) -> T:
    """As `drive`, with a `do` that is awaited: the two differ in that word only."""
    try:
        step = next(work)
        while True:
            try:
                answer = await do(step)
            except Exception as error:
                step = work.throw(error)
            else:
                step = work.send(answer)
    except StopIteration as end:
        value: T = end.value
        return value


def error_code(error: Exception) -> str | None:
    """The service's code of a client's exception, None where it is none of the service's. (botocore's exceptions carry
    the response; it is looked at without importing botocore, since the kit imports no client.)"""
    response = getattr(error, "response", None)
    if not isinstance(response, dict):
        return None
    code = response.get("Error", {}).get("Code")
    return code if isinstance(code, str) else None
