// Dialogs and menus. Every link that opens a dialog leads, without this file, to a page that asks the same.
document.addEventListener("click", (event) => {
  const opener = event.target.closest("[data-opens]");
  if (opener) document.getElementById(opener.dataset.opens).showModal();
  const closer = event.target.closest("[data-closes]");
  if (closer && closer.closest("dialog")) {
    event.preventDefault();
    closer.closest("dialog").close();
  }
  for (const menu of document.querySelectorAll("details.menu[open]")) {
    if (!menu.contains(event.target)) menu.open = false;
  }
});

document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape") return;
  for (const menu of document.querySelectorAll("details.menu[open]")) {
    menu.open = false;
    menu.querySelector("summary").focus();
  }
});

// The question was fetched into the dialog: now show it.
document.addEventListener("htmx:afterSwap", (event) => {
  const dialog = event.target.closest && event.target.closest("dialog");
  if (dialog && !dialog.open) dialog.showModal();
});
