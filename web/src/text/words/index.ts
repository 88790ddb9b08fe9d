// Every word that the page itself says, in one folder: to translate the page, translate its
// files. Sentences are whole. Where ../rich.tsx shows one, `backquotes` are code, **stars** are bold
// and {names} are places for what is put in; elsewhere a text is shown as it is.
//
// Not here: what the broker says (the verb of a request, why it refused), which comes in its
// own words, and foreign text, which nobody translates. What only the parts say that load later is in
// panels.ts; they have it from all.ts.
import { answerWords } from "./answer";
import { cardWords } from "./card";
import { deviceWords } from "./device";
import { pageWords } from "./page";
import { queueWords } from "./queue";
import { stateWords } from "./states";

export const words = {
  ...pageWords,
  ...queueWords,
  ...cardWords,
  ...answerWords,
  ...deviceWords,
  ...stateWords,
};
