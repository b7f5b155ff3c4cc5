// Boxes, as MP4, QuickTime and AVIF have them.
import { latin1, viewOf } from "./bytes.js";

/** The boxes that lie in `bytes`, up to the first that does not fit. */
export function boxes(bytes) {
  const view = viewOf(bytes);
  const found = [];
  for (let at = 0; at + 8 <= bytes.length; ) {
    const size = view.getUint32(at) || bytes.length - at;
    if (size < 8 || at + size > bytes.length) break;
    found.push({ type: latin1(bytes.subarray(at + 4, at + 8)), data: bytes.subarray(at + 8, at + size) });
    at += size;
  }
  return found;
}
