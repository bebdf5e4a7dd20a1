"""A scripted model behind a real HTTP server, for tests of anything that talks to a model.

    with ScriptedModel([calls(("read_file", {"path": "a.txt"})), text("done")]) as model:
        run_hermes(base_url=model.base_url)
    assert len(model.requests) == 2

It speaks OpenAI chat completions on a free port of 127.0.0.1 from a thread of its own, so the
client may be sync, async, or another process. By default it is the strictest of vendors: a request
that any vendor would refuse is answered 400, and leaving the `with` block fails the test; so does
a request that does not begin with the bytes of the one before it.
"""

import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from types import TracebackType
from typing import Any, Final, Self

import anyio
from anyio import to_thread
from anyio.abc import Listener, SocketAttribute, SocketStream, TaskStatus
from anyio.from_thread import BlockingPortal, start_blocking_portal

from hermes.sdk.testing import encoding
from hermes.sdk.testing.http1 import Arrival, BadRequest, Connection
from hermes.sdk.testing.play import Gates, Play
from hermes.sdk.testing.prefix import PrefixBreak, PrefixWatch
from hermes.sdk.testing.replies import Answer, Message, Reply, text
from hermes.sdk.testing.strict import Body, Refusal, check, parse

_PATIENCE: Final = 10.0
"""Default seconds a test waits for what should happen in milliseconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One `POST .../chat/completions` as it came.

    `number` counts from 1, and so does `connection`, the socket it came on. Header names are in
    lower case. `arrived_at` is `time.monotonic()` when the last byte was in.
    """

    number: int
    connection: int
    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes
    arrived_at: float

    @property
    def json(self) -> Any:
        """The decoded body; raises ValueError if it is not JSON."""
        return json.loads(self.body)

    @property
    def messages(self) -> list[dict[str, Any]]:
        """The conversation sent; raises KeyError if there is none."""
        messages: list[dict[str, Any]] = self.json["messages"]
        return messages


@dataclass(frozen=True, slots=True, kw_only=True)
class Violation:
    """Request `request` was refused: where in its body, and why."""

    request: int
    where: str
    fault: str

    def __str__(self) -> str:
        return f"request {self.request} was refused: {self.where}: {self.fault}"


Script = Sequence[Reply | str] | Callable[[Request], Reply | str]
"""Replies in order, one for each accepted request; or a function that makes each, called on the
server's own loop, so it must not block. A string is a text reply."""


class ScriptedModel:
    """An OpenAI-compatible model server that answers as it is told; a context manager.

    `final` answers every request after the end of a script that is a list. A refused request
    consumes no reply. `strict` turns the checks on, `allow_violations` keeps them from failing the
    test, and `check_prefix` calls `assert_prefix_stable` on leaving.
    """

    def __init__(
        self,
        script: Script = (),
        *,
        final: str = "done",
        strict: bool = True,
        allow_violations: bool = False,
        check_prefix: bool = True,
        model: str = "scripted",
        context_length: int = 131_072,
    ) -> None:
        self.model: Final = model
        self.requests: Final[list[Request]] = []
        self.other_requests: Final[list[Arrival]] = []
        self.violations: Final[list[Violation]] = []
        self._script = script
        self._position = 0
        self._final = final
        self._strict = strict
        self._allow_violations = allow_violations
        self._check_prefix = check_prefix
        self._context_length = context_length
        self._connections = 0
        self._calls = 0
        self._watch = PrefixWatch()
        self._left: dict[int, float] = {}
        self._script_error: Exception | None = None
        self._changed = threading.Condition()
        self._gates = Gates()
        self._stack = ExitStack()
        self._portal: BlockingPortal | None = None
        self._port = 0

    @property
    def base_url(self) -> str:
        """`http://127.0.0.1:PORT/v1`, which clients take for an OpenAI-compatible address."""
        return f"http://127.0.0.1:{self._port}/v1"

    @property
    def prefix_breaks(self) -> list[PrefixBreak]:
        """Accepted requests that did not extend the one before them in their conversation."""
        return self._watch.breaks

    def start(self) -> Self:
        """Begin to serve."""
        portal = self._stack.enter_context(start_blocking_portal("asyncio"))
        _, listener = portal.start_task(self._serve)
        self._port = listener.extra(SocketAttribute.local_port)
        self._stack.callback(portal.call, listener.aclose)
        self._portal = portal
        return self

    def close(self) -> None:
        """Stop at once, closing every connection."""
        self._portal = None
        self._stack.close()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
        if error is None:
            self.assert_clean()
        else:
            for complaint in self._complaints():
                error.add_note(complaint)

    def assert_clean(self) -> None:
        """Raise AssertionError for violations, prefix breaks and errors of the script, as asked."""
        if complaints := self._complaints():
            raise AssertionError("\n".join(complaints)) from self._script_error

    def assert_prefix_stable(self) -> None:
        """Raise AssertionError if a request did not begin with the bytes of the one before."""
        if self.prefix_breaks:
            raise AssertionError("\n".join(map(str, self.prefix_breaks)))

    def release(self, number: int | None = None) -> None:
        """Let the held reply to request `number` go on, or whichever comes first.

        It may be called before the reply reaches its hold.
        """
        if self._portal is None:
            raise RuntimeError("the scripted model is not running")
        self._portal.call(self._gates.open, number)

    def wait_for_request(self, number: int = 1, timeout: float = _PATIENCE) -> Request:
        """Block until request `number` has arrived; raises TimeoutError after `timeout` seconds.

        An async test whose client shares its loop awaits `request_arrives` instead.
        """
        self._wait(lambda: len(self.requests) >= number, timeout, f"request {number}")
        return self.requests[number - 1]

    def wait_for_disconnect(self, number: int = 1, timeout: float = _PATIENCE) -> float:
        """Block until the client has left in mid-reply to request `number`; returns when it left,
        as `time.monotonic()`. Raises TimeoutError after `timeout` seconds."""
        self._wait(lambda: number in self._left, timeout, f"disconnect from request {number}")
        return self._left[number]

    async def request_arrives(self, number: int = 1, timeout: float = _PATIENCE) -> Request:
        """`wait_for_request` for async tests."""
        wait = partial(self.wait_for_request, number, timeout)
        return await to_thread.run_sync(wait, abandon_on_cancel=True)

    async def client_leaves(self, number: int = 1, timeout: float = _PATIENCE) -> float:
        """`wait_for_disconnect` for async tests."""
        wait = partial(self.wait_for_disconnect, number, timeout)
        return await to_thread.run_sync(wait, abandon_on_cancel=True)

    def _wait(self, ready: Callable[[], bool], timeout: float, what: str) -> None:
        with self._changed:
            if not self._changed.wait_for(ready, timeout):
                seen = f"{len(self.requests)} requests came, clients left {sorted(self._left)}"
                raise TimeoutError(f"no {what} within {timeout} s; {seen}")

    def _complaints(self) -> list[str]:
        found = [] if self._allow_violations else [str(v) for v in self.violations]
        if self._check_prefix:
            found += [str(b) for b in self.prefix_breaks]
        if self._script_error is not None:
            found.append(f"the script raised {self._script_error!r}")
        return found

    async def _serve(self, *, task_status: TaskStatus[Listener[SocketStream]]) -> None:
        """Accept clients until the listener is closed, then drop them all.

        Cancelling `accept` instead would lose a client that is just arriving: asyncio accepts its
        socket and then has nobody to hand it to.
        """
        [listener] = (await anyio.create_tcp_listener(local_host="127.0.0.1")).listeners
        async with anyio.create_task_group() as clients:
            task_status.started(listener)
            with suppress(anyio.ClosedResourceError):
                await listener.serve(self._attend, clients)
            clients.cancel_scope.cancel()

    async def _attend(self, stream: SocketStream) -> None:
        """Serve one connection until either side closes it."""
        self._connections += 1
        connection = Connection(stream, self._connections)
        try:
            while (arrival := await connection.read()) is not None:
                if not await self._answer(connection, arrival):
                    return
                if arrival.headers.get("connection", "").lower() == "close":
                    return
        except BadRequest as fault:
            answer = encoding.error(400, f"not HTTP/1.1: {fault}", None, "bad_request")
            await connection.write(encoding.response(answer))
        except (anyio.BrokenResourceError, anyio.ClosedResourceError):
            return
        finally:
            # Unshielded, a cancelled close would wait for a client that reads nothing any more.
            with anyio.CancelScope(shield=True):
                await stream.aclose()

    async def _answer(self, connection: Connection, arrival: Arrival) -> bool:
        """Answer one request; returns whether the connection stays open."""
        path = arrival.path.partition("?")[0].rstrip("/")
        if arrival.method == "POST" and path.endswith("/chat/completions"):
            return await self._converse(connection, arrival)
        self.other_requests.append(arrival)
        if arrival.method == "GET" and path == "/v1/models":
            answer = encoding.listing(self.model, self._context_length)
        else:
            answer = encoding.error(404, f"no {arrival.method} {path} here", None, "not_found")
        await connection.write(encoding.response(answer))
        return True

    async def _converse(self, connection: Connection, arrival: Arrival) -> bool:
        arrived_at = time.monotonic()
        number = len(self.requests) + 1
        request = Request(
            number=number,
            connection=connection.number,
            method=arrival.method,
            path=arrival.path,
            headers=arrival.headers,
            body=arrival.body,
            arrived_at=arrived_at,
        )
        body, answer = self._examine(request)
        with self._changed:
            self.requests.append(request)
            self._changed.notify_all()
        if answer is not None:
            await connection.write(encoding.response(answer))
            return True
        shared = self._watch.note(number, request.body, body) if body else 0
        reply = self._next(request)
        parts = encoding.pieces(reply, self._setting(request, body, shared))
        if isinstance(reply.body, Message):
            self._calls += len(reply.body.calls)
        if await Play(reply, parts, connection, partial(self._gates.passed, number)).run():
            return reply.ending == "complete"
        with self._changed:
            self._left[number] = time.monotonic()
            self._changed.notify_all()
        return False

    def _examine(self, request: Request) -> tuple[Body | None, Answer | None]:
        """The parsed body, and the answer to a request that is refused."""
        body = None
        try:
            body = parse(request.body)
            if self._strict:
                check(body.values)
        except Refusal as refusal:
            if self._strict:
                where, fault = refusal.where or "body", refusal.fault
                self.violations.append(Violation(request=request.number, where=where, fault=fault))
                return None, encoding.error(400, str(refusal), refusal.where or None, "strict")
        return body, None

    def _next(self, request: Request) -> Reply:
        if callable(self._script):
            try:
                reply = self._script(request)
            except Exception as error:  # boundary: raised on leaving the block
                self._script_error = error
                body = encoding.error(500, f"the script raised {error!r}", None, "script")
                return Reply(body=body)
        elif self._position < len(self._script):
            reply = self._script[self._position]
            self._position += 1
        else:
            reply = self._final
        return text(reply) if isinstance(reply, str) else reply

    def _setting(self, request: Request, body: Body | None, shared: int) -> encoding.Setting:
        values = body.values if body else {}
        options = values.get("stream_options")
        return encoding.Setting(
            number=request.number,
            model=str(values.get("model", self.model)),
            streamed=values.get("stream") is True,
            wants_usage=isinstance(options, dict) and options.get("include_usage") is True,
            size=len(request.body),
            cached=shared,
            calls_before=self._calls,
        )


@contextmanager
def serving() -> Iterator[Callable[[ScriptedModel], ScriptedModel]]:
    """Start any number of models, and close and check all of them at the end.

    Made for a fixture:

        @pytest.fixture
        def serve() -> Iterator[Callable[[ScriptedModel], ScriptedModel]]:
            with serving() as start:
                yield start
    """
    with ExitStack() as stack:
        yield stack.enter_context
