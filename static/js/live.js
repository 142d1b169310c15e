// Live pages. The stream carries nudges only; each fragment refetches itself. Where the stream is silent, the page asks by itself.
(() => {
  const POLL_MS = 15000;
  const GRACE_MS = 5000;
  let streamOpen = false;
  let lostAt = Date.now();
  const said = new Map();

  // What was told, by the name that fragments wait for, and what was told when a request was sent: numbers of one count.
  const NEWS = ["budget", "claims", "classes", "nodes", "stale"];
  const told = new Map();
  const asked = new WeakMap();
  let count = 0;
  const tell = (name) => told.set(name, ++count);

  function refresh() {
    tell("refresh");
    htmx.trigger(document.body, "refresh");
  }

  function announce(text) {
    const line = document.getElementById("announce");
    if (line && text) line.textContent = text;
  }

  function showStream() {
    const lost = !streamOpen && document.body.hasAttribute("sse-connect") && Date.now() - lostAt > GRACE_MS;
    const banner = document.getElementById("stream-lost");
    if (!banner || banner.hidden === !lost) return;
    banner.hidden = !lost;
    announce(lost ? "Live updates are interrupted." : "Live updates are back.");
  }

  function hears(isOpen) {
    if (streamOpen && !isOpen) lostAt = Date.now();
    streamOpen = isOpen;
    showStream();
  }

  // The stream itself can live while the news does not reach it: then it says "stale", and "live" when it does again.
  const connect = htmx.createEventSource;
  htmx.createEventSource = (url) => {
    const source = connect(url);
    for (const name of NEWS) source.addEventListener(name, () => tell(`sse:${name}`));
    source.addEventListener("stale", () => {
      hears(false);
      lostAt = 0;
      showStream();
    });
    source.addEventListener("live", () => {
      hears(true);
      refresh();
    });
    return source;
  };

  // What is told while an answer is on its way may not be in it, and the element that heard it leaves with that answer: the one
  // that comes instead asks once more.
  document.addEventListener("htmx:beforeSend", (event) => asked.set(event.detail.xhr, count));
  document.addEventListener("htmx:afterSettle", ({ detail: { elt, xhr } }) => {
    const names = (elt.getAttribute?.("hx-trigger") || "").split(/[\s,]+/);
    if (names.some((name) => told.get(name) > asked.get(xhr))) htmx.trigger(elt, names.find((name) => name.startsWith("sse:")));
  });

  // What happened before the stream was open was not heard.
  document.addEventListener("htmx:sseOpen", () => {
    hears(true);
    refresh();
  });
  document.addEventListener("htmx:sseError", () => hears(false));

  // The session has ended: asking once more leads to the login page, or says so in the corner where somebody types.
  document.addEventListener("htmx:sseClose", (event) => {
    hears(false);
    if (event.detail.type === "message") refresh();
  });

  setInterval(() => {
    showStream();
    if (!streamOpen && !document.hidden) refresh();
  }, POLL_MS);
  setInterval(showStream, 1000);
  document.addEventListener("visibilitychange", () => {
    if (!document.hidden && !streamOpen) refresh();
  });

  // What changed is marked for a second and said once. Rows and cards are known by their id and say themselves in data-say;
  // their cells are known by their place.
  function cells(mark) {
    for (const item of document.querySelectorAll("[data-say][id]")) {
      item.querySelectorAll("[data-cell], .num").forEach((cell, index) => mark(`${item.id} ${index}`, cell));
    }
  }

  let before = new Map();
  document.addEventListener("htmx:beforeSwap", (event) => {
    before = new Map();
    cells((key, cell) => before.set(key, cell.textContent));
    // A refusal is an answer to show, not an error to hide.
    if ([409, 422].includes(event.detail.xhr.status)) {
      event.detail.shouldSwap = true;
      event.detail.isError = false;
    }
  });

  document.addEventListener("htmx:afterSwap", () => {
    cells((key, cell) => {
      if (before.has(key) && before.get(key) !== cell.textContent) cell.classList.add("changed");
    });
    const news = [];
    for (const item of document.querySelectorAll("[data-say]")) {
      const was = said.get(item.id);
      if (item.dataset.say && was !== undefined && was !== item.dataset.say) news.push(item.dataset.say);
      said.set(item.id, item.dataset.say);
    }
    announce(news.slice(0, 3).join(". "));
  });

  document.addEventListener("animationend", (event) => event.target.classList.remove("changed"));
  document.addEventListener("DOMContentLoaded", () => {
    for (const item of document.querySelectorAll("[data-say]")) said.set(item.id, item.dataset.say);
  });

  // A fragment that is refused answers in one line. Say it where the person is, keep what is typed.
  document.addEventListener("htmx:responseError", (event) => {
    const { xhr, requestConfig } = event.detail;
    const banner = document.getElementById("trouble");
    const isPlain = (xhr.getResponseHeader("Content-Type") || "").startsWith("text/plain");
    const asked = requestConfig && requestConfig.triggeringEvent && requestConfig.triggeringEvent.isTrusted;
    if (!banner || (!asked && xhr.status >= 500)) return;
    banner.querySelector("span").textContent = isPlain ? xhr.responseText : "This did not work. Reload the page and try again.";
    banner.hidden = false;
  });

  document.addEventListener("htmx:afterSwap", () => {
    const banner = document.getElementById("trouble");
    if (banner) banner.hidden = true;
  });
})();
