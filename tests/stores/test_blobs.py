"""Blobs by content."""

import hashlib
import stat
from pathlib import Path

import pytest

from hermes.core.errors import Bug, StoreError
from hermes.stores.blobs import BlobStore


def test_equal_data_is_one_file_that_only_its_owner_reads(tmp_path: Path) -> None:
    store = BlobStore(tmp_path / "blobs")
    path = store.put(b"data")
    digest = hashlib.sha256(b"data").hexdigest()
    assert path == store.path(digest) == tmp_path / "blobs" / digest[:2] / digest[2:]
    assert path.read_bytes() == b"data"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    before = path.stat()
    assert store.put(b"data") == path
    assert path.stat() == before
    assert store.put(b"other") != path
    assert len([p for p in tmp_path.rglob("*") if p.is_file()]) == 2


def test_a_file_cut_short_by_others_is_made_whole(tmp_path: Path) -> None:
    store = BlobStore(tmp_path)
    path = store.put(b"data")
    path.write_bytes(b"da")
    assert store.put(b"data").read_bytes() == b"data"


def test_a_name_that_is_no_digest_is_refused(tmp_path: Path) -> None:
    for name in ("", "../../etc/passwd", "A" * 64, "a" * 63):
        with pytest.raises(Bug):
            BlobStore(tmp_path).path(name)


def test_a_blob_that_cannot_be_kept_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "blobs").write_text("in the way", encoding="utf-8")
    with pytest.raises(StoreError, match="cannot be written"):
        BlobStore(tmp_path / "blobs").put(b"data")
