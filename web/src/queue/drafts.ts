// The notes that somebody has begun for requests that wait: they are there again when their card is. In
// memory only, and gone with the request.
import { effect } from "@preact/signals";
import { items } from "./state";

const drafts = new Map<string, string>();

export function draftOf(id: string): string {
  return drafts.get(id) ?? "";
}

export function keepDraft(id: string, text: string): void {
  if (text) drafts.set(id, text);
  else drafts.delete(id);
}

effect(() => {
  for (const id of drafts.keys()) if (items.value.get(id)?.endedAt !== 0) drafts.delete(id);
});
