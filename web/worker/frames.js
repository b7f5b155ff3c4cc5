// Frames of video in the core's memory and back: planes as they come (I420, NV12), without a detour by RGB. What has other
// planes, or none that a page may read, goes by a canvas.
const MATRICES = { bt470bg: 0, smpte170m: 0, bt709: 1, "bt2020-ncl": 2 };
const HD_LINES = 720; // from here on, players take untagged video for BT.709

/** A place in the core's memory for one frame after the other, and for what becomes of them. */
export class FramePlace {
  #core;
  #size = 0;
  #copy = new Uint8Array(0);
  at = 0;
  out = 0;

  constructor(core) {
    this.#core = core;
  }

  /** Takes a frame in; it stays the caller's. `tagged` is false where the file does not say what its colours are. What goes
   *  by a canvas is made smaller where a side is longer than `limit`. */
  async read(frame, tagged = true, limit = Infinity) {
    return frame.format === "I420" || frame.format === "NV12" ? this.#readPlanes(frame, tagged) : this.#readPixels(frame, limit);
  }

  /** A frame of what is at `at`, laid out as `picture`. */
  toFrame({ width, height, bytes, planes, layout, about }, at) {
    const data = this.#core.bytes(at, bytes);
    const given = { ...about, codedWidth: width, codedHeight: height };
    return planes ? new VideoFrame(data, { ...given, layout }) : new VideoFrame(data, { ...given, format: "RGBX" });
  }

  release() {
    for (const at of [this.at, this.out]) this.#core.release(at);
    this.at = this.out = this.#size = 0;
  }

  #reserve(bytes, width, height) {
    if (bytes <= this.#size) return;
    this.release();
    this.at = this.#core.allocate(bytes);
    this.out = this.#core.allocate(bytes);
    this.#size = bytes;
    this.#core.reserve(width, height);
  }

  async #readPlanes(frame, tagged) {
    const { width, height } = frame.visibleRect;
    const bytes = frame.allocationSize();
    if (this.#copy.length < bytes) this.#copy = new Uint8Array(bytes);
    const layout = await frame.copyTo(this.#copy);
    this.#reserve(bytes, width, height);
    this.#core.bytes(this.at, bytes).set(this.#copy.subarray(0, bytes));
    return { ...planar(frame, layout, tagged), at: this.at, bytes, width, height };
  }

  #readPixels(frame, limit) {
    const whole = frame.visibleRect ?? { width: frame.codedWidth, height: frame.codedHeight };
    const scale = Math.min(1, limit / Math.max(whole.width, whole.height));
    const width = Math.round(whole.width * scale), height = Math.round(whole.height * scale);
    const context = new OffscreenCanvas(width, height).getContext("2d", { willReadFrequently: true, alpha: false });
    const upright = new VideoFrame(frame, { rotation: 0, flip: false });
    context.drawImage(upright, 0, 0, width, height);
    upright.close();
    const { data } = context.getImageData(0, 0, width, height);
    this.#reserve(data.length, width, height);
    this.#core.bytes(this.at, data.length).set(data);
    return { at: this.at, bytes: data.length, width, height, channels: 4, about: timing(frame) };
  }
}

function planar(frame, layout, tagged) {
  const { format, colorSpace, visibleRect } = frame;
  const [luma, blue, red] = layout;
  const two = format === "NV12";
  const guess = visibleRect.height >= HD_LINES ? "bt709" : "smpte170m";
  const matrix = (tagged && colorSpace.matrix) || guess;
  const fullRange = Boolean(colorSpace.fullRange);
  const planes = {
    y: luma.offset,
    cb: blue.offset,
    cr: two ? blue.offset + 1 : red.offset,
    yStride: luma.stride,
    chromaStride: blue.stride,
    chromaStep: two ? 2 : 1,
    matrix: MATRICES[matrix] ?? MATRICES[guess],
    fullRange,
  };
  const { primaries, transfer } = colorSpace;
  return { planes, layout, about: { ...timing(frame), format, colorSpace: { primaries, transfer, matrix, fullRange } } };
}

function timing({ timestamp, duration, rotation, flip }) {
  return { timestamp, duration: duration ?? undefined, rotation, flip };
}

/** The same frame at half the size, for a view; in memory of its own. */
export function halved(core, picture, at) {
  const { width, height, planes, layout, about } = picture;
  const [w, h] = [half(width), half(height)];
  const sizes = [[width, height, w, 1], ...layout.slice(1).map(() => [half(width), half(height), half(w), planes.chromaStep])];
  let offset = 0;
  const small = sizes.map(([fullWidth, fullHeight, halfWidth, channels], i) => {
    const place = { offset, stride: halfWidth * channels };
    core.native.halve(picture.at + layout[i].offset, fullWidth, fullHeight, layout[i].stride, channels, at + offset, place.stride);
    offset += place.stride * half(fullHeight);
    return place;
  });
  const cr = planes.chromaStep === 2 ? small[1].offset + 1 : small[2].offset;
  const inside = { ...planes, y: 0, cb: small[1].offset, cr, yStride: w, chromaStride: small[1].stride };
  return { at, bytes: offset, width: w, height: h, planes: inside, layout: small, about };
}

const half = (size) => Math.ceil(size / 2);
