// The chunks of a WebP: what the source says about itself.
import { latin1, startsWith, viewOf } from "./bytes.js";

export function read(bytes) {
  const found = { kind: "webp", bits: 8, kept: [], leftOut: [] };
  const view = viewOf(bytes);
  for (let at = 12; at + 8 <= bytes.length; ) {
    const name = latin1(bytes.subarray(at, at + 4));
    const length = view.getUint32(at + 4, true);
    const payload = bytes.slice(at + 8, at + 8 + length);
    if (payload.length < length) break;
    if (name === "EXIF") found.exif = startsWith(payload, "Exif\0\0") ? payload.subarray(6) : payload;
    else if (name === "XMP ") found.xmp = payload;
    else if (name === "ICCP") found.icc = payload;
    else if (name === "ANIM") found.animated = true;
    else if (name === "C2PA") found.leftOut.push("partManifest");
    at += 8 + length + (length & 1);
  }
  return found;
}
