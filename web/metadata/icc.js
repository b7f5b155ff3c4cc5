// Which colours an ICC profile means: sRGB and Display P3 are what canvases know; others are converted, and reported.
import { latin1, startsWith, viewOf } from "./bytes.js";

// Columns of the primaries in the profile's connection space, D50.
const KNOWN = {
  srgb: [0.4361, 0.2225, 0.0139, 0.3851, 0.7169, 0.0971, 0.1431, 0.0606, 0.7142],
  "display-p3": [0.5151, 0.2412, -0.0011, 0.292, 0.6922, 0.0419, 0.1571, 0.0666, 0.7841],
};
const MIDDLE = 0.214; // what sRGB's curve makes of 0.5; a gamma of 2.2 makes 0.2176 of it

/** "srgb", "display-p3", or "other". */
export function colours(icc) {
  try {
    const tags = tagsOf(icc);
    const columns = ["rXYZ", "gXYZ", "bXYZ"].flatMap((name) => xyz(tags.get(name)));
    const curves = ["rTRC", "gTRC", "bTRC"].map((name) => middle(tags.get(name)));
    if (!startsWith(icc, "RGB ", 16) || tags.has("A2B0")) return "other";
    if (curves.some((value) => Math.abs(value - MIDDLE) > 0.0016)) return "other";
    for (const [name, wanted] of Object.entries(KNOWN))
      if (columns.every((value, i) => Math.abs(value - wanted[i]) < 0.003)) return name;
  } catch {} // damaged: the browser decides
  return "other";
}

/** The profile's name for people. */
export function nameOf(icc) {
  try {
    const tag = tagsOf(icc).get("desc");
    if (startsWith(tag, "desc")) return latin1(tag.subarray(12, 12 + viewOf(tag).getUint32(8) - 1)).slice(0, 60);
    const view = viewOf(tag);
    const [length, at] = [view.getUint32(20), view.getUint32(24)];
    return new TextDecoder("utf-16be").decode(tag.subarray(at, at + length)).slice(0, 60);
  } catch {
    return "ICC";
  }
}

function tagsOf(icc) {
  const view = viewOf(icc);
  const tags = new Map();
  for (let i = 0, count = Math.min(view.getUint32(128), 200); i < count; ++i) {
    const entry = 132 + 12 * i;
    const at = view.getUint32(entry + 4);
    tags.set(latin1(icc.subarray(entry, entry + 4)), icc.subarray(at, at + view.getUint32(entry + 8)));
  }
  return tags;
}

function xyz(tag) {
  const view = viewOf(tag);
  return [8, 12, 16].map((at) => view.getInt32(at) / 65536);
}

/** The value of a tone curve at 0.5. */
function middle(tag) {
  const view = viewOf(tag);
  if (startsWith(tag, "curv")) {
    const count = view.getUint32(8);
    if (count === 0) return 0.5;
    if (count === 1) return 0.5 ** (view.getUint16(12) / 256);
    const place = (count - 1) / 2;
    const [low, high] = [Math.floor(place), Math.ceil(place)].map((i) => view.getUint16(12 + 2 * i) / 65535);
    return low + (high - low) * (place - Math.floor(place));
  }
  const parameter = (i) => view.getInt32(12 + 4 * i) / 65536;
  const [kind, g] = [view.getUint16(8), parameter(0)];
  if (kind === 0) return 0.5 ** g;
  return (parameter(1) * 0.5 + parameter(2)) ** g + (kind === 4 ? parameter(5) : 0);
}
