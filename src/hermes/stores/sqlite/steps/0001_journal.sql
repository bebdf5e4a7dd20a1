-- The journal: sessions, their tree of entries, and what was used.
-- Every row names its principal, so that one person's rows can be told from another's anywhere.

PRAGMA application_id = 0x48524D53;

CREATE TABLE sessions (
    key           INTEGER PRIMARY KEY,
    id            TEXT NOT NULL UNIQUE,
    principal     TEXT NOT NULL,
    source        TEXT NOT NULL,
    title         TEXT NOT NULL DEFAULT '',
    cwd           TEXT NOT NULL,
    model         TEXT NOT NULL,
    -- The entry that the next one follows; NULL is before all. No foreign key: entries name their
    -- session already, and a second arrow back would be searched for at every deletion.
    head          INTEGER,
    epoch         INTEGER NOT NULL,
    preview       TEXT NOT NULL DEFAULT '',
    input_tokens  INTEGER NOT NULL DEFAULT 0,
    output_tokens INTEGER NOT NULL DEFAULT 0,
    spent_usd     REAL NOT NULL DEFAULT 0.0, -- of the calls whose price is known
    unpriced      INTEGER NOT NULL DEFAULT 0,-- how many calls have no known price
    started_at    REAL NOT NULL,
    active_at     REAL NOT NULL
) STRICT;

CREATE TABLE entries (
    seq       INTEGER PRIMARY KEY,
    session   INTEGER NOT NULL REFERENCES sessions (key) ON DELETE CASCADE,
    principal TEXT NOT NULL,
    parent    INTEGER,                       -- the entry this one follows; no key, as for head
    depth     INTEGER NOT NULL,              -- how many entries its path has, itself included
    kind      TEXT NOT NULL CHECK (kind IN ('user', 'assistant', 'batch')),
    turn      TEXT NOT NULL,
    at        REAL NOT NULL,
    epoch     INTEGER NOT NULL,
    body      BLOB NOT NULL                  -- JSON, see system/codec
) STRICT;
CREATE INDEX entries_of_session ON entries (session);

CREATE TABLE calls (
    entry     INTEGER NOT NULL REFERENCES entries (seq) ON DELETE CASCADE,
    id        TEXT NOT NULL,
    principal TEXT NOT NULL,
    state     TEXT NOT NULL CHECK (state IN ('committed', 'started', 'settled')),
    result    BLOB,                          -- JSON until the batch is sealed; then it is there
    PRIMARY KEY (entry, id)
) STRICT, WITHOUT ROWID;

-- Prompts and tool lists, each kept once for a principal however many epochs used it.
CREATE TABLE texts (
    principal TEXT NOT NULL,
    digest    TEXT NOT NULL,                 -- sha256 of body, hex
    body      BLOB NOT NULL,
    PRIMARY KEY (principal, digest)
) STRICT, WITHOUT ROWID;

CREATE TABLE epochs (
    session   INTEGER NOT NULL REFERENCES sessions (key) ON DELETE CASCADE,
    number    INTEGER NOT NULL,
    principal TEXT NOT NULL,
    prompt    TEXT NOT NULL,
    tools     TEXT NOT NULL,
    model     TEXT NOT NULL,
    opened_at REAL NOT NULL,
    reason    TEXT NOT NULL,
    PRIMARY KEY (session, number),
    FOREIGN KEY (principal, prompt) REFERENCES texts (principal, digest),
    FOREIGN KEY (principal, tools) REFERENCES texts (principal, digest)
) STRICT, WITHOUT ROWID;

CREATE TABLE leases (
    session   INTEGER PRIMARY KEY REFERENCES sessions (key) ON DELETE CASCADE,
    principal TEXT NOT NULL,
    fence     INTEGER NOT NULL,
    owner     TEXT                           -- boot id:pid:start time; NULL when nobody has it
) STRICT;

CREATE TABLE inbox (
    -- AUTOINCREMENT: the number of a consumed input must never come to mean another one.
    id        INTEGER PRIMARY KEY AUTOINCREMENT,
    session   INTEGER NOT NULL REFERENCES sessions (key) ON DELETE CASCADE,
    principal TEXT NOT NULL,
    body      BLOB NOT NULL
) STRICT;
CREATE INDEX inbox_of_session ON inbox (session);

-- One row a model call. It outlives its session (session is then NULL, and turn is empty): a
-- deleted conversation has been paid for all the same, and a day's budget must know.
CREATE TABLE usage (
    id          INTEGER PRIMARY KEY,
    principal   TEXT NOT NULL,
    session     INTEGER,
    turn        TEXT NOT NULL,
    at          REAL NOT NULL,
    task        TEXT NOT NULL,
    provider    TEXT NOT NULL,
    model       TEXT NOT NULL,
    input       INTEGER NOT NULL,
    output      INTEGER NOT NULL,
    cached      INTEGER NOT NULL,
    cache_write INTEGER NOT NULL,
    thinking    INTEGER NOT NULL,
    cost_usd    REAL,                        -- NULL where no price is known
    raw         TEXT NOT NULL                -- the provider's own usage object
) STRICT;
CREATE INDEX usage_of_principal ON usage (principal, at, session, cost_usd);
