// Relative times keep counting, and their titles are in the viewer's own zone. The words match portal/templatetags/times.py.
(() => {
  const clockSkew = Date.now() - Number(document.documentElement.dataset.now || Date.now());

  function ago(seconds) {
    if (seconds < 5) return "just now";
    if (seconds < 60) return `${Math.floor(seconds)} s`;
    if (seconds < 3600) return `${Math.floor(seconds / 60)} min`;
    if (seconds < 86400) return `${Math.floor(seconds / 3600)} h`;
    return `${Math.floor(seconds / 86400)} d`;
  }

  function show() {
    const now = Date.now() - clockSkew;
    for (const time of document.querySelectorAll("time[data-ago]")) {
      const at = new Date(time.dateTime);
      const words = ago((now - at) / 1000);
      if (time.textContent !== words) time.textContent = words;
      const title = at.toLocaleString(undefined, { dateStyle: "medium", timeStyle: "long" });
      if (time.title !== title) time.title = title;
    }
  }

  document.addEventListener("DOMContentLoaded", show);
  document.addEventListener("htmx:afterSettle", show);
  setInterval(show, 1000);
})();
