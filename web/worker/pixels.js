// Bitmaps to bytes in the core's memory and back, strip by strip: no second copy of a large picture.
import { Problem } from "../problem.js";

const STRIP = 4 << 20; // pixels

/** Copies a bitmap into the core's memory, as RGBA or grey. Alpha other than 255 goes by WebGL: canvases round it. */
export async function readBitmap(core, bitmap, grey) {
  const { width, height } = bitmap;
  const channels = grey ? 1 : 4;
  const picture = { at: core.allocate(width * height * channels), width, height, channels, alpha: false };
  try {
    const context = canvas(width, Math.min(height, rowsOf(width))).getContext("2d", { willReadFrequently: true });
    for (let y = 0; y < height; y += rowsOf(width)) {
      const count = Math.min(rowsOf(width), height - y);
      context.clearRect(0, 0, width, count);
      context.drawImage(bitmap, 0, y, width, count, 0, 0, width, count);
      const { data } = context.getImageData(0, 0, width, count);
      if (!grey && !picture.alpha) picture.alpha = hasAlpha(data);
      core.bytes(picture.at + y * width * channels, width * count * channels).set(grey ? reds(data) : data);
    }
    if (picture.alpha) picture.rounded = !(await readExactly(core, bitmap, picture));
    return picture;
  } catch (error) {
    core.release(picture.at);
    throw error instanceof Problem ? error : new Problem("outOfMemory");
  }
}

/** A bitmap of a part of a picture. */
export function toBitmap(core, { at, width, channels }, part) {
  const { x, y, width: w, height: h } = part;
  const data = new Uint8ClampedArray(4 * w * h);
  for (let row = 0; row < h; ++row) {
    const line = core.bytes(at + ((y + row) * width + x) * channels, w * channels);
    if (channels === 4) data.set(line, 4 * w * row);
    else spread(line, data, 4 * w * row);
  }
  return createImageBitmap(new ImageData(data, w, h));
}

/** An opaque canvas with a whole picture, in the given colour space. */
export function toCanvas(core, { at, width, height, channels }, colorSpace) {
  const target = canvas(width, height);
  const context = target.getContext("2d", { colorSpace, alpha: false });
  if (!context) throw new Problem("canvasTooLarge");
  for (let y = 0; y < height; y += rowsOf(width)) {
    const count = Math.min(rowsOf(width), height - y);
    const data = new Uint8ClampedArray(4 * width * count);
    const strip = core.bytes(at + y * width * channels, width * count * channels);
    if (channels === 4) data.set(strip);
    else spread(strip, data, 0);
    for (let i = 3; i < data.length; i += 4) data[i] = 255;
    context.putImageData(new ImageData(data, width, count), 0, y);
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

const rowsOf = (width) => Math.max(1, Math.floor(STRIP / width));

function canvas(width, height) {
  try {
    return new OffscreenCanvas(width, height);
  } catch {
    throw new Problem("canvasTooLarge");
  }
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

function spread(grey, data, at) {
  for (let i = 0; i < grey.length; ++i, at += 4) {
    data[at] = data[at + 1] = data[at + 2] = grey[i];
    data[at + 3] = 255;
  }
}

/** Reads colours and alpha as they are, through a texture. Returns false where this machine has none that is wide enough. */
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
