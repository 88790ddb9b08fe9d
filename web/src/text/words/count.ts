/** The text for a number of things; # in that for many is the number. */
export const n = (count: number, one: string, many: string) => (count === 1 ? one : many.replace("#", String(count)));
