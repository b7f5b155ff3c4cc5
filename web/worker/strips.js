// Bitmaps strip by strip, as RGBA. A frame of video hands out the bytes of a bitmap as they are, into memory that is used
// again; a canvas turns and converts, and leaves a new array with each strip until all are collected.
import { STRIP } from "./core.js";
import { Problem } from "../problem.js";

const UNIT = 64; // rows that the core takes at once: strips of so many lose the least

/** Rows of a strip: as many as the core makes at once. */
export function rowsOf(width) {
  const rows = Math.max(1, Math.floor(STRIP / width));
  return rows - (rows > UNIT ? rows % UNIT : 0);
}

/** First row and count of each strip. */
export function* strips(width, height) {
  for (let y = 0; y < height; y += rowsOf(width)) yield [y, Math.min(rowsOf(width), height - y)];
}

export function canvas(width, height) {
  try {
    return new OffscreenCanvas(width, height);
  } catch {
    throw new Problem("canvasTooLarge");
  }
}

/** Opens a bitmap: returns { strip(y, count), exact, close() }. `exact` where colours under alpha are not rounded. */
export function openBitmap(bitmap) {
  const { width, height } = bitmap;
  const buffer = new Uint8Array(4 * width * Math.min(height, rowsOf(width)));
  const frame = frameOf(bitmap);
  if (frame?.plain) return { strip: (y, count) => copied(frame, width, y, count, buffer), exact: true, close: () => frame.close() };
  const opaque = frame?.format.endsWith("X");
  frame?.close();
  const context = canvas(width, Math.min(height, rowsOf(width))).getContext("2d", { willReadFrequently: true, alpha: !opaque });
  const strip = async (y, count) => {
    context.clearRect(0, 0, width, count);
    context.drawImage(bitmap, 0, y, width, count, 0, 0, width, count);
    const drawn = opaque && frameOf(context.canvas);
    if (!drawn) return context.getImageData(0, 0, width, count).data;
    return copied(drawn, width, 0, count, buffer).finally(() => drawn.close());
  };
  return { strip, exact: false, close: () => (context.canvas.width = 0) };
}

/** A frame of 8-bit RGB with what a bitmap or canvas shows; `plain` where that is upright and in sRGB. */
function frameOf(source) {
  let frame;
  try {
    frame = new VideoFrame(source, { timestamp: 0 });
  } catch {
    return null; // there are none here, or not of this size
  }
  const { format, rotation, flip, colorSpace } = frame;
  if (!/^(RGB|BGR)[AX]$/.test(format)) return frame.close(), null;
  const { primaries, transfer } = colorSpace;
  frame.plain = rotation === 0 && !flip && primaries === "bt709" && transfer === "iec61966-2-1";
  return frame;
}

async function copied(frame, width, y, count, buffer) {
  const data = buffer.subarray(0, 4 * width * count);
  await frame.copyTo(data, { rect: { x: 0, y, width, height: count } });
  if (frame.format[0] === "B") swapRedAndBlue(data);
  return data;
}

function swapRedAndBlue(data) {
  for (let i = 0; i < data.length; i += 4) {
    const blue = data[i];
    data[i] = data[i + 2];
    data[i + 2] = blue;
  }
}
