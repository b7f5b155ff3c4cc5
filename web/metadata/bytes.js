// Bytes: text as in the file, joined pieces, big-endian numbers, deflate.
export const latin1 = (bytes) => {
  let text = "";
  for (let at = 0; at < bytes.length; at += 8192) text += String.fromCharCode(...bytes.subarray(at, at + 8192));
  return text;
};
export const fromLatin1 = (text) => Uint8Array.from(text, (letter) => letter.charCodeAt(0));

export function startsWith(bytes, text, at = 0) {
  if (at + text.length > bytes.length) return false;
  for (let i = 0; i < text.length; ++i) if (bytes[at + i] !== text.charCodeAt(i)) return false;
  return true;
}

export function joined(...pieces) {
  const all = new Uint8Array(pieces.reduce((sum, piece) => sum + piece.length, 0));
  let at = 0;
  for (const piece of pieces) all.set(piece, at), (at += piece.length);
  return all;
}

export const viewOf = (bytes) => new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
export const uint16 = (value) => Uint8Array.of(value >> 8, value & 255);
export const uint32 = (value) => Uint8Array.of(value >>> 24, (value >>> 16) & 255, (value >>> 8) & 255, value & 255);

export const deflated = (bytes) => through(bytes, new CompressionStream("deflate"));

/** Inflates at most `limit` bytes; more is an error: a few bytes can stand for gigabytes. */
export async function inflated(bytes, limit = 64 << 20) {
  const pieces = [];
  let total = 0;
  for await (const piece of readable(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate")))) {
    if ((total += piece.length) > limit) throw new RangeError("too large");
    pieces.push(piece);
  }
  return joined(...pieces);
}

async function through(bytes, transform) {
  return new Uint8Array(await new Response(new Blob([bytes]).stream().pipeThrough(transform)).arrayBuffer());
}

/** The pieces of a stream. */
export async function* readable(stream) {
  const reader = stream.getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    yield value;
  }
}

const CRC = Uint32Array.from({ length: 256 }, (_, n) => {
  for (let i = 0; i < 8; ++i) n = n & 1 ? 0xedb88320 ^ (n >>> 1) : n >>> 1;
  return n;
});

/** CRC-32 as PNG and ZIP have it; give the last value to continue. */
export function crc32(bytes, before = 0) {
  let crc = ~before;
  for (let i = 0; i < bytes.length; ++i) crc = CRC[(crc ^ bytes[i]) & 255] ^ (crc >>> 8);
  return ~crc >>> 0;
}
