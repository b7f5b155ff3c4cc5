// The core as WebAssembly: memory, calls and errors of native/wasm.cpp. All mathematics of the model is behind these calls.
import { facts } from "../facts.js";
import { Problem } from "../problem.js";

const PAGE = 65536;
const HELPER_STACK = 1 << 20;
const MAX_THREADS = 8;
export const STRIP = 2 << 20; // pixels of a result that are made at once
export const GROUPS = ["haze", "contrast", "colour", "balance"];
export const STRENGTHS = [...GROUPS, "strength"];

const refuse = () => 52; // the core writes nothing: these are there for a message of the C library's abort
const system = { wasi_snapshot_preview1: { fd_close: refuse, fd_seek: refuse, fd_write: refuse } };

export class Core {
  /** Loads the core: on many threads where the page may share memory, on one otherwise. */
  static async load() {
    const weights = fetchBytes("../weights.bin");
    const threads = self.crossOriginIsolated ? Math.min(navigator.hardwareConcurrency || 1, MAX_THREADS) : 1;
    const [native, started] = (threads > 1 && (await loadShared(threads).catch(() => null))) || [await loadSingle(), 1];
    const core = new Core(native, started);
    const { width, thumbnail, grid } = facts.weights;
    const bytes = await weights;
    const at = core.allocate(bytes.length);
    core.bytes(at, bytes.length).set(bytes);
    core.check(native.create(at, width, thumbnail, grid, started));
    native.release(at);
    core.thetaSize = native.theta_size();
    core.side = native.field_side();
    core.grid = native.table_side();
    core.theta = core.allocate(4 * core.thetaSize);
    core.scaled = core.allocate(4 * core.thetaSize);
    core.statistics = core.allocate(8 * 12);
    core.strip = core.allocate(4 * STRIP);
    return core;
  }

  constructor(native, threads) {
    this.native = native;
    this.threads = threads;
  }

  /** The bytes at an address. The view is stale after the next allocation. */
  bytes(at, length) {
    return new Uint8ClampedArray(this.native.memory.buffer, at, length);
  }
  floats(at, length) {
    return new Float32Array(this.native.memory.buffer, at, length);
  }
  doubles(at, length) {
    return new Float64Array(this.native.memory.buffer, at, length);
  }

  allocate(bytes) {
    const at = bytes < 2 ** 32 - PAGE ? this.native.allocate(bytes) >>> 0 : 0;
    if (!at) throw new Problem("outOfMemory");
    return at;
  }
  release(at) {
    if (at) this.native.release(at);
  }
  /** Makes sure that a call on a frame of this size finds the memory it works in: inside the core it would be a trap. */
  reserve(width, height) {
    this.release(this.allocate(this.native.working_bytes(width, height)));
  }

  check(code) {
    if (code === 0) return;
    const at = this.native.message(code);
    const text = this.bytes(at, 200).slice();
    throw new Problem("core", { message: new TextDecoder().decode(text.subarray(0, text.indexOf(0))) });
  }

  /** θ of a picture, as floats in the order of native/wasm.cpp. Pictures are pixels, or frames (worker/frames.js). */
  predict(picture) {
    this.#call("predict", picture, this.theta);
    return this.floats(this.theta, this.thetaSize).slice();
  }

  /** θ with each group between the identity (0) and what it is (1). */
  scale(theta, strengths) {
    this.#place(theta);
    this.check(this.native.scale(this.theta, ...GROUPS.map((group) => strengths[group]), this.scaled));
    return this.floats(this.scaled, this.thetaSize).slice();
  }

  /** m and S of a picture under θ, as 12 doubles. */
  measure(picture, theta) {
    this.#place(theta);
    this.#call("measure", picture, this.theta, this.statistics);
    return this.doubles(this.statistics, 12).slice();
  }

  /** Applies θ; `out` may be the picture's own memory. Without statistics: the picture's own under this θ. */
  execute(picture, theta, statistics, out, strength) {
    this.#place(theta);
    if (statistics) this.doubles(this.statistics, 12).set(statistics);
    const given = statistics ? this.statistics : 0;
    this.#call("execute", picture, this.theta, given, out, strength);
  }

  /** The bytes of a part of what a correction makes of a picture, STRIP pixels at most. The next call overwrites them. */
  part(picture, { theta, statistics, strength }, { x, y, width, height }) {
    this.#place(theta);
    this.doubles(this.statistics, 12).set(statistics);
    this.#call("execute_part", picture, this.theta, this.statistics, x, y, width, height, this.strip, strength);
    return this.bytes(this.strip, width * height * picture.channels);
  }

  /** A filter of θ over time, for so many frames a second; `end_filter` frees it. */
  startFilter(rate) {
    const filter = this.native.start_filter(rate);
    if (!filter) throw new Problem("outOfMemory");
    return filter;
  }
  /** θ of the next frame, smoothed. */
  smooth(filter, picture, theta) {
    this.#place(theta);
    this.#call("smooth", picture, filter, this.theta);
    return this.floats(this.theta, this.thetaSize).slice();
  }

  #place(theta) {
    this.floats(this.theta, this.thetaSize).set(theta);
  }
  #call(name, picture, ...rest) {
    const { at, width, height, channels, planes } = picture;
    if (!planes) return this.check(this.native[name](at, width, height, channels, ...rest));
    const { y, cb, cr, yStride, chromaStride, chromaStep, matrix, fullRange } = planes;
    const frame = [at + y, at + cb, at + cr, width, height, yStride, chromaStride, chromaStep, matrix, fullRange];
    this.check(this.native[`${name}_yuv`](...frame, ...rest));
  }
}

async function fetchBytes(path) {
  return new Uint8Array(await (await fetch(new URL(path, import.meta.url))).arrayBuffer());
}

async function compile(path) {
  try {
    return await WebAssembly.compile(await fetchBytes(path));
  } catch (error) {
    throw error instanceof WebAssembly.CompileError ? new Problem("oldBrowser") : error;
  }
}

async function loadSingle() {
  const { exports } = await WebAssembly.instantiate(await compile("../pic_uie.wasm"), system);
  exports._initialize();
  return exports;
}

async function loadShared(threads) {
  const module = await compile("../pic_uie.threads.wasm");
  const memory = sharedMemory();
  const { exports } = await WebAssembly.instantiate(module, { ...system, env: { memory } });
  exports._initialize();
  const helpers = [];
  for (let i = 1; i < threads; ++i) {
    const stack = exports.allocate(HELPER_STACK) + HELPER_STACK;
    const helper = new Worker(new URL("helper.js", import.meta.url), { type: "module" });
    helpers.push(new Promise((resolve, reject) => ((helper.onmessage = resolve), (helper.onerror = reject))));
    helper.postMessage({ module, memory, stack });
  }
  await Promise.all(helpers);
  return [exports, threads];
}

/** Address space is reserved up to the maximum: small devices refuse the largest. */
function sharedMemory() {
  for (const maximum of [65536, 32768, 16384])
    try {
      return new WebAssembly.Memory({ initial: 64, maximum, shared: true });
    } catch {}
  throw new Problem("outOfMemory");
}
