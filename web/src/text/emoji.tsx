// Emoji that the broker wrote with marks, because they hold characters that nobody sees: ❤⟦U+FE0F⟧. Where the whole
// certainly is one emoji (this browser knows it as one), it is drawn as it is, underlined with dots, so that it does
// not look like the same pictures without those characters.
import type { ComponentChildren } from "preact";

const written = /\d⟦U\+FE0F⟧⟦U\+20E3⟧|\p{Extended_Pictographic}\p{EMod}?(?:⟦U\+(?:FE0F|E00[67].)⟧)*(?:⟦U\+200D⟧\p{Extended_Pictographic}\p{EMod}?(?:⟦U\+FE0F⟧)?)*/gu;

let known: RegExp | undefined;
try {
  known = new RegExp("^\\p{RGI_Emoji}$", "v");
} catch {
  // A browser that is older than this: the marks stay.
}

/** A text, with its emoji drawn. */
export function drawn(text: string): ComponentChildren {
  if (!known || !text.includes("⟦")) return text;
  const out: ComponentChildren[] = [];
  let at = 0;
  for (const { 0: found, index } of text.matchAll(written)) {
    const emoji = found.replace(/⟦U\+(\w+)⟧/g, (_, hex: string) => String.fromCodePoint(parseInt(hex, 16)));
    if (emoji === found || !known.test(emoji)) continue;
    out.push(text.slice(at, index), <span class="emoji" data-mark="emoji" title={found}>{emoji}</span>);
    at = index + found.length;
  }
  return [...out, text.slice(at)];
}
