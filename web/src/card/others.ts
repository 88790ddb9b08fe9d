// The script for the answers beyond yes, no and a note, which is fetched when one is wanted.
import { lazily } from "./lazily";

export const useOthers = lazily(() => import("../panels/panels"));
