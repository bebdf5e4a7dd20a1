"""Keys of the prompt: Enter sends, Ctrl-J, Alt-Enter and a trailing backslash make a new line.

A paste arrives bracketed and is one piece, whatever newlines are in it.
"""

from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent


def bindings() -> KeyBindings:
    """The bindings of a multi-line prompt."""
    keys = KeyBindings()

    @keys.add("enter")
    def _(event: KeyPressEvent) -> None:
        buffer = event.current_buffer
        if buffer.document.text_before_cursor.endswith("\\"):
            buffer.delete_before_cursor()
            buffer.insert_text("\n")
        else:
            buffer.validate_and_handle()

    @keys.add("c-j")
    @keys.add("escape", "enter")
    def _(event: KeyPressEvent) -> None:
        event.current_buffer.insert_text("\n")

    return keys
