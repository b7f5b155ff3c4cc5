// Videos as they come: opened with mediabunny, which is loaded with the first one, and what they say about themselves.
import { Problem } from "../problem.js";
import { readMovie } from "../metadata/movie.js";

const CODECS = { avc: "H.264", hevc: "HEVC (H.265)", vp8: "VP8", vp9: "VP9", av1: "AV1", prores: "ProRes" };
const SAMPLED = 200; // packets that the rate of a WebM is taken from: it has no table of them
let library;

export const mediabunny = () => (library ??= import("../mediabunny/mediabunny.mjs"));

/** Opens a video. `notes` are for people. */
export async function openVideo(file) {
  if (typeof VideoDecoder === "undefined") throw new Problem("videoUnsupported");
  const { Input, BlobSource, ALL_FORMATS } = await mediabunny();
  const input = new Input({ source: new BlobSource(file), formats: ALL_FORMATS });
  try {
    return await described(input, file);
  } catch (error) {
    input.dispose();
    throw error instanceof Problem ? error : new Problem("damaged");
  }
}

async function described(input, file) {
  if (!file.size) throw new Problem("emptyFile");
  const track = await input.getPrimaryVideoTrack();
  if (!track) throw new Problem((await input.getTracks()).length ? "videoNoTrack" : "damaged");
  const codec = await track.getCodec();
  if (!codec || !(await track.canDecode())) throw new Problem("videoDecode", { codec: CODECS[codec] ?? (await named(track)) });
  if (await track.hasHighDynamicRange()) throw new Problem("videoHdr");
  const format = await input.getFormat();
  const isMovie = /mp4|quicktime/.test(await input.getMimeType());
  const stats = await track.computePacketStats(isMovie ? undefined : SAMPLED);
  if (!stats.packetCount) throw new Problem("videoNoTrack");
  const sounds = await input.getAudioTracks();
  const { leftOut, created } = isMovie ? await readMovie(file) : { leftOut: [], created: 0 };
  if ((await input.getVideoTracks()).length > 1) leftOut.push("partVideos");
  return {
    input,
    track,
    sounds,
    codec,
    format,
    isMovie,
    stats,
    rate: stats.averagePacketRate || 30,
    duration: await track.computeDuration(),
    tagged: Boolean((await track.getColorSpace()).matrix),
    created,
    notes: leftOut.length ? [["noteLeftOut", { parts: leftOut }]] : [],
  };
}

async function named(track) {
  const id = await track.getInternalCodecId();
  return typeof id === "string" ? id : "?";
}

/** A small bitmap of the first frame, upright. */
export async function thumbnail(file, size) {
  const { input, track } = await openVideo(file);
  try {
    const { CanvasSink } = await mediabunny();
    const found = await new CanvasSink(track, { height: size }).getCanvas(await track.getFirstTimestamp());
    return found && (await createImageBitmap(found.canvas));
  } finally {
    input.dispose();
  }
}
