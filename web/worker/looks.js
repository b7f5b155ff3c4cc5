// Looks as files: the format of src/pic_uie/look_json.py. θ, statistics and strengths come from the core and go to it.
import { facts } from "../facts.js";
import { joined, latin1 } from "../metadata/bytes.js";
import { Problem } from "../problem.js";
import { STRENGTHS } from "./core.js";

const FORMAT = "pic-uie-look-1";
const MAX_BYTES = 64 << 10, MAX_NAME = 1024;
const MAX_HASHED = 512 << 20; // browsers hash what is in memory only
const PACKED = ["t", "v", "a", "lut"]; // too many numbers to read

/** Returns the text of a look's file. */
export async function write(core, { theta, statistics, strengths }, file) {
  const corrections = {};
  for (const { name, shape, values } of parts(core, theta))
    corrections[name] = PACKED.includes(name) ? { shape, float32: base64(values) } : nested(shape, Array.from(values, shortest));
  return lines({
    format: FORMAT,
    software: `pic-uie ${facts.version}`,
    weights: facts.weights.sha256,
    source: { name: file.name.slice(0, MAX_NAME), sha256: file.size > MAX_HASHED ? "" : await sha256(new Uint8Array(await file.arrayBuffer())) },
    strengths,
    statistics: { mean: [...statistics.slice(0, 3)], covariance: nested([3, 3], [...statistics.slice(3)]) },
    corrections,
    checksum: await checksum(core, theta, statistics),
  });
}

/** Reads and checks a look's file. */
export async function read(core, file) {
  if (file.size > MAX_BYTES) throw new Problem("lookForeign");
  let values;
  try {
    values = JSON.parse(await file.text());
  } catch {
    throw new Problem("lookForeign");
  }
  if (typeof values?.format !== "string" || !values.format.startsWith("pic-uie-look-")) throw new Problem("lookForeign");
  if (values.format !== FORMAT) throw new Problem("lookVersion", { format: values.format.slice(0, 40) });
  if (values.weights !== facts.weights.sha256)
    throw new Problem("lookWeights", { theirs: String(values.weights).slice(0, 8), ours: facts.weights.sha256.slice(0, 8) });
  const theta = new Float32Array(core.thetaSize);
  const statistics = new Float64Array(12);
  try {
    const expected = parts(core, theta);
    if (Object.keys(values.corrections).length !== expected.length) throw new RangeError();
    for (const { name, shape, values: target } of expected) fill(target, values.corrections[name], shape, PACKED.includes(name));
    fill(statistics.subarray(0, 3), values.statistics.mean, [3], false);
    fill(statistics.subarray(3), values.statistics.covariance, [3, 3], false);
  } catch {
    throw new Problem("lookDamaged");
  }
  if ((await checksum(core, theta, statistics)) !== values.checksum) throw new Problem("lookDamaged");
  const strengths = Object.fromEntries(STRENGTHS.map((name) => [name, values.strengths?.[name] ?? 1]));
  if (!Object.values(strengths).every((value) => typeof value === "number" && value >= 0 && value <= 1))
    throw new Problem("lookDamaged");
  core.scale(theta, strengths); // checks every range
  return { theta, statistics, strengths, name: String(values.source?.name ?? "").slice(0, MAX_NAME) };
}

/** The parts of θ by name, as views on it, in the order of native/wasm.cpp. */
export function parts({ side, grid }, theta) {
  const shapes = {
    t: [side, side],
    v: [side, side],
    a: [side, side],
    tone: [theta.length - 3 * side * side - 2 * grid * grid - 26],
    lut: [2, grid, grid],
    matrix: [3, 3],
    bias: [3],
    mean: [3],
    recolor: [3, 3],
    blend: [],
    refinement: [],
  };
  let at = 0;
  return Object.entries(shapes).map(([name, shape]) => {
    const count = shape.reduce((product, size) => product * size, 1);
    return { name, shape, values: theta.subarray(at, (at += count)) };
  });
}

const bytesOf = (values) => new Uint8Array(values.buffer, values.byteOffset, values.byteLength);

/** SHA-256 over θ and the statistics, every number as it is. */
function checksum(core, theta, statistics) {
  const pieces = parts(core, theta).flatMap(({ name, shape, values }) => {
    const text = `${name} (${shape.join(", ")}${shape.length === 1 ? "," : ""})`;
    return [new TextEncoder().encode(text), bytesOf(values)];
  });
  return sha256(joined(...pieces, bytesOf(statistics)));
}

async function sha256(bytes) {
  if (!crypto.subtle) throw new Problem("insecure");
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
  return Array.from(digest, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

const base64 = (values) => btoa(latin1(bytesOf(values)));

/** The number with the fewest digits that reads back to the same float32. */
function shortest(value) {
  for (let digits = 1; digits < 9; ++digits) {
    const short = Number(value.toPrecision(digits));
    if (Math.fround(short) === value) return short;
  }
  return value;
}

function nested(shape, values) {
  if (!shape.length) return values[0];
  if (shape.length === 1) return values;
  const step = values.length / shape[0];
  return Array.from({ length: shape[0] }, (_, i) => nested(shape.slice(1), values.slice(i * step, (i + 1) * step)));
}

function fill(target, value, shape, packed) {
  if (packed) {
    if (String(value.shape) !== String(shape)) throw new RangeError();
    const bytes = Uint8Array.from(atob(value.float32), (letter) => letter.charCodeAt(0));
    bytesOf(target).set(bytes);
    if (bytes.length !== target.byteLength) throw new RangeError();
    return;
  }
  const flat = [value].flat(3);
  if (flat.length !== target.length || !flat.every(Number.isFinite)) throw new RangeError();
  target.set(flat);
}

/** JSON with one line per name, two levels deep. */
function lines(values, depth = 0) {
  const indent = "  ".repeat(depth + 1);
  const isObject = (value) => value !== null && typeof value === "object" && !Array.isArray(value);
  const text = Object.entries(values).map(([name, value]) => {
    const inner = isObject(value) && depth < 1 ? lines(value, depth + 1).trimEnd() : JSON.stringify(value);
    return `${indent}${JSON.stringify(name)}: ${inner}`;
  });
  return `{\n${text.join(",\n")}\n${"  ".repeat(depth)}}\n`;
}
