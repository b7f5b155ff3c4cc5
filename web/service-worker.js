// One cache per version of the page: filled when it is installed, so that the page works without a network; what videos need
// follows when the page itself is there. What is not in it (the example) is kept when it is first asked for. Nothing but the
// page's own files is fetched.
const { version, files, later } = PAGE; // filled in by build.py
const CACHE = `pic-uie ${version}`;
// For hosts that cannot set headers: with these the page may share memory between workers, and so use all cores.
const HEADERS = {
  "Cross-Origin-Opener-Policy": "same-origin",
  "Cross-Origin-Embedder-Policy": "require-corp",
  "Cross-Origin-Resource-Policy": "same-origin",
};

addEventListener("install", (event) => {
  event.waitUntil(keep(files));
});

async function keep(names) {
  const cache = await caches.open(CACHE);
  await cache.addAll(names.map((name) => new Request(name, { cache: "no-cache" })));
}

addEventListener("activate", (event) => {
  const forget = (names) => Promise.all(names.filter((name) => name !== CACHE && name.startsWith("pic-uie ")).map((name) => caches.delete(name)));
  const sparing = navigator.connection?.saveData;
  event.waitUntil(caches.keys().then(forget));
  if (!sparing) event.waitUntil(keep(later).catch(() => {})); // or with the first video
});

addEventListener("fetch", (event) => {
  const { request } = event;
  if (request.method !== "GET" || new URL(request.url).origin !== location.origin) return;
  event.respondWith(answer(request));
});

async function answer(request) {
  const cache = await caches.open(CACHE);
  const key = request.mode === "navigate" ? "./" : request;
  const kept = await cache.match(key, { ignoreSearch: true });
  if (kept) return withHeaders(kept);
  const response = await fetch(request);
  if (response.ok && request.mode !== "navigate") await cache.put(request, response.clone());
  return withHeaders(response);
}

function withHeaders(response) {
  const headers = new Headers(response.headers);
  for (const [name, value] of Object.entries(HEADERS)) headers.set(name, value);
  return new Response(response.body, { status: response.status, statusText: response.statusText, headers });
}
