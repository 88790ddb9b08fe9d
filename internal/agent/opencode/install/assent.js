// Made by assent install: what this agent asks goes to assent, too. Its own prompt stays on the screen, and
// the first answer counts. Whatever fails here leaves the answer to that prompt. assent uninstall removes
// this file.
import { spawn } from "node:child_process"

const HOOK = ["HOOK"]
const ASK = false // whether commands, edits and web pages are asked about where the settings say nothing

/** The permissions that are asked about a call as it is; others are about something else of it. A patch asks
    as an edit does, and is about many files. */
const natural = { bash: ["bash"], edit: ["edit", "write"], webfetch: ["webfetch"], read: ["read"] }

export const Assent = async ({ client, directory }) => {
  const api = client?._client
  if (typeof api?.post !== "function") {
    console.error("assent: this version of the agent has another API; its own prompt decides")
    return {}
  }
  const waiting = new Map() // what is asked, by its id: the hook that waits
  const calls = new Map() // tool calls by their id: what runs. What is asked shows a part of it.
  const parents = new Map() // a subagent's session: its parent
  const keep = (map, key, value) => {
    map.set(key, value)
    if (map.size > 1000) map.delete(map.keys().next().value)
  }
  const root = (s) => {
    for (let i = 0; i < 20 && parents.has(s); i++) s = parents.get(s)
    return s
  }
  const base = (s) => ({ session_id: root(s), ...(parents.has(s) ? { agent_id: s } : {}), cwd: directory })
  // In this process: no port, no password.
  const reply = (path, body) => api.post({ url: path, body, headers: { "Content-Type": "application/json" } }).catch(() => {})

  const hook = (payload, id, answer) => {
    const child = spawn(HOOK[0], answer ? [...HOOK.slice(1), "--timeout", "86390s"] : HOOK.slice(1), { stdio: ["pipe", answer ? "pipe" : "ignore", "ignore"], cwd: directory })
    child.on("error", () => waiting.delete(id))
    child.stdin.on("error", () => {})
    child.stdin.end(JSON.stringify(payload))
    if (!answer) return
    let out = ""
    waiting.set(id, child)
    child.stdout.on("data", (d) => (out += d))
    child.on("close", () => {
      if (!waiting.delete(id)) return // the prompt was first
      let decision
      try {
        decision = JSON.parse(out).hookSpecificOutput.decision
      } catch {
        return // nothing said: the prompt decides
      }
      answer(decision)
    })
  }
  const settled = (id) => {
    const child = waiting.get(id)
    waiting.delete(id)
    child?.kill("SIGTERM")
  }

  const on = {
    "session.created": (p) => {
      if (p.info?.parentID) keep(parents, p.info.id, p.info.parentID)
    },
    "permission.asked": (p) => {
      const call = calls.get(p.tool?.callID)
      const about = { permission: { id: p.id, permission: p.permission, patterns: p.patterns, always: p.always, metadata: p.metadata } }
      // Another plugin may change the arguments after ours saw them: what is asked wins.
      const what = call && natural[p.permission]?.includes(call.tool)
        ? { tool_name: call.tool, tool_input: { ...call.args, ...p.metadata } }
        : { tool_name: natural[p.permission] ? `permission:${p.permission}` : p.permission, tool_input: { ...p.metadata, patterns: p.patterns, ...(call ? { call: { tool: call.tool, input: call.args } } : {}) } }
      hook({ hook_event_name: "PermissionRequest", ...base(p.sessionID), ...what, ...(p.tool?.callID ? { tool_use_id: p.tool.callID } : {}), ...about }, p.id, (d) => {
        if (d.behavior === "allow") void reply(`/permission/${p.id}/reply`, { reply: d.updatedPermissions?.length ? "always" : "once" })
        else if (d.behavior === "deny") void reply(`/permission/${p.id}/reply`, { reply: "reject", ...(d.message ? { message: d.message } : {}) })
      })
    },
    "permission.replied": (p) => settled(p.requestID ?? p.permissionID),
    "question.asked": (p) => {
      const questions = p.questions.map((q) => ({ ...q, multiSelect: !!q.multiple }))
      hook({ hook_event_name: "PermissionRequest", ...base(p.sessionID), tool_name: "AskUserQuestion", tool_input: { questions }, question: p.id }, p.id, (d) => {
        const answers = d.updatedInput?.answers
        if (d.behavior === "deny") void reply(`/question/${p.id}/reject`, {})
        else if (d.behavior === "allow" && answers) void reply(`/question/${p.id}/reply`, { answers: p.questions.map((q) => [].concat(answers[q.question] ?? [])) })
      })
    },
    "question.replied": (p) => settled(p.requestID),
    "question.rejected": (p) => settled(p.requestID),
    "session.idle": (p) => hook({ hook_event_name: parents.has(p.sessionID) ? "SubagentStop" : "Stop", ...base(p.sessionID) }),
  }
  return {
    config: async (c) => {
      if (!ASK || typeof c.permission === "string") return
      c.permission = { bash: "ask", edit: "ask", webfetch: "ask", ...c.permission }
    },
    event: async ({ event }) => {
      on[event.type]?.(event.properties)
    },
    "chat.message": async (i, o) => {
      hook({ hook_event_name: parents.has(i.sessionID) ? "SubagentStart" : "UserPromptSubmit", ...base(i.sessionID), prompt: (o.parts ?? []).map((p) => p.text ?? "").join("") })
    },
    "tool.execute.before": async (i, o) => {
      keep(calls, i.callID, { tool: i.tool, args: o.args })
      hook({ hook_event_name: "PreToolUse", ...base(i.sessionID), tool_name: i.tool, tool_input: o.args ?? {}, tool_use_id: i.callID })
    },
    "tool.execute.after": async (i, o) => {
      const call = calls.get(i.callID)
      calls.delete(i.callID)
      hook({ hook_event_name: "PostToolUse", ...base(i.sessionID), tool_name: i.tool, tool_input: call?.args ?? {}, tool_use_id: i.callID, tool_response: o.output })
    },
  }
}
