// Suggestions that somebody put off in this browser, for a week. It keeps what the rules say, since a
// suggestion is named anew whenever a newer request would be answered by it.
const storageKey = "assent.notNow";
const most = 50;
const week = 7 * 86_400_000;

type Kept = Record<string, number>; // when, by Date.now()

function read(): Kept {
  try {
    const kept: unknown = JSON.parse(localStorage.getItem(storageKey) ?? "{}");
    return typeof kept === "object" && kept ? Object.fromEntries(Object.entries(kept).filter(([, at]) => typeof at === "number" && Date.now() - at < week)) : {};
  } catch {
    return {}; // nothing kept, or not by us
  }
}

let off = read();

export function standsOff(rule: string): boolean {
  return Object.hasOwn(off, rule);
}

export function putOff(rule: string): void {
  off = Object.fromEntries([...Object.entries(off), [rule, Date.now()] as const].slice(-most));
  try {
    localStorage.setItem(storageKey, JSON.stringify(off));
  } catch {
    // a browser that keeps nothing
  }
}
