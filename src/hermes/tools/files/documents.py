"""Office documents, PDF and e-books to text, through the library `anydoc`.

What is bounded: the document (DOCUMENT_BYTES), its text (TEXT_BYTES), the time (SECONDS), memory
and processor time (`document_worker`), and by the library unpacked size, depth and parts.
"""

import json
import os
import sys
from pathlib import Path
from typing import Any, Final

import anyio

from hermes.core.errors import ToolError
from hermes.system.program import running

_NAMES: Final = (
    "doc docx docm xls xlsx xlsm xlsb ppt pps pot pptx pptm ppsx ppsm odt ods odp rtf epub pdf"
)
EXTENSIONS: Final = frozenset(_NAMES.split())
DOCUMENT_BYTES: Final = 64 << 20
TEXT_BYTES: Final = 32 << 20
SECONDS: Final = 30.0

_WORKER: Final = str(Path(__file__).with_name("document_worker.py"))


async def document_text(path: str, data: bytes) -> str:
    """The text of a document, as Markdown; raises ToolError for one that gives none.

    Runs in a process that is killed when this is cancelled or its time is up.
    """
    file = await anyio.to_thread.run_sync(_put, data)
    try:
        with anyio.move_on_after(SECONDS):
            async with running([sys.executable, "-I", _WORKER, file], env={}) as program:
                parts: list[bytes] = []
                size = 0
                while part := await program.receive():
                    parts.append(part)
                    size += len(part)
                    if size > TEXT_BYTES:
                        raise ToolError(f"{path} was not read: it has more than 32 MiB of text.")
                code, _ = await program.end()
                return _answer(path, code, b"".join(parts))
    finally:
        os.unlink(file)  # noqa: PTH108  a file in a temporary folder, at once
    raise ToolError(f"{path} was not read: taking its text took more than {SECONDS:.0f} seconds.")


def _put(data: bytes) -> str:
    import tempfile  # lazy: a tenth of Hermes's start, and most runs read no document

    with tempfile.NamedTemporaryFile(prefix="hermes-document-", delete=False) as file:
        file.write(data)
        return file.name


def _answer(path: str, code: int, output: bytes) -> str:
    try:
        found: dict[str, Any] = json.loads(output)
    except ValueError:
        raise ToolError(
            f"{path} was not read: it needs more memory or time than a document is given "
            f"(exit {code})."
        ) from None
    text = found.get("text")
    if isinstance(text, str):
        return text
    raise ToolError(f"{path} was not read: {_reason(found)}")


def _reason(found: dict[str, Any]) -> str:
    match found["error"]:
        case "absent":
            return "documents need an extra: pip install 'hermes-agent[documents]'."
        case "encrypted":
            return "it is encrypted. Ask the user for a copy without a password."
        case "limit":
            return f"it goes over a safety limit ({found['detail']})."
        case "scanned":
            return _scanned(found)
        case _:
            return f"it is damaged or not what its name says ({found['detail']})."


def _scanned(found: dict[str, Any]) -> str:
    pages, total = found.get("pages") or [], found.get("page_count")
    if not total or len(pages) >= total:
        return "its pages hold no text: they are scanned images, which need OCR."
    numbers = ", ".join(map(str, pages[:50])) + (" ..." if len(pages) > 50 else "")
    return (
        f"of its {total} pages, {numbers} hold no text (scanned images, which need OCR), and text "
        "is taken only from documents without such pages. `pdftotext FILE -` in the terminal gives "
        "the text of the others, if it is installed."
    )
