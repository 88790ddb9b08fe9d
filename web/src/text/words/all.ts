// The words of the parts that load later, and all others: the first load does without them.
import { doorWords } from "./door";
import { words as first } from "./index";
import { laterWords } from "./later";
import { panelsWords } from "./panels";
import { storyWords } from "./story";

export const words = { ...first, ...panelsWords, ...laterWords, door: { ...first.door, ...doorWords.door }, feed: { ...first.feed, ...storyWords.feed } };
