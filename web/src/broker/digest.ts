/** Lower-case hex of the SHA-256 of a text in UTF-8. */
export async function digest(text: string): Promise<string> {
  const sum = new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text)));
  return Array.from(sum, (b) => b.toString(16).padStart(2, "0")).join("");
}
