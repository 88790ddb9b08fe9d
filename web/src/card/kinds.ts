// What more.ts fetches.
import "../queue/model"; // which the first load has anyway: so it is one file less there
export { Door } from "../device/door";
export { ChangesPart } from "./changespart";
export { made } from "./edits";
export { FormView, besidesForm, contentOf, formOf, formParts } from "./formview";
export { Markdown } from "./plan";
export { QuestionForm, besides, questionsOf, updatedInput } from "./question";
export { Read } from "./read";
export { Changed } from "./changed";
