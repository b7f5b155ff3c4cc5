// The items of an AVIF: what the source says about itself.
import { boxes } from "./boxes.js";
import { latin1, viewOf } from "./bytes.js";

export function read(bytes) {
  const found = { kind: "avif", bits: 8, kept: [], leftOut: [] };
  try {
    const meta = boxes(bytes).find(({ type }) => type === "meta");
    const inside = new Map(boxes(meta.data.subarray(4)).map(({ type, data }) => [type, data]));
    const places = locations(inside.get("iloc"));
    for (const { id, type, mime } of items(inside.get("iinf"))) {
      const data = places.get(id)?.map(([at, length]) => bytes.slice(at, at + length))[0];
      if (!data) continue;
      if (type === "Exif") found.exif = data.subarray(4 + viewOf(data).getUint32(0));
      if (type === "mime" && mime.startsWith("application/rdf+xml")) found.xmp = data;
      if (type === "tmap") found.leftOut.push("partGainMap");
    }
    const properties = boxes(inside.get("iprp")).find(({ type }) => type === "ipco");
    for (const { type, data } of boxes(properties.data)) {
      if (type === "colr" && ["prof", "rICC"].includes(latin1(data.subarray(0, 4)))) found.icc = data.slice(4);
      if (type === "colr" && latin1(data.subarray(0, 4)) === "nclx") found.colourCode = viewOf(data).getUint16(4);
      if (type === "ispe" && viewOf(data).getUint32(4) * viewOf(data).getUint32(8) > (found.width ?? 0) * (found.height ?? 0))
        Object.assign(found, { width: viewOf(data).getUint32(4), height: viewOf(data).getUint32(8) }); // parts have their own
      if (type === "pixi") found.bits = Math.max(found.bits, ...data.subarray(5, 5 + data[4]));
    }
    if (found.colourCode === 2) delete found.colourCode; // unspecified
  } catch {} // damaged: the browser decides
  return found;
}

function items(iinf) {
  return boxes(iinf.subarray(iinf[0] ? 8 : 6)).map(({ data }) => {
    const at = data[0] === 2 ? 8 : 10; // behind the number, of 2 or 4 bytes, and what protects it
    const id = data[0] === 2 ? viewOf(data).getUint16(4) : viewOf(data).getUint32(4);
    const [, mime = ""] = latin1(data.subarray(at + 4)).split("\0");
    return { id, type: latin1(data.subarray(at, at + 4)), mime };
  });
}

/** Where items are in the file: offsets and lengths by number. */
function locations(iloc) {
  const view = viewOf(iloc);
  const version = iloc[0];
  const sizes = [iloc[4] >> 4, iloc[4] & 15, iloc[5] >> 4, version ? iloc[5] & 15 : 0];
  let at = 6;
  const number = (size) => {
    at += size;
    return size === 8 ? Number(view.getBigUint64(at - 8)) : size === 4 ? view.getUint32(at - 4) : size === 2 ? view.getUint16(at - 2) : 0;
  };
  const places = new Map();
  for (let left = number(version < 2 ? 2 : 4); left; --left) {
    const id = number(version < 2 ? 2 : 4);
    const inFile = version === 0 || (number(2) & 15) === 0;
    number(2);
    const base = number(sizes[2]);
    const extents = Array.from({ length: number(2) }, () => (number(sizes[3]), [base + number(sizes[0]), number(sizes[1])]));
    if (inFile && extents.length === 1) places.set(id, extents);
  }
  return places;
}
