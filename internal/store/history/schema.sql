-- One row: up to where both streams were read, see cursor; fold is the feed.Version of the rows.
CREATE TABLE cursor (
  id     INTEGER PRIMARY KEY CHECK (id = 1),
  event  INTEGER NOT NULL,
  record INTEGER NOT NULL,
  after  INTEGER NOT NULL,
  clock  INTEGER NOT NULL,
  fold   INTEGER NOT NULL,
  event_stream  INTEGER NOT NULL DEFAULT 0, -- when the stream was made, in nanoseconds since 1970; 0: not known
  record_stream INTEGER NOT NULL DEFAULT 0,
  former        INTEGER NOT NULL DEFAULT 0  -- feed rows up to this id are of event streams that were there before
);
INSERT INTO cursor (id, event, record, after, clock, fold) VALUES (1, 0, 0, 0, 0, 0);

-- A session that is forgotten and comes back is another row.
CREATE TABLE sessions (
  key    INTEGER PRIMARY KEY,
  id     TEXT NOT NULL UNIQUE,
  event  INTEGER NOT NULL, -- the last event
  at     INTEGER NOT NULL, -- cursor.clock then
  pos    INTEGER NOT NULL, -- of its last feed event
  fold   BLOB,             -- feed.Session; null when another version of the fold made the rows
  info   BLOB NOT NULL     -- feed.Info as of the last event
);
CREATE INDEX sessions_at ON sessions (at, key);

-- id is the order in which things happened over all sessions.
CREATE TABLE feed (
  id      INTEGER PRIMARY KEY,
  session INTEGER NOT NULL,
  pos     INTEGER NOT NULL,
  event   INTEGER NOT NULL, -- the event it came from, or behind which its record stands
  at      INTEGER NOT NULL, -- cursor.clock then: never falls
  text    TEXT NOT NULL,    -- what search looks at
  body    BLOB NOT NULL     -- feed.Event, packed
);
CREATE UNIQUE INDEX feed_pos ON feed (session, pos);

-- The payload of a feed event, packed.
CREATE TABLE raw (
  id   INTEGER PRIMARY KEY, -- feed.id
  body BLOB NOT NULL,
  submitter TEXT NOT NULL DEFAULT '' -- of a prompt that an agent's hook brought: whom it came from
);

CREATE VIRTUAL TABLE search USING fts5 (
  text, content = 'feed', content_rowid = 'id', columnsize = 0,
  tokenize = "unicode61 remove_diacritics 2", prefix = '2 3'
);
INSERT INTO search (search, rank) VALUES ('secure-delete', 1);

-- Events that left the stream before they were read.
CREATE TABLE gaps (
  first INTEGER PRIMARY KEY, -- sequence
  last  INTEGER NOT NULL
);

-- Which session an event in EVENTS belongs to.
CREATE TABLE events (
  seq     INTEGER PRIMARY KEY,
  session INTEGER NOT NULL
);
CREATE INDEX events_session ON events (session, seq);

CREATE TABLE requests (
  id      TEXT PRIMARY KEY,
  session INTEGER NOT NULL,
  event   INTEGER NOT NULL, -- its hook event
  tool    TEXT NOT NULL,
  asked   INTEGER NOT NULL, -- milliseconds since 1970, as settled
  settled INTEGER NOT NULL DEFAULT 0,
  outcome TEXT NOT NULL DEFAULT '',
  at      INTEGER NOT NULL,
  repo    TEXT NOT NULL DEFAULT '', -- the root of its repository, or where it would run
  summary TEXT NOT NULL DEFAULT '', -- of its input, one line that is safe to show
  text    TEXT NOT NULL DEFAULT '', -- what is looked for in, in small letters
  by_kind TEXT NOT NULL DEFAULT '', -- of the record that settled it, as reason
  by_name TEXT NOT NULL DEFAULT '',
  reason  TEXT NOT NULL DEFAULT '',
  edited  INTEGER NOT NULL DEFAULT 0,  -- summary is of what was allowed, and wanted of what was asked for
  wanted  TEXT NOT NULL DEFAULT '',
  answers TEXT NOT NULL DEFAULT '',    -- one line that is safe to show
  changes TEXT NOT NULL DEFAULT '',    -- of an edited one, lines that are safe to show
  unattended INTEGER NOT NULL DEFAULT 0, -- the agent had no terminal
  input   BLOB NOT NULL DEFAULT x'',       -- a part of the digest of what was asked for
  verified INTEGER NOT NULL DEFAULT 0      -- the owner of the device that decided was verified
) WITHOUT ROWID;
CREATE INDEX requests_session ON requests (session, event);
CREATE INDEX requests_at ON requests (at);
CREATE INDEX requests_settled ON requests (settled, asked, outcome, by_kind, by_name);

-- Every record behind asked.
CREATE TABLE decisions (
  request  TEXT NOT NULL,
  record   INTEGER NOT NULL, -- sequence in APPROVALS
  step     TEXT NOT NULL,
  time     INTEGER NOT NULL,
  by_kind  TEXT NOT NULL DEFAULT '',
  by_name  TEXT NOT NULL DEFAULT '',
  outcome  TEXT NOT NULL DEFAULT '',
  reason   TEXT NOT NULL DEFAULT '',
  message  TEXT NOT NULL DEFAULT '', -- what the agent was told, or what a tool said that failed
  PRIMARY KEY (request, record)
) WITHOUT ROWID;

-- Messages that were sent to sessions, those of which nothing else is here included.
CREATE TABLE messages (
  id      TEXT PRIMARY KEY, -- as the record calls it
  session TEXT NOT NULL,    -- sessions.id
  at      INTEGER NOT NULL, -- cursor.clock then
  sent    INTEGER NOT NULL DEFAULT 0 -- when, as the record says
) WITHOUT ROWID;
CREATE INDEX messages_session ON messages (session);
CREATE INDEX messages_at ON messages (at);
CREATE INDEX messages_sent ON messages (sent)
