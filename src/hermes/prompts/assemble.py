"""Sections in, one frozen prompt out: identity and guidance, then where and when.

What changes from day to day stands last, and nothing finer than a date is in it, so that sessions
of one day share their prefix. Two profiles: `full`, and `lean` (at most 600 tokens with its tools)
for small local models.
"""

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from hermes.core.people import Origin
from hermes.core.prompt import FrozenPrompt, PromptSection, freeze
from hermes.core.text import clean
from hermes.core.transcript import ToolSchema
from hermes.system.files import read_text

Profile = Literal["full", "lean"]

TEXTS = Path(__file__).parent / "texts"
SOUL_CHARS = 20_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Assembler:
    """See `ports.prompt.PromptAssembler`. `soul` is the owner's SOUL.md, which replaces the
    built-in identity; `system` is what the machine calls itself, as in `uname`."""

    soul: Path
    profile: Profile
    system: str

    def sections(
        self, *, origin: Origin, cwd: str, tools: tuple[ToolSchema, ...], model: str, now: float
    ) -> tuple[PromptSection, ...]:
        """The prompt in parts, for `hermes prompt-size`; raises UserError for a broken SOUL.md."""
        if self.profile == "lean":
            return (PromptSection(name="identity", tier="stable", text=_text("lean")),)
        parts = [PromptSection(name="identity", tier="stable", text=self._identity())]
        if tools:
            parts.append(PromptSection(name="work", tier="stable", text=_text("work")))
        place = (
            f"Date: {time.strftime('%A, %Y-%m-%d', time.gmtime(now))} (UTC)\nModel: {model}\n"
            f"Surface: {origin.surface}\nSystem: {self.system}\nWorking folder: {cwd}"
        )
        parts.append(PromptSection(name="place", tier="volatile", text=clean(place)))
        return tuple(parts)

    def assemble(
        self, *, origin: Origin, cwd: str, tools: tuple[ToolSchema, ...], model: str, now: float
    ) -> FrozenPrompt:
        return freeze(self.sections(origin=origin, cwd=cwd, tools=tools, model=model, now=now))

    def _identity(self) -> str:
        if not self.soul.exists():
            return _text("identity")
        return clean(read_text(self.soul))[:SOUL_CHARS].strip() or _text("identity")


def _text(name: str) -> str:
    return (TEXTS / f"{name}.md").read_text(encoding="utf-8").strip()
