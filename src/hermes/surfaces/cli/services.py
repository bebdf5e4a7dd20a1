"""What the command line needs from the composition root, and nothing else."""

from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from hermes.core.clock import Clock
from hermes.core.prompt import PromptSection
from hermes.core.transcript import ToolSchema
from hermes.ports.guard import Verdict
from hermes.ports.model import Route
from hermes.ports.session import SessionHost
from hermes.ports.store import SessionStore
from hermes.ports.tool import ToolSpec
from hermes.ports.trust import FolderTrust
from hermes.ports.undo import CheckpointHistory
from hermes.system.config.load import Config
from hermes.system.env import Environment
from hermes.system.paths import Home

if TYPE_CHECKING:
    # Each shape costs a start 1 ms, and few runs look at hooks.
    from hermes.ports.hook_book import HookBook
    from hermes.terminals.sandbox.sandboxes import Sandboxes


@dataclass(frozen=True, slots=True, kw_only=True)
class RunChoice:
    """What the options of this run say; None and empty mean: as configured.

    `read_only` offers no tool that writes. `demo` allows the built-in demo model when nothing else
    is configured.
    """

    surface: str
    model: str = ""
    provider: str = ""
    toolsets: tuple[str, ...] = ()
    yolo: bool = False
    read_only: bool = False
    max_turns: int | None = None
    demo: bool = False
    accept_hooks: bool = False


class DirectCalls(Protocol):
    """Tool calls without a model, through the same dispatcher, in one session."""

    async def call(self, tool: str, arguments: Mapping[str, Any]) -> str:
        """The very JSON string that a model would receive."""
        ...


class Services(Protocol):
    """The program as seen from its command line."""

    @property
    def env(self) -> Environment: ...

    @property
    def home(self) -> Home: ...

    @property
    def clock(self) -> Clock: ...

    def config(self) -> Config:
        """The configuration; raises ConfigError."""
        ...

    def reload(self) -> None:
        """Read the configuration again when it is next asked for; it was just written."""
        ...

    def redact(self, text: str) -> str:
        """`text` without secrets."""
        ...

    def route(self, choice: RunChoice) -> Route | None:
        """The model that `choice` would use; None if nothing is configured.

        Raises UserError, ConfigError.
        """
        ...

    def store(self) -> AbstractAsyncContextManager[SessionStore]:
        """The conversations of this home; raises StoreError."""
        ...

    def host(self, choice: RunChoice) -> AbstractAsyncContextManager[SessionHost]:
        """Opens sessions with the model and tools of `choice`."""
        ...

    def direct(self, *, cwd: str, approve: bool) -> AbstractAsyncContextManager[DirectCalls]:
        """For `hermes tools call`; `approve` answers every question with yes, else with no."""
        ...

    def prompt(self, choice: RunChoice) -> tuple[tuple[PromptSection, ...], tuple[ToolSchema, ...]]:
        """The system prompt in sections and the tools, as a new session would get them now."""
        ...

    def checkpoints(self) -> AbstractAsyncContextManager[CheckpointHistory]:
        """What files held before tools changed them."""
        ...

    def sandboxes(self) -> "AbstractAsyncContextManager[Sandboxes]":
        """What commands run in, as it is set; raises ConfigError."""
        ...

    def hooks(self) -> "AbstractAsyncContextManager[HookBook]":
        """The shell hooks that are configured; raises ConfigError."""
        ...

    def trust(self) -> FolderTrust:
        """Which folders may bring things of their own."""
        ...

    async def judge(self, tool: str, arguments: Mapping[str, Any], *, cwd: str) -> Verdict:
        """What would become of this call if a person were there to be asked; nothing is run."""
        ...

    def tools(self) -> tuple[ToolSpec, ...]:
        """Every tool there is, by name."""
        ...

    def default_route(self, changes: Mapping[str, str]) -> Route | None:
        """The model that `changes` of config keys, in front of all else, would make the default.

        Raises UserError, ConfigError.
        """
        ...

    async def probe(self, route: Route) -> None:
        """Ask the endpoint of `route` for its list of models, or look for its file.

        Takes 5 seconds at most; raises ModelError, UserError.
        """
        ...

    def demo_model(self) -> Path | None:
        """The demo model's file, if it is there and whole."""
        ...

    async def install_demo(self) -> Path:
        """Fetch the demo model unless it is there; progress goes to stderr. Raises HermesError."""
        ...
