"""Files by content: what is too large for the journal."""

import hashlib
import re
from pathlib import Path
from typing import final

from hermes.core.errors import Bug, StoreError
from hermes.system.files import write_atomic
from hermes.system.i18n import t

_DIGEST = re.compile(r"[0-9a-f]{64}")


@final
class BlobStore:
    """Blobs under `root`, each in a file named by its sha256 in hex: `ab/cdef...`."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def path(self, digest: str) -> Path:
        """Where the blob with this sha256 is, or would be; raises Bug if it is not a sha256."""
        if not _DIGEST.fullmatch(digest):
            raise Bug(f"{digest!r} is not a sha256 in hex")
        return self._root / digest[:2] / digest[2:]

    def put(self, data: bytes) -> Path:
        """Keep `data` and return its file, which only its owner can read; equal data, one file.

        Blocks on the disk. Raises StoreError, and then nothing of it is kept.
        """
        path = self.path(hashlib.sha256(data).hexdigest())
        try:
            # A file of the right name and length is whole: it came into place by a rename.
            if not (path.is_file() and path.stat().st_size == len(data)):
                path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                write_atomic(path, data, mode=0o600)
        except OSError as e:
            raise StoreError(
                t("store.blob_not_kept", path=path, reason=e.strerror or e),
                hint=t("store.cannot_write_hint", path=path),
            ) from e
        return path
