// <two-up>: a picture before and after, one over the other, with a line between them that can be moved.
// Bitmaps may be frames of video. Events: "zoom", and "settle" after the view has come to rest.
import { text } from "../strings.js";
import { PinchZoom } from "./pinch-zoom.js";

const SETTLE = 180; // milliseconds
const KEY_STEP = 0.02;

class TwoUp extends HTMLElement {
  #canvases = {};
  #pictures = { before: null, after: null };
  #part = null;
  #split = 0.5;
  #timer = 0;
  #frame = 0;

  connectedCallback() {
    if (this.zoom) return;
    this.tabIndex = 0;
    this.setAttribute("role", "group");
    this.setAttribute("aria-label", text("viewer"));
    for (const side of ["before", "after"]) {
      this.#canvases[side] = this.appendChild(document.createElement("canvas"));
      this.#canvases[side].className = side;
      this.#canvases[side].setAttribute("aria-hidden", "true");
    }
    this.#addHandle();
    this.zoom = new PinchZoom(this, (event) => this.#dragTo(event));
    this.zoom.addEventListener("move", () => this.#changed());
    this.split = this.#split;
  }

  get split() {
    return this.#split;
  }
  set split(value) {
    this.#split = Math.min(1, Math.max(0, value));
    this.style.setProperty("--split", `${100 * this.#split}%`);
    this.handle.setAttribute("aria-valuenow", String(Math.round(100 * this.#split)));
    this.#draw();
  }

  /** Another picture; both bitmaps cover the whole of it at whatever resolution. */
  setPicture(width, height, before) {
    this.#set("before", before);
    this.#set("after", null);
    this.setPart(null);
    this.zoom.setSize(width, height);
  }
  /** The next frame of the same picture. */
  setBoth(before, after) {
    this.#set("before", before);
    this.setAfter(after);
  }
  setAfter(bitmap) {
    this.#set("after", bitmap);
    this.setPart(null);
  }
  /** Sharp bitmaps for a part of the picture, or null. */
  setPart(part) {
    for (const bitmap of [this.#part?.before, this.#part?.after]) bitmap?.close();
    this.#part = part;
    this.#draw();
  }

  get hasPart() {
    return this.#part !== null;
  }

  #set(side, bitmap) {
    this.#pictures[side]?.close();
    this.#pictures[side] = bitmap;
  }

  #addHandle() {
    this.handle = this.appendChild(document.createElement("div"));
    this.handle.className = "handle";
    this.handle.tabIndex = 0;
    const attributes = { role: "slider", "aria-valuemin": 0, "aria-valuemax": 100, "aria-label": text("splitHelp") };
    for (const [name, value] of Object.entries(attributes)) this.handle.setAttribute(name, value);
    this.handle.addEventListener("keydown", (event) => {
      const steps = { ArrowLeft: -KEY_STEP, ArrowRight: KEY_STEP, ArrowDown: -KEY_STEP, ArrowUp: KEY_STEP, Home: -1, End: 1 };
      if (!(event.key in steps)) return;
      event.preventDefault();
      this.split += steps[event.key];
    });
    this.handle.addEventListener("pointerdown", (event) => {
      event.stopPropagation();
      this.handle.setPointerCapture(event.pointerId);
    });
    this.handle.addEventListener("pointermove", (event) => {
      if (this.handle.hasPointerCapture(event.pointerId)) this.#dragTo(event);
    });
  }

  #dragTo(event) {
    const { left, width } = this.getBoundingClientRect();
    this.split = (event.clientX - left) / width;
  }

  #changed() {
    this.#draw();
    this.dispatchEvent(new Event("zoom"));
    this.rest();
  }

  /** "settle" when nothing has changed for a while. */
  rest() {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.dispatchEvent(new Event("settle")), SETTLE);
  }

  #draw() {
    if (!this.#frame) this.#frame = requestAnimationFrame(() => ((this.#frame = 0), this.#paint()));
  }

  #paint() {
    const { clientWidth, clientHeight } = this;
    const ratio = devicePixelRatio;
    const { x, y, scale, width, height } = this.zoom;
    for (const side of ["before", "after"]) {
      const canvas = this.#canvases[side];
      const size = [Math.round(clientWidth * ratio), Math.round(clientHeight * ratio)];
      if (canvas.width !== size[0] || canvas.height !== size[1]) [canvas.width, canvas.height] = size;
      const context = canvas.getContext("2d");
      context.setTransform(1, 0, 0, 1, 0, 0);
      context.clearRect(0, 0, ...size);
      context.setTransform(scale * ratio, 0, 0, scale * ratio, x * ratio, y * ratio);
      context.imageSmoothingEnabled = scale * ratio < 2.5;
      context.imageSmoothingQuality = "high";
      const bitmap = this.#pictures[side] ?? this.#pictures.before;
      if (bitmap) context.drawImage(bitmap, 0, 0, width, height);
      const part = this.#part;
      if (part && this.#pictures[side]) context.drawImage(part[side], part.x, part.y, part.width, part.height);
    }
  }
}

customElements.define("two-up", TwoUp);
