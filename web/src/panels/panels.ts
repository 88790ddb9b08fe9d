// The parts of the page that most visits do not need: one script of its own.
export { Always } from "../card/always";
export { EditForm, editedInput, membersOf } from "../card/edit";
export { Many } from "../queue/many";
export { Alarms } from "../queue/alarms";
export { Charts } from "./charts";
export { Decisions } from "./decisions";
export { Halted } from "./halt";
export { RuleBook } from "./rulebook";
export { Settings } from "./settings";
export { verify } from "../device/verify";
export { VerificationOffer } from "./verification";
export { keepWay } from "../way";
export { startFeed } from "../story/feed";
export { Sessions } from "../story/sessions";
export { Transcript } from "../story/transcriptview";
