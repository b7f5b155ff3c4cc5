// A finished picture as a file: JPEG by the browser's encoder, PNG by ours, with what the source says about itself.
import * as jpeg from "../metadata/jpeg.js";
import * as png from "../metadata/png.js";
import * as exif from "../metadata/exif.js";
import * as xmp from "../metadata/xmp.js";
import { packed, toCanvas } from "./pixels.js";
import { rowsOf } from "./strips.js";
import { Problem } from "../problem.js";

const QUALITY = 0.95;
const HEAD = 64 << 10; // bytes of a JPEG that hold what the encoder says about it

/** "jpeg" or "png": what was asked for, or what the source is; alpha needs PNG. */
export function formatOf(wanted, about, picture) {
  if (wanted !== "auto") return wanted;
  return about.kind === "png" || picture.alpha ? "png" : "jpeg";
}

/** Returns a file of what a correction makes of a picture, with notes about what is not in it. */
export async function encode(core, picture, correction, about, wanted) {
  const { width, height } = picture;
  const format = formatOf(wanted, about, picture);
  const notes = [];
  const metadata = refreshed(about, width, height, format);
  if (about.exif && !metadata.exif) notes.push(["noteLeftOut", { parts: ["partExif"] }]);
  if (format === "png") {
    if (about.colours === "display-p3") return { ...(await widePng(core, picture, correction, metadata)), notes };
    const { channels, alpha } = picture;
    const rows = (y, count) => {
      const strip = core.part(picture, correction, { x: 0, y, width, height: count });
      return channels === 1 ? new Uint8Array(strip) : packed(strip, alpha);
    };
    const parts = await png.encode(rows, rowsOf(width), width, height, channels === 1 ? 1 : alpha ? 4 : 3, metadata);
    return { blob: new Blob(parts, { type: "image/png" }), extension: "png", notes };
  }
  if (picture.alpha) notes.push(["noteAlphaLost", {}]);
  const canvas = toCanvas(core, picture, correction, about.colours === "display-p3" ? "display-p3" : "srgb");
  let encoded;
  try {
    encoded = await canvas.convertToBlob({ type: "image/jpeg", quality: QUALITY });
  } catch {
    throw new Problem("canvasTooLarge");
  }
  canvas.width = canvas.height = 0; // its memory goes now, not when it is collected
  const head = new Uint8Array(await encoded.slice(0, HEAD).arrayBuffer());
  const { parts, rest, leftOut } = jpeg.withMetadata(head, metadata);
  if (leftOut.length) notes.push(["noteLeftOut", { parts: leftOut }]);
  return { blob: new Blob([...parts, encoded.slice(rest)], { type: "image/jpeg" }), extension: "jpg", notes };
}

/** Metadata that describes the result. The profile stays where the colours are still its own. */
function refreshed(about, width, height, format) {
  const becameSrgb = about.colours === "other";
  const same = about.kind === format;
  return {
    exif: about.exif && exif.refreshed(about.exif, width, height, becameSrgb),
    xmp: about.xmp && xmp.refreshed(about.xmp, width, height),
    extensions: same ? about.extensions : [],
    icc: becameSrgb || (format === "png" && about.grey) ? null : about.icc,
    kept: same ? about.kept : [],
    density: about.density,
  };
}

/** Display P3: an opaque canvas converts the colours, alpha comes from the picture. */
async function widePng(core, picture, correction, metadata) {
  const { at, width, height, channels, alpha } = picture;
  const context = toCanvas(core, picture, correction, "display-p3").getContext("2d");
  const rows = (y, count) => {
    const { data } = context.getImageData(0, y, width, count, { colorSpace: "display-p3" });
    const source = core.bytes(at + y * width * channels, width * count * channels);
    if (alpha) for (let i = 3; i < data.length; i += 4) data[i] = source[i];
    return packed(data, alpha);
  };
  const parts = await png.encode(rows, rowsOf(width), width, height, alpha ? 4 : 3, metadata);
  return { blob: new Blob(parts, { type: "image/png" }), extension: "png" };
}
