// Writes src/broker/types.gen.ts from ../schemas. Deterministic: same schemas, same file.
import { readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { compile } from "json-schema-to-typescript";

const here = dirname(fileURLToPath(import.meta.url));
const schemas = join(here, "../../schemas");
const prefix = "https://assent.dev/schemas/";

// Every $id is a name below prefix with a version at its end; it is read from the repository
// and never fetched.
const fromRepository = {
  order: 1,
  canRead: (file) => file.url.startsWith(prefix),
  read: (file) => load(file.url.slice(prefix.length).replace(/\/\d+\.\d+\.\d+$/, "")),
};

async function load(name) {
  return JSON.stringify(clean(JSON.parse(await readFile(join(schemas, name + ".json"), "utf8"))));
}

// The generator turns an annotation like "examples" into nothing, and $id into a base that it
// would resolve "#/$defs" against; both go.
function clean(schema) {
  delete schema.$id;
  delete schema.$schema;
  return schema;
}

const names = ["PermissionRequest", "Unit", "SessionInfo", "Found", "Settled", "Stats", "Rules", "Saved", "Halt", "Proposals", "Suggestions", "Device", "VerificationState", "Verification", "Push", "PushSettings", "PushMessage", "Verdict", "RuleProblem", "PairingStart", "PairingWaiting", "PhoneAddress", "Decision", "DecisionResult", "Problem", "AuditCheckpoint", "AuditTrace", "ws/Message", "feed/Event", "AgentState", "Session", "Run", "Actor", "Task", "AgentDiff"];
const root = {
  title: "Everything",
  type: "object",
  additionalProperties: false,
  properties: Object.fromEntries(names.map((n) => [n, { $ref: `${prefix}${n}/1.0.0` }])),
  required: names,
};

const text = await compile(root, "Everything", {
  bannerComment: "// Generated from ../schemas by `npm run types`; do not edit.",
  additionalProperties: false,
  enableConstEnums: false,
  unknownAny: true,
  $refOptions: { resolve: { fromRepository, http: false, file: false } },
});
await writeFile(join(here, "../src/broker/types.gen.ts"), text);
