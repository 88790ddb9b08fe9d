// The script plan.js, which is fetched when the first plan is shown: what reads Markdown.
import { Lexer, type Tokens } from "marked";

export type Token = Tokens.Generic;

/** The parts of a Markdown text. Whoever shows them makes elements and text nodes; nothing here
 * makes HTML. */
export function lex(text: string): Token[] {
  return new Lexer({ gfm: true }).lex(text) as Token[];
}
