// The one worker: holds the core and the picture that is open; everything heavy happens here, one job after the other.
import { Core, GROUPS } from "./core.js";
import { decode, kindOf, limitTo } from "./sources.js";
import { partBitmap, readBitmap, toBitmap } from "./pixels.js";
import { encode } from "./results.js";
import { exportVideo } from "./export.js";
import { openVideo, thumbnail } from "./videos.js";
import { VideoView } from "./view.js";
import * as looks from "./looks.js";
import { parts } from "./looks.js";
import { Problem } from "../problem.js";

const VIEW = 1280; // pixels along the longer side of the copy that sliders act on
const MAX_PART = 24e6; // pixels of a part that is shown at full size

let core;
let film = null; // the video that is open, or
let open = null; // the picture: { file, about, notes, full, view, shown, own }; `own`: its θ and statistics

const jobs = {
  async start({ memory }) {
    limitTo(memory);
    core = await Core.load();
    return { threads: core.threads };
  },

  kindOf: ({ file }) => kindOf(file),

  /** Opens a video; its frames come one by one. */
  async openVideo({ file }) {
    close();
    const video = await openVideo(file);
    film = new VideoView(core, video, correction);
    film.file = file;
    return { notes: video.notes };
  },

  /** A frame of the open video, as the settings make it. */
  async frame({ frame, settings, fresh }) {
    if (!film) return frame.close(), {};
    const start = performance.now();
    await film.take(frame, fresh);
    return { ...rendered(settings), size: film.size, milliseconds: performance.now() - start };
  },

  /** A small bitmap for the list. */
  async thumbnail({ file, size }) {
    if ((await kindOf(file)) === "video") return thumbnail(file, size);
    const { bitmap } = await decode(file);
    const small = await resized(bitmap, Math.min(1, size / Math.min(bitmap.width, bitmap.height)));
    if (small !== bitmap) bitmap.close();
    return small;
  },

  /** Opens a picture: decodes it, predicts θ, makes the copy for the view. */
  async open({ file, id }) {
    close();
    const { bitmap, about, notes } = await decode(file);
    const { width, height } = bitmap;
    const small = await resized(bitmap, Math.min(1, VIEW / Math.max(width, height)));
    const full = await readBitmap(core, bitmap, about.grey);
    if (small !== bitmap) bitmap.close();
    open = { id, file, about, notes, full };
    if (full.rounded) notes.push(["noteAlphaRounded", {}]);
    open.view = await readBitmap(core, small, about.grey);
    open.shown = core.allocate(open.view.width * open.view.height * open.view.channels);
    open.own = looked(full);
    return { width, height, before: small, notes };
  },

  /** The view under these settings. */
  async render({ settings }) {
    const begin = performance.now();
    if (film) return film.ready ? { ...rendered(settings), milliseconds: performance.now() - begin } : {};
    const { view, shown } = opened();
    const start = performance.now();
    const { theta, statistics, strength } = correction(open.own, settings);
    core.execute(view, theta, statistics, shown, strength);
    const milliseconds = performance.now() - start;
    const after = await toBitmap(core, { ...view, at: shown });
    return { after, milliseconds, corrections: named(theta) };
  },

  /** A part of the picture at full size, before and after. */
  async part({ settings, part }) {
    if (film) return film.ready ? film.sharp(settings) : null;
    const { full, own } = opened();
    if (part.width * part.height > MAX_PART) return null;
    const before = await partBitmap(core, full, { ...own, strength: 0 }, part);
    const after = await partBitmap(core, full, correction(own, settings), part);
    return { before, after };
  },

  /** The finished file of a picture, whether it is open or not. */
  async save({ file, id, settings, format }) {
    if (open?.id !== id) {
      close();
      const { bitmap, about, notes } = await decode(file);
      open = { about, notes, full: await readBitmap(core, bitmap, about.grey) };
      bitmap.close();
    }
    const { full, about, notes, id: kept } = open;
    try {
      const own = open.own ?? (settings.look ? null : looked(full));
      const result = await encode(core, full, correction(own, settings), about, format);
      return { ...result, notes: [...notes, ...result.notes] };
    } finally {
      if (!kept) close();
    }
  },

  /** The look of the open picture under these settings, as text, and for other pictures. */
  async saveLook({ settings: { look, strengths } }) {
    const { own, file } = film?.ready ? film : opened();
    const { theta, statistics } = look ?? own;
    const text = await looks.write(core, { theta, statistics, strengths }, file);
    return { text, look: { theta, statistics, name: file.name } };
  },

  async readLook({ file }) {
    return looks.read(core, file);
  },

  close,
};

/** The film's frame under these settings. */
function rendered(settings) {
  const { after, theta } = film.render(settings);
  return { after, corrections: named(theta) };
}

const named = (theta) => Object.fromEntries(parts(core, theta).map(({ name, values }) => [name, values.slice()]));

/** θ of a picture and its statistics under the whole of it, as Enhancer.look. */
function looked(picture) {
  const theta = core.predict(picture);
  return { theta, statistics: core.measure(picture, theta) };
}

/** What settings ask for, as Enhancer.apply: groups act on θ, statistics stay, and nothing at all is strength 0. */
function correction(own, { look, strengths }) {
  const { theta, statistics } = look ?? own;
  const nothing = GROUPS.every((group) => strengths[group] === 0);
  const whole = GROUPS.every((group) => strengths[group] === 1);
  return { theta: whole ? theta : core.scale(theta, strengths), statistics, strength: nothing ? 0 : strengths.strength };
}

function opened() {
  if (!open?.view) throw new Problem("nothingOpen");
  return open;
}

function close() {
  film?.close();
  film = null;
  if (!open) return;
  for (const at of [open.full?.at, open.view?.at, open.shown]) core.release(at);
  open = null;
}

function resized(bitmap, scale) {
  if (scale === 1) return bitmap;
  return createImageBitmap(bitmap, {
    resizeWidth: Math.max(1, Math.round(bitmap.width * scale)),
    resizeHeight: Math.max(1, Math.round(bitmap.height * scale)),
    resizeQuality: "high",
    premultiplyAlpha: "none",
  });
}

// What runs beside the queue, since it is long: the view stays alive, and it can be stopped.
let stop = new AbortController();
const longJobs = {
  saveVideo({ file, settings }, progress) {
    stop = new AbortController();
    return exportVideo(core, file, settings, correction, progress, stop.signal);
  },
  cancel: () => stop.abort(),
};

let queue = Promise.resolve();
onmessage = ({ data: { id, name, job } }) => {
  const run = async () => {
    try {
      const result = await (jobs[name] ?? longJobs[name])(job ?? {}, (share) => postMessage({ id, share }));
      postMessage({ id, result }, transferable(result));
    } catch (error) {
      const problem = error instanceof Problem ? error : new Problem("unexpected", { message: String(error?.message ?? error) });
      const ended = error instanceof WebAssembly.RuntimeError; // the core's memory cannot be trusted any more
      postMessage({ id, problem: { code: ended ? "outOfMemory" : problem.code, values: problem.values }, ended });
    }
  };
  if (jobs[name]) queue = queue.then(run);
  else run();
};

const isBitmap = (value) => value instanceof ImageBitmap || (globalThis.VideoFrame && value instanceof VideoFrame);
const transferable = (result) => Object.values(result ?? {}).filter(isBitmap);
