// A video in the view: the frame that is shown, at a size that keeps up with playing, and at full size at rest.
import { FramePlace, halved } from "./frames.js";

const LIVE = 1440; // pixels along the longer side, at most, while it plays

export class VideoView {
  #core;
  #place;
  #filter = 0;
  #halves = []; // memory of the smaller copies, each for source and result
  #picture = null; // the frame at full size
  #view = null; // and as it is shown
  #theta = null;

  /** `video` is what `openVideo` returned; `correction(own, settings)` says what settings ask for. */
  constructor(core, video, correction) {
    this.#core = core;
    this.video = video;
    this.#place = new FramePlace(core);
    this.correction = correction;
  }

  /** Takes the next frame and closes it. `fresh`: what came before it does not matter, since someone jumped there. */
  async take(frame, fresh) {
    try {
      this.#picture = await this.#place.read(frame, this.video.tagged, LIVE);
    } finally {
      frame.close();
    }
    this.#view = { ...this.#picture, out: this.#place.out };
    for (let i = 0; this.#view.planes && Math.max(this.#view.width, this.#view.height) > LIVE; ++i) {
      const at = (this.#halves[i] ??= this.#core.allocate(this.#picture.bytes));
      this.#view = halved(this.#core, this.#view, at);
      this.#view.out = at + (this.#picture.bytes >> 1); // a copy needs a quarter and a little more
    }
    if (fresh || !this.#filter) this.#restart();
    this.#theta = this.#core.smooth(this.#filter, this.#view, this.#core.predict(this.#view));
  }

  /** The view under these settings, as a frame, and θ that it was made with. */
  render(settings) {
    const { theta, statistics, strength } = this.correction({ theta: this.#theta, statistics: null }, settings);
    this.#core.execute(this.#view, theta, statistics, this.#view.out, strength);
    return { after: this.#place.toFrame(this.#view, this.#view.out), theta };
  }

  /** The whole frame at full size, before and after; null where the view is that. */
  sharp(settings) {
    if (!this.#view || this.#view.at === this.#picture.at) return null;
    const { theta, statistics, strength } = this.correction({ theta: this.#theta, statistics: null }, settings);
    this.#core.execute(this.#picture, theta, statistics, this.#place.out, strength);
    const { at } = this.#picture;
    return { before: this.#place.toFrame(this.#picture, at), after: this.#place.toFrame(this.#picture, this.#place.out) };
  }

  /** θ of the frame in view and its statistics under the whole of it. */
  get own() {
    return { theta: this.#theta, statistics: this.#core.measure(this.#view, this.#theta) };
  }
  get ready() {
    return this.#theta !== null;
  }
  get size() {
    return Math.max(this.#view.width, this.#view.height);
  }

  close() {
    this.video.input.dispose();
    this.#place.release();
    for (const at of this.#halves) this.#core.release(at);
    if (this.#filter) this.#core.native.end_filter(this.#filter);
  }

  #restart() {
    if (this.#filter) this.#core.native.end_filter(this.#filter);
    this.#filter = this.#core.startFilter(this.video.rate);
  }
}
