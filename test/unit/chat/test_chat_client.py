"""The client of OpenAI-compatible servers, against a real server that misbehaves on request."""

import gc
import socket
import warnings
from collections.abc import Iterator

import pytest
from model_server import ModelServer, break_off, drip, hang, running_server, say, send

from vlkng_ros.chat.client import MAX_REPLY_BYTES, ChatClient, Reply
from vlkng_ros.errors import ModelError, ModelNotFoundError, ModelOutputError, ModelUnavailableError

HELLO = [{"role": "user", "content": "hello"}]
KEY = "sk-secret-1234"


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with running_server() as running:
        yield running


@pytest.fixture
def pauses() -> list[float]:
    return []


@pytest.fixture
def client(server: ModelServer, pauses: list[float]) -> Iterator[ChatClient]:
    with ChatClient(server.url, "tiny", sleep=pauses.append) as client:
        yield client


def ask(client: ChatClient, timeout_s: float = 30.0, schema: dict[str, object] | None = None) -> Reply:
    return client.complete(HELLO, timeout_s=timeout_s, temperature=0.1, max_tokens=7, schema=schema)


def test_a_reply_comes_back_and_the_request_is_what_servers_expect(server: ModelServer, client: ChatClient) -> None:
    server.will(say("hi"))
    assert ask(client, schema={"type": "object"}) == Reply("hi", cut_off=False)
    assert server.requests == [
        {
            "model": "tiny",
            "messages": HELLO,
            "temperature": 0.1,
            "max_tokens": 7,
            "response_format": {
                "type": "json_schema",
                "json_schema": {"name": "reply", "schema": {"type": "object"}},
            },
        }
    ]


def test_a_reply_at_the_token_limit_says_so(server: ModelServer, client: ChatClient) -> None:
    server.will(say("h", finish_reason="length"))
    assert ask(client) == Reply("h", cut_off=True)


@pytest.mark.parametrize("status", [429, 500, 502, 503])
def test_a_passing_failure_is_tried_again_with_growing_pauses(
    server: ModelServer, client: ChatClient, pauses: list[float], status: int
) -> None:
    server.will(send(status), send(status), break_off, say("hi"))
    assert ask(client).text == "hi"
    assert pauses == [0.5, 1.0, 2.0]


def test_the_server_may_say_how_long_to_wait(server: ModelServer, client: ChatClient, pauses: list[float]) -> None:
    server.will(send(429, retry_after="3"), send(429, retry_after="Wed, 21 Oct 2026 07:28:00 GMT"), say("hi"))
    assert ask(client).text == "hi"
    assert pauses == [3.0, 1.0]


def test_a_pause_beyond_the_time_out_is_not_waited_for(
    server: ModelServer, client: ChatClient, pauses: list[float]
) -> None:
    server.will(send(429, "slow down", retry_after="3600"))
    with pytest.raises(ModelUnavailableError, match=r"status 429: slow down \(1 tries\)"):
        ask(client)
    assert pauses == []


def test_a_failure_that_stays_is_for_later(server: ModelServer, client: ChatClient) -> None:
    server.will(send(500, "out of order"))
    with pytest.raises(ModelUnavailableError, match=r"status 500: out of order \(4 tries\)"):
        ask(client)
    assert len(server.requests) == 4


@pytest.mark.parametrize("act", [hang, drip])
def test_a_server_that_is_too_slow_is_given_up_at_the_time_out(server: ModelServer, client: ChatClient, act) -> None:
    server.will(act)
    with pytest.raises(ModelUnavailableError, match="in time"):
        ask(client, timeout_s=0.3)


def test_a_server_that_is_not_there_is_for_later(pauses: list[float]) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{unused.getsockname()[1]}/v1"
        client = ChatClient(url, "tiny", sleep=pauses.append)
        with pytest.raises(ModelUnavailableError, match=rf"{url}: cannot be reached, is it running there. .*refused"):
            ask(client)
        client.close()
    assert len(pauses) == 3


def test_a_server_without_schemas_is_asked_without_from_then_on(server: ModelServer, client: ChatClient) -> None:
    server.will(send(400, "unknown field response_format"), say("one"), say("two"))
    assert ask(client, schema={"type": "object"}).text == "one"
    assert ask(client, schema={"type": "object"}).text == "two"
    assert ["response_format" in request for request in server.requests] == [True, False, False]


@pytest.mark.parametrize(
    ("status", "body", "error", "reason"),
    [
        (400, '{"error": "too many images"}', ModelError, "refuses the request with status 400: .*too many images"),
        (404, '{"error": "nope"}', ModelNotFoundError, "has no model 'tiny', or no such path"),
        (302, "", ModelError, "refuses the request with status 302"),
        (200, "<html>", ModelOutputError, "sent no chat completion: <html>"),
        (200, "[" * 100_000, ModelOutputError, "sent no chat completion"),
        (200, '{"choices": []}', ModelOutputError, "sent no chat completion"),
        (200, '{"choices": [{"message": {"content": null}}]}', ModelOutputError, "a completion without text"),
        (200, " " * (MAX_REPLY_BYTES + 1), ModelOutputError, "a reply of over"),
    ],
)
def test_what_trying_again_does_not_help_is_said_at_once(
    server: ModelServer, client: ChatClient, status: int, body: str, error: type[ModelError], reason: str
) -> None:
    server.will(send(status, body))
    with pytest.raises(error, match=reason):
        ask(client)
    assert len(server.requests) == 1


def test_the_key_is_sent_and_never_said(server: ModelServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("THE_KEY", KEY)
    client = ChatClient(server.url, "tiny", api_key_env="THE_KEY", attempts=1)
    server.will(say("hi"), send(401, f"wrong key {KEY}"), send(500, f"wrong key {KEY}"), send(400, f"key {KEY}"))
    assert ask(client).text == "hi"
    assert server.headers[0]["Authorization"] == f"Bearer {KEY}"
    for _ in range(3):
        with pytest.raises(ModelError) as raised:
            ask(client)
        assert KEY not in str(raised.value)
    assert "key ***" in str(raised.value)
    assert KEY not in repr(client)
    client.close()


def test_a_missing_key_is_named_by_its_variable(server: ModelServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("THE_KEY", raising=False)
    client = ChatClient(server.url, "tiny", api_key_env="THE_KEY")
    server.will(send(401))
    with pytest.raises(ModelError, match=r"refuses the API key \(status 401\); set THE_KEY"):
        ask(client)
    assert "Authorization" not in server.headers[0]
    client.close()


@pytest.mark.parametrize("url", ["", "localhost:8000", "ftp://host/v1", "http://", "/v1"])
def test_an_address_that_is_none_is_refused(url: str) -> None:
    with pytest.raises(ModelError, match="URL"):
        ChatClient(url, "tiny")


def test_a_server_lists_its_models(server: ModelServer, client: ChatClient) -> None:
    server.models = ("tiny", "large")
    assert client.models(5.0) == ["tiny", "large"]


def test_a_proxy_is_not_asked_for_this_machine(server: ModelServer, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.delenv("NO_PROXY", raising=False)
    server.will(say("hi"))
    client = ChatClient(server.url, "tiny", attempts=1)
    assert ask(client).text == "hi"
    client.close()


@pytest.mark.parametrize("closed", [True, False])
def test_no_connection_is_left_open(server: ModelServer, closed: bool) -> None:
    server.will(say("hi"))
    client = ChatClient(server.url, "tiny", attempts=1)
    assert ask(client).text == "hi"
    if closed:
        client.close()
        client.close()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        del client
        gc.collect()
    assert [str(warning.message) for warning in caught if warning.category is ResourceWarning] == []
