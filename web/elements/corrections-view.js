// <corrections-view>: the seven corrections, drawn small.
import { text } from "../strings.js";

const FIGURES = {
  correctionT: (context, size, c) => field(context, size, c.t, [12, 46, 66], [214, 240, 237]),
  correctionV: (context, size, c) => field(context, size, c.v, [16, 24, 32], [126, 196, 255]),
  correctionA: (context, size, c) => field(context, size, c.a, [34, 18, 20], [255, 201, 120]),
  correctionTone: (context, size, c) => tone(context, size, c.tone),
  correctionChroma: (context, size, c) => chroma(context, size, c.lut),
  correctionAffine: (context, size, c) => affine(context, size, c.matrix, c.bias),
  correctionCalibration: (context, size, c) => calibration(context, size, c),
};
const SIZE = 72; // CSS pixels

class CorrectionsView extends HTMLElement {
  #canvases = {};

  connectedCallback() {
    if (this.firstChild) return;
    for (const name of Object.keys(FIGURES)) {
      const figure = this.appendChild(document.createElement("figure"));
      const canvas = figure.appendChild(document.createElement("canvas"));
      canvas.setAttribute("role", "img");
      canvas.setAttribute("aria-label", text(name));
      figure.appendChild(document.createElement("figcaption")).textContent = text(name);
      this.#canvases[name] = canvas;
    }
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.corrections && this.show(this.corrections));
  }

  /** Draws θ, given by the names of its parts. */
  show(corrections) {
    this.corrections = corrections;
    for (const [name, draw] of Object.entries(FIGURES)) {
      const canvas = this.#canvases[name];
      const size = Math.round(SIZE * devicePixelRatio);
      canvas.width = canvas.height = size;
      draw(canvas.getContext("2d"), size, corrections);
    }
  }
}

// Colours of the canvas' style sheet, which follow light and dark.
const ink = () => getComputedStyle(document.body).color;
const pale = (context) => getComputedStyle(context.canvas).borderTopColor;
const accent = (context) => getComputedStyle(context.canvas).color;

function field(context, size, values, dark, bright) {
  const side = Math.sqrt(values.length);
  const low = Math.min(...values), span = Math.max(Math.max(...values) - low, 0.02);
  const image = context.createImageData(side, side);
  values.forEach((value, i) => {
    const share = (value - low) / span;
    for (let k = 0; k < 3; ++k) image.data[4 * i + k] = dark[k] + share * (bright[k] - dark[k]);
    image.data[4 * i + 3] = 255;
  });
  const small = new OffscreenCanvas(side, side);
  small.getContext("2d").putImageData(image, 0, 0);
  context.imageSmoothingQuality = "high";
  context.drawImage(small, 0, 0, size, size);
}

function line(context, points, colour, width) {
  context.strokeStyle = colour;
  context.lineWidth = width;
  context.beginPath();
  for (const [x, y] of points) context.lineTo(x, y);
  context.stroke();
}

function tone(context, size, values) {
  line(context, [[0, size], [size, 0]], pale(context), size / 60);
  line(context, Array.from(values, (value, i) => [(i / (values.length - 1)) * size, (1 - value) * size]), accent(context), size / 28);
}

/** The colour plane around grey, with the table as a bent grid. */
function chroma(context, size, lut) {
  const grid = Math.sqrt(lut.length / 2);
  const hue = context.createConicGradient(Math.PI, size / 2, size / 2);
  ["#7fb8a0", "#a8c46a", "#d9b45f", "#d98a8a", "#c58ad0", "#8fa0e0", "#7fb8a0"].forEach((colour, i) => hue.addColorStop(i / 6, colour));
  context.globalAlpha = 0.35;
  context.fillStyle = hue;
  context.fillRect(0, 0, size, size);
  context.globalAlpha = 1;
  const at = (row, column) => {
    const i = row * grid + column;
    return [((lut[i] + 1) / 2) * size, ((1 - lut[grid * grid + i]) / 2) * size];
  };
  const along = [...Array(grid).keys()];
  for (const i of along) {
    line(context, along.map((k) => at(i, k)), accent(context), size / 60);
    line(context, along.map((k) => at(k, i)), accent(context), size / 60);
  }
}

/** Rows Y, Cb, Cr; columns the same and the bias: warm is more than the identity, cold less. */
function affine(context, size, matrix, bias) {
  const cell = size / 4;
  for (let row = 0; row < 3; ++row)
    for (let column = 0; column < 4; ++column) {
      const change = column === 3 ? bias[row] * 4 : matrix[3 * row + column] - (row === column ? 1 : 0);
      context.fillStyle = change > 0 ? "#e4572e" : "#2e86de";
      context.globalAlpha = Math.min(1, 0.08 + Math.abs(change) * 1.6);
      context.fillRect(column * cell + 1, (row + 0.5) * cell + 1, cell - 2, cell - 2);
    }
  context.globalAlpha = 1;
}

/** The spread of colour that the picture is drawn towards, on the plane of Cb and Cr, and how far: the full share is a full line. */
function calibration(context, size, { mean, recolor, blend }) {
  line(context, [[0, size / 2], [size, size / 2]], pale(context), size / 60);
  line(context, [[size / 2, 0], [size / 2, size]], pale(context), size / 60);
  const reach = 0.32;
  const place = (cb, cr) => [(0.5 + cb / (2 * reach)) * size, (0.5 - cr / (2 * reach)) * size];
  const outline = Array.from({ length: 65 }, (_, i) => {
    const [x, y] = [Math.cos((i * Math.PI) / 32), Math.sin((i * Math.PI) / 32)];
    return place(mean[1] + 2 * recolor[4] * x, mean[2] + 2 * (recolor[7] * x + recolor[8] * y));
  });
  context.globalAlpha = 0.25 + 0.75 * blend[0];
  line(context, outline, accent(context), size / 28);
  context.globalAlpha = 1;
  context.fillStyle = ink();
  const [x, y] = place(mean[1], mean[2]);
  context.fillRect(x - size / 40, y - size / 40, size / 20, size / 20);
}

customElements.define("corrections-view", CorrectionsView);
