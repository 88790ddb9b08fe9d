// What more.ts fetches.
export { ChangesPart } from "./changespart";
export { made } from "./edits";
export { Markdown } from "./plan";
export { QuestionForm, besides, questionsOf, updatedInput } from "./question";
export { Read } from "./read";
export { Changed } from "./changed";
