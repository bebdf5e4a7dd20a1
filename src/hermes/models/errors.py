"""What went wrong with a model request, told truly: status codes, error payloads, dead sockets."""

import re
import socket
import ssl
from collections.abc import Iterator, Mapping
from email.utils import parsedate_to_datetime
from typing import Any, Final, Literal
from urllib.parse import urlsplit

import msgspec

from hermes.core.errors import (
    AuthFailed,
    BadReply,
    ContextTooLong,
    ModelError,
    Overloaded,
    RateLimited,
    Refused,
    Stalled,
    StreamDropped,
)
from hermes.core.text import clean
from hermes.ports.model import Route
from hermes.system.http_port import HttpFault
from hermes.system.i18n import t

Deadline = Literal["connect", "first_byte", "idle"]

EXCERPT: Final = 300
"""Characters of a foreign body that a message may quote."""

RETRY_SOON: Final = 2.0
RETRY_LIMITED: Final = 5.0
"""Seconds to wait where the server names none."""

# Patterns are compiled by `re` when a failure first needs them, not at every start.
_OVERFLOW: Final = (
    r"(?i)context[ _-]?(length|window|size)|maximum context|prompt is too long|input is too long"
    r"|too many (input )?tokens|reduce the length|exceeds? the (maximum|available|model)[^.]*tokens"
    r"|token limit|exceed_context|max_model_len|request too large|超过.{0,12}(长度|上下文)"
)
_SECRET: Final = (
    r"(?i)\b(?:(?:sk|pk|hf|gsk|nvapi|xai|key)[-_][\w-]{8,}|bearer\s+[\w.~+/-]{8,}|eyJ[\w.-]{20,})"
)
_CONTROL: Final = r"[\x00-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\s]+"
_TAG: Final = r"(?is)<(script|style)\b.*?</\1\s*>|<[^<>]*>"


def host_of(url: str) -> str:
    """The host and port of `url`, for messages."""
    return urlsplit(url).netloc.rpartition("@")[2] or url


def excerpt(body: str, key: str) -> str:
    """One clean line of a foreign text, without secrets and markup; never empty."""
    text = clean(body[: 20 * EXCERPT])
    if key:
        text = text.replace(key, "[key]")
    text = re.sub(_SECRET, "[key]", re.sub(_TAG, " ", text))
    line = re.sub(_CONTROL, " ", text).strip()
    return (line[: EXCERPT - 1] + "…" if len(line) > EXCERPT else line) or t("models.said_nothing")


def from_status(
    route: Route, url: str, status: int, headers: Mapping[str, str], body: bytes, *, full: bool
) -> ModelError:
    """The error that an HTTP answer other than 200 means.

    `full`: the request was near the model's window, where an unexplained 400 is an overflow.
    """
    if 300 <= status < 400:
        target = excerpt(headers.get("location", "?"), route.key)
        return BadReply(
            t("models.redirect", url=url, target=target, status=status),
            hint=t("models.redirect_hint"),
        )
    error = _json(body)
    fault = error.get("error", error) if isinstance(error, dict) else body.decode(errors="replace")
    return _error(
        route,
        status,
        excerpt(_message(fault), route.key),
        _labels(fault),
        retry_after=_retry_after(headers),
        full=full,
    )


def from_payload(route: Route, fault: object) -> ModelError:
    """The error that a payload in place of a reply means."""
    said = excerpt(_message(fault), route.key)
    labels = _labels(fault)
    status = next((int(label) for label in labels.split() if re.fullmatch(r"[45]\d\d", label)), 0)
    status = status or _status_of(labels)
    if status:
        return _error(route, status, said, labels, retry_after=None, full=False)
    if re.search(_OVERFLOW, f"{said} {labels}"):
        return _error(route, 400, said, labels, retry_after=None, full=False)
    return Overloaded(
        t("models.error_event", host=host_of(route.base_url), said=said), retry_after=RETRY_SOON
    )


def not_protocol(route: Route, status: int, kind: str, body: bytes) -> BadReply:
    """A body that is neither a stream of events nor JSON."""
    said = excerpt(body.decode(errors="replace"), route.key)
    kind = excerpt(kind or "no content type", route.key)
    return BadReply(
        t("models.not_protocol", host=host_of(route.base_url), status=status, kind=kind, said=said),
        hint=t("models.not_protocol_hint"),
    )


def too_big(route: Route, limit: int) -> BadReply:
    """One piece of a reply passed `limit` bytes."""
    return BadReply(t("models.too_big", host=host_of(route.base_url), limit=limit // 1024**2))


def stalled(route: Route, deadline: Deadline, seconds: float) -> Stalled:
    """A deadline passed."""
    host = host_of(route.base_url)
    return Stalled(
        t(f"models.stalled_{deadline}", host=host, seconds=seconds),
        hint=t("models.stalled_hint"),
        retry_after=0.0,
    )


def dropped(route: Route) -> StreamDropped:
    """The stream ended, the reply did not."""
    return StreamDropped(t("models.dropped", host=host_of(route.base_url)), retry_after=0.0)


def from_transport(route: Route, error: HttpFault, *, replying: bool) -> ModelError:
    """The error that a failed connection means; `replying` once the reply had begun."""
    host = host_of(route.base_url)
    causes = tuple(_causes(error))
    cause = _plain(causes)
    if error.stage == "proxy":
        return Overloaded(
            t("models.no_proxy", host=host, cause=cause),
            hint=t("models.no_proxy_hint"),
            retry_after=RETRY_SOON,
        )
    if error.stage == "address":
        return ModelError(
            t("models.bad_address", url=route.base_url), hint=t("models.bad_address_hint")
        )
    if any(isinstance(c, ssl.SSLError) for c in causes) and not replying:
        return ModelError(t("models.no_tls", host=host, cause=cause), hint=t("models.no_tls_hint"))
    if any(isinstance(c, socket.gaierror) for c in causes):
        name = "no_name"
    elif error.stage == "connect":
        name = "nothing_answers"
    elif replying:
        return dropped(route)
    else:
        return Overloaded(t("models.broken", host=host, cause=cause), retry_after=RETRY_SOON)
    return Overloaded(
        t(f"models.{name}", host=host, cause=cause),
        hint=t(f"models.{name}_hint"),
        retry_after=RETRY_SOON,
    )


def _error(
    route: Route, status: int, said: str, labels: str, *, retry_after: float | None, full: bool
) -> ModelError:
    values = {"host": host_of(route.base_url), "status": status, "said": said}
    client_fault = status in (400, 413, 422, 500)
    if status == 413 or (client_fault and re.search(_OVERFLOW, f"{said} {labels}")):
        return ContextTooLong(t("models.too_long", **values), hint=t("models.too_long_hint"))
    match status:
        case 401 | 403 if not route.key:
            return AuthFailed(t("models.no_key", **values), hint=t("models.no_key_hint"))
        case 401 | 403:
            return AuthFailed(t("models.auth", **values), hint=t("models.auth_hint"))
        case 402:
            return RateLimited(
                t("models.unpaid", **values), hint=t("models.unpaid_hint"), retry_after=retry_after
            )
        case 429:
            return RateLimited(
                t("models.limited", **values),
                hint=t("models.limited_hint"),
                retry_after=RETRY_LIMITED if retry_after is None else retry_after,
            )
        case 408 | 409 | 425:
            pass
        case _ if status < 500 and full and status == 400:
            return ContextTooLong(t("models.too_long", **values), hint=t("models.too_long_hint"))
        case _ if status < 500:
            return Refused(t("models.refused", **values), hint=t("models.refused_hint"))
    return Overloaded(
        t("models.overloaded", **values),
        hint=t("models.overloaded_hint"),
        retry_after=RETRY_SOON if retry_after is None else retry_after,
    )


def _json(body: bytes) -> Any:
    try:
        return msgspec.json.decode(body)
    except (msgspec.DecodeError, RecursionError):
        return None


def _message(fault: object) -> str:
    """The words in an error object, however it is built."""
    match fault:
        case str():
            return fault
        case {"message": str(message)} if message:
            return message
        case {"detail": inner} | {"error": inner} | {"msg": inner}:
            return _message(inner)
        case [first, *_]:
            return _message(first)
        case dict() if fault:
            return msgspec.json.encode(fault).decode()
        case _:
            return ""


def _labels(fault: object) -> str:
    if not isinstance(fault, dict):
        return ""
    return " ".join(str(fault[k]) for k in ("code", "type", "status") if fault.get(k) is not None)


def _status_of(labels: str) -> int:
    label = labels.lower()
    for words, status in (
        (("rate_limit", "ratelimit", "resource_exhausted", "too_many_requests"), 429),
        (("insufficient_quota", "billing", "payment"), 402),
        (("authentication", "permission", "unauthorized", "invalid_api_key"), 401),
        (("overloaded", "server_error", "unavailable", "timeout"), 503),
        (("invalid_request", "invalid_argument", "not_found", "badrequest", "bad_request"), 400),
    ):
        if any(word in label for word in words):
            return status
    return 0


def _retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds from `Retry-After`; a date is measured from the server's own `Date`."""
    value = headers.get("retry-after", "").strip()
    if re.fullmatch(r"\d{1,7}(\.\d*)?", value):
        return float(value)
    try:
        until = parsedate_to_datetime(value)
        return max(0.0, (until - parsedate_to_datetime(headers.get("date", ""))).total_seconds())
    except (ValueError, TypeError):
        return None


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    for _ in range(10):
        if error is None:
            return
        yield error
        if isinstance(error, BaseExceptionGroup):
            yield from error.exceptions
        error = error.__cause__ or error.__context__


def _plain(causes: tuple[BaseException, ...]) -> str:
    for cause in causes:
        match cause:
            case ConnectionRefusedError():
                return "connection refused"
            case ConnectionResetError():
                return "connection reset"
            case socket.gaierror():
                return "no such host" if cause.errno == socket.EAI_NONAME else str(cause.strerror)
            case ssl.SSLCertVerificationError():
                return f"certificate not trusted: {cause.verify_message}"
            case ssl.SSLError():
                return (cause.reason or "TLS error").replace("_", " ").lower()
    return excerpt(str(causes[0]), "")
