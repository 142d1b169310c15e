// Runs before first paint (not deferred): says that scripts work, so that what is for one case only shows at once.
document.documentElement.classList.replace("no-js", "js");

// What is typed into a number replaces it. Here, because the page gives it the focus before any other script listens.
document.addEventListener("focusin", (event) => {
  if (event.target.matches("[data-counts]")) event.target.select();
});
