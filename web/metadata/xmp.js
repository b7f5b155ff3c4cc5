// XMP brought up to date as text, byte for byte but for the values that changed and pointers to parts that are gone.
import { fromLatin1, latin1 } from "./bytes.js";

const TIFF = "http://ns.adobe.com/tiff/1.0/", EXIF = "http://ns.adobe.com/exif/1.0/";
// Namespaces whose properties point to parts of the source that are not in the result: gain maps, depth, motion.
const STALE = [
  "http://ns.adobe.com/hdr-gain-map/1.0/",
  "http://ns.apple.com/HDRGainMap/1.0/",
  "http://ns.google.com/photos/1.0/container/",
  "http://ns.google.com/photos/1.0/container/item/",
  "http://ns.google.com/photos/1.0/depthmap/",
  "http://ns.google.com/photos/1.0/image/",
  "http://ns.google.com/photos/1.0/focus/",
  "http://ns.apple.com/pixeldatainfo/1.0/",
  "http://ns.apple.com/depthData/1.0/",
];

/** Returns a packet that describes an upright picture of this size. */
export function refreshed(packet, width, height) {
  let text = latin1(packet);
  for (const prefix of prefixes(text, TIFF)) {
    text = withValue(text, `${prefix}:Orientation`, "1");
    text = withValue(withValue(text, `${prefix}:ImageWidth`, width), `${prefix}:ImageLength`, height);
  }
  for (const prefix of prefixes(text, EXIF))
    text = withValue(withValue(text, `${prefix}:PixelXDimension`, width), `${prefix}:PixelYDimension`, height);
  for (const uri of STALE) for (const prefix of prefixes(text, uri)) text = without(text, prefix);
  return fromLatin1(text);
}

function prefixes(text, uri) {
  if (!text.includes(uri)) return [];
  const found = new Set();
  for (const [, prefix, value] of text.matchAll(/xmlns:([\w.-]{1,64})\s{0,9}=\s{0,9}["']([^"']{0,200})["']/g))
    if (value === uri) found.add(prefix);
  return found;
}

const quoted = (name) => name.replace(/[.-]/g, "\\$&");

function withValue(text, name, value) {
  return text
    .replace(new RegExp(`(\\s${quoted(name)}\\s{0,9}=\\s{0,9})("[^"]*"|'[^']*')`, "g"), `$1"${value}"`)
    .replace(new RegExp(`(<${quoted(name)}>)[^<]*(</${quoted(name)}>)`, "g"), `$1${value}$2`);
}

/** Takes out all elements and attributes with a prefix. */
function without(text, prefix) {
  let at = 0;
  for (;;) {
    const start = text.indexOf(`<${prefix}:`, at);
    if (start < 0) break;
    const name = /^[\w:.-]*/.exec(text.slice(start + 1, start + 201))[0];
    const open = text.indexOf(">", start);
    const closing = `</${name}>`;
    const close = text[open - 1] === "/" ? open + 1 : text.indexOf(closing, open) + closing.length;
    if (open < 0 || close < closing.length) break;
    text = text.slice(0, start) + text.slice(close);
    at = start;
  }
  return text.replace(new RegExp(`\\s${quoted(prefix)}:[\\w.-]{1,64}\\s{0,9}=\\s{0,9}("[^"]*"|'[^']*')`, "g"), "");
}
