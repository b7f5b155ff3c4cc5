// What went wrong, as the name of a string and its values: strings.js has the words.
export class Problem extends Error {
  constructor(code, values = {}) {
    super(code);
    this.name = "Problem";
    this.code = code;
    this.values = values;
  }
}
