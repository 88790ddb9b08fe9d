// The script for cards of other kinds than a command: what changes in a file, questions, plans, and
// what the rules read. It is fetched when the first one comes.
import { lazily } from "./lazily";

export const useMore = lazily(() => import("./kinds"));
