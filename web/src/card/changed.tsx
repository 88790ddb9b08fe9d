// What an approver changed in a text, with some lines around.
import { Changes } from "./changes";
import { diffOf, near } from "./diff";

export function Changed({ before, after }: { before: string; after: string }) {
  return <Changes lines={near(diffOf(before, after))} />;
}
