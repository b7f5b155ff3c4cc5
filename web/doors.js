// The ways in: chosen, dropped, pasted, a folder, the example.
import { dropped } from "./files.js";

const $ = (id) => document.getElementById(id);

/** `add(files)` gets whatever comes. */
export function openDoors(add) {
  $("open-files").onclick = $("choose").onclick = () => $("files").click();
  $("open-folder").onclick = () => $("folder").click();
  for (const id of ["files", "folder"])
    $(id).onchange = ({ target }) => {
      const files = [...target.files];
      target.value = "";
      add(files);
    };
  $("example").onclick = async () => {
    const blob = await (await fetch("example.jpg")).blob();
    add([new File([blob], "example.jpg", { type: blob.type })]);
  };
  addEventListener("dragover", (event) => {
    event.preventDefault();
    $("dropping").hidden = !event.dataTransfer?.types.includes("Files");
  });
  addEventListener("dragleave", (event) => {
    if (!event.relatedTarget) $("dropping").hidden = true;
  });
  addEventListener("drop", async (event) => {
    event.preventDefault();
    $("dropping").hidden = true;
    add(await dropped(event.dataTransfer));
  });
  addEventListener("paste", (event) => {
    if (event.clipboardData?.files.length) add([...event.clipboardData.files]);
  });
}
