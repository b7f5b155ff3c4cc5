// Where a picture lies in its frame: moved and zoomed by pointers, wheel and keys. Positions are in CSS pixels.
const MAX_SCALE = 16;
const STEP = 1.25;
const PAN = 48;

export class PinchZoom extends EventTarget {
  #frame;
  #pointers = new Map();
  #onDrag = null;
  x = 0;
  y = 0;
  scale = 1;
  fitted = true;

  /** `onDrag(event)` gets one-finger drags while the whole picture is in view, when there is nowhere to move it. */
  constructor(frame, onDrag) {
    super();
    this.#frame = frame;
    this.#onDrag = onDrag;
    this.width = this.height = 1;
    frame.addEventListener("pointerdown", (event) => this.#down(event));
    frame.addEventListener("pointermove", (event) => this.#move(event));
    for (const end of ["pointerup", "pointercancel"]) frame.addEventListener(end, (event) => this.#pointers.delete(event.pointerId));
    frame.addEventListener("wheel", (event) => this.#wheel(event), { passive: false });
    frame.addEventListener("keydown", (event) => this.#key(event));
    new ResizeObserver(() => (this.fitted ? this.fit() : this.#moved())).observe(frame);
  }

  /** A picture of another size: shown whole. */
  setSize(width, height) {
    [this.width, this.height] = [width, height];
    this.fit();
  }

  get fitScale() {
    const { clientWidth, clientHeight } = this.#frame;
    return Math.min(clientWidth / this.width, clientHeight / this.height) || 1;
  }

  fit() {
    this.scale = Math.min(this.fitScale, MAX_SCALE);
    this.fitted = true;
    this.#moved();
  }

  /** Zooms to a scale; the point stays where it is. */
  zoomTo(scale, x = this.#frame.clientWidth / 2, y = this.#frame.clientHeight / 2) {
    const next = Math.min(Math.max(scale, Math.min(this.fitScale, 1 / devicePixelRatio)), MAX_SCALE);
    this.x = x - ((x - this.x) * next) / this.scale;
    this.y = y - ((y - this.y) * next) / this.scale;
    this.scale = next;
    this.fitted = Math.abs(next / this.fitScale - 1) < 1e-3;
    this.#moved();
  }
  zoomBy(factor) {
    this.zoomTo(this.scale * factor);
  }

  /** The part of the picture that is in view, in its pixels. */
  get visible() {
    const { clientWidth, clientHeight } = this.#frame;
    const x = Math.max(0, Math.floor(-this.x / this.scale));
    const y = Math.max(0, Math.floor(-this.y / this.scale));
    const right = Math.min(this.width, Math.ceil((clientWidth - this.x) / this.scale));
    const bottom = Math.min(this.height, Math.ceil((clientHeight - this.y) / this.scale));
    return { x, y, width: Math.max(0, right - x), height: Math.max(0, bottom - y) };
  }

  get #movable() {
    const { clientWidth, clientHeight } = this.#frame;
    return this.width * this.scale > clientWidth + 1 || this.height * this.scale > clientHeight + 1;
  }

  #moved() {
    const { clientWidth, clientHeight } = this.#frame;
    const held = (at, size, frame) => (size <= frame ? (frame - size) / 2 : Math.min(0, Math.max(frame - size, at)));
    this.x = held(this.x, this.width * this.scale, clientWidth);
    this.y = held(this.y, this.height * this.scale, clientHeight);
    this.#frame.style.touchAction = this.#movable ? "none" : "pan-y";
    this.dispatchEvent(new Event("move"));
  }

  #down(event) {
    if (event.button !== 0) return;
    this.#pointers.set(event.pointerId, event);
    this.#frame.setPointerCapture(event.pointerId);
    if (this.#pointers.size === 1 && !this.#movable) this.#onDrag(event);
  }

  #move(event) {
    const last = this.#pointers.get(event.pointerId);
    if (!last) return;
    if (this.#pointers.size === 1) {
      if (!this.#movable) this.#onDrag(event);
      this.x += event.clientX - last.clientX;
      this.y += event.clientY - last.clientY;
      this.#pointers.set(event.pointerId, event);
      this.#moved();
      return;
    }
    const [other] = [...this.#pointers.values()].filter((pointer) => pointer.pointerId !== event.pointerId);
    const distance = (pointer) => Math.hypot(pointer.clientX - other.clientX, pointer.clientY - other.clientY);
    const { left, top } = this.#frame.getBoundingClientRect();
    this.#pointers.set(event.pointerId, event);
    this.x += (event.clientX - last.clientX) / 2;
    this.y += (event.clientY - last.clientY) / 2;
    const middle = [(event.clientX + other.clientX) / 2 - left, (event.clientY + other.clientY) / 2 - top];
    this.zoomTo((this.scale * distance(event)) / Math.max(1, distance(last)), ...middle);
  }

  #wheel(event) {
    event.preventDefault();
    const { left, top } = this.#frame.getBoundingClientRect();
    const lines = event.deltaMode === 1 ? 20 : 1;
    const factor = Math.exp((-event.deltaY * lines * (event.ctrlKey ? 5 : 1)) / 500);
    this.zoomTo(this.scale * factor, event.clientX - left, event.clientY - top);
  }

  #key(event) {
    if (event.target !== this.#frame || event.ctrlKey || event.metaKey || event.altKey) return;
    const pans = { ArrowLeft: [PAN, 0], ArrowRight: [-PAN, 0], ArrowUp: [0, PAN], ArrowDown: [0, -PAN] };
    if (pans[event.key]) {
      this.x += pans[event.key][0];
      this.y += pans[event.key][1];
      this.#moved();
    } else if (event.key === "+" || event.key === "=") this.zoomBy(STEP);
    else if (event.key === "-") this.zoomBy(1 / STEP);
    else if (event.key === "0") this.fit();
    else if (event.key === "1") this.zoomTo(1 / devicePixelRatio);
    else return;
    event.preventDefault();
  }
}
