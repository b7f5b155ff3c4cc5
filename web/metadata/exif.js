// EXIF edited in place, so that maker notes keep their offsets: upright, the new size, without the old thumbnail.
import { viewOf } from "./bytes.js";

const SIZES = [0, 1, 1, 2, 4, 8, 1, 1, 2, 4, 8, 4, 8];
const ORIENTATION = 0x0112, EXIF_IFD = 0x8769, INTEROP_IFD = 0xa005;
const WIDTHS = [0x0100, 0xa002], HEIGHTS = [0x0101, 0xa003], COLOR_SPACE = 0xa001;
const THUMBNAIL_AT = 0x0201, THUMBNAIL_LENGTH = 0x0202, STRIP_OFFSETS = 0x0111, STRIP_LENGTHS = 0x0117;

/** The orientation that EXIF gives, 1 to 8, and whether it names the colours of Adobe RGB. */
export function describe(exif) {
  try {
    const tiff = new Tiff(exif);
    const first = tiff.directory(tiff.first);
    const orientation = first.value(ORIENTATION);
    let adobeRgb = false;
    const details = first.value(EXIF_IFD);
    if (details) {
      const directory = tiff.directory(details);
      const interop = directory.value(INTEROP_IFD);
      adobeRgb = directory.value(COLOR_SPACE) === 2 || (interop > 0 && tiff.directory(interop).text(1).startsWith("R03"));
    }
    return { orientation: orientation >= 1 && orientation <= 8 ? orientation : 1, adobeRgb };
  } catch {
    return { orientation: 1, adobeRgb: false };
  }
}

/** Returns EXIF that describes the result, or null where it cannot be read. */
export function refreshed(exif, width, height, becameSrgb) {
  try {
    const tiff = new Tiff(exif.slice());
    const first = tiff.directory(tiff.first);
    first.set(ORIENTATION, 1);
    const details = first.value(EXIF_IFD);
    for (const directory of details ? [first, tiff.directory(details)] : [first]) {
      for (const tag of WIDTHS) directory.set(tag, width);
      for (const tag of HEIGHTS) directory.set(tag, height);
      if (becameSrgb) directory.set(COLOR_SPACE, 1);
    }
    return tiff.withoutThumbnail(first);
  } catch {
    return null;
  }
}

class Tiff {
  constructor(bytes) {
    this.bytes = bytes;
    this.view = viewOf(bytes);
    this.little = bytes[0] === 0x49;
    if (this.short(2) !== 42) throw new RangeError("no TIFF header");
    this.first = this.long(4);
  }
  short(at) {
    return this.view.getUint16(at, this.little);
  }
  long(at) {
    return this.view.getUint32(at, this.little);
  }
  directory(at) {
    return new Directory(this, at);
  }

  /** The second directory is the thumbnail's: unlinked, its bytes wiped, cut off where they are the last. */
  withoutThumbnail(first) {
    const at = this.long(first.end);
    if (!at) return this.bytes;
    const second = this.directory(at);
    const wiped = [[at, second.end + 4]];
    for (const [start, length] of [[THUMBNAIL_AT, THUMBNAIL_LENGTH], [STRIP_OFFSETS, STRIP_LENGTHS]])
      if (second.value(start)) wiped.push([second.value(start), second.value(start) + (second.value(length) || 0)]);
    for (const entry of second.entries.values())
      if (entry.length > 4) wiped.push([this.long(entry.at), this.long(entry.at) + entry.length]);
    this.view.setUint32(first.end, 0, this.little);
    let end = this.bytes.length;
    for (const [start, stop] of wiped.sort((a, b) => b[1] - a[1])) {
      if (start < 8 || start > stop) continue;
      this.bytes.fill(0, start, stop);
      if (stop >= end) end = Math.min(end, start);
    }
    return this.bytes.slice(0, end);
  }
}

class Directory {
  constructor(tiff, at) {
    this.tiff = tiff;
    this.entries = new Map();
    const count = tiff.short(at);
    for (let i = 0; i < count; ++i) {
      const entry = at + 2 + 12 * i;
      const type = tiff.short(entry + 2);
      const length = (SIZES[type] ?? 0) * tiff.long(entry + 4);
      this.entries.set(tiff.short(entry), { type, length, at: entry + 8 });
    }
    this.end = at + 2 + 12 * count;
    tiff.long(this.end); // a RangeError where the directory is cut off
  }
  value(tag) {
    const entry = this.entries.get(tag);
    if (!entry) return 0;
    return entry.type === 3 ? this.tiff.short(entry.at) : entry.type === 4 ? this.tiff.long(entry.at) : 0;
  }
  text(tag) {
    const entry = this.entries.get(tag);
    return entry ? String.fromCharCode(...this.tiff.bytes.subarray(entry.at, entry.at + 4)) : "";
  }
  /** Sets a number that is already there. */
  set(tag, value) {
    const entry = this.entries.get(tag);
    if (entry?.type === 3) this.tiff.view.setUint16(entry.at, value, this.tiff.little);
    if (entry?.type === 4) this.tiff.view.setUint32(entry.at, value, this.tiff.little);
  }
}
