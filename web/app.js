// The page: what is open, what the sliders say, and who is told. Everything heavy is a job of the worker.
import "./elements/two-up.js";
import "./elements/corrections-view.js";
import { Bridge } from "./bridge.js";
import { facts } from "./facts.js";
import { openDoors } from "./doors.js";
import { download, stem } from "./files.js";
import { Player } from "./player.js";
import { Strip } from "./strip.js";
import { Sliders } from "./sliders.js";
import { fill, text } from "./strings.js";
import { Zip } from "./zip.js";

const THUMBNAIL = 128; // pixels along the shorter side
const $ = (id) => document.getElementById(id);
const bridge = new Bridge();
const viewer = $("viewer");
let shown = null; // the item in the viewer
let ids = 0; // files lose their identity on the way to the worker, items keep it
let rendering = false, stale = false; // one rendering at a time; the newest settings win
let saving = null; // an AbortController while files are written
const player = new Player($("player"), filmed);

fill(document);
$("about").textContent = text("about", { version: facts.version, weights: facts.weights.sha256.slice(0, 8) });
const strip = new Strip($("strip"), { select: show, remove: forget });
const sliders = new Sliders($("sliders"), (strengths) => {
  if (!shown) return;
  shown.settings.strengths = strengths;
  render();
});

bridge
  .start()
  .then(({ threads }) => {
    $("about").textContent += `, ${threads > 1 ? text("runsOn", { threads }) : text("runsOnOne")}`;
    document.body.dataset.ready = String(threads);
  })
  .catch(report);

// What comes in.

openDoors(add);

async function add(files) {
  const items = [];
  for (const file of files) {
    if (/\.look\.json$/i.test(file.name)) {
      await loadLook(file);
      continue;
    }
    const kind = await bridge.run("kindOf", { file }).catch(() => "");
    if (!kind && files.length > 1) continue; // a folder has other things as well
    items.push({ id: ++ids, file, name: file.name, kind, settings: { strengths: sliders.initial(), look: null } });
  }
  if (!items.length) {
    if (![...files].some((file) => /\.json$/i.test(file.name))) say("nothingFound");
    return;
  }
  document.body.dataset.state = "open";
  for (const item of items) strip.add(item);
  document.body.dataset.count = String(strip.items.length);
  await show(items[0]);
  for (const item of items) await thumbnail(item);
}

async function thumbnail(item) {
  if (item.thumbnail || !strip.items.includes(item)) return;
  try {
    strip.draw(item, await bridge.run("thumbnail", { file: item.file, size: THUMBNAIL }));
  } catch (problem) {
    strip.fail(item, words(problem));
  }
}

async function show(item) {
  if (shown === item) return;
  shown = item;
  player.close();
  document.body.dataset.kind = item.kind === "video" ? "video" : "picture";
  strip.mark(item);
  sliders.set(item.settings.strengths);
  lookName();
  notes([]);
  busy(text("loading", { name: item.name }));
  try {
    await (item.kind === "video" ? showVideo(item) : showPicture(item));
    if (shown !== item) return;
    say("loaded", { name: item.name });
  } catch (problem) {
    if (shown !== item) return;
    strip.fail(item, words(problem));
    viewer.setPicture(1, 1, null);
    report(problem);
  } finally {
    if (shown === item) busy("");
  }
}

async function showPicture(item) {
  const { width, height, before, notes: found } = await bridge.run("open", { file: item.file, id: item.id });
  if (shown !== item) return before.close();
  Object.assign(item, { opened: true, copy: Math.min(1, before.width / width) });
  notes(found);
  const scale = Math.min(1, THUMBNAIL / Math.min(before.width, before.height));
  strip.draw(item, await createImageBitmap(before, { resizeHeight: Math.max(1, Math.round(before.height * scale)), resizeQuality: "high" }));
  if (shown !== item) return before.close();
  viewer.setPicture(width, height, before);
  await render();
}

/** Opens a video; resolves when its first frame is in view. */
async function showVideo(item) {
  const { notes: found } = await bridge.run("openVideo", { file: item.file });
  if (shown !== item) return;
  notes(found);
  const { width, height } = await player.open(item.file);
  if (shown !== item) return;
  item.opened = true;
  viewer.setPicture(width, height, null);
  await player.show();
}

/** A frame of the player: seen at once, enhanced where nothing else is under way. `fresh` after a jump. */
async function filmed(frame, fresh) {
  const item = shown;
  if (!item?.opened || rendering) return frame.close(), false;
  rendering = true;
  const before = frame.clone();
  try {
    const { after, corrections, milliseconds, size } = await bridge.run("frame", { frame, settings: item.settings, fresh });
    if (!after || shown !== item) return before.close(), after?.close(), true;
    item.copy = size / Math.max(viewer.zoom.width, viewer.zoom.height);
    viewer.setBoth(before, after);
    viewer.dataset.milliseconds = milliseconds.toFixed(1);
    if (!player.playing) $("corrections").show(corrections);
  } catch (problem) {
    before.close();
    player.pause();
    report(problem);
  } finally {
    rendering = false;
  }
  if (stale) await render();
  else if (!player.playing) viewer.rest();
  return true;
}

function forget(item) {
  strip.remove(item);
  document.body.dataset.count = String(strip.items.length);
  if (shown !== item) return;
  shown = null;
  player.close();
  if (strip.items.length) show(strip.items[0]);
  else {
    document.body.dataset.state = "empty";
    bridge.run("close").catch(() => {});
  }
}

// What is seen.

async function render() {
  lookName();
  if (rendering) {
    stale = true;
    return;
  }
  rendering = true;
  try {
    do {
      stale = false;
      const item = shown;
      if (!item?.opened || player.playing) break; // its next frame shows the new settings
      const { after, corrections, milliseconds } = await bridge.run("render", { settings: item.settings });
      if (!after || shown !== item) {
        after?.close();
        continue;
      }
      viewer.setAfter(after);
      viewer.dataset.milliseconds = milliseconds.toFixed(1);
      $("corrections").show(corrections);
    } while (stale);
  } catch (problem) {
    if (problem.code !== "nothingOpen") report(problem);
  } finally {
    rendering = false;
  }
  viewer.rest();
}

viewer.addEventListener("zoom", () => {
  $("zoom-value").textContent = `${Math.round(viewer.zoom.scale * devicePixelRatio * 100)} %`;
});

/** At rest and closer than the view's copy is sharp: the part in view at full size. */
viewer.addEventListener("settle", async () => {
  const item = shown;
  if (!item?.opened || rendering || saving || player.playing) return;
  const { scale, visible, width, height } = viewer.zoom;
  if (scale * devicePixelRatio <= item.copy * 1.01 || item.copy >= 1 || !visible.width || !visible.height) return;
  const key = JSON.stringify([visible, item.settings.strengths, item.settings.look?.id]);
  if (viewer.dataset.part === key && viewer.hasPart) return;
  try {
    const part = await bridge.run("part", { settings: item.settings, part: visible });
    const current = JSON.stringify([viewer.zoom.visible, item.settings.strengths, item.settings.look?.id]);
    if (!part || shown !== item || current !== key || player.playing) return part && (part.before.close(), part.after.close());
    viewer.setPart({ ...(item.kind === "video" ? { x: 0, y: 0, width, height } : visible), ...part });
    viewer.dataset.part = key;
  } catch (problem) {
    if (problem.code !== "nothingOpen") report(problem);
  }
});

$("zoom-in").onclick = () => viewer.zoom.zoomBy(1.5);
$("zoom-out").onclick = () => viewer.zoom.zoomBy(1 / 1.5);
$("zoom-fit").onclick = () => viewer.zoom.fit();
$("zoom-actual").onclick = () => viewer.zoom.zoomTo(1 / devicePixelRatio);

// Sliders and looks.

$("reset").onclick = () => {
  if (!shown) return;
  shown.settings = { strengths: sliders.initial(), look: null };
  sliders.set(shown.settings.strengths);
  render();
};
$("copy-sliders").onclick = () => {
  for (const item of strip.items) item.settings = { ...item.settings, strengths: { ...shown.settings.strengths } };
  say("copiedSliders");
};
$("copy-look").onclick = async () => {
  const look = shown.settings.look ?? (await currentLook());
  if (!look) return;
  for (const item of strip.items)
    if (item !== shown || item.settings.look) item.settings = { strengths: { ...shown.settings.strengths }, look };
  say("copiedLook");
};
$("own-look").onclick = () => {
  shown.settings.look = null;
  render();
};
$("save-look").onclick = async () => {
  try {
    const { text: json } = await bridge.run("saveLook", { settings: shown.settings });
    const name = `${stem(shown.name)}${text("suffix")}.look.json`;
    download(new Blob([json], { type: "application/json" }), name);
    say("saved", { name });
  } catch (problem) {
    report(problem);
  }
};
$("load-look").onclick = () => $("look-file").click();
$("look-file").onchange = ({ target }) => {
  if (target.files[0]) loadLook(target.files[0]);
  target.value = "";
};

async function currentLook() {
  try {
    const { look } = await bridge.run("saveLook", { settings: shown.settings });
    return { ...look, id: crypto.randomUUID() };
  } catch (problem) {
    return report(problem);
  }
}

async function loadLook(file) {
  try {
    if (!shown) return say("nothingOpen");
    const { strengths, ...look } = await bridge.run("readLook", { file });
    shown.settings = { strengths, look: { ...look, id: crypto.randomUUID() } };
    sliders.set(strengths);
    await render();
    say("lookLoaded", { name: look.name || file.name });
  } catch (problem) {
    report(problem);
  }
}

function lookName() {
  const look = shown?.settings.look;
  const own = shown?.kind === "video" ? "lookOwnVideo" : "lookOwn";
  $("look-name").textContent = look ? text("lookActive", { name: look.name }) : text(own);
  $("own-look").hidden = !look;
}

// What goes out.

$("save-one").onclick = async () => {
  if (!shown || saving) return;
  const item = shown;
  start();
  try {
    const { name } = await finished(item, (blob, given) => (download(blob, given), given));
    say("saved", { name });
  } catch (problem) {
    report(problem);
  }
  end();
};

$("save-all").onclick = async () => {
  const pictures = strip.items;
  if (!pictures.length || saving) return;
  const stop = start();
  const zip = new Zip();
  let count = 0, failed = 0;
  for (const [index, item] of pictures.entries()) {
    if (stop.aborted) break;
    progress(index / pictures.length, text("saving", { done: index + 1, total: pictures.length }));
    try {
      await finished(item, (blob, name) => zip.add(name, blob, new Date(item.file.lastModified)));
      ++count;
    } catch (problem) {
      if (stop.aborted) break;
      ++failed;
      strip.fail(item, words(problem));
    }
  }
  const name = text("zipName");
  if (!stop.aborted && count) download(zip.finish(), name);
  end();
  if (stop.aborted) say("cancelled");
  else say(failed ? "savedSome" : "savedAll", { count, failed, name });
  await reopen();
};

/** Makes the file of an item and hands it to `keep`. */
async function finished(item, keep) {
  const job = { file: item.file, id: item.id, settings: item.settings, format: $("format").value };
  const percent = (share) => progress(share, text("exporting", { name: item.name, percent: Math.floor(100 * share) }));
  if (item.kind === "video") player.pause();
  const { blob, extension, notes: found } = await bridge.run(item.kind === "video" ? "saveVideo" : "save", job, percent);
  if (item === shown) notes(found);
  return { name: await keep(blob, `${stem(item.name)}${text("suffix")}.${extension}`) };
}

/** The worker kept only the last picture: opens the one in view again. */
async function reopen() {
  const item = shown;
  if (!item?.opened || item.kind === "video") return;
  try {
    const { before } = await bridge.run("open", { file: item.file, id: item.id });
    before.close();
  } catch (problem) {
    report(problem);
  }
}

$("cancel").onclick = () => {
  saving?.abort();
  bridge.run("cancel");
};

function start() {
  saving = new AbortController();
  document.body.dataset.saving = "";
  $("cancel").hidden = $("progress").hidden = false;
  $("progress").removeAttribute("value");
  return saving.signal;
}
function end() {
  saving = null;
  delete document.body.dataset.saving;
  $("cancel").hidden = $("progress").hidden = true;
}
function progress(share, message) {
  $("progress").value = share;
  $("status").textContent = message;
}

// Words.

function words(problem) {
  return typeof problem.code === "string" ? text(problem.code, problem.values) : text("unexpected", { message: problem.message });
}
function report(problem) {
  $("status").textContent = words(problem);
  $("status").className = "problem";
}
function say(key, values) {
  $("status").textContent = text(key, values);
  $("status").className = "";
}
function busy(message) {
  $("busy").textContent = message;
  $("busy").hidden = !message;
}
function notes(found) {
  $("notes").replaceChildren(
    ...found.map(([key, values]) => Object.assign(document.createElement("li"), { textContent: text(key, values) })),
  );
}

if ("serviceWorker" in navigator) navigator.serviceWorker.register("service-worker.js").catch(() => {});
