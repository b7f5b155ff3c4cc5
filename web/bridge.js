// The page's side of the worker: each job is a promise. A worker that broke is replaced with the next job.
import { Problem } from "./problem.js";

export class Bridge {
  #worker = null;
  #waiting = new Map();
  #next = 0;

  /** Starts the worker; resolves to what it runs with. */
  start() {
    this.#worker = new Worker(new URL("worker/worker.js", import.meta.url), { type: "module" });
    this.#worker.onmessage = ({ data }) => this.#answer(data);
    this.#worker.onerror = () => this.#fail(new Problem("workerFailed"));
    this.started = this.#post("start", { memory: navigator.deviceMemory }); // gigabytes, where the browser says so
    return this.started;
  }

  /** Runs a job in the worker; `progress(share)` hears of long ones. A frame of video in the job goes over to it. */
  async run(name, job, progress) {
    if (!this.#worker) await this.start();
    await this.started;
    return this.#post(name, job, progress);
  }

  #post(name, job, progress) {
    return new Promise((resolve, reject) => {
      const id = this.#next++;
      this.#waiting.set(id, { resolve, reject, progress });
      this.#worker.postMessage({ id, name, job }, job?.frame ? [job.frame] : []);
    });
  }

  #answer({ id, result, problem, ended, share }) {
    const waiting = this.#waiting.get(id);
    if (share !== undefined) return waiting.progress?.(share);
    this.#waiting.delete(id);
    if (problem) waiting.reject(new Problem(problem.code, problem.values));
    else waiting.resolve(result);
    if (ended) this.#fail(new Problem(problem.code, problem.values));
  }

  #fail(problem) {
    this.#worker?.terminate();
    this.#worker = null;
    for (const { reject } of this.#waiting.values()) reject(problem);
    this.#waiting.clear();
  }
}
