// MP4 and QuickTime: what an export by the page leaves out, and when the video was made.
import { boxes } from "./boxes.js";
import { joined, latin1, viewOf } from "./bytes.js";

const MAX_MOOV = 256 << 20;
const TRACKS = { tmcd: "partTimecode", text: "partSubtitles", sbtl: "partSubtitles", subt: "partSubtitles", clcp: "partSubtitles" };
const HEADERS = ["mvhd", "tkhd", "mdhd"];

/** What a file's index says: `leftOut` names tracks that are neither picture nor sound and the maker's own boxes, `created` is
 *  the time in its header, in seconds. */
export async function readMovie(file) {
  const moov = await findMoov(file);
  const leftOut = new Set();
  let created = 0;
  for (const { type, data } of moov ? boxes(moov) : []) {
    if (type === "mvhd") created = Number(data[0] ? viewOf(data).getBigUint64(4) : viewOf(data).getUint32(4));
    if (type === "udta") for (const inner of boxes(data)) leftOut.add(userData(inner.type));
    if (type !== "trak") continue;
    const handler = handlerOf(data);
    if (handler && handler !== "vide" && handler !== "soun") leftOut.add(TRACKS[handler] ?? "partTelemetry");
  }
  leftOut.delete(null);
  return { leftOut: [...leftOut], created };
}

/** Tags that people gave (title, artist) are carried over; what only the maker can read is not. */
function userData(type) {
  if (type === "\xa9xyz" || type === "loci") return "partLocation";
  return type === "meta" || type.startsWith("\xa9") ? null : "partUserData";
}

/** Where a finished `moov` (with its own header) has times of creation, and the bytes that belong there. */
export function stamps(moov, created) {
  const found = [];
  const walk = (bytes) => {
    for (const { type, data } of boxes(bytes)) {
      if (["moov", "trak", "mdia"].includes(type)) walk(data);
      if (!HEADERS.includes(type)) continue;
      const time = new Uint8Array(data[0] ? 8 : 4);
      if (data[0]) viewOf(time).setBigUint64(0, BigInt(created));
      else viewOf(time).setUint32(0, created);
      found.push({ at: data.byteOffset - moov.byteOffset + 4, bytes: joined(time, time) });
    }
  };
  if (created) walk(moov);
  return found;
}

async function findMoov(file) {
  for (let at = 0; at + 8 <= file.size; ) {
    const head = new DataView(await file.slice(at, at + 16).arrayBuffer());
    let size = head.getUint32(0), start = 8;
    const type = latin1(new Uint8Array(head.buffer, 4, 4));
    if (size === 1 && head.byteLength === 16) [size, start] = [Number(head.getBigUint64(8)), 16];
    if (size === 0) size = file.size - at;
    if (size < start) return null;
    if (type === "moov") return size > MAX_MOOV ? null : new Uint8Array(await file.slice(at + start, at + size).arrayBuffer());
    at += size;
  }
  return null;
}

function handlerOf(trak) {
  const media = boxes(trak).find(({ type }) => type === "mdia");
  const handler = media && boxes(media.data).find(({ type }) => type === "hdlr");
  return handler && latin1(handler.data.subarray(8, 12));
}
