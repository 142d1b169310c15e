// Rows that are ticked. They stay ticked when the list refetches itself, is narrowed or reloaded; a row that is gone is forgotten.
(() => {
  const key = () => `chosen ${location.pathname}`;
  const boxes = () => [...document.querySelectorAll("input[data-choose]:not(:disabled)")];
  const all = () => document.querySelector("input[data-choose-all]");
  let chosen = new Set();

  function show() {
    const there = boxes();
    const ticked = there.filter((box) => box.checked);
    const button = document.getElementById("release-chosen");
    if (button) {
      const units = ticked.reduce((sum, box) => sum + Number(box.dataset.units), 0);
      button.disabled = ticked.length === 0;
      button.querySelector("span").textContent = ticked.length
        ? `Release ${ticked.length} chosen · ${units} GPU${units === 1 ? "" : "s"}`
        : "Release chosen";
    }
    if (all()) {
      all().checked = ticked.length > 0 && ticked.length === there.length;
      all().indeterminate = ticked.length > 0 && ticked.length < there.length;
      all().disabled = there.length === 0;
    }
  }

  function keep() {
    for (const box of boxes()) chosen[box.checked ? "add" : "delete"](box.value);
    try {
      sessionStorage.setItem(key(), JSON.stringify([...chosen]));
    } catch {
      // Storage may be off or full: then ticks last as long as the page.
    }
    show();
  }

  function restore() {
    for (const box of boxes()) box.checked = chosen.has(box.value);
    show();
  }

  document.addEventListener("change", (event) => {
    if (event.target.matches("[data-choose-all]")) for (const box of boxes()) box.checked = event.target.checked;
    if (event.target.matches("[data-choose], [data-choose-all]")) keep();
  });

  // A click with shift ticks everything from the row that was clicked before.
  let last = null;
  document.addEventListener("click", (event) => {
    if (!event.target.matches("[data-choose]")) return;
    const there = boxes();
    const [from, to] = [there.findIndex((box) => box.value === last), there.indexOf(event.target)].sort((a, b) => a - b);
    if (event.shiftKey && from >= 0) for (const box of there.slice(from, to + 1)) box.checked = event.target.checked;
    last = event.target.value;
    if (event.shiftKey) keep();
  });

  document.addEventListener("htmx:afterSwap", restore);
  document.addEventListener("DOMContentLoaded", () => {
    try {
      chosen = new Set(JSON.parse(sessionStorage.getItem(key()) || "[]"));
    } catch {
      chosen = new Set();
    }
    // Ticked before this script ran, or by the browser on a reload.
    for (const box of boxes()) if (box.checked) chosen.add(box.value);
    restore();
  });
})();
