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
    if (name.startsWith("VP8")) Object.assign(found, found.width ? {} : sizeOf(name, viewOf(payload)));
    else if (name === "EXIF") found.exif = startsWith(payload, "Exif\0\0") ? payload.subarray(6) : payload;
    else if (name === "XMP ") found.xmp = payload;
    else if (name === "ICCP") found.icc = payload;
    else if (name === "ANIM") found.animated = true;
    else if (name === "C2PA") found.leftOut.push("partManifest");
    at += 8 + length + (length & 1);
  }
  return found;
}

/** Of the canvas, or of the picture where that comes first. */
function sizeOf(name, view) {
  if (view.byteLength < 10) return {};
  const at = (i) => view.getUint16(i, true);
  if (name === "VP8X") return { width: 1 + (view.getUint32(4, true) & 0xffffff), height: 1 + (view.getUint32(6, true) >>> 8) };
  if (name === "VP8 ") return { width: at(6) & 0x3fff, height: at(8) & 0x3fff };
  const bits = view.getUint32(1, true);
  return { width: 1 + (bits & 0x3fff), height: 1 + ((bits >> 14) & 0x3fff) };
}
