"""The line chat on a real terminal."""

import os
import signal
import time
from pathlib import Path

import pytest

from hermes.sdk.testing import replies
from hermes.sdk.testing.model_server import ScriptedModel
from program import Program
from terminal import CTRL_C, CTRL_D, chat

SHELL = ("terminal", {"command": "echo ran > ran"})
ASKED = "permissions: [{tool: terminal, decision: ask}]\n"


def test_an_answer_stands_below_the_prompt_and_a_blank_line_follows(program: Program) -> None:
    with ScriptedModel([replies.text("one two\n\nthree\n\n", chunks=5), "again"]) as model:
        program.configure(model.base_url)
        with chat(program) as terminal:
            assert terminal.lines[0].startswith("custom/scripted · ")
            assert terminal.lines[1:] == ["", ">"]
            terminal.say("first")
            terminal.prompt(2)
            assert terminal.block("> first") == ["> first", "one two", "", "three", ""]
            terminal.say("second")
            terminal.prompt(3)
            assert terminal.block("> second") == ["> second", "again", ""]
            terminal.type(CTRL_D)
            assert terminal.status() == 0
        id = terminal.lines[0].split()[-1]
        assert terminal.lines[-1].endswith(f"--resume {id}")


def test_reasoning_is_dim_and_apart_from_the_answer(program: Program) -> None:
    with ScriptedModel([replies.thinking("I reason.", "I answer.", chunks=2)]) as model:
        program.configure(model.base_url)
        with chat(program) as terminal:
            terminal.say("hi")
            terminal.prompt(2)
            assert terminal.block("> hi") == ["> hi", "I reason.", "", "I answer.", ""]
            assert b"\x1b[2mI r" in terminal.raw


@pytest.mark.parametrize("streaming", [True, False])
def test_what_is_shown_can_be_chosen(program: Program, streaming: bool) -> None:
    display = f"display: {{show_reasoning: false, streaming: {streaming}, show_cost: true}}\n"
    steps = [
        replies.calls(("read_file", {"path": "a"}), text="I look."),
        replies.thinking("I reason.", "I answer.", chunks=3),
    ]
    with ScriptedModel(steps) as model:
        program.configure(model.base_url, display.lower())
        with chat(program) as terminal:
            terminal.say("hi")
            terminal.prompt(2)
            shown = terminal.block("> hi")
    assert "I reason." not in shown
    assert shown.count("I look.") == shown.count("I answer.") == 1
    assert shown.index("I look.") < shown.index("  read_file  a") < shown.index("I answer.")
    assert "tokens in" in shown[-2]


def test_without_streaming_nothing_of_an_unfinished_answer_shows(program: Program) -> None:
    with ScriptedModel([replies.text("one two", chunks=2).hold(2), "x"]) as model:
        program.configure(model.base_url, "display: {streaming: false}\n")
        with chat(program) as terminal:
            terminal.say("hi")
            model.wait_for_request()
            terminal.type(CTRL_C)
            terminal.until("\nstopped")
            assert "one" not in terminal.text


@pytest.mark.parametrize(("answer", "runs"), [("Yes", True), ("", False)])
def test_a_command_runs_after_a_clear_yes_only(program: Program, answer: str, runs: bool) -> None:
    with ScriptedModel([replies.calls(SHELL, text="I will."), "Done."]) as model:
        program.configure(model.base_url, ASKED)
        with chat(program) as terminal:
            terminal.say("go")
            terminal.until("y/N:")
            assert not (program.cwd / "ran").exists()
            terminal.say(answer)
            terminal.prompt(2)
            shown = terminal.block("> go")
    assert shown[1:5] == ["I will.", "", "Allow terminal?", "  echo ran > ran"]
    assert shown[5:7] == [
        "  Asked because:",
        "  your rule asks about it (permissions[0]: terminal)",
    ]
    assert shown[8] == f"  [s]ession, [a]lways, y/N: {answer}".rstrip()
    assert shown[-2] == "Done."
    assert ("  terminal  not allowed" in shown) != runs
    assert (program.cwd / "ran").exists() == runs


def test_silence_at_a_question_is_a_no(program: Program) -> None:
    with ScriptedModel([replies.calls(SHELL), "Done."]) as model:
        program.configure(model.base_url, f"approvals: {{timeout: 1}}\n{ASKED}")
        with chat(program) as terminal:
            terminal.say("go")
            terminal.prompt(2)
            assert "no answer within 1 s" in terminal.text
    assert not (program.cwd / "ran").exists()


def test_ctrl_c_at_a_question_stops_the_turn(program: Program) -> None:
    with ScriptedModel([replies.calls(SHELL), "Still there."]) as model:
        program.configure(model.base_url, ASKED)
        with chat(program) as terminal:
            terminal.say("go")
            terminal.until("y/N:")
            terminal.type(CTRL_C)
            terminal.prompt(2)
            assert terminal.lines[-4:] == ["stopping ...", "stopped", "", ">"]
            terminal.say("hello?")
            terminal.until("Still there.")
    assert not (program.cwd / "ran").exists()


def test_ctrl_c_after_an_answered_question_stops_the_command(program: Program) -> None:
    with ScriptedModel([replies.calls(("terminal", {"command": "touch on; sleep 60"}))]) as model:
        program.configure(model.base_url, ASKED)
        with chat(program) as terminal:
            terminal.say("go")
            terminal.until("y/N:")
            terminal.say("y")
            terminal.until(lambda: "y/N: y" in terminal.text)
            wait_for(program.cwd / "on")
            terminal.type(CTRL_C)
            terminal.prompt(2)
            assert terminal.lines[-4:] == ["stopping ...", "stopped", "", ">"]


def wait_for(path: Path) -> None:
    end = time.monotonic() + 15
    while not path.exists():
        assert time.monotonic() < end, f"{path} did not come within 15 s"
        os.sched_yield()


def test_a_steering_answer_cannot_touch_the_terminal(program: Program) -> None:
    nasty = "\x1b]0;owned\x07\x1b[2J\x1b[31mred\x9b1m \u202eright\rleft"
    with ScriptedModel([replies.text(nasty, chunks=4)]) as model:
        program.configure(model.base_url)
        with chat(program) as terminal:
            terminal.say("hi")
            terminal.prompt(2)
            answer = terminal.block("> hi")[1]
    assert answer.endswith("right" + "left")
    for sign in ("\x1b]", "\x1b[2J", "\x1b[31", "\x07", "\x9b", "\u202e"):
        assert sign.encode() not in terminal.raw


def test_a_question_spells_control_characters(program: Program) -> None:
    call = replies.calls(("terminal", {"command": "echo \x1b[2K\u202e ok"}))
    with ScriptedModel([call, "ok"]) as model:
        program.configure(model.base_url, ASKED)
        with chat(program) as terminal:
            terminal.say("go")
            terminal.until("y/N:")
            assert "  echo \\x1b[2K\\u202e ok" in terminal.lines


def test_withdrawn_text_and_the_retry_are_said(program: Program) -> None:
    half = replies.drop([replies.chunk({"role": "assistant", "content": "half an ans"})])
    with ScriptedModel([half, "whole answer"]) as model:
        program.configure(model.base_url)
        program.run("config", "set", "agent.api_max_retries", "2")
        with chat(program) as terminal:
            terminal.say("hi")
            terminal.prompt(2)
            shown = terminal.block("> hi")
    assert shown[:4] == [
        "> hi",
        "half an ans",
        "",
        "[the text above does not count: the request is made again]",
    ]
    assert "Trying again" in " ".join(shown)
    assert shown[-3:] == ["", "whole answer", ""]


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        (replies.http(401, b'{"error":{"message":"bad key"}}'), "bad key"),
        (replies.text(""), "gave no answer"),
        (replies.text("I must not.", finish="content_filter"), "without success"),
    ],
)
def test_a_turn_without_success_says_why_and_the_chat_goes_on(
    program: Program, reply: replies.Reply, reason: str
) -> None:
    with ScriptedModel(lambda _: reply) as model:
        program.configure(model.base_url)
        with chat(program) as terminal:
            terminal.say("hi")
            terminal.prompt(2)
            assert reason in " ".join(terminal.block("> hi"))


def test_a_second_ctrl_c_leaves(program: Program) -> None:
    with ScriptedModel([replies.never_ending("and ")]) as model:
        program.configure(model.base_url)
        with chat(program) as terminal:
            terminal.say("go")
            terminal.until("and and")
            terminal.type(CTRL_C)
            terminal.until("stopping ...")
            terminal.type(CTRL_C)
            assert terminal.status() == 0
            model.wait_for_disconnect()
            # The terminal may answer a question about its cursor when the program is gone.
            assert "\nSaved. Go on with" in terminal.text
            assert "\nstopped\n" in terminal.text


@pytest.mark.parametrize(("number", "running"), [(signal.SIGTERM, True), (signal.SIGHUP, False)])
def test_a_signal_to_end_leaves_in_order(
    program: Program, number: signal.Signals, running: bool
) -> None:
    with ScriptedModel([replies.never_ending("and ")]) as model:
        program.configure(model.base_url)
        with chat(program) as terminal:
            if running:
                terminal.say("go")
                terminal.until("and and")
            os.kill(terminal.pid, number)
            assert terminal.status() == 0
            assert ("\nstopped\n" in terminal.text) == running


def test_a_resumed_session_shows_its_last_exchange(program: Program) -> None:
    long = "\n".join(f"row {number}" for number in range(30))
    with ScriptedModel(["first answer", long, "third answer"]) as model:
        program.configure(model.base_url)
        program.run("-z", "first question")
        program.run("--continue", "-z", "second question")
        with chat(program, "--continue") as terminal:
            terminal.prompt(2)
            id = terminal.lines[0].split()[3].rstrip(",")
            assert terminal.lines[1:] == [
                "> second question",
                *(f"row {number}" for number in range(7)),
                "…",
                "",
                ">",
            ]
            terminal.say("third question")
            terminal.until("third answer")
        with chat(program, "--resume", id) as terminal:
            assert terminal.lines[1:] == ["> third question", "third answer", "", ">"]
    assert len(model.requests[2].messages) == 6


def test_a_narrow_terminal_and_wide_characters(program: Program) -> None:
    question = "日本語の長い質問をここに書きます。そして続きます。"
    with ScriptedModel([replies.text("漢字かな交じり文 " * 4, chunks=9)]) as model:
        program.configure(model.base_url)
        with chat(program, columns=40) as terminal:
            assert all(len(line) <= 40 for line in terminal.lines)
            terminal.say(question)
            terminal.prompt(2)
            shown = "".join(terminal.lines).replace(" ", "")
    assert (
        model.requests[0].messages[-1]["content"]
        == "日本語の長い質問をここに書きます。そして続きます。"
    )
    assert "漢字かな交じり文" * 4 in shown


@pytest.mark.parametrize("env", [{"NO_COLOR": "1"}, {"TERM": "dumb"}])
def test_no_colour_where_none_is_wanted(program: Program, env: dict[str, str]) -> None:
    program.env.update(env)
    with ScriptedModel([replies.thinking("I reason.", "I answer.")]) as model:
        program.configure(model.base_url)
        with chat(program) as terminal:
            terminal.say("hi")
            terminal.until("\nI answer.")
            terminal.prompt(2)
            terminal.type(CTRL_D)
            assert terminal.status() == 0
    for style in (b"\x1b[2m", b"\x1b[1m", b"\x1b[3"):
        assert style not in terminal.raw
    assert "[reasoning]\nI reason." in terminal.text


def test_what_a_background_command_tells_comes_at_the_prompt_and_keeps_what_is_typed(
    program: Program,
) -> None:
    go = program.cwd / "go"
    os.mkfifo(go)
    command = {"command": f"read x < {go}; exit 3", "background": True, "notify": True}
    steps = [replies.calls(("terminal", command)), "Started.", "It ended.", "Yes."]
    with ScriptedModel(steps) as model:
        program.configure(model.base_url)
        with chat(program) as terminal:
            terminal.say("begin")
            terminal.prompt(2)
            terminal.type("half a me")
            terminal.until("> half a me")
            terminal.type("\x1b[D")
            go.write_text("x\n", encoding="utf-8")
            terminal.until("It ended.")
            terminal.until(lambda: terminal.lines[-1] == "> half a me")
            shown = terminal.block("> begin")
            assert shown[-4].startswith("Background process proc_")
            assert shown[-4].endswith("has ended, exit code 3.")
            assert shown[-3:] == ["", "It ended.", ""]
            assert terminal.text.count("half a me") == 1
            terminal.say("ssag")
            terminal.prompt(3)
            assert terminal.block("> half a mssage") == ["> half a mssage", "Yes.", ""]
        assert "exit code 3" in str(model.requests[2].body)
