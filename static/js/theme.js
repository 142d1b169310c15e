// The theme buttons post a form that works without this file; here the choice is applied without a reload.
document.addEventListener("submit", (event) => {
  const button = event.submitter;
  if (!button || button.name !== "theme") return;
  event.preventDefault();
  const secure = location.protocol === "https:" ? "; secure" : "";
  document.cookie = `theme=${button.value}; path=/; max-age=31536000; samesite=lax${secure}`;
  const root = document.documentElement;
  if (button.value === "system") delete root.dataset.theme;
  else root.dataset.theme = button.value;
  for (const other of event.target.elements) {
    if (other.name === "theme") other.setAttribute("aria-pressed", String(other === button));
  }
});
