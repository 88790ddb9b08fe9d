// A sentence of words/ as elements: `code`, **bold**, and {names} for what is put in. Foreign
// text is always put in by name: written into the sentence, its own marks would be taken for ours.
import type { ComponentChildren } from "preact";

export function Rich({ text, put = {} }: { text: string; put?: Readonly<Record<string, ComponentChildren>> }) {
  return <>{rich(text, put)}</>;
}

function rich(text: string, put: Readonly<Record<string, ComponentChildren>>): ComponentChildren[] {
  return text.split(/(`[^`]+`|\*\*[^*]+\*\*|\{\w+\})/).map((part, i) => {
    if (i % 2 === 0) return part;
    if (part.startsWith("`")) return <code>{part.slice(1, -1)}</code>;
    if (part.startsWith("*")) return <b>{rich(part.slice(2, -2), put)}</b>;
    return put[part.slice(1, -1)];
  });
}

/** A sentence of the broker, in which `code` stands; of foreign text nothing else is read. */
export function Ticked({ text }: { text: string }) {
  return <>{text.split(/`([^`]+)`/).map((part, i) => (i % 2 === 0 ? <Paths text={part} /> : <code>{part}</code>))}</>;
}

/** A text with paths in it, whose lines end behind a slash and not before a full stop. */
export function Paths({ text }: { text: string }) {
  return <>{text.split(/(?<=\/)/).map((part, i) => (i === 0 ? part : [<wbr />, part]))}</>;
}
