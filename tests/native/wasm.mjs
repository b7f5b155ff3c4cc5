// Runs the core under node: node wasm.mjs CORE.wasm JOB.json. The job names the files of weights and pixels, sizes, and
// what to do; results are written as raw files. With "threads" above 1 it needs the core for many threads.
import { readFileSync, writeFileSync } from "node:fs";
import { Worker, isMainThread, parentPort, workerData } from "node:worker_threads";
import { fileURLToPath } from "node:url";

const refuse = () => 52; // the core writes nothing: these are only there for a message of the C library's abort
const system = { wasi_snapshot_preview1: { fd_close: refuse, fd_seek: refuse, fd_write: refuse } };

if (!isMainThread) {
  const { module, memory, stack } = workerData;
  const helper = await WebAssembly.instantiate(module, { ...system, env: { memory } });
  helper.exports.__stack_pointer.value = stack;
  parentPort.postMessage("ready");
  helper.exports.help();
}

async function load(path, threads) {
  const module = await WebAssembly.compile(readFileSync(path));
  if (threads === 1) {
    const { exports } = await WebAssembly.instantiate(module, system);
    exports._initialize();
    return exports;
  }
  const memory = new WebAssembly.Memory({ initial: 64, maximum: 65536, shared: true });
  const { exports } = await WebAssembly.instantiate(module, { ...system, env: { memory } });
  exports._initialize();
  for (let i = 1; i < threads; ++i) {
    const stack = exports.allocate(1 << 20) + (1 << 20);
    const worker = new Worker(fileURLToPath(import.meta.url), { workerData: { module, memory, stack } });
    await new Promise((resolve) => worker.once("message", resolve));
    worker.unref();
  }
  return exports;
}

if (isMainThread) {
  const [, , core, description] = process.argv;
  const job = JSON.parse(readFileSync(description, "utf8"));
  const native = await load(core, job.threads ?? 1);
  const bytes = (at, length) => new Uint8Array(native.memory.buffer, at, length);
  const place = (data) => {
    const at = native.allocate(data.length);
    bytes(at, data.length).set(data);
    return at;
  };
  const done = (code) => {
    if (code === 0) return;
    const at = native.message(code);
    const text = bytes(at, 200);
    throw new Error(Buffer.from(text.slice(0, text.indexOf(0))).toString());
  };
  done(native.create(place(readFileSync(job.weights)), job.width, job.thumbnail, job.grid, job.threads ?? 1));
  const theta = native.allocate(4 * native.theta_size());
  const statistics = native.allocate(8 * 12);
  const times = [];
  for (const picture of job.pictures ?? []) {
    const { file, out, width, height, channels, strength = 1, groups, strip } = picture;
    const pixels = place(readFileSync(file));
    for (let round = 0; round < (job.rounds ?? 1); ++round) {
      const result = native.allocate(width * height * channels);
      const start = performance.now();
      done(native.predict(pixels, width, height, channels, theta));
      if (groups) done(native.scale(theta, ...groups, theta));
      if (strip) {
        done(native.measure(pixels, width, height, channels, theta, statistics));
        for (let y = 0; y < height; y += strip) {
          const count = Math.min(strip, height - y), at = result + y * width * channels;
          done(native.execute_part(pixels, width, height, channels, theta, statistics, 0, y, width, count, at, strength));
        }
      } else done(native.execute(pixels, width, height, channels, theta, 0, result, strength));
      times.push(performance.now() - start);
      if (out) writeFileSync(out, bytes(result, width * height * channels));
      native.release(result);
    }
    native.release(pixels);
  }
  for (const { file, out, frames, width, height, step, matrix, full, rate, strength = 1, groups } of job.clips ?? []) {
    const [w, h] = [Math.ceil(width / 2), Math.ceil(height / 2)];
    const size = width * height + 2 * w * h;
    const source = place(readFileSync(file));
    const result = native.allocate(size * frames);
    const filter = native.start_filter(rate);
    for (let i = 0; i < frames; ++i) {
      const y = source + i * size, cb = y + width * height, cr = step === 2 ? cb + 1 : cb + w * h;
      const frame = [y, cb, cr, width, height, width, w * step, step, matrix, full];
      done(native.predict_yuv(...frame, theta));
      done(native.smooth_yuv(...frame, filter, theta));
      const scaled = native.allocate(4 * native.theta_size());
      done(native.scale(theta, ...(groups ?? [1, 1, 1, 1]), scaled));
      done(native.execute_yuv(...frame, scaled, 0, result + i * size, strength));
      native.release(scaled);
    }
    native.end_filter(filter);
    writeFileSync(out, bytes(result, size * frames));
  }
  console.log(JSON.stringify({ best: Math.min(...times) }));
  process.exit(0);
}
