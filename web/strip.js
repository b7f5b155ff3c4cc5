// The list of open files: a small picture of each, the one in view marked, problems named.
import { text } from "./strings.js";

export class Strip {
  items = [];
  #list;
  #on;

  constructor(list, on) {
    this.#list = list;
    this.#on = on;
  }

  add(item) {
    const entry = document.createElement("li");
    const button = entry.appendChild(document.createElement("button"));
    button.type = "button";
    button.title = item.name;
    const canvas = button.appendChild(document.createElement("canvas"));
    canvas.setAttribute("aria-hidden", "true");
    canvas.width = canvas.height = 1;
    const name = button.appendChild(document.createElement("span"));
    name.textContent = item.name;
    button.onclick = () => this.#on.select(item);
    const remove = entry.appendChild(document.createElement("button"));
    remove.type = "button";
    remove.className = "remove";
    remove.textContent = "×";
    remove.setAttribute("aria-label", text("remove", { name: item.name }));
    remove.onclick = () => this.#on.remove(item);
    Object.assign(item, { entry, button, canvas });
    this.items.push(item);
    this.#list.append(entry);
  }

  remove(item) {
    this.items = this.items.filter((other) => other !== item);
    item.entry.remove();
  }

  mark(item) {
    for (const other of this.items) other.button.setAttribute("aria-current", String(other === item));
    item.entry.scrollIntoView({ block: "nearest", inline: "nearest" });
  }

  draw(item, bitmap) {
    if (!bitmap) return;
    item.thumbnail = true;
    [item.canvas.width, item.canvas.height] = [bitmap.width, bitmap.height];
    item.canvas.getContext("2d").drawImage(bitmap, 0, 0);
    bitmap.close();
  }

  fail(item, message) {
    item.entry.className = "failed";
    item.button.title = `${item.name}: ${message}`;
  }
}
