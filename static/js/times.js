// Relative times keep counting; titles, and times of the clock, are in the viewer's own zone. The words match portal/templatetags/times.py.
(() => {
  const clockSkew = Date.now() - Number(document.documentElement.dataset.now || Date.now());

  function ago(seconds) {
    if (seconds < 5) return "just now";
    if (seconds < 60) return `${Math.floor(seconds)} s`;
    if (seconds < 3600) return `${Math.floor(seconds / 60)} min`;
    if (seconds < 86400) return `${Math.floor(seconds / 3600)} h`;
    return `${Math.floor(seconds / 86400)} d`;
  }

  const absolute = (at) => at.toLocaleString(undefined, { dateStyle: "medium", timeStyle: "long" });

  // A time of the clock, in the viewer's own zone.
  function clocks() {
    for (const time of document.querySelectorAll("time[data-clock]")) {
      const at = new Date(time.dateTime);
      const words = at.toLocaleTimeString(undefined, { timeStyle: time.dataset.clock || "medium" });
      if (time.textContent !== words) time.textContent = words;
      if (time.title !== absolute(at)) time.title = absolute(at);
    }
  }

  function show() {
    const now = Date.now() - clockSkew;
    clocks();
    for (const time of document.querySelectorAll("time[data-ago]")) {
      const at = new Date(time.dateTime);
      const age = ago((now - at) / 1000);
      const words = time.dataset.ago && age !== "just now" ? `${age} ${time.dataset.ago}` : age;
      if (time.textContent !== words) time.textContent = words;
      if (time.title !== absolute(at)) time.title = absolute(at);
    }
  }

  document.addEventListener("DOMContentLoaded", show);
  document.addEventListener("htmx:afterSettle", show);
  setInterval(show, 1000);
})();
