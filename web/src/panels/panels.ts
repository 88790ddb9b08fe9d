// The parts of the page that most visits do not need: one script of its own.
export { Many } from "../queue/many";
export { Charts } from "./charts";
export { Decisions } from "./decisions";
export { RuleBook } from "./rulebook";
export { Settings } from "./settings";
