"""Every command of the terminal, in the order that help shows them."""

import argparse
from collections.abc import Callable

from hermes.ports.command import CommandSpec

CLI = "hermes.surfaces.cli"


def run_options(parser: argparse.ArgumentParser) -> None:
    """Options of a run, shared by `hermes` and `hermes chat`; names are the reference's."""
    add = parser.add_argument
    add("-m", "--model", default="", metavar="MODEL")
    add("--provider", default="", metavar="NAME")
    add("-t", "--toolsets", default="", metavar="A,B")
    add("-r", "--resume", default="", metavar="ID")
    add("-c", "--continue", dest="continue_", nargs="?", const="", default=None, metavar="NAME")
    add("--max-turns", type=int, default=None, metavar="N")
    add("--yolo", action="store_true")
    add("--read-only", action="store_true")
    add("--accept-hooks", action="store_true")
    add("--safe-mode", action="store_true")
    add("--ignore-user-config", action="store_true")
    add("--no-restore-cwd", action="store_true")
    add("--usage-file", default="", metavar="FILE")
    add("--demo", action="store_true")


def _chat(parser: argparse.ArgumentParser) -> None:
    run_options(parser)
    parser.add_argument("-q", "--query", default=None, metavar="TEXT")


def _model(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("words", nargs="*", metavar="MODEL")
    parser.add_argument("--provider", default="", metavar="NAME")
    parser.add_argument("--base-url", default="", metavar="URL")


def _list(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--source", default="", metavar="SURFACE")
    parser.add_argument("--limit", type=int, default=20, metavar="N")
    parser.add_argument("--json", action="store_true")


def _as_json(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true")


def _session(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("session", metavar="ID")


def _export(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("output", nargs="?", default="-", metavar="FILE")
    parser.add_argument("--session-id", default="", metavar="ID")
    parser.add_argument("--format", choices=("jsonl", "md"), default="jsonl")
    parser.add_argument("--no-redact", action="store_true")


def _rename(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("session", metavar="ID")
    parser.add_argument("title", nargs="+", metavar="TITLE")


def _delete(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("session", metavar="ID")
    parser.add_argument("-y", "--yes", action="store_true")


def _get(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("key", nargs="?", default="", metavar="KEY")
    parser.add_argument("--json", action="store_true")


def _set(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("key", metavar="KEY")
    parser.add_argument("value", metavar="VALUE")


def _key(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("key", metavar="KEY")


def _call(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", nargs="?", default="", metavar="NAME")
    parser.add_argument("arguments", nargs="?", default="", metavar="JSON")
    parser.add_argument("--jsonl", action="store_true")
    parser.add_argument("--cwd", default="", metavar="DIR")
    parser.add_argument("--approve", choices=("none", "all"), default="none")


def _prompt_size(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true")


def _logs(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("log_name", nargs="?", choices=("agent", "errors"), default="agent")
    parser.add_argument("-n", "--lines", type=int, default=50, metavar="N")
    parser.add_argument("-f", "--follow", action="store_true")
    parser.add_argument("--level", default="", metavar="LEVEL")
    parser.add_argument("--session", default="", metavar="ID")


def _redact(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--mode", choices=("text", "file", "terminal", "log"), default="text")
    parser.add_argument("--command", default="", metavar="CMD")


def _completion(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", nargs="?", choices=("bash", "zsh", "fish"), default="bash")


def _checkpoints(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--all", action="store_true")
    _checkpoint_status(parser)


def _checkpoint_status(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--limit", type=int, default=20, metavar="N")
    parser.add_argument("--json", action="store_true")


def _checkpoint(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("number", type=int, metavar="N")
    parser.add_argument("--json", action="store_true")


def _checkpoint_diff(parser: argparse.ArgumentParser) -> None:
    _checkpoint(parser)
    parser.add_argument("path", nargs="?", default="", metavar="FILE")
    parser.add_argument("--no-redact", action="store_true")


def _restore(parser: argparse.ArgumentParser) -> None:
    _checkpoint(parser)
    parser.add_argument("paths", nargs="*", metavar="PATH")
    parser.add_argument("--only", action="store_true")
    parser.add_argument("--overwrite", action="store_true")
    parser.add_argument("--dry-run", action="store_true")


def _prune(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--keep-orphans", action="store_true")
    parser.add_argument("--dry-run", action="store_true")
    parser.add_argument("--json", action="store_true")


def _clear(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("-f", "--force", action="store_true")


def _hooks_list(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true")


def _hooks_test(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("event", metavar="EVENT")
    parser.add_argument("--for-tool", default="", metavar="TOOL")
    parser.add_argument("--payload-file", default="", metavar="FILE")


def _hook(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("hook", metavar="COMMAND")


def _trust(parser: argparse.ArgumentParser) -> None:
    which = parser.add_mutually_exclusive_group()
    which.add_argument("folder", nargs="?", default="", metavar="PATH")
    which.add_argument("--list", action="store_true")
    which.add_argument("--revoke", default="", metavar="PATH")
    parser.add_argument("--json", action="store_true")


def _rule(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("pattern", metavar="PATTERN")
    parser.add_argument("--tool", default="", metavar="TOOL")


def _new_rule(parser: argparse.ArgumentParser) -> None:
    _rule(parser)
    parser.add_argument("--argument", default="", metavar="NAME")
    parser.add_argument("--exact", action="store_true")


def _check(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("command", nargs="?", default=None, metavar="COMMAND")
    parser.add_argument("--tool", default="", metavar="TOOL")
    parser.add_argument("--jsonl", action="store_true")
    parser.add_argument("--json", action="store_true")


def _approval(
    name: str, run: str, arguments: Callable[[argparse.ArgumentParser], None]
) -> CommandSpec:
    return CommandSpec(
        name=name, help=f"cli.approvals_{name}", run=f"{CLI}.{run}", arguments=arguments
    )


def _verb(name: str, run: str, arguments: Callable[[argparse.ArgumentParser], None]) -> CommandSpec:
    return CommandSpec(
        name=name,
        help=f"cli.checkpoints_{name}",
        run=f"{CLI}.checkpoints:{run}",
        arguments=arguments,
    )


COMMANDS = (
    CommandSpec(name="chat", help="cli.chat", run=f"{CLI}.entry:chat", arguments=_chat),
    CommandSpec(
        name="model",
        help="cli.model",
        run=f"{CLI}.model:run",
        slash=f"{CLI}.slash:model",
        arguments=_model,
    ),
    CommandSpec(
        name="sessions",
        help="cli.sessions",
        run=f"{CLI}.sessions:list_",
        arguments=_list,
        children=(
            CommandSpec(
                name="list", help="cli.sessions_list", run=f"{CLI}.sessions:list_", arguments=_list
            ),
            CommandSpec(
                name="show",
                help="cli.sessions_show",
                run=f"{CLI}.sessions:show",
                arguments=_session,
            ),
            CommandSpec(
                name="export",
                help="cli.sessions_export",
                run=f"{CLI}.sessions:export",
                arguments=_export,
            ),
            CommandSpec(
                name="rename",
                help="cli.sessions_rename",
                run=f"{CLI}.sessions:rename",
                arguments=_rename,
            ),
            CommandSpec(
                name="delete",
                help="cli.sessions_delete",
                run=f"{CLI}.sessions:delete",
                arguments=_delete,
            ),
        ),
    ),
    CommandSpec(
        name="config",
        help="cli.config",
        run=f"{CLI}.config:show",
        children=(
            CommandSpec(name="show", help="cli.config_show", run=f"{CLI}.config:show"),
            CommandSpec(name="get", help="cli.config_get", run=f"{CLI}.config:get", arguments=_get),
            CommandSpec(
                name="set", help="cli.config_set", run=f"{CLI}.config:set_", arguments=_set
            ),
            CommandSpec(
                name="unset", help="cli.config_unset", run=f"{CLI}.config:unset", arguments=_key
            ),
            CommandSpec(name="path", help="cli.config_path", run=f"{CLI}.config:path"),
            CommandSpec(name="check", help="cli.config_check", run=f"{CLI}.config:check"),
            CommandSpec(
                name="explain",
                help="cli.config_explain",
                run=f"{CLI}.config:explain",
                arguments=_key,
            ),
        ),
    ),
    CommandSpec(
        name="checkpoints",
        help="cli.checkpoints",
        run=f"{CLI}.checkpoints:list_",
        arguments=_checkpoints,
        children=(
            _verb("list", "list_", _checkpoints),
            _verb("status", "status", _checkpoint_status),
            _verb("show", "show", _checkpoint),
            _verb("diff", "diff", _checkpoint_diff),
            _verb("restore", "restore", _restore),
            _verb("prune", "prune", _prune),
            _verb("clear", "clear", _clear),
        ),
    ),
    CommandSpec(
        name="approvals",
        help="cli.approvals",
        run=f"{CLI}.rules:list_",
        arguments=_as_json,
        children=(
            _approval("list", "rules:list_", _as_json),
            _approval("check", "approvals:check", _check),
            _approval("allow", "rules:allow", _new_rule),
            _approval("ask", "rules:ask", _new_rule),
            _approval("deny", "rules:deny", _new_rule),
            _approval("revoke", "rules:revoke", _rule),
        ),
    ),
    CommandSpec(
        name="tools",
        help="cli.tools",
        run=f"{CLI}.tools:list_",
        children=(
            CommandSpec(name="list", help="cli.tools_list", run=f"{CLI}.tools:list_"),
            CommandSpec(
                name="call", help="cli.tools_call", run=f"{CLI}.tools:call", arguments=_call
            ),
        ),
    ),
    CommandSpec(
        name="hooks",
        help="cli.hooks",
        run=f"{CLI}.hooks:list_",
        children=(
            CommandSpec(
                name="list",
                help="cli.hooks_list",
                run=f"{CLI}.hooks:list_",
                arguments=_hooks_list,
                aliases=("ls",),
            ),
            CommandSpec(
                name="test",
                help="cli.hooks_test",
                run=f"{CLI}.hooks:test",
                arguments=_hooks_test,
            ),
            CommandSpec(name="doctor", help="cli.hooks_doctor", run=f"{CLI}.hooks:doctor"),
            CommandSpec(
                name="allow", help="cli.hooks_allow", run=f"{CLI}.hooks:allow", arguments=_hook
            ),
            CommandSpec(
                name="revoke",
                help="cli.hooks_revoke",
                run=f"{CLI}.hooks:revoke",
                arguments=_hook,
                aliases=("remove", "rm"),
            ),
        ),
    ),
    CommandSpec(name="trust", help="cli.trust", run=f"{CLI}.trust:run", arguments=_trust),
    CommandSpec(
        name="sandbox",
        help="sandbox.about",
        run=f"{CLI}.sandbox:status",
        arguments=_as_json,
        children=(
            CommandSpec(
                name="status",
                help="sandbox.about_status",
                run=f"{CLI}.sandbox:status",
                arguments=_as_json,
            ),
            CommandSpec(
                name="explain",
                help="sandbox.about_explain",
                run=f"{CLI}.sandbox:explain_",
                arguments=_as_json,
            ),
            CommandSpec(
                name="test",
                help="sandbox.about_test",
                run=f"{CLI}.sandbox:test",
                arguments=_as_json,
            ),
        ),
    ),
    CommandSpec(
        name="prompt-size",
        help="cli.prompt_size",
        run=f"{CLI}.prompt_size:run",
        arguments=_prompt_size,
    ),
    CommandSpec(name="doctor", help="cli.doctor", run="hermes.ops.doctor:run"),
    CommandSpec(name="logs", help="cli.logs", run=f"{CLI}.logs:run", arguments=_logs),
    CommandSpec(name="redact", help="cli.redact", run=f"{CLI}.redact:run", arguments=_redact),
    CommandSpec(
        name="completion",
        help="cli.completion",
        run=f"{CLI}.completion:run",
        arguments=_completion,
    ),
    CommandSpec(name="help", help="cli.slash_help", slash=f"{CLI}.slash:help_"),
    CommandSpec(name="new", help="cli.slash_new", slash=f"{CLI}.slash:new"),
    CommandSpec(name="rollback", help="cli.slash_rollback", slash=f"{CLI}.rollback:rollback"),
    CommandSpec(name="usage", help="cli.slash_usage", slash=f"{CLI}.slash:usage"),
    CommandSpec(name="yolo", help="cli.slash_yolo", slash=f"{CLI}.slash:yolo"),
    CommandSpec(name="quit", help="cli.slash_quit", slash=f"{CLI}.slash:quit_", aliases=("exit",)),
)
