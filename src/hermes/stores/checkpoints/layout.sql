-- Paths are bytes as the kernel has them. A content is named by its sha256; the bytes are in `data`
-- (packed by zlib if that is shorter than `size`), or in a file of that name if it is NULL.

CREATE TABLE total (bytes INTEGER NOT NULL);
INSERT INTO total VALUES (0);

CREATE TABLE content (
    sha BLOB PRIMARY KEY,
    size INTEGER NOT NULL,
    stored INTEGER NOT NULL,
    data BLOB
);
CREATE TRIGGER content_added AFTER INSERT ON content
    BEGIN UPDATE total SET bytes = bytes + NEW.stored; END;
CREATE TRIGGER content_gone AFTER DELETE ON content
    BEGIN UPDATE total SET bytes = bytes - OLD.stored; END;

-- `version` counts the changes of the workspace's rows in `known`.
CREATE TABLE workspace (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    root BLOB NOT NULL UNIQUE,
    last_number INTEGER NOT NULL DEFAULT 0,
    version INTEGER NOT NULL DEFAULT 0,
    used_at REAL NOT NULL
);

CREATE TABLE checkpoint (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    workspace INTEGER NOT NULL REFERENCES workspace ON DELETE CASCADE,
    number INTEGER NOT NULL,
    session TEXT NOT NULL,
    turn TEXT NOT NULL,
    at REAL NOT NULL,
    UNIQUE (workspace, number),
    UNIQUE (workspace, session, turn)
);

-- `kind` NULL: not covered, for `reason`. `left_kind` NULL: what the tool left is not known. `inode` is
-- that of the old file (device and number, as in `identity` below), empty if not known.
CREATE TABLE file (
    checkpoint INTEGER NOT NULL REFERENCES checkpoint ON DELETE CASCADE,
    path BLOB NOT NULL,
    tool TEXT NOT NULL,
    kind TEXT,
    sha BLOB,
    size INTEGER NOT NULL DEFAULT 0,
    mode INTEGER NOT NULL DEFAULT 0,
    reason TEXT,
    detail TEXT NOT NULL DEFAULT '',
    new_folders INTEGER NOT NULL DEFAULT 0,
    left_kind TEXT,
    left_sha BLOB,
    left_size INTEGER NOT NULL DEFAULT 0,
    left_mode INTEGER NOT NULL DEFAULT 0,
    mixed INTEGER NOT NULL DEFAULT 0,
    inode BLOB NOT NULL DEFAULT x'',
    PRIMARY KEY (checkpoint, path)
) WITHOUT ROWID;
CREATE INDEX file_content ON file (sha);

CREATE TABLE gap (
    checkpoint INTEGER NOT NULL REFERENCES checkpoint ON DELETE CASCADE,
    tool TEXT NOT NULL,
    code TEXT NOT NULL,
    detail TEXT NOT NULL,
    PRIMARY KEY (checkpoint, tool, code)
) WITHOUT ROWID;

-- The last state in which a file of a workspace was seen, so that a snapshot reads only what changed.
CREATE TABLE known (
    workspace INTEGER NOT NULL REFERENCES workspace ON DELETE CASCADE,
    path BLOB NOT NULL,
    identity BLOB NOT NULL,
    settled INTEGER NOT NULL,
    kind TEXT NOT NULL,
    sha BLOB NOT NULL,
    size INTEGER NOT NULL,
    mode INTEGER NOT NULL,
    PRIMARY KEY (workspace, path)
) WITHOUT ROWID;
CREATE INDEX known_content ON known (sha);

-- A command under way. What it found is `known`, but for what has changed there since: `held`.
CREATE TABLE watch (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    workspace INTEGER NOT NULL REFERENCES workspace ON DELETE CASCADE,
    session TEXT NOT NULL,
    turn TEXT NOT NULL,
    tool TEXT NOT NULL,
    owner TEXT NOT NULL
);
CREATE TABLE held (
    watch INTEGER NOT NULL REFERENCES watch ON DELETE CASCADE,
    path BLOB NOT NULL,
    identity BLOB NOT NULL,
    settled INTEGER NOT NULL,
    kind TEXT NOT NULL,
    sha BLOB NOT NULL,
    size INTEGER NOT NULL,
    mode INTEGER NOT NULL,
    PRIMARY KEY (watch, path)
) WITHOUT ROWID;
CREATE INDEX held_content ON held (sha);
