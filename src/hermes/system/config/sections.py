"""The sections of `config.yaml` that Hermes serves; names and defaults are the reference's.

Every field has a default, so that an empty file is a configuration. A key that is not here is
either known and not served yet, or unknown: both are kept in the file and reported.
"""

from collections.abc import Mapping
from typing import Annotated, Literal

from msgspec import Meta, Struct, field

from hermes.core.usage import Price

Count = Annotated[int, Meta(ge=0)]
Positive = Annotated[int, Meta(ge=1)]
Seconds = Annotated[float, Meta(gt=0)]
Wait = Annotated[float, Meta(ge=0)]
Dollars = Annotated[float, Meta(ge=0)]


class PriceSection(Struct, frozen=True, kw_only=True):
    """US dollars for a million tokens. `cached` is for cached input, None: as fresh input."""

    input: Dollars | None = None
    output: Dollars | None = None
    cached: Dollars | None = None

    def price(self) -> Price | None:
        """The price, or None unless both input and output are given."""
        if self.input is None or self.output is None:
            return None
        return Price(input=self.input, output=self.output, cached=self.cached)


class LocalModelSection(Struct, frozen=True, kw_only=True):
    """The embedded model: a GGUF file, its window in tokens, threads (0: by cores), and the
    seconds after which an unused server ends."""

    path: str = ""
    context: Positive | None = None
    threads: Count = 0
    idle_seconds: Seconds = 900.0


class ModelSection(Struct, frozen=True, kw_only=True):
    """The main model: `default` is its id. `api_mode` is the wire dialect, empty: by provider."""

    default: str = ""
    provider: str = ""
    base_url: str = ""
    api_key: str = ""
    api_mode: str = ""
    context_length: Positive | None = None
    max_tokens: Positive | None = None
    local: LocalModelSection = field(default_factory=LocalModelSection)
    price: PriceSection = field(default_factory=PriceSection)


class ProviderModelSection(Struct, frozen=True, kw_only=True):
    """What is special about one model of a provider."""

    context_length: Positive | None = None
    max_tokens: Positive | None = None
    price: PriceSection = field(default_factory=PriceSection)


class ProviderSection(Struct, frozen=True, kw_only=True):
    """An endpoint of one's own. The key is `api_key`, or the value of the variable `key_env`."""

    base_url: str = ""
    api_key: str = ""
    key_env: str = ""
    api_mode: str = ""
    models: Mapping[str, ProviderModelSection] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    context_length: Positive | None = None
    price: PriceSection = field(default_factory=PriceSection)


class AgentSection(Struct, frozen=True, kw_only=True):
    """The turn. `max_turns` counts model calls in one turn; None is the surface's own default."""

    max_turns: Positive | Literal["unlimited"] | None = None
    run_budget_seconds: Seconds | None = None
    api_max_retries: Count = 3
    local_stream_stale_timeout: Seconds = 900.0


class LocalTerminalSection(Struct, frozen=True, kw_only=True):
    """What commands of this machine may reach. `expose` names stores and sockets that are open to
    them; `network_allow` has the hosts of `allow-list`: `host`, `*.domain`, or either with `:port`.
    """

    sandbox: Literal["protect", "workspace-write", "read-only", "off"] = "protect"
    network: Literal["open", "none", "allow-list"] = "open"
    network_allow: tuple[str, ...] = ()
    expose: tuple[str, ...] = ()


class TerminalSection(Struct, frozen=True, kw_only=True):
    """Where and how long commands run; `cwd` "." is the folder Hermes was started in.

    A session's shell reads `shell_init_files`; with `auto_source_bashrc` it reads the person's
    profile before that, unless Hermes was started from a shell, which has read it already.
    """

    cwd: str = "."
    timeout: Seconds = 180.0
    env_passthrough: tuple[str, ...] = ()
    shell_init_files: tuple[str, ...] = ()
    auto_source_bashrc: bool = True
    local: LocalTerminalSection = field(default_factory=LocalTerminalSection)


class CodeExecutionSection(Struct, frozen=True, kw_only=True):
    """Where `execute_code` runs (`project`: the session's folder and Python; `strict`: a folder of
    its own and Hermes's Python), how long, and how many kernels there are."""

    mode: Literal["project", "strict"] = "project"
    timeout: Seconds = 300.0
    max_tool_calls: Positive = 50
    kernel_idle_timeout: Seconds = 1_800.0
    max_session_kernels: Positive = 4


class ApprovalsSection(Struct, frozen=True, kw_only=True):
    """Who decides about a flagged call; silence for `timeout` seconds denies it.

    `smart` asks a model before the person; `smart_policy` tells it what the owner wants. The
    `*_mode` keys say what becomes of a flagged call where nobody can be asked. `deny` are globs of
    commands that nobody may run, whatever else is set. After `denial_breaker_threshold` refusals in
    a row nothing more is asked in that turn (0: never). `read_only` offers no tool that writes.
    `scanner` auto uses Tirith where it is installed.
    """

    mode: Literal["smart", "manual", "off"] = "smart"
    timeout: Seconds = 300.0
    deny: tuple[str, ...] = ()
    smart_policy: str = ""
    cron_mode: Literal["deny", "approve"] = "deny"
    single_query_mode: Literal["deny", "approve"] = "deny"
    unattended_mode: Literal["deny", "approve"] = "deny"
    denial_breaker_threshold: Count = 3
    read_only: bool = False
    scanner: Literal["auto", "off"] = "auto"


class PermissionSection(Struct, frozen=True, kw_only=True):
    """One rule: calls of the tools that the glob `tool` names, about what the glob `match` is for:
    the command, the path, or the argument named `argument`. Empty: all of them."""

    tool: str = ""
    match: str = ""
    argument: str = ""
    decision: Literal["ask", "allow", "deny"] = "ask"


class SecuritySection(Struct, frozen=True, kw_only=True):
    """Secrets in output and logs, and the files that instruct the agent."""

    redact_secrets: bool = True
    allow_private_urls: bool = False
    protected_instruction_files: bool = True
    protected_instruction_extra_patterns: tuple[str, ...] = ()


class HookSection(Struct, frozen=True, kw_only=True):
    """A program that is run at an event: `command` without a shell, for tools whose whole name
    matches `matcher`, for `timeout` seconds at most (300 is the most). `fail_closed` says what its
    failure means for a call; None: denied if the event is one that may deny."""

    command: str = ""
    matcher: str = ""
    timeout: Annotated[float, Meta(ge=1)] = 60.0
    fail_closed: bool | None = None
    failClosed: bool | None = None


class HooksSection(Struct, frozen=True, kw_only=True):
    """The hooks of each event that Hermes fires; names are the reference's."""

    pre_tool_call: tuple[HookSection, ...] = ()
    post_tool_call: tuple[HookSection, ...] = ()
    pre_llm_call: tuple[HookSection, ...] = ()
    post_llm_call: tuple[HookSection, ...] = ()
    on_session_start: tuple[HookSection, ...] = ()
    on_session_end: tuple[HookSection, ...] = ()
    on_session_finalize: tuple[HookSection, ...] = ()


class ToolOutputSection(Struct, frozen=True, kw_only=True):
    """How much of a tool's output a model reads."""

    max_bytes: Positive = 50_000
    max_lines: Positive = 2_000
    max_line_length: Positive = 2_000


class LspServerSection(Struct, frozen=True, kw_only=True):
    """A language server of one's own: its program on PATH with arguments, the suffixes it serves,
    and the files that mark a project's root. `language_id` is the protocol's, empty: its name."""

    command: tuple[str, ...] = ()
    extensions: tuple[str, ...] = ()
    language_id: str = ""
    markers: tuple[str, ...] = ()
    disabled: bool = False


class CheckpointsSection(Struct, frozen=True, kw_only=True):
    """What is kept of files before tools change them. Sizes in MiB, per workspace
    `max_snapshots`."""

    enabled: bool = True
    max_snapshots: Annotated[int, Meta(ge=1)] = 20
    max_total_size_mb: Annotated[int, Meta(ge=1)] = 500
    max_file_size_mb: Annotated[int, Meta(ge=1)] = 10
    retention_days: Annotated[int, Meta(ge=1)] = 7
    auto_prune: bool = True
    min_interval_hours: Annotated[int, Meta(ge=0)] = 24


class LspSection(Struct, frozen=True, kw_only=True):
    """Language servers after an edit. `wait_mode` full also tells of other files. An empty
    `trusted_workspaces` trusts the session's own; `broken_retry_seconds` 0 is 30, then doubled."""

    enabled: bool = True
    wait_mode: Literal["document", "full"] = "document"
    wait_timeout: Seconds = 5.0
    warmup_timeout: Wait = 0.0
    broken_retry_seconds: Wait = 0.0
    exclude_roots: tuple[str, ...] = ()
    trusted_workspaces: tuple[str, ...] = ()
    idle_timeout: Seconds = 600.0
    servers: Mapping[str, LspServerSection] = field(default_factory=dict)


class DisplaySection(Struct, frozen=True, kw_only=True):
    """What a terminal shows. The reference streams in its gateway only; here the chat does."""

    show_reasoning: bool = True
    streaming: bool = True
    show_cost: bool = False
    language: str = "en"
    busy_input_mode: Literal["interrupt", "queue", "steer"] = "interrupt"


class LoggingSection(Struct, frozen=True, kw_only=True):
    """The log files: each is rotated at `max_size_mb`, and `backup_count` old ones are kept."""

    level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = "INFO"
    max_size_mb: Positive = 5
    backup_count: Count = 3


class StoreSection(Struct, frozen=True, kw_only=True):
    """`normal` survives the death of the process, `full` also the loss of power."""

    durability: Literal["normal", "full"] = "normal"


class SpendSection(Struct, frozen=True, kw_only=True):
    """The most that one turn, session or day may cost, in US dollars; None is no limit."""

    turn: Dollars | None = None
    session: Dollars | None = None
    day: Dollars | None = None


class BudgetSection(Struct, frozen=True, kw_only=True):
    """Money. `unpriced` says what a limit does to a model whose price is unknown."""

    usd: SpendSection = field(default_factory=SpendSection)
    unpriced: Literal["stop", "allow"] = "stop"


class RequestSection(Struct, frozen=True, kw_only=True):
    """Seconds to wait for a model: its first byte, its next one, and the whole turn."""

    first_byte_timeout: Seconds = 120.0
    idle_timeout: Seconds = 120.0
    turn_timeout: Seconds | None = None
