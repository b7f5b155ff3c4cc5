// A finished video: every frame enhanced, its time kept; sound copied as it is. Written to a file of the page's own on this
// device's disk, so that long videos need no memory.
import { FramePlace } from "./frames.js";
import { mediabunny, openVideo } from "./videos.js";
import { stamps } from "../metadata/movie.js";
import { Problem } from "../problem.js";

const GENEROUS = 1.5; // times the source's bits: more contrast needs more
const LEAST_BITS = 0.1; // a pixel
const CHUNK = 4 << 20; // bytes

/** Makes the file. `correction(own, settings)` says what is done; `progress(share)` is told; `signal` stops it. */
export async function exportVideo(core, file, settings, correction, progress, signal) {
  const video = await openVideo(file);
  const place = new FramePlace(core);
  const filter = core.startFilter(video.rate);
  let output, kept;
  try {
    kept = await scratch();
    const made = await prepared(video, kept);
    output = made.output;
    const { VideoSampleSink, VideoSample } = await mediabunny();
    const first = await video.track.getFirstTimestamp();
    for await (const sample of new VideoSampleSink(video.track).samples()) {
      const { timestamp, duration } = sample;
      const frame = sample.toVideoFrame();
      sample.close();
      if (signal.aborted) {
        frame.close();
        throw new Problem("cancelled");
      }
      const picture = await place.read(frame, video.tagged).finally(() => frame.close());
      const own = settings.look ? null : { theta: core.smooth(filter, picture, core.predict(picture)), statistics: null };
      const { theta, statistics, strength } = correction(own, settings);
      core.execute(picture, theta, statistics, place.out, strength);
      await made.sounds(timestamp);
      const after = new VideoSample(place.toFrame(picture, place.out), { timestamp, duration });
      await made.source.add(after).finally(() => after.close());
      progress(Math.min(1, (timestamp + duration - first) / Math.max(video.duration - first, 1e-3)));
    }
    await made.sounds(Infinity);
    await output.finalize();
    return { blob: await kept.file(made.type), extension: made.extension, notes: [...video.notes, ...made.notes] };
  } catch (error) {
    await output?.cancel().catch(() => {});
    await kept?.remove();
    throw error instanceof Problem || error instanceof WebAssembly.RuntimeError ? error : new Problem("videoBroken", { message: error.message });
  } finally {
    core.native.end_filter(filter);
    place.release();
    video.input.dispose();
  }
}

/** An output of the source's kind, with its tracks; `sounds(time)` copies sound up to a time. */
async function prepared(video, kept) {
  const bunny = await mediabunny();
  const { track, format, isMovie, stats } = video;
  const width = await track.getCodedWidth(), height = await track.getCodedHeight();
  const onMoov = (moov, position) => stamps(moov, video.created).forEach(({ at, bytes }) => kept.later(position + at, bytes));
  const outputFormat = isMovie
    ? new (format.name === "QuickTime File Format" ? bunny.MovOutputFormat : bunny.Mp4OutputFormat)({ fastStart: "reserve", onMoov })
    : new (format.name === "WebM" ? bunny.WebMOutputFormat : bunny.MkvOutputFormat)();
  const bitrate = Math.round(Math.max(GENEROUS * stats.averageBitrate, LEAST_BITS * width * height * video.rate));
  const wanted = [video.codec, "avc", "vp9", "av1", "vp8"].filter((codec) => outputFormat.getSupportedVideoCodecs().includes(codec));
  const codec = await bunny.getFirstEncodableVideoCodec(wanted, { width, height, bitrate });
  if (!codec) throw new Problem("videoEncode", { width, height });
  const onEncoderConfig = (config) => (config.framerate = video.rate);
  const source = new bunny.VideoSampleSource({ codec, bitrate, latencyMode: "quality", keyFrameInterval: 2, onEncoderConfig });
  const output = new bunny.Output({ format: outputFormat, target: kept.target(bunny) });
  output.addVideoTrack(source, {
    ...(await common(track)),
    rotation: await track.getRotation(),
    flip: await track.getFlip(),
    frameRate: isMovie ? await track.getTimeResolution() : undefined, // ticks: times stay what they are
    maximumPacketCount: isMovie ? stats.packetCount : undefined,
  });
  const notes = [];
  if (codec !== video.codec) notes.push(["noteCodec", { codec: codec.toUpperCase() }]);
  const copies = [];
  for (const sound of video.sounds) {
    const kind = await sound.getCodec();
    if (!outputFormat.getSupportedAudioCodecs().includes(kind)) {
      notes.push(["noteLeftOut", { parts: ["partSound"] }]);
      continue;
    }
    const { packetCount } = isMovie ? await sound.computePacketStats() : {};
    const target = new bunny.EncodedAudioPacketSource(kind);
    output.addAudioTrack(target, { ...(await common(sound)), maximumPacketCount: packetCount });
    copies.push(new Copy(target, new bunny.EncodedPacketSink(sound).packets(), await sound.getDecoderConfig()));
  }
  output.setMetadataTags(await tagsOf(video.input));
  await output.start();
  return {
    output,
    source,
    notes,
    type: outputFormat.mimeType,
    extension: outputFormat.fileExtension.slice(1),
    sounds: (time) => Promise.all(copies.map((copy) => copy.upTo(time))),
  };
}

async function common(track) {
  const languageCode = await track.getLanguageCode();
  return { languageCode, name: (await track.getName()) ?? undefined, disposition: await track.getDisposition() };
}

/** Tags that both containers have words for. */
async function tagsOf(input) {
  const { raw, ...tags } = await input.getMetadataTags();
  return tags;
}

/** The packets of a sound track, copied in step with the picture. */
class Copy {
  #next = null;

  constructor(target, packets, decoderConfig) {
    Object.assign(this, { target, packets, decoderConfig });
  }

  async upTo(time) {
    for (;;) {
      this.#next ??= (await this.packets.next()).value ?? "end";
      if (this.#next === "end" || this.#next.timestamp > time) return;
      await this.target.add(this.#next, { decoderConfig: this.decoderConfig });
      this.#next = null;
    }
  }
}

/** A file of the page's own on the disk; in memory where the browser has no such thing. `later` writes over what is there when
 *  all else was written. */
async function scratch() {
  const corrections = [];
  const later = (at, bytes) => void corrections.push({ at, bytes });
  try {
    const folder = await ownFolder();
    const name = crypto.randomUUID();
    const handle = await folder.getFileHandle(name, { create: true });
    const access = await handle.createSyncAccessHandle();
    const write = ({ data, position }) => void access.write(data, { at: position });
    const close = () => {
      for (const { at, bytes } of corrections) access.write(bytes, { at });
      access.close();
    };
    const stream = new WritableStream({ write, close, abort: () => access.close() });
    return {
      later,
      target: ({ StreamTarget }) => new StreamTarget(stream, { chunked: true, chunkSize: CHUNK }),
      file: async (type) => new Blob([await handle.getFile()], { type }),
      remove: async () => (access.close(), folder.removeEntry(name).catch(() => {})),
    };
  } catch {
    let target;
    const whole = () => {
      for (const { at, bytes } of corrections) new Uint8Array(target.buffer).set(bytes, at);
      return target.buffer;
    };
    return {
      later,
      target: ({ BufferTarget }) => (target = new BufferTarget()),
      file: async (type) => new Blob([whole()], { type }),
      remove: async () => {},
    };
  }
}

/** A folder for as long as this page is open: its lock says so, and those without one are of pages that were closed. */
let folder;
const ownFolder = () =>
  (folder ??= (async () => {
    const root = await (await navigator.storage.getDirectory()).getDirectoryHandle("videos", { create: true });
    const { held } = await navigator.locks.query();
    for await (const name of root.keys()) if (!held.some((lock) => lock.name === name)) await root.removeEntry(name, { recursive: true });
    const name = crypto.randomUUID();
    await new Promise((resolve) => navigator.locks.request(name, () => (resolve(), new Promise(() => {}))));
    return root.getDirectoryHandle(name, { create: true });
  })());
