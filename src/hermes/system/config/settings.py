"""The root of the configuration."""

from collections.abc import Mapping

from msgspec import Struct, field

from hermes.system.config.sections import (
    AgentSection,
    ApprovalsSection,
    BudgetSection,
    CheckpointsSection,
    CodeExecutionSection,
    DisplaySection,
    HooksSection,
    LoggingSection,
    LspSection,
    ModelSection,
    PermissionSection,
    Positive,
    ProviderSection,
    RequestSection,
    SecuritySection,
    StoreSection,
    TerminalSection,
    ToolOutputSection,
)


class Settings(Struct, frozen=True, kw_only=True):
    """Everything that can be set. A room is handed its section, not the whole.

    Of `permissions`, the last rule that matches decides. `command_allowlist` has commands that run
    without a question: as they are written, globs, or names of families.
    `context_file_max_chars` None scales with the model's window. `timezone` is an IANA name, empty
    for the machine's own.
    """

    model: ModelSection = field(default_factory=ModelSection)
    providers: Mapping[str, ProviderSection] = field(default_factory=dict)
    agent: AgentSection = field(default_factory=AgentSection)
    terminal: TerminalSection = field(default_factory=TerminalSection)
    code_execution: CodeExecutionSection = field(default_factory=CodeExecutionSection)
    approvals: ApprovalsSection = field(default_factory=ApprovalsSection)
    permissions: tuple[PermissionSection, ...] = ()
    command_allowlist: tuple[str, ...] = ()
    security: SecuritySection = field(default_factory=SecuritySection)
    tool_output: ToolOutputSection = field(default_factory=ToolOutputSection)
    checkpoints: CheckpointsSection = field(default_factory=CheckpointsSection)
    lsp: LspSection = field(default_factory=LspSection)
    hooks: HooksSection = field(default_factory=HooksSection)
    hooks_auto_accept: bool = False
    display: DisplaySection = field(default_factory=DisplaySection)
    logging: LoggingSection = field(default_factory=LoggingSection)
    store: StoreSection = field(default_factory=StoreSection)
    budget: BudgetSection = field(default_factory=BudgetSection)
    request: RequestSection = field(default_factory=RequestSection)
    timezone: str = ""
    file_read_max_chars: Positive = 100_000
    context_file_max_chars: Positive | None = None
