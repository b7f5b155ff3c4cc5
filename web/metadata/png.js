// PNG: what the source's chunks say, and an encoder that keeps every byte of RGB, RGBA and grey (a canvas would not keep
// colours under alpha).
import { crc32, deflated, fromLatin1, inflated, joined, latin1, readable, startsWith, uint32, viewOf } from "./bytes.js";

const SIGNATURE = Uint8Array.of(0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a);
const XMP = "XML:com.adobe.xmp";
const PIECE = 1 << 20; // bytes

export async function read(bytes) {
  const found = { kind: "png", bits: 8, kept: [], leftOut: [] };
  let animated = false;
  const view = viewOf(bytes);
  for (let at = 8; at + 12 <= bytes.length; ) {
    const length = view.getUint32(at);
    const name = latin1(bytes.subarray(at + 4, at + 8));
    const payload = bytes.subarray(at + 8, at + 8 + length);
    if (payload.length < length || name === "IEND") break;
    if (name === "IHDR") {
      Object.assign(found, { width: view.getUint32(at + 8), height: view.getUint32(at + 12), bits: payload[8] });
      found.grey = payload[9] === 0;
    } else if (name === "eXIf") found.exif = payload.slice();
    else if (name === "iCCP") found.icc = await inflated(payload.subarray(payload.indexOf(0) + 2)).catch(() => null);
    else if (name === "iTXt" && startsWith(payload, XMP + "\0")) found.xmp = await internationalText(payload);
    else if (["tEXt", "zTXt", "iTXt", "pHYs", "tIME"].includes(name)) found.kept.push([name, payload.slice()]);
    else if (name === "cICP") found.colourCode = payload[0];
    else if (name === "gAMA") found.gamma = viewOf(payload).getUint32(0);
    else if (name === "acTL") animated = true;
    else if (name === "tRNS") found.grey = false; // transparency becomes alpha
    else if (name === "caBX") found.leftOut.push("partManifest");
    at += 12 + length;
  }
  return { ...found, animated };
}

/**
 * Encodes pixels; `rows(y, count)` gives `count` rows as bytes, `step` at most. Each row is stored as its difference to the
 * pixel on the left or above, whichever is smaller in sum.
 */
export async function encode(rows, step, width, height, channels, { exif, xmp, icc, kept = [] }) {
  const header = joined(uint32(width), uint32(height), Uint8Array.of(8, { 1: 0, 3: 2, 4: 6 }[channels], 0, 0, 0));
  const chunks = [SIGNATURE, ...chunk("IHDR", header)];
  if (icc) chunks.push(...chunk("iCCP", joined(fromLatin1("ICC\0\0"), await deflated(icc))));
  else chunks.push(...chunk("sRGB", Uint8Array.of(0)));
  for (const [name, payload] of kept) chunks.push(...chunk(name, payload));
  if (exif) chunks.push(...chunk("eXIf", exif));
  if (xmp) chunks.push(...chunk("iTXt", joined(fromLatin1(XMP + "\0\0\0\0\0"), xmp)));
  const compressor = new CompressionStream("deflate");
  const writer = compressor.writable.getWriter();
  const data = collected(compressor.readable);
  const stride = width * channels;
  let above = new Uint8Array(stride);
  for (let y = 0; y < height; y += step) {
    const count = Math.min(step, height - y);
    const strip = rows(y, count);
    writer.write(filtered(strip, above, stride, count, channels)).catch(() => {});
    await writer.ready;
    above = strip.slice((count - 1) * stride);
  }
  await writer.close();
  return [...chunks, ...(await data), ...chunk("IEND", new Uint8Array())];
}

/** Compressed pixels as chunks, each a blob once it is full: browsers keep those outside the page's memory. */
async function collected(stream) {
  const blobs = [];
  let held = [], size = 0;
  const flush = () => {
    blobs.push(new Blob(chunk("IDAT", joined(...held))));
    [held, size] = [[], 0];
  };
  for await (const piece of readable(stream)) {
    held.push(piece);
    if ((size += piece.length) >= PIECE) flush();
  }
  if (size) flush();
  return blobs;
}

function filtered(strip, above, stride, count, channels) {
  const out = new Uint8Array(count * (stride + 1));
  const left = new Uint8Array(stride), up = new Uint8Array(stride);
  for (let y = 0; y < count; ++y) {
    const row = strip.subarray(y * stride, (y + 1) * stride);
    let ofLeft = 0, ofUp = 0;
    for (let x = 0; x < stride; ++x) {
      const value = row[x];
      left[x] = x < channels ? value : value - row[x - channels];
      up[x] = value - above[x];
      ofLeft += left[x] < 128 ? left[x] : 256 - left[x];
      ofUp += up[x] < 128 ? up[x] : 256 - up[x];
    }
    const at = y * (stride + 1);
    out[at] = ofLeft <= ofUp ? 1 : 2;
    out.set(ofLeft <= ofUp ? left : up, at + 1);
    above = row;
  }
  return out;
}

function chunk(name, payload) {
  const tag = fromLatin1(name);
  return [uint32(payload.length), tag, payload, uint32(crc32(payload, crc32(tag)))];
}

async function internationalText(payload) {
  const compressed = payload[XMP.length + 1];
  let at = XMP.length + 3;
  for (let i = 0; i < 2; ++i) at = payload.indexOf(0, at) + 1; // language, translated keyword
  const text = payload.slice(at);
  return compressed ? await inflated(text).catch(() => null) : text;
}
