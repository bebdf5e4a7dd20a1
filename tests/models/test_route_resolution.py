"""From a choice to a route: nothing is guessed, and a key goes nowhere else."""

import pytest
from talking import route_to

from hermes.core.errors import UserError
from hermes.models.dialects.chat_completions import ChatCompletions
from hermes.models.resolve import ModelChoice, OwnProvider, resolve


def route(secrets=None, **choice):
    return resolve(ModelChoice(**{"model": "m", **choice}), secrets or {})


@pytest.mark.parametrize("provider", ["", "custom", "ollama", "vllm", "llama.cpp", "LlamaCPP"])
def test_every_name_for_a_server_of_ones_own_leads_to_its_address(provider):
    got = route(provider=provider, base_url="http://127.0.0.1:1/v1", context_length=9, max_tokens=3)
    assert (got.name, got.base_url, got.key) == ("custom/m", "http://127.0.0.1:1/v1", "")
    assert (got.window, got.max_output, got.price) == (9, 3, None)


def test_a_known_provider_brings_address_and_key():
    got = route({"OPENROUTER_API_KEY": "k"}, provider="or")
    assert (got.name, got.key) == ("openrouter/m", "k")
    assert got.base_url.startswith("https://openrouter.ai/")


def test_the_first_key_variable_that_is_set_counts():
    assert route({"ZAI_API_KEY": "b", "Z_AI_API_KEY": "c"}, provider="glm").key == "b"


def test_a_providers_key_is_not_sent_to_another_host():
    secrets = {"DEEPSEEK_API_KEY": "k"}
    assert route(secrets, provider="deepseek", base_url="http://evil.example/v1").key == ""
    assert route(secrets, provider="deepseek", base_url="https://api.deepseek.com/beta").key == "k"
    assert (
        route(secrets, provider="deepseek", base_url="http://a.example", key="mine").key == "mine"
    )


def test_a_users_own_provider_wins():
    own = {"openrouter": OwnProvider(base_url="http://10.0.0.1/v1", key_variable="MY_KEY")}
    got = route({"MY_KEY": "k"}, provider="openrouter", providers=own)
    assert (got.name, got.base_url, got.key) == ("openrouter/m", "http://10.0.0.1/v1", "k")
    assert route({}, provider="custom:openrouter", providers=own).name == "openrouter/m"


@pytest.mark.parametrize(
    ("choice", "words"),
    [
        ({"provider": "openruter"}, "openrouter"),
        ({"provider": "zzzzzz"}, "custom"),
        ({"provider": "custom"}, "base_url"),
        ({"base_url": "127.0.0.1:8080"}, "http://127.0.0.1:8080/v1"),
        ({"base_url": "http://"}, "http://127.0.0.1:8080/v1"),
        ({"base_url": "http://a.example", "model": " "}, "model.default"),
        ({"base_url": "http://a.example", "key": "k\nX: y"}, "one line"),
        ({"base_url": "http://a.example", "key": "schlüssel"}, "one line"),
        ({"provider": "deepseek"}, "DEEPSEEK_API_KEY"),
    ],
)
def test_a_choice_that_cannot_work_says_what_would(choice, words):
    with pytest.raises(UserError) as caught:
        route(**choice)
    assert words in (caught.value.hint or "")


@pytest.mark.parametrize(
    ("base_url", "url"),
    [
        ("http://h/v1", "http://h/v1/chat/completions"),
        ("http://h/v1/", "http://h/v1/chat/completions"),
        ("http://h/v1/chat/completions", "http://h/v1/chat/completions"),
        ("http://h/v1/chat/completions/", "http://h/v1/chat/completions"),
        ("http://h/v1?api-version=2", "http://h/v1/chat/completions?api-version=2"),
    ],
)
def test_an_address_is_completed_whatever_its_end(base_url, url):
    assert ChatCompletions().url(route_to(base_url)) == url


def test_a_key_never_shows_in_a_route():
    assert "topsecret" not in repr(route(base_url="http://a.example", key="topsecret"))
