"""Takes the text out of one document, in a process: `python -I document_worker.py FILE`.

It is not imported by Hermes and imports nothing of it; `documents` starts it. A hostile document
can at most spend what is allowed below, and ends with this process. Prints one JSON object: `text`,
or `error` (a word that `documents` knows) with `detail`, `pages` and `page_count`.
"""

import json
import os
import resource
import sys

MEMORY = 1 << 30
"""Bytes of address space."""

CPU_SECONDS = 30


def main(name: str) -> None:
    for kind, limit in ((resource.RLIMIT_CPU, CPU_SECONDS), (resource.RLIMIT_CORE, 0)):
        resource.setrlimit(kind, (limit, limit))
    if sys.platform == "linux":
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    with open(name, "rb") as file:  # noqa: PTH123  pathlib costs a third of this program's start
        data = file.read()
    answer = json.dumps(text_of(data)).encode()
    while answer:
        answer = answer[os.write(1, answer) :]


def text_of(data: bytes) -> dict[str, object]:
    try:
        import anydoc  # lazy: an extra that may be absent, which is an answer too
    except ImportError:
        return {"error": "absent"}
    try:
        return {"text": anydoc.to_markdown_bytes(data)}
    except anydoc.NeedsOcrError as e:
        return {"error": "scanned", "pages": e.pages, "page_count": e.page_count}
    except anydoc.EncryptedError:
        return {"error": "encrypted"}
    except anydoc.ResourceLimitError as e:
        return {"error": "limit", "detail": e.limit}
    except anydoc.ConvertError as e:
        scanned = "ImageBased" in str(e)
        return {"error": "scanned" if scanned else "broken", "detail": str(e)}
    except MemoryError:
        return {"error": "limit", "detail": "memory"}


if __name__ == "__main__":
    main(sys.argv[1])
