"""One question on the terminal before a conversation begins."""

from prompt_toolkit import PromptSession


async def ask(text: str) -> str:
    """What the person answers, in lower case; nothing for Ctrl-C, Ctrl-D and an empty line."""
    *lines, prompt = text.split("\n")
    for line in lines:
        print(line)
    try:
        answer = await PromptSession[str]().prompt_async(prompt)
    except (EOFError, KeyboardInterrupt):
        return ""
    return answer.strip().lower()
