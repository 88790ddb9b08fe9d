// What an answer has somebody remember: the agent, its own updates; assent, a rule or a grant.
import { clockSkew } from "../broker/clock";
import type { PermissionUpdate } from "../broker/types.gen";
import { Ticked } from "../text/rich";
import { visibleLine, visibleText } from "../text/visible";
import { words } from "../text/words";

export type Update = Record<string, unknown>;

/** What the agent suggests to remember; entries of an unknown form are left out. OpenCode sends patterns and
 * takes all of them or none, so they are one suggestion. */
export function suggestionsOf(suggestions: unknown, { toolName, agent }: { toolName: string; agent?: string }): Update[] {
  if (!Array.isArray(suggestions)) return [];
  const all = suggestions as unknown[];
  if (all.length > 0 && all.every((s) => typeof s === "string")) return [{ type: "patterns", patterns: all, tool: /^(Write|permission:edit)$/.test(toolName) ? "Edit" : toolName, destination: agent === "kilo" ? agent : "cliArg" }];
  return all.filter((s): s is Update => typeof s === "object" && s !== null && sentenceOf(s as Update) !== "");
}

/** What an update makes the agent do from now on, as a sentence; "" when that is not known. */
export function sentenceOf(u: Update): string {
  const rules = Array.isArray(u["rules"]) ? (u["rules"] as Update[]).map(ruleText) : [];
  switch (u["type"]) {
    case "addRules":
      return rules.length > 0 && rules.every((r) => r !== "") ? words.always.rules(String(u["behavior"]), rules.join(", ")) : "";
    case "setMode":
      return words.always.mode(visibleLine(String(u["mode"])));
    case "addDirectories":
      return Array.isArray(u["directories"]) ? words.always.directories((u["directories"] as unknown[]).map((d) => visibleLine(String(d))).join(", ")) : "";
    case "patterns":
      return words.always.rules("allow", (u["patterns"] as string[]).map((p) => ruleText({ toolName: u["tool"], ruleContent: p === "*" ? undefined : p })).join(", "));
    case "toolAlwaysAllow":
      return words.always.tool(visibleLine(String(u["tool"])));
  }
  return "";
}

function ruleText(r: Update | null): string {
  if (typeof r?.["toolName"] !== "string") return "";
  const content = r["ruleContent"];
  return typeof content === "string" ? `${visibleLine(r["toolName"])}(${visibleLine(content)})` : words.always.wholeTool(visibleLine(r["toolName"]));
}

/** Updates as a decision carries them. */
export function updatesOf(chosen: ReadonlyMap<number, Update>): PermissionUpdate[] {
  return [...chosen.entries()].sort((a, b) => a[0] - b[0]).flatMap(([, u]) => (u["patterns"] ?? u) as PermissionUpdate);
}

/** How long a proposal holds. */
export type Scope = Parameters<typeof words.rule.scope>[0];

export interface Kept {
  digest: string;
  sentence: string;
  scope: Scope;
}

/** What was saved with an answer. */
export function SavedRule({ sentence, scope }: Kept) {
  return (
    <p class="said" data-ui="said">
      {words.rule.saved(scope)} <Ticked text={visibleText(sentence)} />
    </p>
  );
}

/** The bound of a grant as the broker takes it; nothing for a rule. */
export function boundOf({ scope }: Kept): { expiresAt?: string; count?: number } {
  if (scope === "rule") return {};
  if ("count" in scope) return { count: scope.count };
  return { expiresAt: new Date(Date.now() + clockSkew + scope.minutes * 60_000).toISOString() };
}
