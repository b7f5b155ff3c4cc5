// The segments of a JPEG: what the source says about itself, and the result with it.
import { fromLatin1, joined, startsWith, uint16, viewOf } from "./bytes.js";

const EXIF = "Exif\0\0", XMP = "http://ns.adobe.com/xap/1.0/\0", XMP_EXTENSION = "http://ns.adobe.com/xmp/extension/\0";
const ICC = "ICC_PROFILE\0", PHOTOSHOP = "Photoshop 3.0\0", GAIN_MAP = "urn:iso:std:iso:ts:21496:-1\0";
const ROOM = 65533;

/** Reads what a JPEG holds besides pixels. */
export function read(bytes) {
  const found = { kind: "jpeg", bits: 8, extensions: [], kept: [], leftOut: [] };
  const icc = [];
  for (const [marker, start, end] of segments(bytes)) {
    const payload = bytes.subarray(start, end);
    if (marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker) && payload.length >= 6) {
      const view = viewOf(payload);
      Object.assign(found, { bits: payload[0], height: view.getUint16(1), width: view.getUint16(3) });
      found.grey = payload[5] === 1;
    } else if (marker === 0xe0 && startsWith(payload, "JFIF\0")) found.density = payload.slice(7, 12);
    else if (marker === 0xe1 && startsWith(payload, EXIF)) found.exif ??= payload.slice(EXIF.length);
    else if (marker === 0xe1 && startsWith(payload, XMP)) found.xmp ??= payload.slice(XMP.length);
    else if (marker === 0xe1 && startsWith(payload, XMP_EXTENSION)) found.extensions.push(payload.slice());
    else if (marker === 0xe2 && startsWith(payload, ICC)) icc[payload[ICC.length]] = payload.slice(ICC.length + 2);
    else if (marker === 0xe2 && (startsWith(payload, "MPF\0") || startsWith(payload, GAIN_MAP)))
      found.leftOut.push("partGainMap");
    else if (marker === 0xeb) found.leftOut.push(startsWith(payload, "JP") ? "partManifest" : "partGainMap");
    else if (marker === 0xed && startsWith(payload, PHOTOSHOP)) found.kept.push([marker, payload.slice()]);
    else if (marker === 0xfe || marker === 0xe6) found.kept.push([marker, payload.slice()]); // comments, GoPro
  }
  if (icc.length) found.icc = joined(...icc.filter(Boolean));
  found.leftOut = [...new Set(found.leftOut)];
  return found;
}

/** What goes before byte `rest` of the encoder's JPEG, for this metadata in place of its own. `head` is how that begins. */
export function withMetadata(head, { exif, xmp, extensions = [], icc, kept = [], density }) {
  const pieces = [Uint8Array.of(0xff, 0xd8)];
  const leftOut = [];
  const add = (marker, ...parts) => {
    const payload = joined(...parts);
    if (payload.length > ROOM) return false;
    pieces.push(Uint8Array.of(0xff, marker), uint16(payload.length + 2), payload);
    return true;
  };
  const jfif = density ?? Uint8Array.of(0, 0, 1, 0, 1);
  add(0xe0, fromLatin1("JFIF\0"), Uint8Array.of(1, 1), jfif, Uint8Array.of(0, 0));
  if (exif && !add(0xe1, fromLatin1(EXIF), exif)) leftOut.push("partExif");
  if (xmp && !add(0xe1, fromLatin1(XMP), xmp)) leftOut.push("partXmp");
  for (const extension of extensions) add(0xe1, extension);
  if (icc) {
    const room = ROOM - ICC.length - 2, count = Math.ceil(icc.length / room);
    for (let i = 0; i < count; ++i)
      add(0xe2, fromLatin1(ICC), Uint8Array.of(i + 1, count), icc.subarray(i * room, (i + 1) * room));
  }
  for (const [marker, payload] of kept) add(marker, payload);
  let rest = 2;
  for (const [marker, start, end] of segments(head)) {
    if (marker < 0xe0 || marker > 0xef) break;
    rest = end;
  }
  return { parts: pieces, rest, leftOut };
}

/** Yields marker, start and end of the payload of each segment up to the pixels. */
function* segments(bytes) {
  let at = 2;
  while (at + 4 <= bytes.length) {
    if (bytes[at] !== 0xff) return;
    const marker = bytes[at + 1];
    if (marker === 0xff) {
      ++at;
      continue;
    }
    if (marker === 0xda || marker === 0xd9) return;
    const end = at + 2 + ((bytes[at + 2] << 8) | bytes[at + 3]);
    if (end < at + 4 || end > bytes.length) return;
    yield [marker, at + 4, end];
    at = end;
  }
}
