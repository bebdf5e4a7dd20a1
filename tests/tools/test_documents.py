"""Documents to text, and documents that do not want to be read."""

import io
import json
import os
import sys
import time
import zipfile
from pathlib import Path

import anyio
import pytest

from hermes.tools.files.documents import document_text
from read_rig import Reader

pytestmark = pytest.mark.anyio

WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
SHEET = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
PACKAGE = "http://schemas.openxmlformats.org/package/2006"
MADE_OF = "application/vnd.openxmlformats-officedocument"


@pytest.fixture
def read(tmp_path: Path) -> Reader:
    folder = tmp_path / "work"
    folder.mkdir()
    return Reader(folder)


def package(parts: dict[str, str | bytes]) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as file:
        for name, content in parts.items():
            file.writestr(name, content)
    return made.getvalue()


def office(main: str, kind: str, parts: dict[str, str | bytes], links: str = "") -> bytes:
    types = (
        f'<Types xmlns="{PACKAGE}/content-types"><Default Extension="xml" '
        'ContentType="application/xml"/><Default Extension="rels" '
        'ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
        f'<Override PartName="/{main}" ContentType="{MADE_OF}.{kind}.main+xml"/></Types>'
    )
    root = (
        f'<Relationships xmlns="{PACKAGE}/relationships"><Relationship Id="r1" '
        f'Type="{OFFICE}/officeDocument" Target="{main}"/></Relationships>'
    )
    return package({"[Content_Types].xml": types, "_rels/.rels": root, **parts})


def docx(body: str) -> bytes:
    text = f'<w:document xmlns:w="{WORD}"><w:body>{body}</w:body></w:document>'
    kind = "wordprocessingml.document"
    return office("word/document.xml", kind, {"word/document.xml": text})


def paragraphs(*texts: str) -> bytes:
    return docx("".join(f"<w:p><w:r><w:t>{text}</w:t></w:r></w:p>" for text in texts))


def xlsx(*cells: str) -> bytes:
    row = "".join(f'<c t="inlineStr"><is><t>{cell}</t></is></c>' for cell in cells)
    rels = (
        f'<Relationships xmlns="{PACKAGE}/relationships"><Relationship Id="r1" '
        f'Type="{OFFICE}/worksheet" Target="worksheets/sheet1.xml"/></Relationships>'
    )
    book = (
        f'<workbook xmlns="{SHEET}" xmlns:r="{OFFICE}"><sheets>'
        '<sheet name="Data" sheetId="1" r:id="r1"/></sheets></workbook>'
    )
    sheet = f'<worksheet xmlns="{SHEET}"><sheetData><row r="1">{row}</row></sheetData></worksheet>'
    return office(
        "xl/workbook.xml",
        "spreadsheetml.sheet",
        {
            "xl/workbook.xml": book,
            "xl/_rels/workbook.xml.rels": rels,
            "xl/worksheets/sheet1.xml": sheet,
        },
    )


def pdf(*pages: str | None) -> bytes:
    """A page for each text; None is a page that is only an image."""
    head = [b"<< /Type /Catalog /Pages 2 0 R >>", b""]
    head.append(b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>")
    head.append(
        b"<< /Type /XObject /Subtype /Image /Width 2 /Height 2 /ColorSpace /DeviceGray "
        b"/BitsPerComponent 8 /Length 4 >>\nstream\n\0\xff\0\xff\nendstream"
    )
    kids = []
    for text in pages:
        if text is None:
            stream, uses = b"q 612 0 0 792 0 0 cm /I Do Q", b"/XObject << /I 4 0 R >>"
        else:
            stream, uses = f"BT /F 12 Tf 72 720 Td ({text}) Tj ET".encode(), b"/Font << /F 3 0 R >>"
        head.append(b"<< /Length %d >>\nstream\n%b\nendstream" % (len(stream), stream))
        head.append(
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents %d 0 R "
            b"/Resources << %b >> >>" % (len(head), uses)
        )
        kids.append(b"%d 0 R" % len(head))
    head[1] = b"<< /Type /Pages /Count %d /Kids [%b] >>" % (len(kids), b" ".join(kids))
    out, places = b"%PDF-1.4\n", []
    for number, part in enumerate(head, 1):
        places.append(len(out))
        out += b"%d 0 obj\n%b\nendobj\n" % (number, part)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    return out + (
        b"xref\n0 %d\n0000000000 65535 f \n%btrailer << /Size %d /Root 1 0 R >>\n"
        b"startxref\n%d\n%%%%EOF\n" % (len(head) + 1, table, len(head) + 1, len(out))
    )


async def test_a_word_document_is_numbered_lines_and_pages(read: Reader) -> None:
    data = paragraphs("One", "Two", "Three")
    read.put("a.docx", data)
    keys = await read("a.docx")
    assert keys["content"] == "1|One\n2|\n3|Two\n4|\n5|Three"
    assert (keys["total_lines"], keys["file_size"]) == (5, len(data))
    assert keys["extracted_document"] is True
    assert "is_binary" not in keys
    page = await read("a.docx", offset=3, limit=1)
    assert (page["content"], page["truncated"]) == ("3|Two", True)
    assert "offset 4" in page["hint"]
    assert (await read("a.docx"))["status"] == "unchanged"


async def test_a_document_is_no_text_that_may_be_overwritten(read: Reader) -> None:
    read.put("a.docx", paragraphs("One"))
    await read("a.docx")
    assert read.known("a.docx") == "never"


async def test_a_sheet_and_rich_text_are_read(read: Reader) -> None:
    read.put("a.xlsx", xlsx("name", "amount"))
    assert "name" in (await read("a.xlsx"))["content"]
    read.put("b.rtf", rb"{\rtf1\ansi Hello world.\par Next\par}")
    assert "Hello world." in (await read("b.rtf"))["content"]


async def test_secrets_in_documents_are_masked(read: Reader) -> None:
    read.put("a.docx", paragraphs("key ghp_ABCDEFGHIJKLMNOPQRSTUVWXYZ012345"))
    assert "ghp_ABC" not in (await read("a.docx"))["content"]


async def test_a_pdf_is_read_and_scanned_pages_are_named(read: Reader) -> None:
    words = "These are enough words for a page of text to be a page of text, number"
    read.put("text.pdf", pdf(f"{words} one", f"{words} two"))
    content = (await read("text.pdf"))["content"]
    assert "number one" in content
    assert "number two" in content
    read.put("mixed.pdf", pdf(f"{words} one", None, f"{words} three"))
    mixed = (await read("mixed.pdf"))["error"]
    assert "of its 3 pages, 2 hold no text" in mixed
    read.put("scan.pdf", pdf(None, None))
    assert "scanned" in (await read("scan.pdf"))["error"]


@pytest.mark.parametrize("name", ["a.docx", "a.xlsx", "a.pdf", "a.doc", "a.epub", "a.odt", "a.rtf"])
@pytest.mark.parametrize("data", [b"plain", b"", b"PK\x03\x04", b"\xd0\xcf\x11\xe0" + b"\0" * 600])
async def test_what_is_no_document_is_one_error(read: Reader, name: str, data: bytes) -> None:
    read.put(name, data)
    assert set(await read(name)) == {"error"}


async def test_a_missing_document_is_missing(read: Reader) -> None:
    read.put("report.docx", b"x")
    keys = await read("reports.docx")
    assert keys["not_found"] is True
    assert keys["similar_files"] == [str(read.folder / "report.docx")]


@pytest.mark.parametrize(
    "body",
    ["<w:tbl><w:tr><w:tc>" * 50_000, f"<w:p><w:r><w:t>{'A' * 120_000_000}</w:t></w:r></w:p>"],
    ids=["deep", "bomb"],
)
async def test_a_document_that_explodes_is_refused_and_nothing_else_happens(
    read: Reader, body: str
) -> None:
    read.put("a.docx", docx(body))
    with anyio.fail_after(40):
        assert "not read" in (await read("a.docx"))["error"]


async def test_a_stopped_read_leaves_no_process_and_no_file(
    read: Reader, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    data = paragraphs(*["word " * 50] * 100_000)
    start = time.monotonic()
    with anyio.move_on_after(0.3) as scope:
        await document_text("a.docx", data)
    assert scope.cancelled_caught
    assert time.monotonic() - start < 1.3
    assert not list(tmp_path.glob("hermes-document-*"))
    if sys.platform == "linux":
        children = Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children")
        assert not [
            pid
            for pid in children.read_text(encoding="ascii").split()
            if b"document_worker" in Path(f"/proc/{pid}/cmdline").read_bytes()
        ]


NOTEBOOK = {
    "cells": [
        {"cell_type": "markdown", "source": ["# T\n", "x"]},
        {
            "cell_type": "code",
            "source": "print(1)",
            "outputs": [
                {"output_type": "stream", "name": "stdout", "text": ["1\n", "2\n"]},
                {
                    "output_type": "display_data",
                    "data": {"image/png": "aGVsbG8=", "text/plain": ["<Figure>"]},
                },
                {
                    "output_type": "error",
                    "ename": "E",
                    "evalue": "v",
                    "traceback": ["\x1b[0;31mE: v"],
                },
            ],
        },
    ],
    "nbformat": 4,
}


async def test_a_notebook_is_its_cells_and_what_they_printed(read: Reader) -> None:
    read.put("n.ipynb", json.dumps(NOTEBOOK))
    keys = await read("n.ipynb")
    lines = [row.partition("|")[2] for row in keys["content"].split("\n")]
    assert lines == [
        "[cell 1: markdown]",
        "# T",
        "x",
        "",
        "[cell 2: code]",
        "print(1)",
        "[output of cell 2]",
        "1",
        "2",
        "[output of cell 2]",
        "[image/png: 8 characters, not shown]",
        "<Figure>",
        "[output of cell 2]",
        "E: v",
    ]
    assert keys["extracted_document"] is True


@pytest.mark.parametrize("text", ['{"cells": [oops', "[]", '{"cells": [1]}', "[" * 100_000, "{}"])
async def test_a_broken_notebook_is_the_text_it_is(read: Reader, text: str) -> None:
    read.put("n.ipynb", text)
    keys = await read("n.ipynb")
    assert keys["content"].startswith("1|" + text[:100])
    assert "extracted_document" not in keys
