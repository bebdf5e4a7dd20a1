"""Every error a room may raise, and what each means to its reader.

`message` says what happened and what was not changed; `hint` says the one thing that works.
Both come from the message catalogue. Cancellation is never an error.
"""


class HermesError(Exception):
    """The root of all expected failures.

    `retry_after` is seconds until a retry makes sense, or None if a retry alone is useless.
    """

    def __init__(
        self, message: str, *, hint: str | None = None, retry_after: float | None = None
    ) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.retry_after = retry_after

    def __str__(self) -> str:
        if not self.hint:
            return self.message
        end = "" if self.message.endswith((".", "!", "?", ":")) else "."
        return f"{self.message}{end} {self.hint}"


class UserError(HermesError):
    """A wrong request; shown without a traceback."""


class ConfigError(HermesError):
    """A configuration file that cannot be used as it stands; names file and line."""


class ModelError(HermesError):
    """A model request that gave no usable reply."""


class RateLimited(ModelError):
    """The provider asked to slow down (HTTP 429)."""


class Overloaded(ModelError):
    """The provider failed for a reason of its own (HTTP 5xx, refused connection)."""


class Stalled(ModelError):
    """A first-byte, idle or whole-turn deadline passed."""


class StreamDropped(ModelError):
    """The stream ended before its end marker."""


class ContextTooLong(ModelError):
    """The request does not fit the model's window."""


class AuthFailed(ModelError):
    """The key was refused (HTTP 401, 403)."""


class Refused(ModelError):
    """The provider refuses this request as it stands (HTTP 400, 404, 422)."""


class BadReply(ModelError):
    """The endpoint answered something that is not the protocol."""


class BudgetSpent(HermesError):
    """A money limit would be passed by the next call."""


class ToolError(HermesError):
    """A call that failed; becomes a result, never ends a turn."""


class StoreError(HermesError):
    """The store could not do what was asked; nothing was changed."""


class LeaseLost(StoreError):
    """Another process owns the session now."""


class SessionBusy(StoreError):
    """Another live process holds the session."""


class Corrupt(StoreError):
    """The database file is damaged; writing has stopped."""


class SchemaTooNew(StoreError):
    """The database was made by a newer version and was not touched."""


class NoSpace(StoreError):
    """The disk is full."""


class Bug(HermesError):
    """A broken invariant of our own; always logged with its traceback."""
