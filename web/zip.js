// A ZIP of finished files, stored as they are: they are compressed already. With ZIP64 fields where sizes need them.
import { crc32 } from "./metadata/bytes.js";

const LIMIT = 0xffffffff;
const UTF8 = 0x0800;

export class Zip {
  #parts = [];
  #directory = [];
  #names = new Set();
  #size = 0;

  /** Adds a file; of two with one name, the second gets a number. Returns the name it got. */
  async add(name, blob, date = new Date()) {
    const unique = this.#unique(name);
    let crc = 0;
    for (let at = 0; at < blob.size; at += 8 << 20)
      crc = crc32(new Uint8Array(await blob.slice(at, at + (8 << 20)).arrayBuffer()), crc);
    const entry = { name: new TextEncoder().encode(unique), crc, size: blob.size, at: this.#size, date };
    this.#push(record(0x04034b50, entry, false), blob);
    this.#directory.push(entry);
    return unique;
  }

  /** The whole archive. */
  finish() {
    const start = this.#size;
    for (const entry of this.#directory) this.#push(record(0x02014b50, entry, true));
    const size = this.#size - start, count = this.#directory.length;
    if (count > 0xfffe || start > LIMIT - 1) this.#push(...end64(count, size, start, this.#size));
    const end = fields([4, 0x06054b50], [2, 0], [2, 0], [2, Math.min(count, 0xffff)], [2, Math.min(count, 0xffff)]);
    this.#push(end, fields([4, size], [4, Math.min(start, LIMIT)], [2, 0]));
    return new Blob(this.#parts, { type: "application/zip" });
  }

  #push(...parts) {
    for (const part of parts) {
      this.#parts.push(part);
      this.#size += part.size ?? part.length;
    }
  }

  #unique(name) {
    const dot = name.lastIndexOf(".");
    let unique = name;
    for (let i = 2; this.#names.has(unique.toLowerCase()); ++i) unique = `${name.slice(0, dot)}-${i}${name.slice(dot)}`;
    this.#names.add(unique.toLowerCase());
    return unique;
  }
}

/** The header of a file, in front of it or in the directory at the end. */
function record(signature, { name, crc, size, at, date }, inDirectory) {
  const day = ((Math.max(date.getFullYear(), 1980) - 1980) << 9) | ((date.getMonth() + 1) << 5) | date.getDate();
  const time = (date.getHours() << 11) | (date.getMinutes() << 5) | (date.getSeconds() >> 1);
  const large = size > LIMIT - 1 || at > LIMIT - 1;
  const extra = large ? fields([2, 1], [2, inDirectory ? 24 : 16], [8, size], [8, size], ...(inDirectory ? [[8, at]] : [])) : [];
  const stored = large ? LIMIT : size;
  const head = [[4, signature], ...(inDirectory ? [[2, 45]] : []), [2, large ? 45 : 20], [2, UTF8], [2, 0], [2, time], [2, day]];
  head.push([4, crc], [4, stored], [4, stored], [2, name.length], [2, extra.length]);
  if (inDirectory) head.push([2, 0], [2, 0], [2, 0], [4, 0], [4, large ? LIMIT : at]);
  const bytes = fields(...head);
  const all = new Uint8Array(bytes.length + name.length + extra.length);
  all.set(bytes);
  all.set(name, bytes.length);
  all.set(extra, bytes.length + name.length);
  return all;
}

function end64(count, size, start, at) {
  const end = fields([4, 0x06064b50], [8, 44], [2, 45], [2, 45], [4, 0], [4, 0], [8, count], [8, count], [8, size], [8, start]);
  return [end, fields([4, 0x07064b50], [4, 0], [8, at], [4, 1])];
}

/** Little-endian numbers of so many bytes. */
function fields(...values) {
  const bytes = new Uint8Array(values.reduce((sum, [length]) => sum + length, 0));
  const view = new DataView(bytes.buffer);
  let at = 0;
  for (const [length, value] of values) {
    if (length === 2) view.setUint16(at, value, true);
    else if (length === 4) view.setUint32(at, value, true);
    else view.setBigUint64(at, BigInt(value), true);
    at += length;
  }
  return bytes;
}
