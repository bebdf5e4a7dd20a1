"""`hermes checkpoints`: what was captured, and what a restore did."""

from typing import Final

MESSAGES: Final = {
    "none": "There are no checkpoints of {root}.",
    "workspace": "{root}",
    "row": "{number:>4}  {at}  {files} files, {tools}{missed}",
    "missed": "; {count} not covered",
    "gap": "      not covered: {what} {detail}",
    "cut_off": "      cut off half-way; to finish it: hermes checkpoints restore {words}",
    "status": "{bytes:>12} bytes  {count:>4} checkpoints  {root}",
    "status_gone": "{bytes:>12} bytes  {count:>4} checkpoints  {root} (gone)",
    "none_at_all": "There are no checkpoints.",
    "no_file": "{path} is no file of checkpoint {number}.",
    "no_file_hint": "`hermes checkpoints show {number}` lists them.",
    "no_difference": "There is no difference.",
    "unread": "{path} cannot be compared: {reason}",
    "rollback_use": (
        "Say /rollback [list] [--all], /rollback diff N [FILE], or /rollback restore N [FILE ...] "
        "[--only] [--overwrite] [--dry-run]."
    ),
    "file": "{deed:<9} {path}",
    "not_covered": "{path} is not covered: {reason} {detail}",
    "binary": "{path}: binary, {size} bytes captured",
    "done": "{path}: {deed}",
    "not_done": "{path}: not restored, {why} {detail}",
    "restored": "{count} restored. To undo this: {command} {undo}",
    "nothing_restored": "Nothing was restored.",
    "would": "Nothing was changed; this is what a restore would do.",
    "pruned": "{count} checkpoints removed, {freed} bytes freed, {left} bytes left.",
    "clear_sure": "This removes every checkpoint of every folder. Repeat it with --force.",
    "no_number": "There is no checkpoint {number} of {root}.",
    "no_number_hint": "`hermes checkpoints list` shows those there are.",
    "damaged": "the captured content {digest} is damaged",
    "not_a_folder": "{path} is not a folder",
    "empty_database": "it is empty",
    "contended": "another Hermes was changing the checkpoints of {root} all the time",
}
