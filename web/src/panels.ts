// The parts of the page that most visits do not need: one script of its own.
export { Charts } from "./charts";
export { Decisions } from "./decisions";
export { Many } from "./many";
export { RuleBook } from "./rulebook";
export { Settings } from "./settings";
