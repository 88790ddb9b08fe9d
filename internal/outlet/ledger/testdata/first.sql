CREATE TABLE IF NOT EXISTS mutations (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    event_type TEXT NOT NULL,        -- "tool.mutation.write"
    hook_type TEXT NOT NULL,          -- "post_tool_use"
    tool_name TEXT NOT NULL,          -- "write", "edit"
    agent_id TEXT NOT NULL,
    file_path TEXT,
    file_ext TEXT,
    lines_changed INTEGER,
    branch TEXT NOT NULL,
    head_sha TEXT NOT NULL,
    raw_payload TEXT NOT NULL,        -- JSON string
    event_timestamp TEXT NOT NULL,    -- ISO 8601
    received_at TEXT NOT NULL DEFAULT (datetime('now'))
);

CREATE INDEX IF NOT EXISTS idx_mutations_file ON mutations(file_path);
CREATE INDEX IF NOT EXISTS idx_mutations_timestamp ON mutations(event_timestamp);
CREATE INDEX IF NOT EXISTS idx_mutations_agent ON mutations(agent_id);
CREATE INDEX IF NOT EXISTS idx_mutations_branch ON mutations(branch);
