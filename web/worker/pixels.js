// Bitmaps to bytes in the core's memory and back, strip by strip: no second copy of a large picture.
import { Problem } from "../problem.js";
import { canvas, openBitmap, rowsOf, strips } from "./strips.js";

/** Copies a bitmap into the core's memory, as RGBA or grey. */
export async function readBitmap(core, bitmap, grey) {
  const { width, height } = bitmap;
  const channels = grey ? 1 : 4;
  const picture = { at: 0, width, height, channels, alpha: false };
  const source = openBitmap(bitmap);
  try {
    picture.at = core.allocate(width * height * channels);
    for (const [y, count] of strips(width, height)) {
      const data = await source.strip(y, count);
      if (!grey && !picture.alpha) picture.alpha = hasAlpha(data);
      core.bytes(picture.at + y * width * channels, width * count * channels).set(grey ? reds(data) : data);
    }
    if (picture.alpha && !source.exact) picture.rounded = !(await readExactly(core, bitmap, picture));
    return picture;
  } catch (error) {
    core.release(picture.at);
    throw error instanceof Problem ? error : new Problem("outOfMemory");
  } finally {
    source.close();
  }
}

/** A bitmap of a picture. */
export function toBitmap(core, { at, width, height, channels }) {
  const data = new Uint8ClampedArray(4 * width * height);
  fill(data, 0, core.bytes(at, width * height * channels), channels);
  return createImageBitmap(new ImageData(data, width, height));
}

/** A bitmap of a part of what a correction makes of a picture. */
export function partBitmap(core, picture, correction, { x, y, width, height }) {
  const data = new Uint8ClampedArray(4 * width * height);
  for (const [top, count] of strips(width, height))
    fill(data, 4 * width * top, core.part(picture, correction, { x, y: y + top, width, height: count }), picture.channels);
  return createImageBitmap(new ImageData(data, width, height));
}

/** An opaque canvas with what a correction makes of a picture, in the given colour space. */
export function toCanvas(core, picture, correction, colorSpace) {
  const { width, height, channels } = picture;
  const target = canvas(width, height);
  const context = target.getContext("2d", { colorSpace, alpha: false, willReadFrequently: true });
  if (!context) throw new Problem("canvasTooLarge");
  const data = new Uint8ClampedArray(4 * width * Math.min(height, rowsOf(width)));
  for (const [y, count] of strips(width, height)) {
    fill(data, 0, core.part(picture, correction, { x: 0, y, width, height: count }), channels);
    for (let i = 3; i < data.length; i += 4) data[i] = 255;
    context.putImageData(new ImageData(data.subarray(0, 4 * width * count), width, count), 0, y);
  }
  return target;
}

/** RGBA as a PNG stores it: RGB where it is opaque. */
export function packed(data, alpha) {
  if (alpha) return new Uint8Array(data);
  const colours = new Uint8Array((3 * data.length) / 4);
  for (let from = 0, to = 0; to < colours.length; from += 4, to += 3) {
    colours[to] = data[from];
    colours[to + 1] = data[from + 1];
    colours[to + 2] = data[from + 2];
  }
  return colours;
}

function hasAlpha(data) {
  for (let i = 3; i < data.length; i += 4) if (data[i] !== 255) return true;
  return false;
}

function reds(data) {
  const grey = new Uint8Array(data.length / 4);
  for (let i = 0; i < grey.length; ++i) grey[i] = data[4 * i];
  return grey;
}

/** Writes RGBA or grey to RGBA, from `at` on. */
function fill(data, at, bytes, channels) {
  if (channels === 4) return data.set(bytes, at);
  for (let i = 0; i < bytes.length; ++i, at += 4) {
    data[at] = data[at + 1] = data[at + 2] = bytes[i];
    data[at + 3] = 255;
  }
}

/** Reads colours and alpha through a texture: canvases round them. Returns false where this machine has none that is wide enough. */
async function readExactly(core, bitmap, { at, width, height }) {
  const gl = canvas(1, 1).getContext("webgl2");
  if (!gl || width > gl.getParameter(gl.MAX_TEXTURE_SIZE)) return false;
  const step = Math.min(rowsOf(width), gl.getParameter(gl.MAX_TEXTURE_SIZE));
  gl.bindTexture(gl.TEXTURE_2D, gl.createTexture());
  gl.bindFramebuffer(gl.FRAMEBUFFER, gl.createFramebuffer());
  for (let y = 0; y < height; y += step) {
    const count = Math.min(step, height - y);
    const part = count === height ? bitmap : await createImageBitmap(bitmap, 0, y, width, count, { premultiplyAlpha: "none" });
    gl.texImage2D(gl.TEXTURE_2D, 0, gl.RGBA, gl.RGBA, gl.UNSIGNED_BYTE, part);
    gl.framebufferTexture2D(gl.FRAMEBUFFER, gl.COLOR_ATTACHMENT0, gl.TEXTURE_2D, gl.getParameter(gl.TEXTURE_BINDING_2D), 0);
    const data = new Uint8Array(4 * width * count);
    gl.readPixels(0, 0, width, count, gl.RGBA, gl.UNSIGNED_BYTE, data);
    if (gl.getError()) return false;
    core.bytes(at + 4 * y * width, data.length).set(data);
  }
  gl.getExtension("WEBGL_lose_context")?.loseContext();
  return true;
}
