// Files as they come: what they are, by content, and what they say about themselves.
import * as avif from "../metadata/avif.js";
import * as jpeg from "../metadata/jpeg.js";
import * as png from "../metadata/png.js";
import * as webp from "../metadata/webp.js";
import { describe } from "../metadata/exif.js";
import { colours, nameOf } from "../metadata/icc.js";
import { startsWith, viewOf } from "../metadata/bytes.js";
import { Problem } from "../problem.js";

const MAX_PIXELS = 200e6; // what canvases and bitmaps of all browsers hold, with a little room
const PER_GIGABYTE = 32e6; // pixels: a page takes 14 bytes for one while it saves (tests/web/test_large.py), half of the memory at most
const READERS = { avif, jpeg, png, webp };
const MIME = { jpeg: "image/jpeg", png: "image/png", webp: "image/webp", avif: "image/avif", gif: "image/gif", bmp: "image/bmp" };

let limit = MAX_PIXELS;

/** Refuses pictures that a device of so many gigabytes cannot hold; browsers that do not say how many it has leave it open. */
export function limitTo(gigabytes) {
  limit = Math.min(MAX_PIXELS, PER_GIGABYTE * (gigabytes || Infinity));
}

/** "jpeg", "png", … for pictures, "video" for containers of video, "heic" and "tiff" for what browsers do not read, or "". */
export async function kindOf(file) {
  const head = new Uint8Array(await file.slice(0, 64).arrayBuffer());
  if (startsWith(head, "\xff\xd8\xff")) return "jpeg";
  if (startsWith(head, "\x89PNG\r\n\x1a\n")) return "png";
  if (startsWith(head, "RIFF") && startsWith(head, "WEBP", 8)) return "webp";
  if (startsWith(head, "GIF8")) return "gif";
  if (startsWith(head, "BM")) return "bmp";
  if (startsWith(head, "II*\0") || startsWith(head, "MM\0*")) return "tiff";
  if (startsWith(head, "\x1a\x45\xdf\xa3")) return "video";
  if (startsWith(head, "ftyp", 4)) {
    const brand = String.fromCharCode(...head.subarray(8, 12));
    if (brand === "avif" || brand === "avis") return "avif";
    return /^(hei|hev|mif1|msf1)/.test(brand) ? "heic" : "video";
  }
  return ["moov", "mdat", "wide", "free"].some((box) => startsWith(head, box, 4)) ? "video" : "";
}

/** Decodes a picture upright. Returns its bitmap in sRGB and what its file says; `notes` are for people. */
export async function decode(file) {
  const kind = await kindOf(file);
  if (!file.size) throw new Problem("emptyFile");
  if (kind === "heic" || kind === "tiff") throw new Problem(kind);
  const bytes = new Uint8Array(await file.arrayBuffer());
  const about = (await READERS[kind]?.read(bytes)) ?? { kind, bits: 8, kept: [], leftOut: [] };
  if (kind === "gif" || kind === "bmp") Object.assign(about, simpleSize(kind, bytes));
  checkSize(about.width, about.height);
  const notes = [];
  about.colours = about.icc ? colours(about.icc) : (about.colourCode ?? 1) !== 1 ? "other" : "srgb";
  const blob = file.slice(0, file.size, MIME[kind]);
  let bitmap;
  try {
    bitmap = await createImageBitmap(blob, {
      premultiplyAlpha: "none",
      imageOrientation: "from-image",
      colorSpaceConversion: about.icc && about.colours === "srgb" ? "none" : "default",
    });
  } catch {
    throw new Problem(kind ? "damaged" : "unknownKind");
  }
  checkSize(bitmap.width, bitmap.height);
  if (about.animated || (kind === "gif" && (await isAnimated(bytes, MIME[kind])))) notes.push(["noteAnimated", {}]);
  if (about.bits > 8) notes.push(["noteBits", { bits: about.bits }]);
  if (about.colours === "other") notes.push(["noteProfile", { name: about.icc ? nameOf(about.icc) : "cICP" }]);
  if (about.exif && !about.icc && describe(about.exif).adobeRgb) notes.push(["noteAdobeRgb", {}]);
  if (!READERS[kind]) notes.push(["noteMetadata", {}]);
  if (about.leftOut.length) notes.push(["noteLeftOut", { parts: about.leftOut }]);
  return { bitmap, about, notes };
}

function checkSize(width, height) {
  if (width * height > limit)
    throw new Problem("tooLarge", { megapixels: Math.ceil((width * height) / 1e6), limit: Math.floor(limit / 1e6) });
}

function simpleSize(kind, bytes) {
  if (bytes.length < 26) return {};
  const view = viewOf(bytes);
  if (kind === "gif") return { width: view.getUint16(6, true), height: view.getUint16(8, true) };
  return { width: view.getInt32(18, true), height: Math.abs(view.getInt32(22, true)) }; // upside down where it is negative
}

async function isAnimated(bytes, type) {
  if (typeof ImageDecoder === "undefined") return false;
  const decoder = new ImageDecoder({ data: bytes, type });
  await decoder.tracks.ready;
  const { frameCount } = decoder.tracks.selectedTrack;
  decoder.close();
  return frameCount > 1;
}
