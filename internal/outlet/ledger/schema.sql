CREATE TABLE mutations (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    event_type TEXT NOT NULL,         -- "tool.mutation.write"
    hook_type TEXT NOT NULL,          -- "post_tool_use"
    tool_name TEXT NOT NULL,          -- "write", "edit"
    agent_id TEXT NOT NULL,
    file_path TEXT,
    file_ext TEXT,
    lines_changed INTEGER,
    branch TEXT NOT NULL,
    head_sha TEXT NOT NULL,
    raw_payload TEXT NOT NULL,        -- JSON, as the agent wrote it
    event_timestamp TEXT NOT NULL,    -- ISO 8601, UTC, always with milliseconds: it sorts as text
    received_at TEXT NOT NULL DEFAULT (datetime('now')),
    session_id TEXT NOT NULL,
    event_id TEXT NOT NULL            -- what is told twice is stored once
);

-- The time behind each: a query of one file or branch is often one of the last hour, too.
CREATE INDEX idx_mutations_file ON mutations(file_path, event_timestamp);
CREATE INDEX idx_mutations_timestamp ON mutations(event_timestamp);
CREATE INDEX idx_mutations_agent ON mutations(agent_id, event_timestamp);
CREATE INDEX idx_mutations_branch ON mutations(branch, event_timestamp);
CREATE INDEX idx_mutations_tool ON mutations(tool_name, event_timestamp);
CREATE INDEX idx_mutations_hook ON mutations(hook_type, event_timestamp);
CREATE UNIQUE INDEX idx_mutations_event ON mutations(event_id);
