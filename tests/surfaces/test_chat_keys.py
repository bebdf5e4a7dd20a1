"""What is typed in the line chat: keys, pastes, history and slash commands."""

from hermes.sdk.testing import replies
from hermes.sdk.testing.model_server import Request, ScriptedModel
from program import Program
from terminal import CTRL_C, CTRL_D, CTRL_J, TAB, UP, chat

SHELL = ("terminal", {"command": "echo ran > ran"})
ASKED = "permissions: [{tool: terminal, decision: ask}]\n"


def said(request: Request) -> str:
    """What the person said last."""
    text: str = request.messages[-1]["content"]
    return text


def test_what_was_typed_before_a_question_does_not_answer_it(program: Program) -> None:
    with ScriptedModel([replies.calls(SHELL).hold(1), "Done.", "Yes?"]) as model:
        program.configure(model.base_url, ASKED)
        with chat(program) as terminal:
            terminal.say("go")
            model.wait_for_request()
            terminal.say("y")
            model.release()
            terminal.until("y/N:")
            terminal.say("n")
            terminal.prompt(3)
    assert not (program.cwd / "ran").exists()
    assert said(model.requests[2]) == "y"


def test_ctrl_c_clears_a_line_and_on_an_empty_one_leaves(program: Program) -> None:
    program.configure("http://127.0.0.1:1/v1")
    with chat(program) as terminal:
        terminal.type("half a thou")
        terminal.until("> half a thou")
        terminal.type(CTRL_C)
        terminal.prompt()
        terminal.type(CTRL_C)
        assert terminal.status() == 0
        assert "Saved" not in terminal.text


def test_a_message_may_have_several_lines(program: Program) -> None:
    with ScriptedModel(["ok"]) as model:
        program.configure(model.base_url)
        with chat(program) as terminal:
            terminal.say(f"one{CTRL_J}two\\\rthree\x1b\rfour")
            terminal.prompt(2)
            assert terminal.block("> one") == ["> one", "  two", "  three", "  four", "ok", ""]
    assert said(model.requests[0]) == "one\ntwo\nthree\nfour"


def test_a_paste_is_one_piece_and_arrives_byte_for_byte(program: Program) -> None:
    pastes = [
        "\n".join(f"line {number}\tend" for number in range(200)),
        "  indented\n\ttab \x01\x07\x1b[31mred\x7f\x00 \x1b\n/quit\n\n",
        "漢字 👩‍👩‍👧 e\u0301",
    ]
    with ScriptedModel(["one", "two", "three"]) as model:
        program.configure(model.base_url)
        with chat(program) as terminal:
            for text, answer in zip(pastes, ("one", "two", "three"), strict=True):
                terminal.paste(text)
                terminal.type("\r")
                terminal.until(f"\n{answer}")
    assert [said(request) for request in model.requests] == pastes


def test_bytes_that_are_no_text_do_not_break_the_chat(program: Program) -> None:
    with ScriptedModel(["ok", "ok"]) as model:
        program.configure(model.base_url)
        with chat(program) as terminal:
            terminal.type(b"a\xffb\r")
            terminal.until("\nok")
            terminal.prompt(2)
    assert said(model.requests[0]) == "a\N{REPLACEMENT CHARACTER}b"


def test_typed_lines_come_back_with_the_arrow_after_a_restart(program: Program) -> None:
    with ScriptedModel(["one", "two"]) as model:
        program.configure(model.base_url)
        with chat(program) as terminal:
            terminal.say("remember\\\rme")
            terminal.until("\none")
            terminal.prompt(2)
        with chat(program) as terminal:
            terminal.type(UP)
            terminal.until("  me")
            terminal.type("\r")
            terminal.until("\ntwo")
    assert [said(r) for r in model.requests] == ["remember\nme"] * 2
    assert (program.home / "history").stat().st_mode & 0o777 == 0o600


def test_lines_typed_during_a_turn_are_silent_and_follow_it(program: Program) -> None:
    with ScriptedModel([replies.text("a b c", chunks=3).hold(2), "two", "three"]) as model:
        program.configure(model.base_url)
        with chat(program) as terminal:
            terminal.say("first")
            terminal.until("\na")
            terminal.say("second")
            terminal.paste("third\n" + "x" * 20_000)
            terminal.type("\r")
            model.release()
            terminal.until("\nthree")
            lines = terminal.lines
    assert lines[lines.index("> first") : lines.index("two") + 1] == [
        "> first",
        "a b c",
        "",
        "> second",
        "two",
    ]
    assert [said(r) for r in model.requests] == ["first", "second", "third\n" + "x" * 20_000]


def test_slash_commands(program: Program) -> None:
    with ScriptedModel(["ok"]) as model:
        program.configure(model.base_url)
        with chat(program) as terminal:
            first = terminal.lines[0].split()[-1]
            terminal.say("hi")
            terminal.prompt(2)
            terminal.say("/help")
            terminal.prompt(3)
            for name in ("/model", "/new", "/usage", "/quit"):
                assert any(line.startswith(f"  {name} ") for line in terminal.lines)
            terminal.say("/usage")
            terminal.prompt(4)
            assert " tokens in " in terminal.lines[-3]
            terminal.say("/model")
            terminal.prompt(5)
            assert terminal.lines[-3] == f"custom/scripted at {model.base_url}"
            terminal.say("/nonsense now")
            terminal.prompt(6)
            assert "There is no command /nonsense;" in terminal.text
            terminal.say("/new")
            terminal.prompt(7)
            assert terminal.lines[-3].split()[-1] != first
            terminal.type("/qu" + TAB)
            terminal.until("> /quit")
            terminal.type("\r")
            assert terminal.status() == 0
    assert len(model.requests) == 1


def test_a_message_may_begin_with_a_slash(program: Program) -> None:
    with ScriptedModel(["one", "two"]) as model:
        program.configure(model.base_url)
        with chat(program) as terminal:
            terminal.say("/usr/bin is a folder")
            terminal.until("\none")
            terminal.say(" /quit")
            terminal.until("\ntwo")
    assert [said(request) for request in model.requests] == ["/usr/bin is a folder", " /quit"]


def test_the_terminal_is_left_as_it_was(program: Program) -> None:
    with ScriptedModel(["ok"]) as model:
        program.configure(model.base_url)
        with chat(program) as terminal:
            terminal.say("hi")
            terminal.until("\nok")
            terminal.prompt(2)
            terminal.type(CTRL_D)
            assert terminal.status() == 0
    assert terminal.raw.rfind(b"\x1b[?2004l") > terminal.raw.rfind(b"\x1b[?2004h")
