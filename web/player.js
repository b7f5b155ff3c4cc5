// Playing a video: the browser's own player decodes and sounds, unseen; each frame that it shows is handed on.
import { text } from "./strings.js";

export class Player {
  #root;
  #video;
  #onFrame;
  #fresh = true; // the next frame does not follow the last
  #waiting = 0; // the request for the next frame
  #play;
  #time;
  #seek;

  /** `onFrame(frame, fresh)` takes a frame over; it resolves to false where it was dropped. */
  constructor(root, onFrame) {
    this.#root = root;
    this.#onFrame = onFrame;
    this.#video = root.querySelector("video");
    [this.#play, this.#time, this.#seek] = [".play", "output", "input"].map((name) => root.querySelector(name));
    this.#play.onclick = () => (this.playing ? this.pause() : this.#video.play().catch(() => {}));
    root.querySelector(".mute").onclick = ({ currentTarget }) => {
      this.#video.muted = !this.#video.muted;
      currentTarget.setAttribute("aria-pressed", String(this.#video.muted));
    };
    this.#seek.oninput = () => {
      this.#fresh = true;
      this.#video.currentTime = Number(this.#seek.value);
    };
    for (const event of ["play", "pause", "ended"]) this.#video.addEventListener(event, () => this.#changed());
    this.#video.addEventListener("timeupdate", () => this.#tell());
    this.#video.addEventListener("seeked", () => this.playing || this.show());
  }

  get playing() {
    return !this.#video.paused && !this.#video.ended;
  }

  /** Loads a file; resolves to the size of its frames as they are shown. */
  open(file) {
    this.close();
    const video = this.#video;
    return new Promise((resolve, reject) => {
      video.onloadeddata = () => {
        this.#seek.max = String(video.duration);
        this.#tell();
        this.#root.hidden = false;
        this.#wait();
        resolve({ width: video.videoWidth, height: video.videoHeight });
      };
      video.onerror = () => reject(Object.assign(new Error(), { code: "videoPlay" }));
      this.#fresh = true;
      video.src = URL.createObjectURL(file);
    });
  }

  pause() {
    this.#video.pause();
  }

  close() {
    const video = this.#video;
    if (!video.src) return;
    video.pause();
    video.cancelVideoFrameCallback?.(this.#waiting);
    video.onloadeddata = video.onerror = null;
    URL.revokeObjectURL(video.src);
    video.removeAttribute("src");
    video.load();
    this.#root.hidden = true;
  }

  /** Hands on the frame that stands there; resolves when it was taken. While it plays, frames are dropped; at rest, none. */
  async show() {
    const { src } = this.#video;
    for (let taken = false; !taken; await pause()) {
      const frame = this.#frame();
      const fresh = this.#fresh;
      if (frame) this.#fresh = false;
      taken = frame && (await this.#onFrame(frame, fresh));
      if (frame && !taken) this.#fresh ||= fresh;
      if (taken || this.playing || this.#video.src !== src) return;
    }
  }

  /** The frame that is on the screen; null where there is none yet. */
  #frame() {
    try {
      return new VideoFrame(this.#video);
    } catch {
      return null;
    }
  }

  /** Every frame while it plays. */
  #wait() {
    this.#waiting = this.#video.requestVideoFrameCallback(() => {
      this.#wait();
      if (this.playing) this.show();
    });
  }

  #changed() {
    this.#root.toggleAttribute("data-playing", this.playing);
    this.#play.setAttribute("aria-label", text(this.playing ? "pause" : "play"));
    if (!this.playing) this.show();
  }

  #tell() {
    const { currentTime, duration } = this.#video;
    this.#seek.value = String(currentTime);
    const spoken = `${clock(currentTime)} / ${clock(duration)}`;
    this.#time.textContent = spoken;
    this.#seek.setAttribute("aria-valuetext", spoken);
  }
}

const pause = () => new Promise((resolve) => setTimeout(resolve, 30));
const clock = (seconds) => `${Math.floor(seconds / 60)}:${String(Math.floor(seconds % 60)).padStart(2, "0")}`;
