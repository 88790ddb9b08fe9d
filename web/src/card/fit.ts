/** Makes a box as high as its text, up to what its style allows: not a line of it is cut. */
export function fit(box: HTMLTextAreaElement | null): void {
  if (!box) return;
  box.style.height = "auto";
  box.style.height = `${box.scrollHeight + box.offsetHeight - box.clientHeight}px`;
}
