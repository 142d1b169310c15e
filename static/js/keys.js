// Keyboard: / search, g c catalog, g h holds, n new order, ? help.
(() => {
  let pending = "";
  let timer = 0;

  const go = (name) => {
    const link = document.querySelector(`[data-key="${name}"]`);
    if (link) link.click();
    return Boolean(link);
  };

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    if (event.target.closest("input:not([type=checkbox]), select, textarea, [contenteditable], dialog[open]")) return;
    const key = pending + event.key;
    pending = "";
    clearTimeout(timer);
    let used = true;
    if (key === "g") {
      pending = "g ";
      timer = setTimeout(() => (pending = ""), 1200);
    } else if (key === "/") {
      const box = document.querySelector("[data-search]");
      if (box) box.focus();
      else used = false;
    } else if (key === "?") {
      document.getElementById("help").showModal();
    } else {
      used = go(key);
    }
    if (used) event.preventDefault();
  });
})();
