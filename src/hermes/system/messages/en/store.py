"""What the stores say."""

from typing import Final

MESSAGES: Final = {
    "no_space": "The disk is full; the last change was not saved, and nothing saved was lost.",
    "no_space_hint": "Free some space and send it again.",
    "corrupt": "The database {path} is damaged ({reason}); writing to it has stopped.",
    "corrupt_kept": (
        "A copy is kept at {copy}. Move {path} and its -wal and -shm files away to start afresh, "
        "or restore {path} from a backup."
    ),
    "corrupt_not_kept": (
        "No copy could be made ({reason}). Copy {path} to another disk before anything else."
    ),
    "too_new": (
        "The database {path} was made by a newer Hermes (layout {found}, this one knows {known}) "
        "and was not touched."
    ),
    "too_new_hint": "Update Hermes, or use another home.",
    "foreign": "{path} is the database of another program and was not touched.",
    "foreign_hint": "Move it away, or use another home.",
    "cannot_open": "The database {path} cannot be opened: {reason}.",
    "cannot_open_hint": "Check that the folder exists and that you may write in it.",
    "cannot_write": "The database {path} cannot be written: {reason}. Nothing was changed.",
    "cannot_write_hint": "Check the permissions of {path}, of its folder, and its disk.",
    "busy": (
        "Other processes kept the database {path} busy for {seconds:.0f} seconds; "
        "nothing was changed."
    ),
    "busy_hint": "Try again; if it lasts, look for a process that hangs.",
    "no_wal": "The database {path} cannot use write-ahead logging here (it stayed in {mode} mode).",
    "no_wal_hint": "Use a home on a local disk; network file systems do not work.",
    "failed": "The database {path} could not do that: {reason}. Nothing was changed.",
    "closed": "The database {path} is closed.",
    "blob_not_kept": "{path} cannot be written: {reason}. Nothing was changed.",
    "lease_lost": "Session {id} belongs to another process now; nothing was changed.",
    "lease_lost_hint": "Open it again to go on here.",
    "session_busy": "Session {id} is open in process {pid}.",
    "session_busy_here": "Session {id} is already open in this process ({pid}).",
    "session_busy_hint": "Close it there first, or begin a new session.",
    "session_exists": "There is a session {id} already; nothing was changed.",
    "no_session": "There is no session {name!r}.",
    "no_session_hint": "See `hermes sessions list`.",
    "ambiguous": "{name!r} could be any of these sessions: {ids}.",
    "ambiguous_hint": "Give more of the id.",
    "no_entry": "Session {id} has no entry {seq}; nothing was changed.",
    "inside_calls": "Entry {seq} waits for the results of its calls; nothing can branch off there.",
    "calls_open": "The calls of the last reply are not answered yet; nothing was changed.",
    "unreadable": "Session {id} holds something that cannot be read: {reason}.",
}
