// Files in and out: chosen, dropped (with whole folders), pasted; saved through the browser's download.

/** All files of a drop, folders and what is in them included, sorted by path. */
export async function dropped(transfer) {
  const entries = [...transfer.items].map((item) => item.webkitGetAsEntry?.()).filter(Boolean);
  if (!entries.length) return [...transfer.files];
  const found = [];
  for (const entry of entries) await walk(entry, found);
  return found;
}

async function walk(entry, found) {
  if (entry.isFile) found.push(await new Promise((resolve, reject) => entry.file(resolve, reject)));
  else if (entry.isDirectory) {
    const reader = entry.createReader();
    const inside = [];
    for (;;) {
      const some = await new Promise((resolve, reject) => reader.readEntries(resolve, reject));
      if (!some.length) break;
      inside.push(...some);
    }
    inside.sort((a, b) => a.name.localeCompare(b.name, undefined, { numeric: true }));
    for (const next of inside) await walk(next, found);
  }
}

export function download(blob, name) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}

export const stem = (name) => name.replace(/\.[^.]*$/, "");
