// Strength and the four groups as sliders, 0 to 100 %.
import { text } from "./strings.js";

const NAMES = ["strength", "haze", "contrast", "colour", "balance"];

export class Sliders {
  #inputs = {};
  #outputs = {};

  constructor(root, changed) {
    for (const name of NAMES) {
      const row = root.appendChild(document.createElement("div"));
      row.className = `slider ${name}`;
      const label = row.appendChild(document.createElement("label"));
      label.textContent = text(name);
      label.htmlFor = name;
      label.title = text(`${name}Help`);
      const output = row.appendChild(document.createElement("output"));
      output.htmlFor = name;
      const input = row.appendChild(document.createElement("input"));
      Object.assign(input, { type: "range", id: name, min: 0, max: 100, step: 1, value: 100, title: text(`${name}Help`) });
      input.oninput = () => {
        this.#show(name);
        changed(this.values());
      };
      input.ondblclick = () => {
        input.value = 100;
        input.oninput();
      };
      this.#inputs[name] = input;
      this.#outputs[name] = output;
      this.#show(name);
    }
  }

  initial() {
    return Object.fromEntries(NAMES.map((name) => [name, 1]));
  }
  values() {
    return Object.fromEntries(NAMES.map((name) => [name, Number(this.#inputs[name].value) / 100]));
  }
  set(strengths) {
    for (const name of NAMES) {
      this.#inputs[name].value = Math.round(100 * strengths[name]);
      this.#show(name);
    }
  }

  #show(name) {
    const { value } = this.#inputs[name];
    this.#outputs[name].textContent = `${value} %`;
    this.#inputs[name].setAttribute("aria-valuetext", `${value} %`);
    this.#inputs[name].style.setProperty("--filled", `${value}%`);
  }
}
