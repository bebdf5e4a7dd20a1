"""Messages about models, their endpoints and their replies."""

from typing import Final

MESSAGES: Final = {
    "auth": "{host} refused the key (HTTP {status}): {said}",
    "auth_hint": "Check the key of this provider, and that it may use this model.",
    "no_key": "{host} wants a key and none is set (HTTP {status}): {said}",
    "no_key_hint": "Set model.api_key, or the provider's variable in .env.",
    "limited": "{host} asks to slow down (HTTP {status}): {said}",
    "limited_hint": "Wait, or choose another model.",
    "unpaid": "{host} wants payment first (HTTP {status}): {said}",
    "unpaid_hint": "Add credit to the account, or choose another model.",
    "overloaded": "{host} failed (HTTP {status}): {said}",
    "overloaded_hint": "The fault is on the server's side; try again later.",
    "refused": "{host} refused the request (HTTP {status}): {said}",
    "refused_hint": "Repeating it will not help; check the model's name and model.base_url.",
    "too_long": "The conversation does not fit the model's window, says {host}: {said}",
    "too_long_hint": "Start a new session, or choose a model with a larger window.",
    "redirect": "{url} redirects to {target} (HTTP {status}); the key was not sent there.",
    "redirect_hint": "Set model.base_url to the final address.",
    "error_event": "{host} broke the reply off with an error: {said}",
    "nothing_answers": "Nothing answers at {host} ({cause}).",
    "nothing_answers_hint": "Start the server, or correct model.base_url.",
    "no_name": "The name {host} cannot be resolved ({cause}).",
    "no_name_hint": "Check the network and model.base_url.",
    "no_tls": "No secure connection to {host} ({cause}).",
    "no_tls_hint": "Check model.base_url (http or https), and that this machine trusts the "
    "server's certificate.",
    "no_proxy": "The proxy for {host} does not work ({cause}).",
    "no_proxy_hint": "Check HTTPS_PROXY, HTTP_PROXY and ALL_PROXY, or name the host in NO_PROXY.",
    "broken": "The connection to {host} broke ({cause}).",
    "bad_address": "{url} is not an address that a model can be reached at.",
    "bad_address_hint": "Set model.base_url to an address like http://127.0.0.1:8080/v1",
    "stalled_connect": "No connection to {host} within {seconds:g} s (connect deadline).",
    "stalled_first_byte": "{host} sent nothing within {seconds:g} s (first-byte deadline).",
    "stalled_idle": "{host} fell silent for {seconds:g} s in mid-reply (idle deadline).",
    "stalled_hint": "Try again, or set a longer deadline.",
    "dropped": "The stream from {host} ended before the reply did. Nothing of it was run.",
    "not_protocol": "{host} answered something that is not a chat completion (HTTP {status}, "
    "{kind}): {said}",
    "not_protocol_hint": "Check model.base_url; most servers want it to end in /v1",
    "too_big": "{host} sent more than {limit} MiB in one piece; the reply was given up.",
    "said_nothing": "no reason given",
    "no_model": "No model is named for provider {provider}.",
    "no_model_hint": "Set model.default, or pass -m MODEL.",
    "no_base_url": "Provider {provider} has no address.",
    "no_base_url_hint": "Set model.base_url to the server's address, such as "
    "http://127.0.0.1:8080/v1",
    "unknown_provider": "There is no provider named {provider}.",
    "unknown_provider_near": "Did you mean {near}? Any OpenAI-compatible server works with "
    "provider custom and a base_url.",
    "unknown_provider_hint": "Any OpenAI-compatible server works with provider custom and a "
    "base_url.",
    "provider_key": "Provider {provider} needs a key and none is set.",
    "provider_key_hint": "Put {variables} into .env.",
    "bad_key": "The key for provider {provider} has a character that no key has.",
    "bad_key_hint": "Copy the key again; it is one line of ASCII letters, digits and signs.",
}
