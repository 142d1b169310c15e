// Forms: one submit per click, a fresh CSRF token after a new login in another tab, copying, filters that apply themselves.
(() => {
  const cookie = `${document.documentElement.dataset.csrf}=`;
  const token = () => (document.cookie.split("; ").find((one) => one.startsWith(cookie)) || "").slice(cookie.length);

  document.addEventListener(
    "submit",
    (event) => {
      const hidden = event.target.querySelector("[name=csrfmiddlewaretoken]");
      if (hidden && token()) hidden.value = token();
      if (!event.target.hasAttribute("data-once")) return;
      if (event.target.dataset.sent) {
        event.preventDefault();
        return;
      }
      event.target.dataset.sent = "yes";
      setTimeout(() => delete event.target.dataset.sent, 10000);
    },
    true,
  );

  // A name that is being typed is not replaced by a suggestion that was on its way.
  document.addEventListener("htmx:oobBeforeSwap", (event) => {
    const field = event.detail.target;
    if (field.id === "id_name" && field === document.activeElement) event.detail.shouldSwap = false;
  });

  // A number: the arrows step it.
  document.addEventListener("keydown", (event) => {
    const step = { ArrowUp: 1, ArrowDown: -1 }[event.key];
    if (!step || !event.target.matches("[data-counts]") || !/^\d{1,9}$/.test(event.target.value.trim())) return;
    event.preventDefault();
    event.target.value = Math.max(1, Number(event.target.value) + step);
    event.target.dispatchEvent(new Event("input", { bubbles: true }));
  });

  // A file is fetched by the browser, not into the page.
  document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-download]");
    if (!button) return;
    event.preventDefault();
    const query = new URLSearchParams(new FormData(button.form));
    query.set(button.name, button.value);
    location.assign(`${location.pathname}?${query}`);
    button.closest("details").open = false;
  });

  // Back to a page from memory: its buttons work again.
  addEventListener("pageshow", () => {
    for (const form of document.querySelectorAll("form[data-sent]")) delete form.dataset.sent;
  });

  document.addEventListener("click", async (event) => {
    const button = event.target.closest("[data-copies]");
    if (!button) return;
    const text = document.getElementById(button.dataset.copies).textContent;
    await navigator.clipboard.writeText(text.trim());
    const label = button.querySelector("span") || button;
    const was = label.textContent;
    label.textContent = "Copied";
    document.getElementById("announce").textContent = "Copied";
    setTimeout(() => (label.textContent = was), 1500);
  });
})();
