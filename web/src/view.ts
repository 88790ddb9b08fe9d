// Which part of the page is shown, and which sheet lies over it.
import { signal } from "@preact/signals";

export const views = ["inbox", "history", "charts", "rules"] as const;
export type View = (typeof views)[number];

export const view = signal<View>("inbox");

export const sections = ["devices", "notifications", "answering", "keyboard"] as const;
export type Section = (typeof sections)[number];

/** The section of the settings that is open; undefined: they are closed. */
export const settings = signal<Section | undefined>(undefined);
