"""The stores in one SQLite file, through apsw.

Above it: `app` opens a `SqliteStore` (module `store`) and hands it to the agent as a `Journal` and
a `SessionStore`. Below it: one file, which nothing but SQLite may open (a second open and close of
the same file drops the POSIX locks of the whole process).
"""
