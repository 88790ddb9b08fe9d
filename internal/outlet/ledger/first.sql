-- The form that ledgers had before assent had one of its own.
CREATE TABLE mutations (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    event_type TEXT NOT NULL,
    hook_type TEXT NOT NULL,
    tool_name TEXT NOT NULL,
    agent_id TEXT NOT NULL,
    file_path TEXT,
    file_ext TEXT,
    lines_changed INTEGER,
    branch TEXT NOT NULL,
    head_sha TEXT NOT NULL,
    raw_payload TEXT NOT NULL,
    event_timestamp TEXT NOT NULL,
    received_at TEXT NOT NULL DEFAULT (datetime('now'))
);
CREATE INDEX idx_mutations_file ON mutations(file_path);
CREATE INDEX idx_mutations_timestamp ON mutations(event_timestamp);
CREATE INDEX idx_mutations_agent ON mutations(agent_id);
CREATE INDEX idx_mutations_branch ON mutations(branch);
