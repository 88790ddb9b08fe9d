// The script for cards of other kinds than a command (what changes in a file, questions, plans, forms, and what
// the rules read) and for the door of a browser that is not paired. It is fetched when the first one comes. It is
// one script, because each further one splits up what all of them have from the first load.
import { lazily } from "./lazily";

export const useMore = lazily(() => import("./kinds"));
