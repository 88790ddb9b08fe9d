// The script for the forms of MCP servers, which is fetched when the first one comes.
import { lazily } from "./lazily";

export const useForms = lazily(() => import("./formview"));
