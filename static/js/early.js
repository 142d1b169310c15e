// Runs before first paint (not deferred): says that scripts work, so that what is for one case only shows at once.
document.documentElement.classList.replace("no-js", "js");
